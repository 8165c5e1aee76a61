from __future__ import annotations

import json
import os
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import archive
from talm_sim.recordings.archive import Archive, open_archive


def _zip(path: Path, files: dict[str, bytes], index: object = None) -> Path:
    """A zip whose index fits, unless another is given."""
    fitting = {"files": {name: sha256(data).hexdigest() for name, data in files.items()}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("index.json", json.dumps(fitting if index is None else index))
        for name, data in files.items():
            target.writestr(name, data)
    return path


def test_files_are_read_by_name(tmp_path: Path) -> None:
    found = Archive(_zip(tmp_path / "a.zip", {"s/1.json": b"one", "2.json": b"two"}))
    assert found.names() == ["2.json", "s/1.json"]
    assert found.read("s/1.json") == b"one"
    assert found.read("none.json") is None
    assert found.read("index.json") is None


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_recording_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(PrerequisiteError, match=r"a\.zip: not a readable recording \(\w+\); restore it, or reinstall") as err:
        Archive(tmp_path / "a.zip")
    assert "\n" not in str(err.value)


@pytest.mark.parametrize("index", [[], {}, {"files": 3}, {"files": ["abc"]}, "files", None])
def test_a_bad_index_is_named(tmp_path: Path, index: object) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as target:
        target.writestr("index.json", json.dumps(index))
    with pytest.raises(PrerequisiteError, match=r"a\.zip: not a readable recording"):
        Archive(tmp_path / "a.zip")


def test_changed_content_is_found_by_its_digest(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", {"1.json": b"new"}, {"files": {"1.json": sha256(b"old").hexdigest()}})
    with pytest.raises(PrerequisiteError, match=r"a\.zip:1\.json: its digest is not the recorded one"):
        Archive(path).read("1.json")


def test_any_flipped_bit_is_told_in_one_line_or_does_no_harm(tmp_path: Path) -> None:
    content = json.dumps([{"number": number, "square": number * number} for number in range(40)]).encode()
    sound = _zip(tmp_path / "a.zip", {"x.json": content}).read_bytes()
    for place in range(len(sound)):
        damaged = tmp_path / "b.zip"
        damaged.write_bytes(sound[:place] + bytes([sound[place] ^ 1 << place % 8]) + sound[place + 1 :])
        try:
            read = Archive(damaged).read("x.json")
        except PrerequisiteError as err:
            assert str(err).startswith(str(damaged)) and "\n" not in str(err)
        else:
            assert read in (content, None)


def test_a_file_the_index_names_and_the_zip_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"a\.zip:1\.json: cannot be unpacked"):
        Archive(_zip(tmp_path / "a.zip", {}, {"files": {"1.json": "0"}})).read("1.json")


@pytest.mark.parametrize("name", ["../evil.json", "a/../../evil.json", "/etc/evil.json", "a\\..\\evil.json", "C:/evil.json", "", "a\0b"])
def test_a_name_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"a\.zip: names a file outside its folder .* do not trust it"):
        Archive(_zip(tmp_path / "a.zip", {}, {"files": {name: "0"}}))


def test_a_small_zip_that_unpacks_to_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _zip(tmp_path / "a.zip", {"1.json": bytes(10_000)})
    assert path.stat().st_size < 1_000
    monkeypatch.setattr(archive, "LARGEST_DOCUMENT", 9_999)
    with pytest.raises(PrerequisiteError, match=r"a\.zip:1\.json: larger than a recording can be"):
        Archive(path).read("1.json")
    monkeypatch.setattr(archive, "LARGEST_ARCHIVE", 9_999)
    with pytest.raises(PrerequisiteError, match=r"a\.zip: unpacks to more than a recording can contain"):
        Archive(path)


def test_a_zip_is_opened_once_until_it_is_replaced(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", {"1.json": b"one"})
    first = open_archive(path)
    assert open_archive(path) is first
    os.replace(_zip(tmp_path / "b.zip", {"1.json": b"another"}), path)
    assert open_archive(path).read("1.json") == b"another"
    assert first.read("1.json") == b"one"
