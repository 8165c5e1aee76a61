"""Rows of the training experiment, made by rule: ordinary items of task `when2call`, in triples alike but for what makes the class.

A source is a gold call of a packaged scenario: a tool, arguments that it answers, and facts of its answer. Each gives three items with the same
four options:

- `tool_call`: the request states every argument of the call, and the tool is shown, alone or beside another;
- `request_for_info`: the same, but the value of one required argument is not stated;
- `cannot_answer`: the request is whole, but the tool is not shown: no tool at all, or others, of which none takes what the request gives.

So a text of an option says nothing about which class is right. Sentences that state nothing fill up what is left out. Other tools are of other
categories of the same part. Parts share neither categories nor, therefore, tools.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from scripts.select_when2call import WITHOUT_A_TOOL
from talm_sim.common.digests import derive_seed
from talm_sim.tasks import find_task
from talm_sim.tasks.when2call.making.item_checks import OPTION_CHECKS, failures
from talm_sim.tasks.when2call.making.items import Item, is_kin, tool_call_text
from talm_sim.tasks.when2call.making.question_checks import leaks_nothing
from talm_sim.tasks.when2call.making.rules import RuleWriter, describe_parameter
from talm_sim.tasks.when2call.making.sources import SourceQuestion, tool_text
from talm_sim.tasks.when2call.making.splitting import mentions_value
from talm_sim.tasks.when2call.published import row_of, scenario_of
from talm_sim.types import Behaviour, Facts, Missing, MissingKind, ToolSpec
from talm_sim.world.described import built_in_tools

Row = dict[str, Any]
CLASSES = (Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER)
PARTS = {"test": (7, 200), "validation": (3, 30), "train": (11, 133)}
"""Categories and sources of each part, three rows each. The categories are dealt to the parts in an order drawn by the seed."""
SEED = 33
TRAINED, OTHER = "trained wording", "other wording"
"""What the source of a row says of its wording."""
WORDINGS = {"test": (TRAINED, OTHER), "validation": (TRAINED,), "train": (TRAINED,)}
MOST_CHARACTERS = {"test": 1240, "validation": 1240, "train": 930}
"""Of tools, question and longest option, by part: with the frame of template `default`, a training row has at most 400 tokens of SmolLM2."""
_LONGEST_VALUE = 60
_PER_TOOL = 8
"""Most sources that call one tool."""
_NEUTRAL = (0, 1, 1, 2)
"""Sentences that state nothing, as a request has them: drawn alike for all classes, with one more in two of three requests that lack a value,
which else were the shorter ones.
"""
_ANY = ("how", "what", "which", "when", "where", "whether", "who", "whose")
_CLAUSE = re.compile(r"[,;:(]|\.(?=\s|$)")
_NAMESPACE = UUID("6e2d4c58-4e0e-5a53-8a32-0c1d8d1b7f33")


@dataclass(frozen=True, slots=True)
class _Triple:
    """A source with its options and the tools beside its own."""

    item: Item
    """The one that lacks a value."""
    options: Mapping[Behaviour, str]
    beside: tuple[ToolSpec, ...]
    """Tools that may be shown beside its own, or in its place."""
    wording: str
    draw: random.Random


def make_parts(parts: Mapping[str, tuple[int, int]] = PARTS) -> dict[str, list[Row]]:
    """Return the rows of each part, by its name.

    Args:
        parts: Categories and sources of each.

    Raises:
        ValueError: A part's categories have too few sources.
    """
    sources = list(_sources())
    writer = RuleWriter(sources, SEED)
    categories = sorted({source.spec.category for source in sources})
    random.Random(SEED).shuffle(categories)
    found: dict[str, list[Row]] = {}
    for part, (many, size) in parts.items():
        own, categories = categories[:many], categories[many:]
        triples = list(islice(_triples([one for one in sources if one.spec.category in own], writer, part), size))
        if len(triples) < size:
            raise ValueError(f"{part}: {len(triples)} sources can be made into rows, fewer than {size}")
        found[part] = [row for triple in triples for row in triple]
    return found


def permute_classes(training: Sequence[Row], items: Sequence[Row], seed: int = SEED) -> list[Row]:
    """Return rows of an SFT file with classes dealt anew: each class keeps its share, and a row takes its own option of its class.

    Args:
        training: The file's rows.
        items: The items that they were made of.
        seed: Seed of the deal.

    Raises:
        ValueError: An answer of the file is not the item's own option, so that options cannot take its place.
    """
    options = {item["uuid"]: item["answers"] for item in items}
    if other := [row["id"] for row in training if row["completion"] != options[row["id"]][row["action"]]]:
        raise ValueError(f"row {other[0]}: its answer is written in another way than its option")
    dealt = [row["action"] for row in training]
    random.Random(derive_seed(seed, "permuted")).shuffle(dealt)
    return [row | {"action": one, "completion": options[row["id"]][one]} for row, one in zip(training, dealt, strict=True)]


def write_rows(rows: Sequence[Row], file: Path) -> None:
    """Write rows as JSON lines; equal rows give equal bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(file.read_bytes()).hexdigest()


def _sources() -> Iterator[SourceQuestion]:
    """Yield each gold call of the packaged scenarios once, if its arguments can be stated in a sentence each and nobody can do its work."""
    specs = built_in_tools().specs
    seen: set[str] = set()
    for scenario in find_task("talm").read(("perfect",)):
        facts = scenario.target.required if isinstance(scenario.target, Facts) else ()
        for place, call in enumerate(scenario.gold_calls):
            key = json.dumps([call.name, call.arguments], sort_keys=True)
            told = tuple(fact for fact in facts if fact.call == place)
            if call.name in WITHOUT_A_TOOL or key in seen or not told or not all(map(_is_plain, call.arguments.values())):
                continue
            seen.add(key)
            yield SourceQuestion(f"{scenario.id}.{place + 1}", "", call, specs[call.name], facts=told, licence=scenario.source.licence)


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool) and 0 < len(str(value)) <= _LONGEST_VALUE


def _triples(sources: Sequence[SourceQuestion], writer: RuleWriter, part: str) -> Iterator[list[Row]]:
    """Yield the three rows of each source of a part that can be made soundly. Wordings take turns, and so do tools."""
    beside = sorted({one.spec.name: one.spec for one in sources}.values(), key=lambda spec: spec.name)
    wordings, made = WORDINGS[part], 0
    for source in _in_turn(sources):
        draw = random.Random(derive_seed(SEED, "triple", source.id))
        triple = _triple_of(source, beside, writer, wordings[made % len(wordings)], draw)
        rows = triple and _rows_of(triple, MOST_CHARACTERS[part])
        if rows:
            made += 1
            yield rows


def _in_turn(sources: Sequence[SourceQuestion]) -> list[SourceQuestion]:
    """Return sources so that their tools take turns, at most `_PER_TOOL` of each, in an order drawn by the seed."""
    turns: dict[str, int] = defaultdict(int)
    placed = []
    for source in sorted(sources, key=lambda one: derive_seed(SEED, one.id)):
        tool = source.spec.name
        placed.append((turns[tool], derive_seed(SEED, tool), source))
        turns[tool] += 1
    return [source for turn, _, source in sorted(placed, key=lambda one: one[:2]) if turn < _PER_TOOL]


def _triple_of(source: SourceQuestion, beside: Sequence[ToolSpec], writer: RuleWriter, wording: str, draw: random.Random) -> _Triple | None:
    texts = _texts(wording)
    lacking = [name for name in source.spec.required if name in source.call.arguments]
    if not lacking:
        return None
    name = draw.choice(lacking)
    missing = Missing(kind=MissingKind.ARGUMENT, name=name, value=source.call.arguments[name])
    item = Item(source, Behaviour.REQUEST_FOR_INFO, "", missing)
    answer = asyncio.run(writer.option(Behaviour.DIRECT, item, 0))
    what = describe_parameter(name, item.argument_description(name))
    options = {
        Behaviour.DIRECT: answer.text,
        Behaviour.TOOL_CALL: tool_call_text(source),
        Behaviour.REQUEST_FOR_INFO: draw.choice(texts["follow_ups"]).format(what=what),
        Behaviour.CANNOT_ANSWER: draw.choice(texts["refusals"]),
    }
    suited = [spec for spec in beside if spec.category != source.spec.category and not is_kin(spec, source)]
    draw.shuffle(suited)
    return None if answer.problem else _Triple(item, options, tuple(suited), wording, draw)


def _rows_of(triple: _Triple, most: int) -> list[Row]:
    """Return the rows of a triple; none if one of them would be unsound or too long."""
    source, draw = triple.item.source, triple.draw
    frame = draw.choice(_texts(triple.wording)["frames"])
    whole, asked, removed = (_question(triple, frame, lacks=gold is Behaviour.REQUEST_FOR_INFO) for gold in CLASSES)
    source = replace(source, question=whole)
    lacking = replace(triple.item, source=source, question=asked)
    if leaks_nothing(asked, lacking) or mentions_value(asked, triple.item.missing.value if triple.item.missing else ""):
        return []
    items = [Item(source, Behaviour.TOOL_CALL, whole), lacking, Item(source, Behaviour.CANNOT_ANSWER, removed, removed=True)]
    for behaviour, text in triple.options.items():
        # The call's arguments are checked against its schema, whatever is asked; that takes long.
        asked_in = items[:1] if behaviour is Behaviour.TOOL_CALL else items
        if any(failures(text, item, OPTION_CHECKS[behaviour]) for item in asked_in):
            return []
    room = most - max(len(item.question) for item in items) - max(map(len, triple.options.values()))
    others = _others(triple, room)
    if not others:
        return []
    nothing = draw.random() < 0.5
    rows = []
    for item in items:
        shown = ([] if nothing else others) if item.removed else [source.spec, *others[1:]]
        rows.append(_row_of(item, [tool_text(spec) for spec in draw.sample(shown, len(shown))], triple))
    return rows


def _others(triple: _Triple, room: int) -> list[ToolSpec]:
    """Return one or two tools for which, in place of the source's and beside it, there is room; none where there is none."""
    own = len(tool_text(triple.item.source.spec))
    size = {spec.name: len(tool_text(spec)) for spec in triple.beside}
    short = [spec for spec in triple.beside if size[spec.name] <= room]
    if own > room or not short:
        return []
    pairs = [spec for spec in short[1:] if max(own, size[short[0].name]) + size[spec.name] <= room]
    return [short[0], *pairs[: triple.draw.choice((0, 1, 1))]]


def _row_of(item: Item, tools: Sequence[str], triple: _Triple) -> Row:
    source = item.source
    row: Row = {
        "uuid": str(uuid5(_NAMESPACE, json.dumps([source.id, item.gold.value, item.question, list(tools)]))),
        "source": f"rows by rule, {triple.wording}",
        "source_id": source.id,
        "question": item.question,
        "correct_answer": item.gold.value,
        "answers": {kind.value: text for kind, text in triple.options.items()},
        "target_tool": None if item.removed else tool_text(source.spec),
        "tools": list(tools),
        "licence": source.licence,
        "url": "",
    }
    if item.missing:
        row |= {"held_out_param": item.missing.name, "orig_question": source.question}
    if item.removed:
        row["orig_tools"] = [tool_text(source.spec)]
    return row_of(scenario_of(row, source.id))


def _question(triple: _Triple, frame: Sequence[str], *, lacks: bool) -> str:
    """Write a request: its frame, and between, in drawn order, a sentence for each argument and some that state nothing."""
    source, draw, wording = triple.item.source, triple.draw, _texts(triple.wording)
    said = []
    for name, value in source.call.arguments.items():
        if lacks and triple.item.missing and name == triple.item.missing.name:
            continue
        what = describe_parameter(name, triple.item.argument_description(name))
        form = wording["values"][0] if what.startswith(_ANY) else draw.choice(wording["values"])
        said.append(form.format(what=what, What=what[0].upper() + what[1:], value=value).replace("..", "."))
    said += draw.sample(wording["neutral"], draw.choice(_NEUTRAL) + (lacks and draw.choice((0, 1, 1))))
    draw.shuffle(said)
    clause = _CLAUSE.split(source.spec.description, maxsplit=1)[0].strip()
    before, after = (part.format(do=clause[0].lower() + clause[1:]) for part in frame)
    return " ".join([before, *said, after])


@cache
def _texts(wording: str) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "wording.toml").read_text(encoding="utf-8"))
    return found[wording.split(maxsplit=1)[0]]
