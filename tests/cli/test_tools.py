"""What `tools list` prints of tools with any name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.cli import main


def test_the_head_of_short_names_stays_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "short.json"
    file.write_text(json.dumps([{"name": "a"}, {"name": "bc"}]), encoding="utf-8")
    assert main(["tools", "list", "--tools-from", str(file)]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["Tool", "a", "bc"]
