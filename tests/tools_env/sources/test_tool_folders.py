"""A folder in the form of Fail-TaLMs: what lies in it in an odd way, and what its code may rely on."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.routes import NOT_EXECUTABLE, fault_of
from talm_sim.tools_env.sources.fail_talms import ToolFolder, open_fail_talms
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, explain_no_sandbox
from tests.tools_env.sources.worlds import folder_request, write_folder

walled = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
_PLAIN = """
import pickle
from dataclasses import dataclass

@dataclass
class Point:
    x: int
    y: "int" = 2

def keep():
    import api
    assert api.Point is Point and keep.__annotations__ == {}
    return pickle.loads(pickle.dumps(Point(1))).y
"""


@pytest.mark.parametrize("link", ["numbers", "numbers/api.py", "api.py"])
async def test_code_to_which_a_link_leads_out_of_the_folder_is_not_run(link: str, tmp_path: Path) -> None:
    outside = write_folder(_made(tmp_path / "outside"))
    folder = write_folder(_made(tmp_path / "tools"))
    (folder / "api.py").unlink()
    place = folder / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside / "api.py" if link.endswith("api.py") else outside)
    source = await open_fail_talms(folder_request(folder))
    assert not source.code_folders and not source.reading
    assert source.described == {"double": "it has no code"}
    assert fault_of(await source.call("double", {"n": 2}, "")) == NOT_EXECUTABLE


@walled
async def test_code_to_which_a_link_leads_in_the_folder_is_run_where_it_lies(tmp_path: Path) -> None:
    folder = write_folder(_made(tmp_path / "tools"))
    _made(folder / "common")
    (folder / "api.py").rename(folder / "common" / "api.py")
    (folder / "numbers").symlink_to("common")
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(PrerequisiteError, match="add --trust"):
        await open_fail_talms(folder_request(tmp_path / "link"))
    source = await open_fail_talms(folder_request(tmp_path / "link", trusted=True))
    assert source.code_folders == {folder / "common"}
    assert (await source.call("double", {"n": 2}, "")).status == 200


def test_folders_may_lie_in_each_other_however_deep(tmp_path: Path) -> None:
    write_folder(tmp_path)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    try:
        assert list(ToolFolder("numbers", tmp_path).specs) == ["double"]
    finally:
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # deeper than Python removes


@walled
async def test_code_is_read_as_a_module_is(tmp_path: Path) -> None:
    (tmp_path / "api.py").write_text(_PLAIN, encoding="utf-8")
    response = await call_in_sandbox(tmp_path / "api.py", "keep", {})
    assert (response.status, json.loads(response.body)) == (200, 2)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
