"""Real shells: what they pass to `talm-sim` for a line that is pasted."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

from tests.warm import warm_python

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
    folder.mkdir()
    file = folder / "talm-sim"
    file.write_text(f'#!/bin/sh\nexec "{warm_python()}" -m talm_sim "$@"\n')
    file.chmod(0o755)
    root_folder = str(Path(__file__).parents[3])
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": root_folder, "SHELL": "/bin/bash"}
