"""Both manipulations over all of API-Bank and StableToolBench: what is made, what is rejected and why, what is kept."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from talm_sim.retrieval import find_embedder
from talm_sim.tasks.awareness.making.apibank import load_apibank
from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.awareness.making.manipulation import replace_all
from talm_sim.tasks.awareness.making.pool import Pool, pool_of
from talm_sim.tasks.awareness.making.remove import remove_by_rules
from talm_sim.tasks.awareness.making.replace import Skipped
from talm_sim.tasks.awareness.making.toolbench import load_toolbench
from talm_sim.types import Scenario, YesNo

pytestmark = pytest.mark.bench_data


@pytest.fixture(scope="module", autouse=True)
def _forget_the_data() -> Iterator[None]:
    """They are large, and of no use to other tests."""
    yield
    loaded.cache_clear()
    whole_pool.cache_clear()


def counted(pairs: list[tuple[Scenario, Scenario | Skipped]], pool: Pool | None) -> tuple[Counter[str], int, int]:
    """Rejected ones by check and skipped ones by reason, those kept, and of these those a person must look at."""
    fates: Counter[str] = Counter()
    kept = review = 0
    for original, changed in pairs:
        if isinstance(changed, Skipped):
            fates[changed.reason] += 1
            continue
        failures = check_manipulated(original, changed, pool)
        wrong = {failure.check for failure in failures if not failure.review}
        fates.update(wrong)
        kept += not wrong
        review += not wrong and bool(failures)
    return fates, kept, review


def rejected(original: Scenario, changed: Scenario, pool: Pool) -> bool:
    return any(not failure.review for failure in check_manipulated(original, changed, pool))


@cache
def loaded(folder: Path) -> tuple[Sequence[Scenario], Sequence[Scenario]]:
    """API-Bank's dialogues and StableToolBench's queries: read once for all tests."""
    return load_apibank(folder / "apibank").scenarios, load_toolbench(folder / "stabletoolbench").scenarios


@cache
def whole_pool(folder: Path) -> Pool:
    dialogues, queries = loaded(folder)
    return pool_of((*dialogues, *queries), find_embedder())


def test_replacement(bench_data: Path) -> None:
    pytest.importorskip("wordllama")
    (dialogues, queries), pool = loaded(bench_data), whole_pool(bench_data)
    assert {source: len(apis) for source, apis in pool.apis.items()} == {"apibank": 49, "stabletoolbench": 2490}
    # The study kept 423 and 477 (Table 1).
    made = replace_all(dialogues, pool)
    assert counted([(one, made[one.id]) for one in dialogues], pool) == ({"another API serves": 24}, 423, 27)
    kept = [one for original in dialogues if isinstance(one := made[original.id], Scenario) and not rejected(original, one, pool)]
    swaps = Counter(swap for one in kept if isinstance(one.target, YesNo) for swap in one.target.swapped.items())
    # Without a bound GetUserToken to RegisterUser were 96 of 428.
    assert (max(swaps.values()), swaps.total()) == (21, 423) and swaps["GetUserToken", "RegisterUser"] == 21
    made = replace_all(queries, pool)
    assert counted([(one, made[one.id]) for one in queries], pool) == ({"another API serves": 301}, 464, 201)


def test_removal_by_rules(bench_data: Path) -> None:
    dialogues, queries = loaded(bench_data)
    fates, kept, review = counted([(one, remove_by_rules(one, 0)) for one in dialogues], None)
    assert (kept, review) == (227, 1)
    assert fates == {
        "cutting the words of its arguments leaves broken sentences": 137,
        "it ends with a result, not with the user": 55,
        "the user says none of its arguments outright": 13,
        "its arguments can still be read elsewhere in the conversation": 8,
        "its calls have no arguments": 7,
    }
    assert counted([(one, remove_by_rules(one, 0)) for one in queries], None) == ({"it has no gold arguments": 765}, 0, 0)
