"""The folder of a training: refused in one line before anything is written, and measured without what it has already."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.training.folder import at_work, check_disk, check_place, is_finished, last_checkpoint, whole_checkpoints

STORED = {"from_digest": "", "seed": 0, "schedule": "constant", "finished": True}


def checkpoint(out: Path, number: int, *, whole: bool, size: int = 0) -> None:
    folder = out / "checkpoints" / f"checkpoint-{number}"
    folder.mkdir(parents=True)
    (folder / "optimizer.pt").write_bytes(bytes(size))
    if whole:
        (folder / "whole").touch()


def test_the_place_may_be_new(tmp_path: Path) -> None:
    check_place(tmp_path)
    check_place(tmp_path / "new" / "out")
    assert not [*tmp_path.iterdir()]


def test_the_place_is_below_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for out in (file, file / "out"):
        said = f"--out {out}: cannot be written ({file} is not a folder); name another folder."
        with pytest.raises(PrerequisiteError, match=f"^{re.escape(said)}$"):
            check_place(out)
    with pytest.raises(PrerequisiteError, match=r"cannot be written \(Not a directory\)"), at_work(file / "out"):
        pass


def test_the_place_may_not_be_written_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: not mode & os.W_OK)  # a test may run as root, who may write anywhere
    for out in (tmp_path, tmp_path / "out"):
        with pytest.raises(PrerequisiteError, match=re.escape(f"--out {out}: cannot be written (no permission in {tmp_path})")):
            check_place(out)
    (tmp_path / "adapter_config.json").touch()
    check_place(tmp_path)


def test_what_the_folder_holds_needs_no_more_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=4_000_000))
    out = tmp_path / "out"
    check_disk(out, 4_000_000)
    with pytest.raises(PrerequisiteError, match=r"needs 10 MB on the disk, which has 4 MB free"):
        check_disk(out, 10_000_000)
    checkpoint(out, 5, whole=True, size=5_000_000)
    with pytest.raises(PrerequisiteError, match=r"needs 5 MB on the disk, which has 4 MB free"):
        check_disk(out, 10_000_000)
    checkpoint(out, 6, whole=False, size=1_000_000)
    check_disk(out, 10_000_000)


def test_a_half_written_checkpoint_is_deleted(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    checkpoint(tmp_path, 11, whole=False)
    assert whole_checkpoints(tmp_path) == []
    checkpoint(tmp_path, 9, whole=True)
    checkpoint(tmp_path, 10, whole=True)
    assert [one.name for one in whole_checkpoints(tmp_path)] == ["checkpoint-9", "checkpoint-10"]
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoints" / "checkpoint-10")
    assert sorted(one.name for one in (tmp_path / "checkpoints").iterdir()) == ["checkpoint-10", "checkpoint-9"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"from_digest": "826384c5261890"}, "--from none, now 826384c52618"),
        ({"seed": 1}, "--seed 0, now 1"),
        ({"seed": 1, "schedule": "linear"}, "--seed 0, now 1; schedule constant, now linear"),
    ],
)
def test_other_settings_are_named_as_they_are_given(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    (tmp_path / "training.json").write_text(json.dumps(STORED), encoding="utf-8")
    assert is_finished(tmp_path, STORED)
    with pytest.raises(PrerequisiteError, match=re.escape(f"has a training with other settings ({said}); repeat them")):
        is_finished(tmp_path, STORED | changed)
