"""Make the packaged scenarios of task awareness (talm_sim/tasks/awareness/scenarios/*.jsonl) from those of task talm.

    scripts/make_awareness.py [--pairs N]      default: 170 pairs, 340 instances

They are made by rules and the default embeddings (extra `retrieval`), as `talm-sim scenarios generate --task awareness` makes them; then pairs
are chosen: an original and one manipulation of it. Equal scenarios give equal bytes. Nothing is written if a check finds something, or if the
form of the questions or of the tool lists gives the answer. Review them: talm-sim scenarios review talm_sim/tasks/awareness/scenarios
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from talm_sim.common.digests import digest
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import short_form
from talm_sim.tasks.awareness.maker import ManipulationMaker
from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.awareness.making.loaded import tool_names
from talm_sim.tasks.awareness.making.manipulation import ManipulateOptions
from talm_sim.types import Scenario, YesNo

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "talm_sim" / "tasks" / "awareness" / "scenarios"
GROUPS = ("complete", "replaced", "removed")
PAIRS = 170
MOST_FORM = 0.60
"""Balanced accuracy that form alone may reach, where chance is .50."""

ALONE = "the question, of pairs with removed words alone"
"""It is printed, and refuses nothing: over so few pairs it varies by .05 from one choice to the next."""
_FEWEST = 20
"""Pairs below which it is not printed."""

Pair = tuple[Scenario, Scenario]
"""An original, and what was made of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make, choose, check, write; nothing is written when something is wrong."""
    parser = argparse.ArgumentParser(description="Make the packaged scenarios of task awareness.")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"pairs to choose, at most (default: {PAIRS})")
    wanted = parser.parse_args(arguments).pairs
    try:
        pairs = choose(make(), wanted)
    except PrerequisiteError as err:
        print(err, file=sys.stderr)
        return 2
    problems = find_problems(pairs)
    for what, value in form(pairs):
        print(f"from {what}: balanced accuracy {value:.2f} (chance .50)")
        if value > MOST_FORM and what != ALONE:
            problems.append(f"{what} gives the answer: choose or write others")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    chosen = [one for pair in pairs for one in pair]
    groups = {group: [one for one in chosen if one.group == group] for group in GROUPS}
    for group, found in groups.items():
        text = "".join(json.dumps(short_form(one), ensure_ascii=False) + "\n" for one in found)
        (DATA / f"{group}.jsonl").write_text(text, encoding="utf-8")
    print(", ".join(f"{len(found)} {group}" for group, found in groups.items()))
    categories = Counter(map(_category, pairs))
    print("pairs by category: " + ", ".join(f"{number} {name}" for name, number in sorted(categories.items())))
    return 0


def make() -> list[Scenario]:
    """Make everything that can be made of the packaged scenarios of task talm; what a check refuses is not among it."""
    maker = ManipulationMaker(ManipulateOptions(out=DATA, seed=0))
    sources = maker.load()
    maker.open(sources, _open_no_model)

    async def make_all() -> list[Scenario]:
        outcomes = [await maker.make(source) for source in sources]
        return [Scenario.model_validate(row) for outcome in outcomes for row in outcome.rows]

    return asyncio.run(make_all())


def _open_no_model(*, constrained: bool = False) -> NoReturn:
    raise AssertionError("rules make everything")


def choose(items: Sequence[Scenario], pairs: int = PAIRS) -> list[Pair]:
    """Choose pairs: as many of both manipulations as there are, each original once, categories by turns.

    Each original stands in one pair, so that half of all instances are Yes. Of a category's next replaced pairs the one is taken that
    brings each tool nearest to being needed in as many originals as it is a replacement.

    Args:
        items: Originals and what was made of them.
        pairs: How many at most.
    """
    originals = {one.id: one for one in items if one.group == "complete"}
    made = {group: [(originals[one.base], one) for one in items if one.group == group] for group in ("replaced", "removed")}
    used: Counter[str] = Counter()
    chosen = list(_take(made["removed"], pairs // 2, used, lambda pair: 0))
    taken = {original.id for original, _ in chosen}
    weight: Counter[str] = Counter()

    def imbalance(pair: Pair) -> int:
        change = _tool_changes(pair)
        return sum((weight[name] + number) ** 2 - weight[name] ** 2 for name, number in change.items())

    left = [pair for pair in made["replaced"] if pair[0].id not in taken]
    for pair in _take(left, pairs - len(chosen), used, imbalance):
        weight.update(_tool_changes(pair))
        chosen.append(pair)
    return sorted(chosen, key=lambda pair: list(originals).index(pair[0].id))


def _take(pairs: Sequence[Pair], most: int, used: Counter[str], cost: Callable[[Pair], int]) -> Iterator[Pair]:
    """Yield pairs of the category with fewest so far, the cheapest first; equally cheap ones in an order that says nothing."""
    waiting: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        waiting[_category(pair)].append(pair)
    for _ in range(most):
        category = min((name for name, found in waiting.items() if found), key=lambda name: (used[name], name), default=None)
        if category is None:
            return
        best = min(waiting[category], key=lambda pair: (cost(pair), digest(pair[0].id)))
        waiting[category].remove(best)
        used[category] += 1
        yield best


def _category(pair: Pair) -> str:
    return pair[0].id.rpartition("-")[0]


def _tool_changes(pair: Pair) -> Counter[str]:
    """Count how often a pair shows each tool with Yes, less how often with No."""
    change = Counter(tool_names(pair[0]))
    change.subtract(tool_names(pair[1]))
    return change


def find_problems(pairs: Sequence[Pair]) -> list[str]:
    """Return what is wrong with a chosen set: an instance that a check refuses, another number of tools."""
    problems = [
        f"{changed.id}: {failed.check}: {failed.words}"
        for original, changed in pairs
        for failed in check_manipulated(original, changed)
        if not failed.review
    ]
    for original, changed in pairs:
        if len(original.shown_tools) != len(changed.shown_tools):
            problems.append(f"{changed.id}: shows {len(changed.shown_tools)} tools, its original {len(original.shown_tools)}")
    if len({original.id for original, _ in pairs}) < len(pairs):
        problems.append("an original stands in two pairs")
    return problems


def form(pairs: Sequence[Pair]) -> Iterator[tuple[str, float]]:
    """Yield what was looked at, and the balanced accuracy of a classifier that sees nothing else: chance is .50.

    Of a list of tools it sees how many there are, whether they are in the order of their names, and each name.
    """
    check = _form_check()
    items = [one for pair in pairs for one in pair]
    gold = [one.target.gold if isinstance(one.target, YesNo) else "" for one in items]
    sources = [original.id for original, _ in pairs for _ in range(2)]
    cut = {original.id for original, changed in pairs if changed.group == "removed"}
    yield "the question", check.balanced_accuracy_of_form([one.query for one in items], gold, sources)
    words = [place for place, source in enumerate(sources) if source in cut]
    if len(cut) >= _FEWEST:
        queries, right, origins = [items[place].query for place in words], [gold[place] for place in words], [sources[place] for place in words]
        yield ALONE, check.balanced_accuracy_of_form(queries, right, origins)
    lists = [tool_names(one) for one in items]
    seen = [
        {"": 1.0, "number": float(len(names)), "in order": float(sorted(names) == list(names)), **dict.fromkeys(names, 1.0)} for names in lists
    ]
    yield "the list of tools", check.balanced_accuracy_of(seen, gold, sources)


def _form_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("form_check", ROOT / "scripts" / "form_check.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
