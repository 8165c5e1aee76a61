"""A Python that has imported already what our commands need: a process of its own for each call, in a tenth of the time.

`warm_python()` is the path of a program that is used where `sys.executable` would be: `[warm_python(), "-m", "talm_sim", ...]`. It hands its
files, directory, environment and signals to a server (`server.py`), which forks; the child ends as any Python ends, and the program ends as
the child.

A test takes `sys.executable` where the start of Python is what it looks at (what is imported, how long that takes), where a process is known
by its number, and where a terminal or a closed file belongs to the process and not to its descriptors.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["warm_python"]

_HERE = Path(__file__).parent


@cache
def warm_python(python: str = sys.executable) -> str:
    """Start the server and return the program's path; both last as long as this process.

    Args:
        python: The interpreter it stands for.
    """
    folder = Path(tempfile.mkdtemp(prefix="warm-"))  # short: the address of a socket has at most 107 characters
    program = folder / "python"
    program.write_text(f"#!{python} -ISB\n{(_HERE / 'client.py').read_text(encoding='utf-8')}", encoding="utf-8")
    program.chmod(0o755)
    server = subprocess.Popen(
        [python, "-P", str(_HERE / "server.py"), str(program)], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environ(python)
    )
    atexit.register(_end, server, folder)
    assert server.stdout is not None and server.stdout.readline() == b"ready\n"
    return str(program)


def _environ(python: str) -> dict[str, str]:
    """The server's own variables: each child gets its caller's in their place."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TALM_SIM_")}
    return kept | ({"PYTHONPATH": str(_HERE.parents[1])} if python == sys.executable else {})


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    assert server.stdin is not None and server.stdout is not None
    server.stdin.close()
    server.wait()
    server.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)
