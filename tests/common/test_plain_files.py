from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from talm_sim.cli import main
from talm_sim.common.json_values import leaves, read_json
from talm_sim.common.plain_files import LARGEST_DATA, LARGEST_DOCUMENT, LARGEST_SETTINGS, UnfitFileError, nests_deeply, read_bytes, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.tools_env.sources.spec_file import open_spec_list

DEEP = 100_000


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/null")


def sock(path: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


KINDS: dict[str, Callable[[Path], None]] = {"a pipe": pipe, "a device": device, "a directory": Path.mkdir, "a socket": sock}


@pytest.fixture(autouse=True)
def _impatience() -> Iterator[None]:
    """Nobody writes to the pipes: whoever opens one as a file waits for ever."""

    def give_up(*_: object) -> None:
        raise TimeoutError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 30)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_plain_file_is_read(tmp_path: Path, kind: str) -> None:
    KINDS[kind](tmp_path / "x")
    with pytest.raises(UnfitFileError, match=f"^it is {kind}, but must be a plain file$"):
        read_bytes(tmp_path / "x", 10)


def test_a_file_that_the_system_makes_up_and_that_has_nothing_at_the_moment_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()  # as `/proc/kmsg`, which says that it is a plain file
    os.set_blocking(reading, False)
    monkeypatch.setattr("talm_sim.common.plain_files.open_plain", lambda path, largest: os.fdopen(reading, "rb"))
    try:
        assert read_bytes(tmp_path / "x", 10) == b""
    finally:
        os.close(writing)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    seen = os.stat(tmp_path / "file")
    pipe(tmp_path / "x")
    monkeypatch.setattr("talm_sim.common.plain_files.os.stat", lambda _: seen)
    with pytest.raises(UnfitFileError, match="it is a pipe"):
        read_bytes(tmp_path / "x", 10)


def test_a_file_is_read_up_to_its_size_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\r\nb\rc\n")
    (tmp_path / "link").symlink_to("x")
    assert read_bytes(tmp_path / "link", 7) == b"a\r\nb\rc\n"
    assert read_text(tmp_path / "x", 7) == "a\nb\nc\n"
    with pytest.raises(UnfitFileError, match=r"^it is larger than 0 MiB$"):
        read_bytes(tmp_path / "x", 6)


@pytest.mark.parametrize(("depth", "deep"), [(100, False), (101, True), (900, True)])
def test_what_nests_too_deeply_to_be_stored_is_told(tmp_path: Path, depth: int, deep: bool) -> None:
    value = json.loads("[" * depth + "]" * depth)
    assert nests_deeply(value) is deep and nests_deeply({"a": [1, {}], "b": 2}) is False
    (tmp_path / "x.jsonl").write_text(json.dumps(value) + "\n")
    if deep:
        with pytest.raises(PrerequisiteError, match=r"x\.jsonl:1: not JSON \(nested too deeply\)"):
            list(json_lines(tmp_path / "x.jsonl"))
        with pytest.raises(PrerequisiteError, match="tool 1: nested too deeply"):
            open_spec_list("s", [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"default": value}}}}])
    else:
        assert next(json_lines(tmp_path / "x.jsonl"))[1] == value


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux")
def test_a_file_that_holds_more_than_it_says_is_read_and_has_an_end() -> None:
    status = Path("/proc/self/status")
    assert status.stat().st_size == 0 and b"VmRSS" in read_bytes(status, 2**16)
    with pytest.raises(UnfitFileError, match="it is larger"):
        read_bytes(status, 16)


SCENARIOS, SETTINGS, DOCUMENT = LARGEST_DATA, LARGEST_SETTINGS, LARGEST_DOCUMENT
PLACES: dict[str, tuple[str, list[str], int, str]] = {
    "scenarios": ("x.jsonl", ["scenarios", "check", "--scenarios", "x.jsonl"], SCENARIOS, "["),
    "awareness": ("x.jsonl", ["scenarios", "generate", "--task", "awareness", "--from", "x.jsonl", "--out", "out"], SCENARIOS, "["),
    "config": ("x.toml", ["run", "--config", "x.toml"], SETTINGS, "a=["),
    "grid": ("x.toml", ["ablate", "--grid", "x.toml"], SETTINGS, "a=["),
    "prices": ("x.toml", ["report", "--prices", "x.toml"], SETTINGS, "a=["),
    "document": ("x.json", ["tools", "list", "--tools-from", "x.json"], DOCUMENT, "["),
    "list": ("x.json", ["tools", "list", "--tools-from", "specs:x.json"], DOCUMENT, "["),
    "folder": ("tools/x.json", ["tools", "list", "--tools-from", "fail-talms:tools"], DOCUMENT, "["),
    "import": ("r/outputs/Original/m/answers.json", ["import", "fail-talms", "r"], DOCUMENT, "["),
    "traces": ("x.jsonl", ["import", "traces", "x.jsonl"], SCENARIOS, "["),
    "cassettes": ("tapes/tools/perfect.zip", ["export", "cassettes", "--from", "tapes"], 2**30, ""),
    "run": ("runs/r/run.json", ["report", "runs/r"], 8 * 2**20, ""),
}  # fmt: skip
"""Where a file lies, what reads it, how large it may be, and what of it may be nested."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("thing", ["a pipe", "large", "deep"])
def test_a_command_says_one_line_of_what_is_no_file_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str, thing: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name, command, largest, nested = PLACES[place]
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if thing == "large":
        with path.open("wb") as file:
            file.truncate(largest + 1)
    elif thing == "deep":
        path.write_text(nested[:-1] + nested[-1:] * DEEP)
    else:
        KINDS[thing](path)
    assert main(command) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "Traceback" not in err, err
    if thing == "large":
        assert f"it is larger than {largest >> 20} MiB" in err and path.name in err
    elif thing != "deep" and not (place == "document" and thing == "a directory"):  # a folder is one of Fail-TaLMs
        assert thing in err or place == "run", err


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, '{"a":' * 300 + "1" + "}" * 300, "[" * 100_000, "[1", ""])
def test_a_text_that_nothing_can_follow_is_no_value(text: str) -> None:
    assert read_json(text) is None


def test_values_come_in_their_order_each_with_its_path() -> None:
    value = {"a": [1, {"b": None}, []], "c": "x"}
    assert list(leaves(value)) == [(("a", 0), 1), (("a", 1, "b"), None), (("c",), "x")]
    assert read_json(json.dumps(value)) == value and list(leaves(5)) == [((), 5)]
