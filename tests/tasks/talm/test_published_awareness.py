"""A recorded small model's awareness of Fail-TaLMs' published queries: the table is what the raw answers, counted here by hand, say.

`published_awareness.jsonl` is written by scripts/record_published_awareness.sh. It holds no published text: a request is found by its digest.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scripts.published_awareness import PER_GROUP, body_digest, draw, own_words, question_in
from talm_sim import run
from talm_sim.tasks.talm.published import read_queries
from tests.models.loopback import Answer, Seen, loopback

HERE = Path(__file__).parent
LINES: list[dict[str, Any]] = [json.loads(line) for line in (HERE / "published_awareness.jsonl").read_text(encoding="utf-8").splitlines()]
QUESTIONS = {"perfect": ("information", "tool"), "underspecified": ("information",), "replaceable": ("tool",), "non-replaceable": ("tool",)}
AWARE = {"perfect": {"Yes"}, "underspecified": {"No", "IDK"}, "replaceable": {"IDK"}, "non-replaceable": {"No", "IDK"}}
OF_TWENTY = {"perfect": (15, 5), "underspecified": (3, 3), "replaceable": (1, 6), "non-replaceable": (2, 2)}
"""Of the first 20 of each group: how many are aware, and how many said No to any question."""
Counted = dict[str, tuple[int, int, int]]
"""Group to how many are aware, how many said No to any question, and how many were scored."""


def group_of(name: str) -> str:
    return name.rpartition("-")[0]


def count(lines: list[dict[str, Any]]) -> Counted:
    """Count the labels of the raw answers; each question has one, as a grammar lets the model write nothing else."""
    labels: dict[str, dict[str, str]] = defaultdict(dict)
    for line in lines:
        found = re.match(r'\{"answer":"(Yes|No|IDK)","reason":"', line["answer"])
        assert found and line["question"] not in labels[line["id"]]
        labels[line["id"]][line["question"]] = found[1]
    counted = {}
    for group, questions in QUESTIONS.items():
        rows = [said for name, said in labels.items() if group_of(name) == group]
        assert all(tuple(sorted(said)) == questions for said in rows)
        aware = sum(said[questions[-1]] in AWARE[group] for said in rows)
        counted[group] = (aware, sum("No" in said.values() for said in rows), len(rows))
    return counted


def test_a_line_is_kept_of_each_request_and_says_nothing_of_what_was_asked() -> None:
    assert {name: n for name, (_, _, n) in count(LINES).items()} == dict.fromkeys(QUESTIONS, PER_GROUP)
    assert Counter(tuple(line) for line in LINES) == {("id", "question", "request", "status", "answer", "tokens"): 1000}
    assert all(re.fullmatch("[0-9a-f]{32}", line["request"]) for line in LINES)
    assert max(sum(line["tokens"]) for line in LINES) < 8192, "the context of the model: every query fits"


def test_a_reason_that_repeats_the_request_is_left_out() -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "Request: What is the price of Ether?\n\nTools: none"}]}).encode()
    own, repeated = '{"answer":"IDK","reason":"What is the price?"}', '{"answer":"IDK","reason":"so: What is the price of Ether"}'
    assert own_words('{"answer":"No","reason":"Ether"}', body) == '{"answer":"No","reason":"Ether"}'
    assert own_words(own, body) == own, "the fourth word is another one"
    assert own_words(repeated, body) == '{"answer":"IDK","reason":"(repeats the request)"}'


def test_the_documented_table_is_what_the_answers_say() -> None:
    shown = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (\d*\.\d\d) \(.* \| (\d*\.\d\d) \(.* \|", section(), re.MULTILINE)
    expected = [(group, str(n), hundredths(aware, n), hundredths(skipped, n)) for group, (aware, skipped, n) in count(LINES).items()]
    assert shown == expected


def section() -> str:
    page = (HERE.parents[2] / "docs" / "talm.md").read_text(encoding="utf-8")
    return page.partition("### A small model on the published queries\n")[2].partition("\n## ")[0]


def hundredths(part: int, whole: int) -> str:
    return f"{part / whole:.2f}".removeprefix("0")


@pytest.mark.bench_data
def test_queries_are_asked_again_and_give_their_part_of_the_table(bench_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    per_group = PER_GROUP if os.environ.get("TALM_TEST_EXAMPLES") == "random" else 20  # all in `make ci-full`
    queries = [json.loads(one.model_dump_json()) for one in read_queries(bench_data / "failtalms")]
    sample, whole = draw(queries, per_group), draw(queries)
    drawn = {query["id"] for query in sample}
    assert {query["id"] for query in whole} == {line["id"] for line in LINES}
    assert [query["id"] for group in QUESTIONS for query in [one for one in whole if one["group"] == group][:per_group]] == [
        query["id"] for query in sample
    ]
    lines = [line for line in LINES if line["id"] in drawn]
    expected = count(lines)
    assert per_group != 20 or expected == {group: (*both, 20) for group, both in OF_TWENTY.items()}
    file = tmp_path / "sample.jsonl"
    file.write_text("".join(f"{json.dumps(query)}\n" for query in sample))

    with answering(lines) as (url, bodies):
        monkeypatch.setenv("VLLM_BASE_URL", url)
        stored = run(
            scenarios=file,
            model="openai-api/vllm/smollm2-135m",
            models="live",
            tools="live",
            tools_from=(f"fail-talms:{bench_data / 'failtalms' / 'tools'}",),
            stop_after="awareness",
            max_retries=0,
            run_dir=tmp_path,
            progress=False,
        )

    recorded = {line["request"] for line in lines}
    assert set(bodies) == recorded and len(recorded) == 5 * per_group, "if requests have changed, run scripts/record_published_awareness.sh"
    assert {line["request"]: line["question"] for line in lines} == {request: question_in(body) for request, body in bodies.items()}
    assert all(own_words(line["answer"], bodies[line["request"]]) == line["answer"] for line in lines)
    summaries = {one.group: one for one in stored.summary() if not one.derived}
    assert list(summaries) == list(QUESTIONS)
    for group, (aware, skipped, n) in expected.items():
        measures = {one.name: (one.k, one.n) for one in summaries[group].measures if one.n is not None}
        assert (summaries[group].n, sum(summaries[group].not_scored.values())) == (n, 0)
        assert (measures["awareness"], measures["skip"]) == ((aware, n), (skipped, n)), group
    tokens = [(answer.usage.input_tokens, answer.usage.output_tokens) for one in stored.episodes() for answer in one.awareness]
    assert sorted(tokens) == sorted((line["tokens"][0], line["tokens"][1]) for line in lines)


@contextmanager
def answering(lines: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Serve the recorded answers; yield the address, and the bodies that were sent, by digest."""
    answers, bodies = {line["request"]: line for line in lines}, dict[str, bytes]()

    def reply(seen: Seen) -> Answer:
        line = answers.get(body_digest(seen.raw))
        bodies[body_digest(seen.raw)] = seen.raw
        return Answer(completion(line)) if line else Answer({"error": {"message": "was not recorded"}}, 404)

    with loopback() as server:
        server.reply = reply
        yield f"{server.url}/v1", bodies


def completion(line: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": line["answer"]}}
    usage = {"prompt_tokens": line["tokens"][0], "completion_tokens": line["tokens"][1], "total_tokens": sum(line["tokens"])}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "smollm2-135m", "choices": [choice], "usage": usage}
