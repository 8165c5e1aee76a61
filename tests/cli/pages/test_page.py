"""The page that `report --html` writes: its tables, its facts, its episodes; and that nothing in it acts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from talm_sim.cli.pages import render_page
from talm_sim.cli.report.layout import Block
from talm_sim.types import Behaviour
from tests.cli.choice_runs import choice_episode, choice_scenario
from tests.cli.pages.written import Seen, page_of
from tests.cli.summaries import HOSTILE, agents, choices, choices_block
from tests.cli.wrong import Talm
from tests.runs.stored import store


def agents_block(title: str = "openai/x, standalone", group: str = "perfect") -> Block:
    return Block(title, [agents(group)], ["a note"])


def hostile_block() -> Block:
    """A run whose every word is hostile."""
    one = choices()
    named = tuple(HOSTILE + str(place) for place in range(4))
    measures = tuple(measure.model_copy(update={"head": HOSTILE, "note": HOSTILE, "under": HOSTILE}) for measure in one.measures)
    (matrix,) = one.matrices
    matrix = matrix.model_copy(update={"name": HOSTILE, "rows": named, "columns": named, "heads": named})
    return Block(HOSTILE, [one.model_copy(update={"group": HOSTILE, "measures": measures, "matrices": (matrix,)})] * 2, [HOSTILE])


def digest_of(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def test_only_the_pages_own_script_may_run_and_nothing_is_loaded() -> None:
    page = page_of([choices_block(HOSTILE, HOSTILE), agents_block(HOSTILE, HOSTILE), hostile_block()])
    seen = Seen(page)
    assert [tag for tag, _ in seen.tags] == ["html", "head", *["meta"] * 5, "title", "style", "body", "noscript", *["script"] * 3]
    (policy,) = [attributes.get("content") for tag, attributes in seen.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
    script, style = seen.inside["script"], seen.inside["style"]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digest_of(script)}'; style-src 'sha256-{digest_of(style)}'; connect-src 'none'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setTimeout\('", script)
    assert not re.search(r"@import|url\(", style)
    for _, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "href")]
    assert seen.text.count("</h2><script>alert(1)</script>") > 30, "in titles, groups, notes and tables, as text"
    assert "{{ 7 * 7 }}" in seen.text and "\x1b" not in page and "\x00" not in page and "\u202e" not in page


def test_a_served_page_has_a_nonce_in_place_of_digests_and_may_ask_its_server() -> None:
    seen = Seen(render_page({"title": "t"}, None, nonce="n0", live=True))
    (policy,) = [attributes.get("content") or "" for _, attributes in seen.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert "script-src 'nonce-n0'; style-src 'nonce-n0'; connect-src 'self'" in policy and "sha256" not in policy
    assert [attributes.get("nonce") for tag, attributes in seen.tags if tag in ("script", "style")] == ["n0", None, None, "n0"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=st.text(max_size=30), group=st.text(max_size=20), note=st.text(max_size=30))
def test_any_text_of_a_run_is_data(title: str, group: str, note: str) -> None:
    page = page_of([Block(title, [agents(group)], [note])])
    page.encode("utf-8")
    plain = page_of([Block("t", [agents("g")], ["n"])])
    assert [tag for tag, _ in Seen(page).tags] == [tag for tag, _ in Seen(plain).tags]
    assert len(Seen(page).index["blocks"]) == 1


def test_the_figures_are_in_tables() -> None:
    seen = Seen(page_of([choices_block("hf/tiny", "template: default")]))
    (block,) = seen.index["blocks"]
    (part,) = block["parts"]
    (matrix,) = part["matrices"]
    row = matrix["rows"][1]
    assert (row["name"], row["counts"], row["side"]) == ("tool_call", [2, 30, 5, 1], [".59", ".79", ".67"])
    assert len(row["shades"]) == 4 and matrix["rows"][0]["shades"] == [], "a row without episodes has no shades"
    assert part["lines"][0]["rows"][2][:2] == ["parameter", "tool call where information is missing"]
    assert part["lines"][0]["rows"][2][2][:2] == [".34", ".21–.51"] and part["lines"][0]["rows"][2][3] == "12/35"
    assert block["tables"][0]["rows"][0]["n"] == "104 of 105", "what is not scored is beside the rates"
    assert block["tables"][0]["rows"][0]["cells"][0][:2] == [".59", ".49–.68"] and block["notes"] == ["template: default"]


@pytest.fixture
def choice_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run `c-run` of task `when2call` in `runs/` of the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [choice_scenario(f"row-\x1b[31m<b>{n}", gold) for n, gold in enumerate((Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO))]
    played = [choice_episode(row.id, Behaviour.TOOL_CALL) for row in rows]
    return store(Path("runs"), "c-run", rows, played, task="when2call", model="sim/<i>me</i>").path


def page_in(file: str = "page.html") -> Seen:
    return Seen(Path(file).read_text(encoding="utf-8"))


def test_report_writes_a_page_of_runs_of_any_task(choice_run: Path, stored: Path, talm: Talm) -> None:
    code, out, err = talm("report", "a-run", "c-run", "--html", "page.html")
    assert (code, out, err) == (0, "", "written: page.html\n")
    index = page_in().index
    titles = [(run["title"].partition(",")[0], run["control"]) for run in index["runs"]]
    assert titles == [("openai/some", False), ("control: sim/<i>me</i>", True)]
    assert [one["names"] for one in index["compared"]] == [["a-run", "c-run"], ["c-run", "a-run"]]
    assert all("finished" in one["reason"] for one in index["compared"]), "the page says why two runs are not compared"
    assert sorted(path.name for path in Path().iterdir()) == ["page.html", "runs"], "no half-written file is left"
    code, out, _ = talm("report", "c-run", "--json", "--html", "page.html")
    assert code == 0 and json.loads(out)[0]["accuracy"] == 0.5


def test_the_page_says_how_a_run_was_made_and_what_its_columns_count(stored: Path, talm: Talm) -> None:
    assert talm("report", "a-run", "--html", "page.html", "--against", "paper")[0] == 0
    index = page_in().index
    facts = dict(index["runs"][0]["facts"])
    assert facts["run"] == "a-run" and facts["task"] == "talm, split all" and facts["made"].startswith("20")
    assert "model openai/some, human recorded, perturb http-500:p=0.5" in facts["settings"] and "python 3." in facts["versions"]
    assert facts["judges"].startswith("reference") and re.fullmatch(r"\d+ episodes, digest [0-9a-f]{16}", facts["data"])
    assert (
        dict(index["definitions"])["Skipped"] == "declined before trying"
        and dict(index["definitions"])["Ask-and-Help"] == "the agent may ask a person"
    )
    (paper,) = index["papers"]
    assert paper["title"].startswith("published: Fail-TaLMs Table 2") and "NAACL 2025" in str(paper["notes"])
    assert ["GPT4o, underspecified", ".61", ".21", ".47", ".58"] in paper["rows"]
    assert Seen(page_of([agents_block()])).index["papers"] == [], "only where it is asked for, or the bundled recording is replayed"


def test_the_page_has_every_episode_with_its_transcript_and_what_it_is_filtered_by(stored: Path, talm: Talm) -> None:
    assert talm("report", "a-run", "--html", "page.html")[0] == 0
    seen = page_in()
    (run,) = seen.index["runs"]
    shown = json.loads(talm("show", "a-run", "--json")[1])
    finished = [one["episode"] for one in shown if one["termination"] != "waiting"]
    assert [line["id"] for line in run["episodes"]] == finished == [*seen.transcripts[0]]
    line = next(line for line in run["episodes"] if line["asked"])
    assert line["group"] == "underspecified" and line["end"] == "answered" and "What is the capital?" in line["query"]
    transcript = seen.transcripts[0][line["id"]]
    assert transcript["turns"][0]["events"][0]["question"] == "Which country?" and transcript["turns"][1]["answers"] is True
    assert {(line["outcome"], line["kind"]) for line in run["episodes"]} >= {("solved it", "good"), ("answered wrongly", "bad")}
    left = [line for line in run["episodes"] if line["outcome"].startswith("not scored: ")]
    assert left and all(line["end"] in line["outcome"] for line in left)
    assert run["asked"]["items"][0][0] in finished and run["asked"]["items"][0][3] == "France."


def test_a_page_without_transcripts_has_no_word_of_an_episode(stored: Path, talm: Talm) -> None:
    assert talm("report", "a-run", "--html", "page.html", "--no-transcripts")[0] == 0
    seen = page_in()
    assert seen.index["runs"][0]["episodes"] == [] and seen.transcripts is None
    assert "Which country?" not in seen.text and "What is the capital?" not in seen.text
    code, _, err = talm("report", "a-run", "--no-transcripts")
    assert code == 2 and "--no-transcripts needs --html." in err


def test_report_says_where_it_cannot_write(choice_run: Path, talm: Talm) -> None:
    Path("file").write_text("", encoding="utf-8")
    code, _, err = talm("report", "c-run", "--html", "file/page.html")
    assert code == 2 and "cannot be written" in err and err.count("\n") == 1
    assert talm("report", "c-run", "--html", "runs")[0] == 2
    assert page_of([]).startswith("<!doctype html>")
