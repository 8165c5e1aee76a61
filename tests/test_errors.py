"""What a user is told to install can be typed as it stands."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from talm_sim.errors import pip_install


class Installed:
    def __init__(self, origin: object) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, "pip install 'talm-sim[pandas]'"),
        ({"url": "file:///a/w.whl", "archive_info": {}}, "pip install 'talm-sim[pandas] @ file:///a/w.whl'"),
        ({"url": "file:///a%20b/checkout", "dir_info": {}}, "pip install '/a b/checkout[pandas]'"),
    ],
)
def test_an_extra_is_installed_from_where_the_package_was(monkeypatch: pytest.MonkeyPatch, origin: object, line: str) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(origin))
    assert pip_install("pandas") == line


def test_in_the_checkout_it_is_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed({"url": Path.cwd().as_uri(), "dir_info": {"editable": True}}))
    assert pip_install("local") == "pip install '.[local]'"
