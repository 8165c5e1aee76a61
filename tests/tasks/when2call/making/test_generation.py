"""A whole generation: equal however often it was killed, refused where it is another one, counted in its report."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from talm_sim import language, scenarios
from talm_sim.common.digests import digest
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.runs.make_scenarios import make_scenarios
from talm_sim.scenarios.making.options import RULES
from talm_sim.scenarios.making.outcome import DroppedSource
from talm_sim.scenarios.making.prompts import WrittenText
from talm_sim.scenarios.making.state import STATE
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import OpenModel
from talm_sim.tasks.when2call import making
from talm_sim.tasks.when2call.maker import ItemMaker
from talm_sim.tasks.when2call.making import GenerateOptions, SourceQuestion
from talm_sim.tasks.when2call.making.item_checks import RULES_VERSION
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.types import Behaviour
from tests.tasks.when2call.making.toys import Teller, source

SOURCES = [source(number) for number in range(1, 9)]


class Killed(BaseException):
    pass


class Fragile(Teller):
    """Dies at the n-th text, as a process would; until then it is as slow as a model, so that sources finish out of order."""

    def __init__(self, dies_at: int, error: type[BaseException] = Killed) -> None:
        super().__init__()
        self._left = dies_at
        self._error = error

    async def tool_use(self, source: SourceQuestion) -> WrittenText:
        await asyncio.sleep(0.001 * (int(source.id[-2:]) * 7 % 5))
        self._left -= 1
        if self._left < 0:
            raise self._error("the server is gone")
        return await super().tool_use(source)


class ToyMaker(ItemMaker):
    """Makes items of what it is given, with the writer it is given."""

    def __init__(self, options: GenerateOptions, writer: Teller, sources: list[SourceQuestion], wording: str) -> None:
        super().__init__(options.model_copy(update={"model": RULES}))
        self.options = options
        self.wording = wording
        self.sources = sources
        self._writer = writer

    def load(self) -> list[SourceQuestion]:
        self.dropped = [DroppedSource("x", "why")]
        return self.sources

    def open(self, sources: Sequence[SourceQuestion], open_model: OpenModel) -> None:
        pass

    def bound(self, source: SourceQuestion) -> Bound:
        return Bound(1, 2)


def run(folder: Path, writer: Teller | None = None, sources: list[SourceQuestion] | None = None, **more: Any) -> dict[str, Any]:
    options = GenerateOptions(
        out=folder, **{"max_connections": 3, "model": "openai-api/toy/model", "traffic": "live", **more.pop("options", {})}
    )
    maker = ToyMaker(options, writer or Teller(), SOURCES if sources is None else sources, more.pop("wording", "p"))
    return asyncio.run(make_scenarios("when2call", maker, command="it", **more))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != STATE}


@pytest.mark.parametrize("dies_at", [0, 1, 4, 7])
def test_a_killed_generation_goes_on_and_ends_as_if_nothing_had_happened(tmp_path: Path, dies_at: int) -> None:
    run(tmp_path / "whole")
    with pytest.raises(BaseExceptionGroup):
        run(tmp_path / "cut", Fragile(dies_at))
    again = Teller()
    run(tmp_path / "cut", again)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert again.asked.count("tool_use") <= len(SOURCES) - max(0, dies_at - 3), "finished source questions are not asked again"


def test_half_a_line_that_a_kill_left_is_written_anew(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    run(tmp_path / "cut", sources=SOURCES[:3])
    path = tmp_path / "cut" / STATE
    path.write_bytes(path.read_bytes()[:-40])
    again = Teller()
    run(tmp_path / "cut", again)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert again.asked.count("tool_use") == 6


def test_a_larger_limit_goes_on_and_a_smaller_one_takes_what_is_there(tmp_path: Path) -> None:
    run(tmp_path / "grown", sources=SOURCES[:3])
    again = Teller()
    report = run(tmp_path / "grown", again)
    assert again.asked.count("tool_use") == 5
    assert report["sources"]["finished"] == 8
    assert run(tmp_path / "grown", sources=SOURCES[:2])["sources"]["finished"] == 2


def test_another_source_question_of_the_same_id_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "a")
    with pytest.raises(PrerequisiteError, match="money-02"):
        run(tmp_path / "a", sources=[SOURCES[0], source(2, question="Another one?")])


def test_other_sources_do_not_take_the_place_of_those_it_was_begun_with(tmp_path: Path) -> None:
    run(tmp_path / "a", sources=SOURCES[:2])
    before = files(tmp_path / "a")
    with pytest.raises(PrerequisiteError, match=r"contains results from other sources, for example '.*'.* choose another --out\.$"):
        run(tmp_path / "a", sources=SOURCES[2:4])
    assert files(tmp_path / "a") == before


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(PrerequisiteError, match=r"thesis\.txt"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("line", ["[]", "{}", '{"source": 1}', "no json", '{"settings": 3, "command": ""}'])
def test_a_broken_state_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    run(tmp_path / "a", sources=SOURCES[:1])
    path = tmp_path / "a" / STATE
    lines = path.read_text().splitlines()
    path.write_text("\n".join([line, *lines[1:], ""]))
    with pytest.raises(PrerequisiteError, match=r"state\.jsonl:1"):
        run(tmp_path / "a")
    path.write_text("\n".join([lines[0], line, ""]))
    with pytest.raises(PrerequisiteError, match=r"state\.jsonl:2"):
        run(tmp_path / "a")


def test_what_the_user_must_mend_ends_it_in_one_line_and_keeps_what_was_finished(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"the server is gone .* run the same command to continue"):
        run(tmp_path / "a", Fragile(4, PrerequisiteError))
    kept = len((tmp_path / "a" / STATE).read_text().splitlines()) - 1
    assert 1 <= kept <= 4
    assert len({json.loads(line)["source_id"] for line in (tmp_path / "a" / "items.jsonl").read_text().splitlines()}) == kept


class Picky(Teller):
    """Its provider answers no request about some source questions."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self._refused = refused

    async def option(self, behaviour: Behaviour, item: Item, attempt: int) -> WrittenText:
        if item.source.id in self._refused:
            raise ProviderError("HTTP 400: the content filter\n  was triggered")
        return await super().option(behaviour, item, attempt)


def test_a_question_the_provider_fails_on_is_an_outcome_of_its_own_and_tried_again(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    heard: list[tuple[int, str]] = []
    for _ in range(2):
        report = run(
            tmp_path / "a", Picky("money-01"), on_progress=lambda done, _, outcome: heard.append((done, outcome.failed if outcome else ""))
        )
        assert report["sources"]["failed"] == [{"id": "money-01", "reason": "HTTP 400: the content filter was triggered"}]
        assert report["sources"]["finished"] == 7
        assert {row.split('"source_id": "')[1][:8] for row in (tmp_path / "a" / "items.jsonl").read_text().splitlines()} == {
            f"money-{number:02}" for number in range(2, 9)
        }
    assert heard[-2:] == [(7, ""), (7, "HTTP 400: the content filter was triggered")]
    again = Teller()
    run(tmp_path / "a", again)
    assert again.asked.count("tool_use") == 1
    assert files(tmp_path / "a") == files(tmp_path / "whole")


def test_failures_in_a_row_end_it_in_one_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    many = [source(number) for number in range(1, 41)]
    refused = [one.id for one in many[10:]]
    with pytest.raises(
        PrerequisiteError, match=r"^5 source questions failed in a row, .*content filter .*\(10 finished and kept; run the same"
    ) as caught:
        run(tmp_path / "a", Picky(*refused), many)
    assert "\n" not in str(caught.value)
    assert run(tmp_path / "a", sources=many)["sources"]["finished"] == 40
    scattered = [one.id for number, one in enumerate(many) if number % 3]
    report = run(tmp_path / "b", Picky(*scattered), many, options={"max_connections": 1})
    assert (report["sources"]["finished"], len(report["sources"]["failed"])) == (14, 26), "a success between begins the count anew"


def test_where_nothing_at_all_could_be_asked_it_ends_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"every source question failed, .*content filter .*\(0 finished"):
        run(tmp_path / "a", Picky("money-01", "money-02"), SOURCES[:2])


def test_a_folder_of_other_rules_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(tmp_path / "a", sources=SOURCES[:2])["provenance"]["rules"] == RULES_VERSION
    state_file = tmp_path / "a" / STATE
    before = files(tmp_path / "a")
    with monkeypatch.context() as patch:
        patch.setattr(ToyMaker, "rules", RULES_VERSION + 1)
        with pytest.raises(PrerequisiteError, match=r"version 6 of the checks.* version 7; finish it with .* or choose another --out"):
            run(tmp_path / "a")
    assert files(tmp_path / "a") == before
    first, *rest = state_file.read_text().splitlines()
    for name in ("task", "rules"):  # as the first versions wrote it
        older = {key: value for key, value in json.loads(first).items() if key != name}
        state_file.write_text("\n".join([json.dumps(older), *rest, ""]))
        before = files(tmp_path / "a")
        with pytest.raises(PrerequisiteError, match=r"^\S+a: was started by an earlier talm-sim, .*; generate it again with another --out\.$"):
            run(tmp_path / "a", sources=SOURCES[:2])
        assert files(tmp_path / "a") == before
    state_file.write_text("\n".join(["{}", *rest, ""]))
    with pytest.raises(PrerequisiteError, match=r"state\.jsonl:1: not a line of a started generation"):
        run(tmp_path / "a", sources=SOURCES[:2])


def test_rules_that_change_get_another_version() -> None:
    """Where this fails, add one to `RULES_VERSION` if a text may now be judged or made otherwise, and write the new digest here."""
    own = ("item_checks", "items", "pipeline", "question_checks", "rules", "splitting", "faulty_wording", "writers")
    files = [
        *(Path(making.__file__).parent / f"{name}.py" for name in own),
        *(Path(making.__file__).parent / name for name in ("details.toml", "unanswerable.toml", "wrong_values.toml")),
        Path(scenarios.__file__).parent / "making" / "prompts.py",
        *(Path(language.__file__).parent / f"{name}.py" for name in ("leaks", "about_missing", "question_words")),
    ]
    assert (RULES_VERSION, digest([file.read_text(encoding="utf-8") for file in files])) == (6, "b2d55f4b7fa3")


def test_the_report_counts_what_was_made_and_why_the_rest_was_not(tmp_path: Path) -> None:
    report = run(tmp_path / "a", Teller({"cannot_answer": "I can't reach Berlin."}), SOURCES[:2])
    assert report["items"]["tool_call"] == {"made": 0, "rejected": 2, "not_tried": {}}
    assert report["rejected_texts"]["total"] == 6
    assert {(one["check"], one["count"]) for one in report["rejected_texts"]["why"]} == {("refusal_stays_with_the_question", 2)}
    assert report["sources"]["not_derived"] == [{"id": "x", "reason": "why"}]
    assert report["provenance"]["command"] == "it"
    assert report["licence"].startswith("Apache-2.0")
    whole = run(tmp_path / "b", sources=SOURCES[:2])
    assert whole["rows"]["tools_shown"] == {"0": 2, "1": 6, "2+": 6}
    assert whole["rows"]["tool_use"] == {"database": 14}
    assert json.loads((tmp_path / "b" / "report.json").read_text()) == whole


def test_no_more_are_in_work_than_asked_for(tmp_path: Path) -> None:
    class Counting(Teller):
        now = most = 0

        async def tool_use(self, source: SourceQuestion) -> WrittenText:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.002)
            self.now -= 1
            return await super().tool_use(source)

    writer = Counting()
    run(tmp_path / "a", writer)
    assert writer.most == 3
