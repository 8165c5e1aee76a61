"""Real shells: what they pass to `talm-sim` for a line that is pasted, and at a terminal of their own after Tab and Enter."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import pytest

from tests.warm import warm_python

__all__ = ["NAMES", "SHELLS", "Shell", "at_a_terminal", "needs", "passed", "program"]

SHELLS = ("bash", "zsh", "fish")
NAMES = (
    "sm$(touch PWNED)",
    "sm`touch PWNED`",
    "sm;touch PWNED",
    "sm|touch PWNED",
    "sm&touch PWNED",
    "sm&&touch PWNED #",
    "sm||touch PWNED",
    "sm > PWNED",
    "sm<(touch PWNED)",
    "sm=(touch PWNED)",
    "sm(touch PWNED)",
    "sm';touch PWNED;'",
    'sm";touch PWNED;"',
    "sm\\';touch PWNED #",
    "sm\\'A\\';touch PWNED #",
    'sm\\";touch PWNED #',
    "sm'$(touch PWNED)'",
    "sm${X:=$(touch PWNED)}",
    "sm$HOME",
    "sm*",
    "sm?[a-z]",
    "sm{a,b}",
    "sm~",
    "~root",
    "=ls",
    "%self",
    "%1",
    "!!",
    "sm!ls",
    "sm\"'!x",
    "^a^b",
    "#sm",
    "sm #b",
    " sm ",
    "sm\\",
    "sm\\\\'",
    "sm\u00a0a\u3000b",
    "säm: 日本 $x",
    "sm:a=b:~c",
    "sm, b",
    'it\'s "a" \\ $b `c` !d',
    "$'sm\\'",
    "sm)",
    "sm\\n\\x41",
)
"""Names as strangers may choose them; each that begins a command of its own would leave a file PWNED."""
_START = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
_READY = {
    "bash": "PS1='> '; set -H; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; source ./script.bash",
    "zsh": "PS1='> '; autoload -Uz compinit && compinit -u -D; source ./script.zsh",
    "fish": "function fish_prompt; echo '> '; end; source ./script.fish",
}


_NOTES = {
    "bash": ["bash", "--norc", "-o", "history", "-o", "histexpand"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
}
"""How each reads lines from its input; bash expands `!` there, as at a terminal."""


def needs(shell: str) -> None:
    """Skip a test where a shell is not installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def passed(shell: str, lines: Sequence[str], folder: Path) -> list[list[str]]:
    """The words that a shell passes to `talm-sim` for each of some lines, which it reads one after the other in a folder."""
    argv = "(count $argv) $argv; end" if shell == "fish" else '$# "$@"; }'
    begun = "function talm-sim;" if shell == "fish" else "talm-sim() {"
    done = subprocess.run(
        _NOTES[shell],
        input="\n".join([f"{begun} printf '%s\\0' {argv}", *lines, ""]),
        cwd=folder,
        env=os.environ | {"HOME": str(folder), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert not done.stderr, done.stderr
    words = iter(done.stdout.split("\0")[:-1])
    return [list(islice(words, int(number))) for number in words]


def program(folder: Path) -> dict[str, str]:
    """An environment in which `talm-sim` is this checkout's."""
    return _program(folder, f'exec "{warm_python()}" -m talm_sim "$@"\n')


def _program(folder: Path, text: str) -> dict[str, str]:
    folder.mkdir()
    file = folder / "talm-sim"
    file.write_text(f"#!/bin/sh\n{text}")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    root_folder = str(Path(__file__).parents[3])
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": root_folder, "SHELL": "/bin/bash"}


class Shell:
    """A shell that completes our words, and in which `talm-sim` only notes what it was given."""

    def __init__(self, terminal: int, folder: Path) -> None:
        self._terminal = terminal
        self._given = folder / "given"
        self.shown = b""

    def types(self, keys: str, limit: float = 30) -> list[str] | None:
        """Type keys and Enter; returns the words that `talm-sim` got, or None where it was not called within `limit` seconds."""
        self._given.unlink(missing_ok=True)
        os.write(self._terminal, keys.encode() + b"\r")
        ends = time.monotonic() + limit
        while time.monotonic() < ends:
            self._read()
            if self._given.exists():
                return self._given.read_bytes().decode().split("\0")[:-1]
        os.write(self._terminal, b"\x03")
        self._read()
        return None

    def _read(self) -> None:
        """Take what the shell shows (and answer what fish asks a terminal): one that is not read from stands still."""
        while select.select([self._terminal], [], [], 0.01)[0]:
            try:
                text = os.read(self._terminal, 65536)
            except OSError:
                return
            self.shown = (self.shown + text)[-20000:]
            if re.search(rb"\x1b\[0?c", text):
                os.write(self._terminal, b"\x1b[?62c")


@contextmanager
def at_a_terminal(shell: str, folder: Path, scripts: dict[str, str]) -> Iterator[Shell]:
    """Start an interactive shell in a folder.

    Args:
        shell: One of `SHELLS`.
        folder: Where it works; `bin` in it is made.
        scripts: Shell to its completion script.
    """
    asked = f'if [ -n "$_TALM_SIM_COMPLETE" ]; then exec "{warm_python()}" -m talm_sim "$@"; fi\n'
    environ = _program(folder / "bin", f"{asked}printf '%s\\0' \"$@\" >{folder}/new; mv {folder}/new {folder}/given\n")
    environ |= {"TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": str(folder), "COLUMNS": "400", "HISTFILE": "/dev/null"}
    (folder / f"script.{shell}").write_text(scripts[shell], encoding="utf-8")
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execvpe(_START[shell][0], _START[shell], environ)
    try:
        made = Shell(terminal, folder)
        assert made.types(f"{_READY[shell]}; talm-sim ready") == ["ready"], made.shown.decode(errors="replace")
        yield made
    finally:
        os.close(terminal)  # hangs up
        with suppress(ProcessLookupError):
            os.kill(pid, 9)
        os.waitpid(pid, 0)
