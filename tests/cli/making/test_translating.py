"""`scenarios translate` as it is typed: a model over HTTP translates, rules check it, and what is kept is run, compared and reviewed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.scenarios.jsonl import short_form
from talm_sim.tasks import find_task
from talm_sim.types import Scenario
from tests.cli.wrong import Talm
from tests.models.loopback import Answer, Loopback, Seen, chat_answer, loopback

ROOT = Path(__file__).resolve().parents[3]
MODEL = ("--model", "openai-api/toy/m")
WRITTEN: dict[str, dict[str, str]] = {
    language: tomllib.loads((ROOT / "seeds" / "refusal" / f"{language}.toml").read_text(encoding="utf-8"))["queries"]
    for language in ("vi", "th")
}
SIXTY = [*WRITTEN["vi"]][:60]


def packaged(task: str, *groups: str) -> list[Scenario]:
    return [one for one in find_task(task).read(groups) if one.language == "en" and one.base.partition(".")[0] in SIXTY]


def write(file: str, scenarios: list[Scenario]) -> None:
    Path(file).write_text("".join(json.dumps(short_form(one), ensure_ascii=False) + "\n" for one in scenarios), encoding="utf-8")


def lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def asked_text(seen: Seen) -> str:
    """The text that a request asks to translate; of a further attempt, the one that it began with."""
    asked = next(one["content"] for one in seen.body["messages"] if one["role"] == "user")
    return re.split(r"Translate into \w+(?: what the user says next)?:\n", asked)[1]


@pytest.fixture
def server(nothing_given: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A model that answers with the written translation."""
    known = {one.query: one.id.partition(".")[0] for one in find_task("refusal").read(["fitting"]) if one.language == "en"}

    def reply(seen: Seen) -> Answer:
        language = "vi" if "into Vietnamese" in seen.body["messages"][0]["content"] else "th"
        return chat_answer(WRITTEN[language][known[asked_text(seen)]])

    with loopback() as found:
        found.reply = reply
        monkeypatch.setenv("TOY_BASE_URL", f"{found.url}/v1")
        yield found


SIX: dict[str, Callable[[str, str], str]] = {
    "music-01": lambda text, english: text,
    "geo-03": lambda text, english: text.replace("Cusco", "thành phố đó"),
    "calendar-02": lambda text, english: text.replace("20 tháng 11", "21 tháng 11"),
    "transportation-04": lambda text, english: english,
    "language-06": lambda text, english: WRITTEN["th"]["language-06"],
    "science-01": lambda text, english: f"{text} Cảm ơn bạn rất nhiều, chúc bạn một ngày tốt lành.",
}


@pytest.fixture
def six(server: Loopback) -> Loopback:
    """A model that translates one request well, and each of five others with another fault."""
    fitting = {one.query: one.id.partition(".")[0] for one in packaged("refusal", "fitting") if one.id.partition(".")[0] in SIX}

    def reply(seen: Seen) -> Answer:
        english = asked_text(seen)
        name = fitting[english]
        return chat_answer(SIX[name](WRITTEN["vi"][name], english))

    server.reply = reply
    write("six.jsonl", [one for one in packaged("refusal", "fitting", "removed") if one.base.partition(".")[0] in SIX])
    return server


def test_one_is_kept_and_five_have_their_reason(talm: Talm, six: Loopback) -> None:
    code, _, err = talm("scenarios", "translate", "six.jsonl", "--to", "vi", *MODEL, "--out", "made", "--live")
    assert code == 0 and err.startswith("live: openai-api (model openai-api/toy/m)")
    assert "1 dialogue translated, 5 given up" in err
    assert (
        "geo-03.fitting: 0 made, 2 given up: it does not say city Cusco" in err
        and "given up geo-03.fitting: it does not say city Cusco\n" in err
    )
    rejected = lines("made/rejected.jsonl")
    reasons = {one["source"]: (one["check"], one["reason"]) for one in rejected}
    assert {name: check for name, (check, _) in reasons.items()} == {
        "geo-03.fitting": "value",
        "calendar-02.fitting": "number",
        "transportation-04.fitting": "english",
        "language-06.fitting": "script",
        "science-01.fitting": "length",
    }
    assert reasons["geo-03.fitting"][1] == "does not say city Cusco"
    assert reasons["calendar-02.fitting"][1] == "changes the numbers: lacks 20 and has 21 in addition"
    assert "keeps English words: " in reasons["transportation-04.fitting"][1]
    assert "has letters of another script: Thai" in reasons["language-06.fitting"][1]
    assert reasons["science-01.fitting"][1].startswith("has 3 sentences, and the English text 2; adds thanks")
    assert [one["attempt"] for one in rejected] == [1, 2, 3] * 5, "tried again twice, and each failure is kept"
    # A further attempt names what was wrong.
    again = [seen.body["messages"] for seen in six.seen if "six" not in asked_text(seen) and len(seen.body["messages"]) > 2]
    assert len(again) == 10 and any("it does not say city Cusco." in one[-1]["content"] for one in again)
    assert all([message["role"] for message in one] == ["system", "user", "assistant", "user"] for one in again)
    rows = lines("made/items.jsonl")
    assert [row["id"] for row in rows] == ["music-01.fitting.vi", "music-01.removed.vi"], "the rows of one request say the same"
    originals = {row["id"]: row for row in lines("six.jsonl")}
    for row in rows:
        before = originals[row["source"]["translation_of"]]
        assert row["source"] == {
            **before["source"],
            **row["source"],
            "base": "music-01.fitting",
            "name": "talm-sim, translated by openai-api/toy/m",
        }
        assert row["turns"][0]["messages"][0]["content"] == WRITTEN["vi"]["music-01"] and row["language"] == "vi"
        changed = {"id", "turns", "language", "source"}
        assert {key: value for key, value in row.items() if key not in changed} == {k: v for k, v in before.items() if k not in changed}


@pytest.mark.usefixtures("server")
def test_a_control_that_is_wrong_in_one_language_flips_there(talm: Talm) -> None:
    write("english.jsonl", packaged("refusal", "fitting")[:8])
    talm("scenarios", "translate", "english.jsonl", "--to", "th", *MODEL, "--out", "made", "--live")
    talm("run", "--task", "refusal", "--model", "sim/oracle", "-q", "--scenarios", "english.jsonl", "--run-id", "english")
    talm("run", "--task", "refusal", "--model", "sim/cautious", "-q", "--scenarios", "made/items.jsonl", "--run-id", "thai")
    code, out, _ = talm("compare", "english", "thai", "--flips")
    assert code == 0 and "regressed" in out and packaged("refusal", "fitting")[0].id in out
    found = json.loads(talm("compare", "english", "thai", "--json")[1])[0]
    assert found["translated"] == {one["source"]["translation_of"]: one["id"] for one in lines("made/items.jsonl")}
    assert len(found["flips"][0]["regressed"]) == 8
    assert talm("compare", "english", "thai", "--html", "page.html")[0] == 0


@pytest.mark.usefixtures("server")
def test_the_scenarios_of_a_run_are_translated(talm: Talm) -> None:
    talm("run", "--task", "refusal", "--model", "sim/oracle", "--language", "en", "--limit", "2", "-q", "--run-id", "source")
    code, out, _ = talm("scenarios", "translate", "source", "--to", "th", *MODEL, "--out", "made", "--dry-run", "--json")
    found = json.loads(out)
    assert code == 0 and found["sources"] == 2 and found["requests"] == 2 * 3 * 2 and not Path("made").exists()
    code, out, _ = talm("scenarios", "translate", "source", "--to", "th", *MODEL, "--out", "made", "--live", "--json")
    assert code == 0 and json.loads(out)["dialogues"]["given_up"] == 0
    assert json.loads(out)["groups"] == {name: {"made": 2, "given_up": 0} for name in ("fitting", "removed", "unrelated")}
    packaged_rows = {one.id: short_form(one) for one in find_task("refusal").read(["fitting", "removed", "unrelated"])}
    for row in lines("made/items.jsonl"):
        same = packaged_rows[row["id"]]
        assert row | {"source": same["source"]} == same, "but for who translated it, the row is the packaged one"
        assert row["source"]["base"] == same["source"]["base"] and row["source"]["translation_of"] == same["source"]["translation_of"]


@pytest.mark.usefixtures("server")
def test_what_cannot_be_translated_is_said_in_one_line(talm: Talm) -> None:
    write("english.jsonl", packaged("refusal", "fitting")[:1])
    write("thai.jsonl", [one for one in find_task("refusal").read(["fitting"]) if one.language == "th"][:2])
    for words, said in (
        (("english.jsonl", "--to", "de", *MODEL), "'de' is not one of 'vi', 'th'"),
        (("english.jsonl", "--to", "vi", "--model", "sim/writer"), "--model sim/writer: is not a language model and cannot translate"),
        (("english.jsonl", "--to", "vi", "--model", "sim/oracle"), "--model sim/oracle: is not a language model"),
        (("english.jsonl", "--to", "vi", *MODEL, "--attempts", "4"), "4 is not in the range 1<=x<=3"),
        (("nothing", "--to", "vi", *MODEL), "nothing: no such run. "),
        (("/nowhere/a.jsonl", "--to", "vi", *MODEL), "/nowhere/a.jsonl: no such file; give a scenario file, or the name of a run."),
        (("thai.jsonl", "--to", "vi", *MODEL), "only English rows are translated"),
    ):
        code, _, err = talm("scenarios", "translate", *words, "--out", "made")
        assert code == 2 and said in err, err
        assert not Path("made").exists() or not any(Path("made").iterdir())


def test_an_answer_that_is_cut_off_is_named(talm: Talm, server: Loopback) -> None:
    write("english.jsonl", [one for one in packaged("refusal", "fitting") if one.base.startswith("calendar-06")])
    server.reply = lambda seen: chat_answer("Ngày 3 tháng 5", finish="length")
    words = ("scenarios", "translate", "english.jsonl", "--to", "vi", *MODEL, "--out", "made", "--max-new-tokens", "90")
    code, out, _ = talm(*words, "--dry-run")
    assert code == 0 and out.startswith("1 dialogue, model openai-api/toy/m: at most 6 requests")
    code, _, err = talm(*words, "--live")
    assert code == 1 and "given up calendar-06.fitting: it was cut off after 180 tokens\n" in err, "nothing is made"
    assert {(one["check"], one["reason"]) for one in lines("made/rejected.jsonl")} == {("unfinished", "it was cut off after 180 tokens")}
    asked = server.seen[0].body["messages"][-1]["content"]
    assert "Keep unchanged: Greece (or its Vietnamese name), Italy (or Ý)" in asked
    assert server.seen[-1].body["messages"][-1]["content"].startswith("This translation cannot be used: it was cut off after 180 tokens.")


def test_all_turns_and_the_answers_of_a_person_are_translated(talm: Talm, server: Loopback) -> None:
    said = {
        "Which public holiday does Brazil have on 20 November 2025?": "Ngày 20 tháng 11 năm 2025 Brazil có ngày lễ gì?",
        "And Peru, in July?": "Còn Peru, trong tháng Bảy thì sao?",
        "I mean 28 July 2025.": "Ý tôi là ngày 28 tháng 7 năm 2025.",
    }
    server.reply = lambda seen: chat_answer(f'"{said[asked_text(seen)]}"')
    scenario = find_task("talm").read(["underspecified"])[0].model_dump(mode="json")
    first, second, answer = said
    scenario["turns"] = [
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": first},
                {"role": "assistant", "content": "Zumbi."},
            ]
        },
        {"messages": [{"role": "user", "content": second}], "gold_calls": scenario["turns"][0]["gold_calls"]},
    ]
    scenario["missing"] |= {"human_answer": answer}
    Path("dialogue.jsonl").write_text(json.dumps(scenario))
    code, _, err = talm("scenarios", "translate", "dialogue.jsonl", "--to", "vi", *MODEL, "--out", "made", "--live")
    assert code == 0, err
    (row,) = lines("made/items.jsonl")
    assert [message["content"] for turn in row["turns"] for message in turn["messages"]] == ["Be brief.", said[first], "Zumbi.", said[second]]
    assert row["missing"]["human_answer"] == said[answer] and row["missing"]["removed_text"] == scenario["missing"]["removed_text"]
    # A later text is translated with what was said before it, as far as it is translated.
    later = server.seen[1].body["messages"][-1]["content"]
    assert f"User: {said[first]}\nAI: Zumbi." in later and "what the user says next" in later


def test_the_wording_can_be_replaced(talm: Talm, server: Loopback) -> None:
    write("english.jsonl", packaged("refusal", "fitting")[:1])
    Path("own.toml").write_text('[request]\nsystem = "Say it in {language}, please."\n')
    server.reply = lambda seen: chat_answer("no")
    words = ("scenarios", "translate", "english.jsonl", "--to", "th", *MODEL, "--live")
    assert talm(*words, "--out", "made", "--prompts", "own.toml", "--attempts", "1")[0] == 1, "nothing is made"
    assert server.seen[0].body["messages"][0]["content"] == "Say it in Thai, please."
    Path("own.toml").write_text('[requests]\nsystem = "x"\n')
    code, _, err = talm(*words, "--out", "other", "--prompts", "own.toml")
    assert code == 2 and "unknown table 'requests'" in err


def test_a_review_shows_the_english_text_and_checks_what_is_edited(talm: Talm, six: Loopback) -> None:
    from talm_sim.scenarios.making.review import open_review
    from talm_sim.tasks.registry import reviewer_of

    talm("scenarios", "translate", "six.jsonl", "--to", "vi", *MODEL, "--out", "made", "--live")
    code, out, _ = talm("scenarios", "review", "made", "--json")
    assert code == 0 and json.loads(out)["entries"] == 1
    review = open_review(Path("made"), reviewer_of(Path("made")), rejected=True, name="ngoc")
    assert len(review.entries) == 6 and sum(one.passed for one in review.entries) == 1
    (kept,) = (one for one in review.entries if one.passed)
    english = next(row for row in lines("six.jsonl") if row["id"] == "music-01.fitting")["turns"][0]["messages"][0]["content"]
    assert (kept.parts[0].before, kept.parts[0].text) == (english, WRITTEN["vi"]["music-01"])
    assert {one.why for one in review.entries if not one.passed} > {"does not say city Cusco"}
    assert review.reviewer.faults(kept, {"text 1": "Hợp âm F#m7b5 gồm những nốt nào?"})
    better = kept.parts[0].text.replace("?", " ạ?", 1)
    assert review.reviewer.faults(kept, {"text 1": better}) == []
    review.decide(kept, "keep", texts={"text 1": better})
    rows = [json.loads(line) for line in review.write_kept().read_text(encoding="utf-8").splitlines()]
    assert [row["turns"][0]["messages"][0]["content"] for row in rows] == [better, better]
    assert {row["source"]["name"] for row in rows} == {"talm-sim, translated by openai-api/toy/m, edited by ngoc"}
    assert talm("scenarios", "check", "--task", "refusal", "--scenarios", "made/kept-ngoc.jsonl")[0] == 0
