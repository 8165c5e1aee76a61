"""Draw published queries of Fail-TaLMs for an awareness table, and keep a recording of it without the published texts.

    python scripts/published_awareness.py draw QUERIES SAMPLE       200 queries of each group that is asked, drawn by seed 0
    python scripts/published_awareness.py keep RECORDINGS FILE      what a model answered, and a digest of what it was asked

`draw` writes the queries in the order in which they are drawn: `run --limit 20` takes the first 20 of the 200. The queries and tools are not
ours to publish, so `keep` writes a line for each request: the scenario's id, the awareness question, the digest of the request's body, the
answer's status, its text or its error, and the tokens that the server counted. The text is the model's own: if the reason in it repeats
four words of the request in a row, the reason is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.tasks.talm.groups import GROUPS
from talm_sim.types import AwarenessKind

SEED = 0
PER_GROUP = 200
REPEATED = 4
"""Words in a row that are taken for the request's."""
USAGE = "Usage: python scripts/published_awareness.py draw QUERIES SAMPLE | keep RECORDINGS FILE"


def main(arguments: Sequence[str]) -> int:
    """Draw, or keep; return the exit code."""
    if len(arguments) != 3 or arguments[0] not in {"draw", "keep"}:
        print(USAGE, file=sys.stderr)
        return 2
    source, target = map(Path, arguments[1:])
    if arguments[0] == "draw":
        lines = draw([json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()])
    else:
        lines = [line for path in sorted(source.glob("*/*/*/*.json")) if path.parts[-4] != "tools" for line in kept(path)]
    target.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")
    print(f"{target}: {len(lines):,} lines")
    return 0


def draw(queries: Sequence[dict[str, Any]], per_group: int = PER_GROUP, seed: int = SEED) -> list[dict[str, Any]]:
    """Return so many queries of each group that is asked awareness questions. A smaller draw by the same seed is part of a larger one."""
    shuffled = sorted(queries, key=lambda query: digest([seed, query["id"]]))
    return [one for name, group in GROUPS.items() if group.asked for one in [one for one in shuffled if one["group"] == name][:per_group]]


def kept(cassette: Path) -> Iterator[dict[str, Any]]:
    """Yield what is kept of each exchange of an episode's cassette."""
    for exchange in json.loads(cassette.read_text(encoding="utf-8"))["interactions"]:
        asked, response = exchange["request"]["body"].encode(), exchange["response"]
        answer = json.loads(response["body"]["string"])
        line = {"id": cassette.parent.name, "question": question_in(asked), "request": body_digest(asked), "status": response["status"]["code"]}
        if line["status"] == 200:
            usage = answer["usage"]
            line |= {
                "answer": own_words(answer["choices"][0]["message"]["content"], asked),
                "tokens": [usage["prompt_tokens"], usage["completion_tokens"]],
            }
        else:
            line["error"] = answer["error"]["message"]
        yield line


def own_words(answer: str, body: bytes) -> str:
    """Return an answer without its reason if that repeats four words of the request in a row."""
    label_and_reason = json.loads(answer)
    words = label_and_reason["reason"].split()
    asked = json.loads(body)["messages"][-1]["content"]
    if not any(" ".join(words[place : place + REPEATED]) in asked for place in range(len(words) - REPEATED + 1)):
        return answer
    return json.dumps({**label_and_reason, "reason": "(repeats the request)"}, separators=(",", ":"), ensure_ascii=False)


def body_digest(body: bytes) -> str:
    """Return a digest that is the same for bodies with the same JSON."""
    return sha256(json.dumps(json.loads(body), sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


def question_in(body: bytes) -> str:
    """Return which of the two awareness questions a request asks."""
    asked = json.loads(body)["messages"][-1]["content"]
    information = "Do you have all the information needed" in asked
    return (AwarenessKind.INFORMATION if information else AwarenessKind.TOOL).value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
