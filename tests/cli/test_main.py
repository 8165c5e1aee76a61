"""The program as a process: start-up, exit codes, one-line errors, closed pipes."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest

import talm_sim
from talm_sim import load_run
from talm_sim.cli import main
from talm_sim.cli.root import SECTIONS, root
from tests.cli.wrong import Talm
from tests.warm import warm_python

ENTRIES = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


def shell(line: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, with this package to import."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(["bash", "-c", line], cwd=directory, env=environ, capture_output=True, text=True, timeout=60, check=False)


LIGHT = """
import sys, talm_sim
heavy = {*"rich langgraph langchain_core openai anthropic fastapi requests vcr httpx2 sqlite3 asyncio".split()}
found = [{"pydantic", "click", *heavy} & {*sys.modules}]
from talm_sim.cli import main
for words in (["--help"], ["run", "--help"]):
    main(words)
    found.append({"prompt_toolkit", *heavy} & {*sys.modules} | ({"pydantic"} & {*sys.modules} if words == ["--help"] else set()))
print(found, talm_sim.RunConfig)
"""


def test_importing_the_package_and_its_help_pages_is_light() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[set(), set(), set()] <class 'talm_sim.config.RunConfig'>"


def test_a_command_that_needs_another_word_prints_its_page(talm: Talm) -> None:
    context = click.Context(root)
    groups = [name for name in ENTRIES if isinstance(root.get_command(context, name), click.Group)]
    assert {"tools", "runs", "models", "scenarios", "export", "import"} <= set(groups)
    for words in [(), *((name,) for name in groups)]:
        code, out, err = talm(*words)
        assert (code, err) == (0, "")
        assert out.splitlines()[0] == " ".join(["Usage: talm-sim", *words, "[OPTIONS] COMMAND [ARGS]..."])
        assert len(out.splitlines()) > 5


def test_the_version_is_the_packages(talm: Talm) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == talm_sim.__version__
    assert talm("--version") == (0, f"talm-sim {talm_sim.__version__}\n", "")


def test_the_help_page_says_of_a_command_what_it_says_itself() -> None:
    for place, said in ENTRIES.values():
        module, _, attribute = place.partition(":")
        assert getattr(importlib.import_module(module), attribute).help.split("\n")[0] == said


def pages(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """The arguments that print each help page."""
    yield (*path, "--help")
    if any("--help-all" in one.opts for one in command.params):
        yield (*path, "--help-all")
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from pages(below, *path, name)


def test_every_help_page_fits_a_terminal_and_cuts_and_breaks_no_word(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}
    for page in pages(root):
        monkeypatch.setenv("COLUMNS", "80")
        _, narrow, _ = talm(*page)
        monkeypatch.setenv("COLUMNS", "2000")
        _, wide, _ = talm(*page)
        cut = [line for line in wide.splitlines() if not line.startswith("Usage") and re.search(r"\w(\.\.\.|…)$|\|\.\.\.", line)]
        seen[page] = narrow.split() == wide.split() and max(map(len, narrow.splitlines())) <= 80 and not cut
    assert len(seen) > 60 and [page for page, whole in seen.items() if not whole] == []
    for command in ((), ("run",), ("try",), ("compare",), ("judge",)):
        assert "Exit codes: 0 done; 1 " in talm(*command, "--help")[1]


def test_what_a_file_says_cannot_drive_the_terminal(talm: Talm, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "a", "group": "perfect", "\\u001b[2J\\u009b31m": 1}\n')
    code, _, err = talm("scenarios", "list", "--scenarios", str(file))
    assert code == 2 and "mine.jsonl:1" in err
    assert not set(err) & {"\x1b", "\x9b"}


def test_a_read_only_run_directory(talm: Talm, tmp_path: Path) -> None:
    blocked = tmp_path / "runs"
    blocked.write_text("a file where the directory should be", encoding="utf-8")
    code, _, err = talm("run", "--run-dir", str(blocked), "--model", "sim/oracle", "--live", "--display", "none")
    assert code == 2
    assert "choose another --run-dir" in err


def test_a_busy_port(talm: Talm) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = talm("tools", "serve", "--port", str(port))
    assert code == 2
    assert f"port {port} is busy" in err


def test_a_bug_is_not_dressed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(root, "main", broken)
    with pytest.raises(ZeroDivisionError):
        main(["runs"])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            PermissionError(13, "Permission denied", "runs/a/run.db"),
            "runs/a/run.db: Permission denied; give yourself the right to",
        ),
        (
            sqlite3.DatabaseError("malformed"),
            "the run's file run.db has been changed while it was used (malformed); talm-sim resume",
        ),
    ],
)
def test_a_run_that_is_taken_away_while_it_is_used_is_a_line(
    fault: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(root, "main", broken)
    assert main(["runs"]) == 2
    assert capsys.readouterr().err.startswith(f"talm-sim: error: {said}")


def test_what_a_library_makes_of_ctrl_c_is_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken_off(*_: object, **__: object) -> None:
        with suppress(KeyboardInterrupt):  # as where a class of pydantic is made
            signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError

    monkeypatch.setattr(root, "main", broken_off)
    handler, noted = signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)
    assert main(["runs"]) == 130
    assert (signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(noted)) == (handler, -1)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["scenarios", "list"]])
def test_a_closed_pipe_is_quiet(arguments: list[str]) -> None:
    words = " ".join(arguments)
    done = shell(f"{warm_python()} -m talm_sim {words} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}")
    assert done.stdout == "0\n"
    assert "Error" not in done.stderr


SHORT = ("run", "--split", "perfect", "--limit", "3", "--model", "sim/oracle")


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the run `r`."""
    directory = tmp_path_factory.mktemp("small")
    assert shell(shlex.join([warm_python(), "-m", "talm_sim", *SHORT, "--run-id", "r", "--display", "none"]), directory).returncode == 0
    return directory


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [(("report", "r"), "full"), (("report", "r", "--json"), "none"), ((*SHORT, "--display", "json"), "full")],
)
def test_output_that_takes_nothing_is_a_line(small_run: Path, arguments: tuple[str, ...], closed: str) -> None:
    command = [warm_python(), "-m", "talm_sim", *arguments]
    line = shlex.join(command) + (" > /dev/full" if closed == "full" else " >&-")
    done = shell(line, small_run)
    told = [one for one in done.stderr.splitlines() if one.startswith("talm-sim: error: ")]
    assert (done.returncode, len(told)) == (2, 1), done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("talk", ["2> >(exec true)", "2>&-"])
def test_a_run_goes_on_where_nobody_hears_its_talk(tmp_path: Path, talk: str) -> None:
    line = shlex.join([warm_python(), "-m", "talm_sim", *SHORT, "--run-id", "r", "--display", "plain"])
    done = shell(f"{line} {talk}", tmp_path)
    assert (done.returncode, load_run(tmp_path / "runs" / "r").finished) == (0, 3)
    assert "perfect" in done.stdout


def test_a_run_whose_reader_went_says_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_EPISODES", "2")
    line = shlex.join([warm_python(), "-m", "talm_sim", "run", "--split", "underspecified", "--display", "json"])
    done = shell(f"{line} | head -3; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 3
    assert (
        "the output is no longer read; " in done.stderr
        and " of 72 episodes finished, all kept; continue with: talm-sim resume 2" in done.stderr
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ["run", "ablate --over human=none"])
def test_a_reader_that_stops_early_hides_no_agent_that_failed(tmp_path: Path, verb: str) -> None:
    (tmp_path / "failing_agent.py").write_text("def act(messages, tools):\n    raise ValueError\n", encoding="utf-8")
    line = f"{warm_python()} -m talm_sim {verb} --agent failing_agent:act --scenario calendar-01 --display none"
    done = shell(f"{line} | exec true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
