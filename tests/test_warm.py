"""The server behind a warm Python lives on, whatever becomes of who calls it."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from tests.warm import warm_python


@pytest.mark.parametrize("sent", [b"", b"\0", (100).to_bytes(8, "big") + b"cut"])
def test_a_caller_that_is_killed_while_it_asks_ends_nothing(sent: bytes) -> None:
    program = warm_python()
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(Path(program).with_name("socket")))
        caller.sendall(sent)
    assert subprocess.run([program, "-c", "print(1)"], capture_output=True, text=True, check=True).stdout == "1\n"
