"""Read lines that a person types: edited and called back at a terminal; as they come from a pipe, and in plain mode.

Waiting for a line can be cancelled: because the question was answered elsewhere, the run is over, or Ctrl-C was pressed. A thread inside
`input()` could not be stopped, and would break the interpreter's end.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import sys
import threading
from contextlib import redirect_stderr, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent
    from prompt_toolkit.patch_stdout import StdoutProxy

_SILENCE_SECONDS = 1.5
"""Seconds without a key after which a person is assumed to know that their line is not wanted any more."""


class LineSource(Protocol):
    """A source of a person's lines."""

    interactive: bool
    """Whether a person is there, who can be asked to confirm."""
    edited: bool
    """Whether lines can be edited and called back."""

    async def read(self, prompt: str, *, remember: bool = True, keys: str = "", begun: str = "") -> str | None:
        """Wait for the next line, without its end; None at the end of input.

        Args:
            prompt: Text before the line.
            remember: Whether it can be called back later.
            keys: Characters each of which is a line by itself, without Enter; any other that is typed first, but a slash, ends the line as
                well, so that nothing typed after a mistake is lost in it. Where lines are not edited, Enter is needed.
            begun: What stands there already, to be edited. Where lines are not edited, it is shown, and Enter alone takes it.
        """
        ...

    def clear(self) -> None:
        """Drop what a person typed before there was a question."""
        ...

    async def drop(self) -> str:
        """After a cancelled `read`, return the line that was half typed, with what is still typed of it; empty if there is none.

        It answers nothing. Where lines are edited, it can be called back.
        """
        ...

    def close(self) -> None:
        """Release what was opened."""
        ...


def open_lines(console: Console, *, plain: bool = False) -> LineSource:
    """Return the lines of standard input: edited if a person is at a terminal, unless `plain` asks for no movement on the screen."""
    if not plain and sys.stdin is not None and sys.stdin.isatty() and console.is_terminal and not console.is_dumb_terminal:
        return _LineEditor()
    return LineReader(console)


def describe_terminal(console: Console) -> str:
    """Say how a person's keys and lines are read here, for `doctor`."""
    if sys.stdin is None or not sys.stdin.isatty():
        return "none: answers and verdicts are read as lines of standard input"
    if not console.is_terminal or console.is_dumb_terminal:
        return "plain: each key needs Enter"
    return "keys need no Enter, and lines can be edited"


class LineReader:
    """Reads lines from a file descriptor in a thread that can be woken.

    Args:
        descriptor: Where the lines come from; a terminal in line mode, a pipe or a file.
    """

    def __init__(self, console: Console, descriptor: int = 0) -> None:
        self._console = console
        self._descriptor = descriptor
        self.interactive = os.isatty(descriptor)
        self.edited = False
        self._wake_read, self._wake_write = os.pipe()
        self._buffer = b""
        self._ended = False

    async def read(self, prompt: str, *, remember: bool = True, keys: str = "", begun: str = "") -> str | None:
        """See `LineSource.read`."""
        self._console.print(f"{prompt}[{begun}] " if begun else prompt, end="")
        reading = asyncio.get_running_loop().run_in_executor(None, self._readline)
        try:
            line = await asyncio.shield(reading)
        except asyncio.CancelledError:
            os.write(self._wake_write, b"x")
            await reading
            os.read(self._wake_read, 1)
            self._console.print()
            raise
        if line is None:
            self._console.print()
        return begun if line == "" else line

    def _readline(self) -> str | None:
        while b"\n" not in self._buffer and not self._ended:
            ready, _, _ = select.select([self._descriptor, self._wake_read], [], [])
            if self._wake_read in ready:
                return None
            piece = os.read(self._descriptor, 65536)
            self._ended = not piece
            self._buffer += piece
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def clear(self) -> None:
        """See `LineSource.clear`; lines from a pipe are all meant."""
        if self.interactive:
            self._buffer = b""
            _flush(self._descriptor)

    async def drop(self) -> str:
        """See `LineSource.drop`; lines from a pipe are never half typed."""
        return await asyncio.to_thread(_rest_of_line, self._descriptor, "") if self.interactive else ""

    def close(self) -> None:
        """See `LineSource.close`."""
        os.close(self._wake_read)
        os.close(self._wake_write)


class _Interrupted(Exception):
    """Ctrl-C, which a terminal sends as a key while a line is edited."""


class _LineEditor:
    """Lines with arrow keys, Ctrl-A, Ctrl-E and a history of answers."""

    interactive = edited = True

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import DummyHistory, InMemoryHistory
        from prompt_toolkit.input import create_input
        from prompt_toolkit.output import create_output
        from prompt_toolkit.output.vt100 import Vt100_Output

        self._input = create_input(sys.stdin)
        # A live display replaces the stream by its own, which does not pass on what should be flushed.
        self._output = create_output(getattr(sys.stderr, "rich_proxied_file", sys.stderr))
        if isinstance(self._output, Vt100_Output):
            self._output.enable_cpr = False  # a late reply of the terminal would be taken for typing
        histories = {True: InMemoryHistory(), False: DummyHistory()}
        self._sessions: dict[bool, PromptSession[str]] = {
            remember: PromptSession(
                input=self._input, output=self._output, history=history, interrupt_exception=_Interrupted, reserve_space_for_menu=0
            )
            for remember, history in histories.items()
        }
        self._half_typed = ""

    async def read(self, prompt: str, *, remember: bool = True, keys: str = "", begun: str = "") -> str | None:
        """See `LineSource.read`."""
        from prompt_toolkit.application import create_app_session

        session = self._sessions[remember]
        with suppress(EOFError):
            try:
                # What is printed meanwhile goes above the line.
                with create_app_session(self._input, self._output), _proxy_above_line() as above, redirect_stderr(above):
                    return await session.prompt_async(prompt, key_bindings=_ending_keys(keys), default=begun)
            except asyncio.CancelledError:
                typed = session.default_buffer.text
                self._half_typed = "" if typed == begun else typed
                raise
            except _Interrupted:
                signal.raise_signal(signal.SIGINT)
                await asyncio.get_running_loop().create_future()  # the signal ends it
        return None

    def clear(self) -> None:
        """See `LineSource.clear`."""
        from prompt_toolkit.input.typeahead import clear_typeahead

        clear_typeahead(self._input)
        _flush(self._input.fileno())

    async def drop(self) -> str:
        """See `LineSource.drop`."""
        typed, self._half_typed = self._half_typed, ""
        typed = await asyncio.to_thread(_rest_of_line, self._input.fileno(), typed)
        if typed:
            self._sessions[True].history.append_string(typed)
        return typed

    def close(self) -> None:
        """See `LineSource.close`."""
        self._input.close()


def _proxy_above_line() -> StdoutProxy:
    """Return a stream whose lines go above the line that is being typed."""
    from prompt_toolkit.patch_stdout import StdoutProxy

    class Proxy(StdoutProxy):
        def _start_write_thread(self) -> threading.Thread:
            # The thread looks for the line in its own context, where a session that was created for the line would be missing.
            thread = threading.Thread(target=copy_context().run, args=(self._write_thread,), daemon=True)
            thread.start()
            return thread

    return Proxy(raw=True)


def _ending_keys(keys: str) -> KeyBindings:
    """Let each of these keys end an empty line, as the line itself, and any other character too; without keys, none."""
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.keys import Keys

    bindings = KeyBindings()

    def end_line(event: KeyPressEvent) -> None:
        if event.data.isprintable():  # an unknown key's escape sequence is not
            event.current_buffer.insert_text(event.data)
            if event.data != "/":  # a command is typed to its end
                event.current_buffer.validate_and_handle()

    empty = Condition(lambda: not get_app().current_buffer.text)
    for key in keys:
        bindings.add(key, filter=empty)(end_line)
    if keys:
        bindings.add(Keys.Any, filter=empty)(end_line)
    return bindings


def _flush(terminal: int) -> None:
    """Drop unread input of a terminal."""
    with suppress(ImportError):  # a system without termios
        import termios

        termios.tcflush(terminal, termios.TCIFLUSH)


def _rest_of_line(terminal: int, typed: str) -> str:
    """Read from a terminal, unseen, the rest of a line: to its end, or until nobody types.

    Returns:
        The whole line as it would stand there.
    """
    rest = b""
    with suppress(ImportError):  # a system without termios
        import termios

        kept = termios.tcgetattr(terminal)
        silent = [*kept[:3], kept[3] & ~(termios.ICANON | termios.ECHO), *kept[4:]]
        termios.tcsetattr(terminal, termios.TCSANOW, silent)
        try:
            while select.select([terminal], [], [], _SILENCE_SECONDS if typed or rest else 0)[0]:
                read = os.read(terminal, 1024)
                rest += read
                if not read or b"\n" in read or b"\r" in read:
                    break
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, kept)
    return _apply_keys(typed, rest.decode(errors="replace"))


def _apply_keys(typed: str, keys: str) -> str:
    r"""Return a line after some keys, of which those that delete and the end of the line count; other keys without a letter are left out.

    >>> _apply_keys("Oslo", "x\x7f!"), _apply_keys("Os", "lo\rand more"), _apply_keys("Oslo", "\x15Bergen"), _apply_keys("a", "\x1b[Db")
    ('Oslo!', 'Oslo', 'Bergen', 'ab')
    """
    letters = list(typed)
    for key in re.sub(r"\x1b(?:[\[O][0-?]*[ -/]*[@-~]|.)?", "", keys):
        if key in "\r\n":
            break
        if key in "\x7f\b":
            del letters[-1:]
        elif key == "\x15":
            letters.clear()
        else:
            letters.append(key)
    return "".join(letters).strip()
