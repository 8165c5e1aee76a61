from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from talm_sim.common import plain_files
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.shared_files import lock_folder, read_text, write_atomically


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.json"
    write_atomically(path, "Hà Nội".encode())
    assert read_text(path) == "Hà Nội"
    assert [child.name for child in path.parent.iterdir()] == ["a.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions")
def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.json", b"")
    (tmp_path / "b.json").write_bytes(b"")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "b.json").stat().st_mode


def test_content_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def noted(name: str) -> Callable[..., None]:
        real = getattr(os, name)

        def call(*arguments: object) -> None:
            steps.append(name)
            real(*arguments)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, noted(name))
    write_atomically(tmp_path / "a.json", b"x")
    assert steps == ["fsync", "replace"]


def test_a_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrerequisiteError, match=r"a\.json: cannot be written \(.*\); fix that, or choose another directory"):
        write_atomically(tmp_path / "file" / "a.json", b"")


@pytest.mark.parametrize(("content", "why"), [(b"x" * 101, "it is larger than"), (b"\xff", "not UTF-8")])
def test_what_cannot_be_a_recording_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, why: str) -> None:
    monkeypatch.setattr(plain_files, "LARGEST_DOCUMENT", 100)
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(PrerequisiteError, match=rf"a\.json: .*{why}.*; delete it and record again"):
        read_text(tmp_path / "a.json")


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"cannot be read \(it is a directory, .+\); delete it"):
        read_text(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    entered = threading.Event()

    def enter() -> None:
        # Every entry opens the folder anew, so a thread is kept out just as another process is.
        with lock_folder(tmp_path):
            entered.set()

    other = threading.Thread(target=enter)
    with lock_folder(tmp_path):
        other.start()
        assert not entered.wait(0.3)
    assert entered.wait(10)
    other.join()


def test_a_folder_that_is_not_there_yet_needs_no_lock(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "none"):
        write_atomically(tmp_path / "none" / "a", b"")
    assert (tmp_path / "none" / "a").exists()
