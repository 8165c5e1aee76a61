"""SIGTERM and SIGHUP, sent to real processes: everything is kept, and the line that says how to go on is printed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import run
from talm_sim.runs.events import EpisodeFinished, RunEvent
from talm_sim.store.stored_run import load_run
from tests.cli.test_terminal import REPLAYED, at_terminal
from tests.models.loopback import Answer, chat_answer, loopback
from tests.warm import warm_python

__all__ = ["at_terminal"]
RUN = ["run", "--model", "sim/oracle", "--replay", "--human", "none", "--split", "all", "--epochs", "200", "--run-id", "first"]


@pytest.fixture(autouse=True)
def _nothing_ignored() -> Iterator[None]:
    """As in a terminal, also where these tests themselves run under nohup: what is ignored is inherited."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _stop_early(event: RunEvent) -> None:
    if isinstance(event, EpisodeFinished):
        raise PrerequisiteError("enough")


def end_of(process: subprocess.Popen[str], sign: signal.Signals, after: str, *, times: int = 1) -> tuple[int, str]:
    """Exit code and output of a command that is sent a signal, so many times, once a line with `after` has been printed."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if after in line:
            break
    for _ in range(times):
        process.send_signal(sign)
    said += process.stdout.readlines()
    return process.wait(60), "".join(said)


def ended(
    directory: Path,
    *arguments: str,
    sign: signal.Signals,
    after: str,
    ignore: str = "",
    twice: bool = False,
    environ: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Exit code and standard error of a command that is sent a signal once a line with `after` has been printed."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TALM_SIM_")}
    with subprocess.Popen(
        # As a shell starts what it runs in the background, or under nohup.
        ["sh", "-c", f'trap "" {ignore or "USR1"}; exec "$0" "$@"', warm_python(), "-m", "talm_sim", *arguments],
        cwd=directory,
        env=kept | dict(environ or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        return end_of(process, sign, after, times=1 + twice)


@pytest.mark.parametrize(
    ("command", "sign", "code", "ignore"),
    [(RUN, signal.SIGTERM, 143, ""), (["resume", "first"], signal.SIGHUP, 129, "INT")],
    ids=["run", "resume in the background"],
)
def test_a_run_says_how_to_go_on(tmp_path: Path, command: list[str], sign: signal.Signals, code: int, ignore: str) -> None:
    if command[0] == "resume":
        with pytest.raises(PrerequisiteError, match="enough"):
            run(model="sim/oracle", tools="replay", run_dir=tmp_path / "runs", run_id="first", limit="1", epochs=10_000, on_event=_stop_early)
    found, said = ended(tmp_path, *command, "--display", "json", sign=sign, after="episode_finished", ignore=ignore)
    assert (found, "Traceback" in said) == (code, False), said
    stored = load_run(tmp_path / "runs" / "first")
    told = re.search(r"\ninterrupted: ([\d,]+) of [\d,]+ episodes finished; everything is kept.\nContinue with: talm-sim resume first\n$", said)
    assert told, said
    assert 0 < int(told[1].replace(",", "")) <= stored.finished < stored.total
    assert stored.owner is None


def test_hangups_that_are_ignored_stay_so(tmp_path: Path) -> None:
    short = [*RUN, "--limit", "2", "--epochs", "20"]
    code, said = ended(tmp_path, *short, "--display", "json", sign=signal.SIGHUP, after="episode_finished", ignore="HUP")
    assert (code, '"event": "summary"' in said) == (0, True), said


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    code, said = ended(tmp_path, *RUN, "--display", "json", sign=signal.SIGTERM, after="run_started", twice=True)
    assert code in {-signal.SIGTERM, 143}, said
    assert "Traceback" not in said


_INTERRUPTED_AT_ITS_END = """
import signal, sys
from talm_sim.cli import main
code = main()
for _ in range(3):
    signal.raise_signal(signal.SIGINT)
print("quiet", flush=True)
sys.exit(code)
"""


def test_ctrl_c_pressed_again_breaks_off_neither_the_last_words_nor_the_end(tmp_path: Path) -> None:
    with subprocess.Popen(
        [warm_python(), "-c", _INTERRUPTED_AT_ITS_END, *RUN, "--display", "json"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        code, text = end_of(process, signal.SIGINT, "episode_finished", times=4)
    assert (code, text.endswith("Continue with: talm-sim resume first\nquiet\n")) == (130, True), text
    assert not any(word in text for word in ("Traceback", "Exception", "destroyed")), text
    assert load_run(tmp_path / "runs" / "first").owner is None


def test_a_judging_says_its_own_command(tmp_path: Path) -> None:
    run(model="sim/oracle", tools="replay", run_dir=tmp_path / "runs", run_id="first", limit="2", epochs=3)
    with loopback(*[chat_answer("Pass")] * 7, Answer(delay=2)) as server:
        environ = {"HOST_API_KEY": "k", "HOST_BASE_URL": server.url}
        judge = ["judge", "first", "--judge", "llm", "--judge-model", "openai-api/host/m", "--live", "--display", "json"]
        code, said = ended(tmp_path, *judge, sign=signal.SIGTERM, after="judge_progress", environ=environ)
    assert (code, "Traceback" in said) == (143, False), said
    assert said.endswith(f"Continue with: talm-sim {' '.join(judge)}\n"), said


def test_making_items_says_that_the_same_command_goes_on(tmp_path: Path) -> None:
    with loopback(replace(chat_answer("nothing fitting"), delay=0.2)) as server:
        environ = {"HOST_API_KEY": "k", "HOST_BASE_URL": server.url}
        make = ["scenarios", "generate", "--out", "made", "--model", "openai-api/host/m", "--live"]
        code, said = ended(tmp_path, *make, sign=signal.SIGTERM, after="s left", environ=environ)
    assert (code, said.rstrip().endswith("finished work is kept in made; run the same command to continue")) == (143, True), said


def test_a_person_who_is_asked_is_told_how_to_go_on_and_a_terminal_that_goes_leaves_a_run(tmp_path: Path, at_terminal: Any) -> None:
    terminal = at_terminal(tmp_path, "run", *REPLAYED, "--run-id", "first")
    terminal.expect_prompt()
    terminal.type("half a li")
    terminal.expect("half a li")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.expect("Continue with: talm-sim resume first")
    terminal.ends(143)
    assert len(load_run(tmp_path / "runs" / "first").pending()) == 3
    terminal = at_terminal(tmp_path, "resume", "first")
    terminal.expect_prompt()
    os.close(terminal.screen)
    os.close(terminal._keyboard)
    terminal.screen, terminal._keyboard = os.pipe()
    assert terminal.process.wait(30) == 129
    stored = load_run(tmp_path / "runs" / "first")
    assert (len(stored.pending()), stored.owner) == (3, None)


def test_an_interrupt_while_a_module_makes_its_classes_gives_the_exit_code(tmp_path: Path) -> None:
    # CPython remembers an interrupt inside exec() of a text, as `dataclass` calls it, and `python -m` then ends by SIGINT.
    code = """
import signal, sys
from talm_sim import cli, errors
def interrupted(*_, **__):
    exec("signal.raise_signal(signal.SIGTERM)", {"signal": signal})
cli.root.main = interrupted
sys.exit(cli.main([]))
"""
    (tmp_path / "interrupted.py").write_text(code, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in (str(tmp_path), os.environ.get("PYTHONPATH")) if path)}
    assert subprocess.run([sys.executable, "-m", "interrupted"], env=environ, check=False, timeout=60).returncode == 143
