"""`tools build` as it is typed: a model over HTTP drafts tools, the tests of each run in the sandbox, and only what is right is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tools_env.sources import sandbox
from tests.cli.wrong import Talm
from tests.models.loopback import Answer, Seen, chat_answer, loopback

pytestmark = pytest.mark.skipif(bool(sandbox.explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
BUILD = ("tools", "build", "docs", "--out", "made", "--model", "openai-api/toy/m", "--trust", "--cassettes", "tapes")
CODE = """
import json, urllib.request

def get_height(mountain, unit="m"):
    request = urllib.request.Request("URL/heights", json.dumps({"mountain": mountain}).encode())
    with urllib.request.urlopen(request, timeout=8) as answer:
        metres = json.load(answer)["metres"]
    return {"height": metres if unit == "m" else round(metres / 0.3048)}
"""
FUNCTION = {
    "name": "get_height",
    "description": "Get how high a mountain is.",
    "method": "GET",
    "required_parameters": [{"name": "mountain", "type": "STRING", "description": "Its name."}],
    "optional_parameters": [{"name": "unit", "type": "STRING", "description": "m or ft.", "default": "m"}],
}
METADATA = {"tool_name": "mountains", "category_name": "Geo", "api_list": [FUNCTION]}
TESTS = """
from api import get_height

def test_the_eiger():
    assert get_height("Eiger") == {"height": 3967}

def test_feet():
    assert get_height("Eiger", unit="ft")["height"] == 13015
"""


def draft(code: str = CODE, tests: str = TESTS, **metadata: Any) -> str:
    return f"Here it is.\n```python\n{code}```\n```json\n{json.dumps(METADATA | metadata)}\n```\n```python\n{tests}```\n"


DRAFTS = {
    "good": draft(),
    "wrong": draft(CODE.replace("metres if", "metres + 1 if"), tool_name="wrong"),
    "slow": draft(CODE.replace("import json, urllib.request", "import json, time, urllib.request\ntime.sleep(25)"), tool_name="slow"),
    "unlike": draft(CODE.replace("mountain, unit", "name, unit").replace(": mountain", ": name"), tool_name="unlike"),
}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model that drafts by the document, and beside it the API that the drafts call."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sandbox, "SECONDS", 2)
    Path("docs").mkdir()
    for name in DRAFTS:
        Path("docs", f"{name}.md").write_text(f"The API {name}: POST /heights gives the metres of a mountain.\n")
    with loopback() as server:

        def reply(seen: Seen) -> Answer:
            if seen.path == "/heights":
                return Answer({"metres": 3967})
            asked = seen.body["messages"][-1]["content"]
            return chat_answer(next(text for name, text in DRAFTS.items() if f"The API {name}:" in asked).replace("URL", server.url))

        server.reply = reply
        monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
        yield


@pytest.mark.usefixtures("served")
def test_one_is_kept_and_three_get_their_reason(talm: Talm) -> None:
    code, out, err = talm(*BUILD, "--record", "--json")
    assert code == 0 and err.startswith("live: openai-api")
    found = {one["document"]: one for one in json.loads(out)["tools"]}
    assert found["good"] == {"document": "good", "tool": "mountains", "functions": ["get_height"], "kept": True, "reason": ""}
    assert {name: one["reason"] for name, one in found.items() if not one["kept"]} == {
        "wrong": "test_the_eiger: AssertionError:",
        "slow": "test_the_eiger: it was stopped: it ran longer than 2 s",
        "unlike": "metadata: get_height: the required parameters are not those of the code (mountain, name)",
    }
    assert [path.name for path in sorted(Path("made/tools/Geo").iterdir())] == ["mountains", "mountains.json"]
    assert {one["document"] for one in map(json.loads, Path("made/rejected.jsonl").read_text().splitlines())} == {"wrong", "slow", "unlike"}
    # What was built is a folder of tools like any other.
    listed = json.loads(talm("tools", "list", "--tools-from", "fail-talms:made/tools,network=on", "--trust", "--json")[1])
    assert [(one["name"], one["category"], one["parameters"]["required"]) for one in listed] == [("get_height", "Geo", ["mountain"])]
    assert json.loads(talm(*BUILD, "--json")[1])["tools"] == json.loads(out)["tools"]
    code, out, err = talm(*BUILD[:4], "again", *BUILD[5:])
    assert code == 0 and "live:" not in err and "get_height" in out and "not kept" in out
    assert "use them: --tools-from fail-talms:again/tools,network=on --trust" in err and "review" not in err


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I can't.", "its answer has no block of Python code that can be read"),
        (draft(tests="x = 1\n"), "its answer has no block of tests that can be read"),
        (draft().replace("api_list", "functions"), "its answer has no block of metadata"),
        (draft(tool_name="../../etc"), "metadata: tool_name: '../../etc' is not a name"),
        (draft(tests="def test_it():\n    assert True\n"), "tests: none calls get_height"),
        (draft(CODE.replace("mountain, unit", "mountain, *more, unit")), "code: get_height takes arguments that have no name of their own"),
        (draft(CODE.replace("def get_height", "def get_depth")), "metadata: get_height is not in the code"),
        (draft(api_list=[FUNCTION | {"description": " "}]), "metadata: get_height has no description"),
        (draft(tests=TESTS.replace("3967", "len(open('/etc/passwd').read())")), "test_the_eiger: FileNotFoundError:"),
    ],
)
def test_a_draft_that_is_not_right_is_named(talm: Talm, monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    monkeypatch.setitem(DRAFTS, "good", text)
    words = [word.replace("docs", "docs/good.md") for word in BUILD]
    code, out, _ = talm(*words, "--live", "--json")
    (found,) = json.loads(out)["tools"]
    assert code == 1 and not found["kept"] and found["reason"].startswith(reason)


def test_what_is_lacking_is_said_in_one_line(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.md").write_bytes(b"\xff\xfe")
    words = ("tools", "build", "a.md", "--out", "made", "--model", "openai-api/toy/m")
    for more, said in (((), "add --trust to run it in a sandbox"), (("--trust", "--live"), "a.md: is not plain text")):
        code, _, err = talm(*words, *more)
        assert code == 2 and said in err
    code, _, err = talm("tools", "build", "a.md", "--out", "made", "--trust", "--model", "sim/writer")
    assert code == 2 and "name a model that can write code" in err
