"""Overall scores: against the installed packages' own sums, against v2's formula by hand, and with subsets that were not run."""

from __future__ import annotations

import csv
import importlib.util
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from talm_sim.judges.stats import wilson
from talm_sim.tasks.refusal.trees import TREES, Node, Reach, Shape, TreeVersion, score_tree
from talm_sim.types import Rate

ROWS = {
    "simple_python": 400,
    "simple_java": 100,
    "simple_javascript": 50,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
    "irrelevance": 240,
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_irrelevance": 884,
    "live_relevance": 16,
}
FURTHER = ("base", "miss_func", "miss_param", "long_context")
AGENTIC = {"web_search_base": 100, "web_search_no_snippet": 100, "memory_kv": 155, "memory_vector": 155, "memory_rec_sum": 155}
V3 = {"simple_python": "simple", "simple_java": "java", "simple_javascript": "javascript"}
EXECUTED = ("exec_simple", "rest", "exec_multiple", "exec_parallel", "exec_parallel_multiple")


def subsets(shape: Shape) -> set[str]:
    return {shape.name} if not shape.parts else set[str]().union(*map(subsets, shape.parts))


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts:
        yield from nodes(part)


def drawn(version: TreeVersion, seed: int) -> dict[str, Rate]:
    """A pass rate of every subset of a tree."""
    draw = random.Random(seed)
    sizes = {name: ROWS.get(name) or AGENTIC.get(name) or 200 for name in sorted(subsets(TREES[version]))}
    return {name: wilson(draw.randint(0, n), n) for name, n in sizes.items()}


def official(folder: Path, version: str, rates: dict[str, Rate], out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The scores the package prints, by column; what it imports besides, and does not need for them, is stood in for."""
    model = SimpleNamespace(display_name="m", url="", org="", license="", input_price=None, output_price=None)
    stand_ins = {
        "numpy": ModuleType("numpy"),
        "pandas": ModuleType("pandas"),
        "bfcl_eval.constants.model_config": module("model_config", MODEL_CONFIG_MAPPING={"m": model}),
        "bfcl_eval.constants.eval_config": module("eval_config"),
        "bfcl_eval.utils": module(
            "utils", get_all_format_sensitivity_configs=list, extract_test_category=str, load_file=list, load_dataset_entry=list
        ),
    }
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv("WANDB_BFCL_PROJECT", raising=False)
    for name, stand_in in stand_ins.items():
        monkeypatch.setitem(sys.modules, name, stand_in)
    file = folder / "bfcl_eval" / "eval_checker" / "eval_runner_helper.py"
    spec = importlib.util.spec_from_file_location(f"bfcl_scores_{version}", file)
    assert spec and spec.loader
    helper = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(helper)
    names = V3 if version == "v3" else {}
    table = {"m": {names.get(name, name): {"accuracy": rate.value, "total_count": rate.n} for name, rate in rates.items()}}
    helper.generate_leaderboard_csv(table, out)
    for name in [name for name in sys.modules if name.partition(".")[0] == "bfcl_eval"]:
        del sys.modules[name]
    found: dict[str, str] = {}
    for part in ("non_live", "live", "multi_turn", "overall", *(["agentic"] if version == "v4" else [])):
        (row,) = csv.DictReader((out / f"data_{part}.csv").read_text(encoding="utf-8").splitlines())
        found |= {f"{part}: {column}": value for column, value in row.items()}
    return found


def module(name: str, **names: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(names)
    return made


COLUMNS = {
    "overall": "overall: Overall Acc",
    "simple": "non_live: Simple AST",
    "live": "live: Live Overall Acc",
    "multi_turn": "multi_turn: Multi Turn Overall Acc",
    "live_multiple": "live: Python Multiple AST",
}


def is_printed(node: Node, printed: str) -> bool:
    """Whether a score is the percentage printed, which has two places."""
    return abs(100 * (node.value or 0) - float(printed.removesuffix("%"))) < 0.005 + 1e-9


@pytest.mark.parametrize("version", ["v3", "v4"])
def test_the_scores_are_those_the_package_prints(
    version: TreeVersion, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = request.getfixturevalue(f"bfcl_{version}")
    columns = dict(COLUMNS, non_live="non_live: Non_Live Overall Acc")
    if version == "v4":
        columns |= {"non_live": "non_live: Non-Live Overall Acc", "agentic": "agentic: Agentic Overall Acc"}
        columns |= {"web_search": "agentic: Web Search Summary", "memory": "agentic: Memory Summary"}
        columns["total_irrelevance"] = "overall: Irrelevance Detection"
    for seed in range(20):
        rates = drawn(version, seed)
        printed = official(folder, version, {"live_relevance": wilson(3, 16), **rates}, tmp_path, monkeypatch)
        tree = {node.name: node for node in nodes(score_tree(version, rates))}
        for name, column in columns.items():
            assert is_printed(tree[name], printed[column]), (seed, name)


def test_v2_is_the_mean_of_ten_by_hand() -> None:
    """By hand from the release's formula, as no installed package has it: ten scores, of which four are executed."""
    rates = drawn("v2", 1)
    share = {name: rate.k / rate.n for name, rate in rates.items()}
    simple = (share["simple_python"] + share["simple_java"] + share["simple_javascript"]) / 3
    ten = [(simple + share["live_simple"]) / 2]
    ten += [(share[name] + share[f"live_{name}"]) / 2 for name in ("multiple", "parallel", "parallel_multiple")]
    ten += [(share["exec_simple"] + share["rest"]) / 2, share["exec_multiple"], share["exec_parallel"], share["exec_parallel_multiple"]]
    ten += [(share["irrelevance"] + share["live_irrelevance"]) / 2, share["live_relevance"]]
    assert score_tree("v2", rates).value == pytest.approx(sum(ten) / 10)


@pytest.mark.parametrize("version", ["v2", "v3", "v4"])
def test_what_was_not_run_is_marked_and_never_filled_in(version: TreeVersion) -> None:
    rates = {name: wilson(n // 2, n) for name, n in ROWS.items()}
    root = score_tree(version, rates)
    assert root.value is None and root.state == "incomplete" and root.missing
    assert not set(root.missing) & set(ROWS)
    tree = {node.name: node for node in nodes(root)}
    if version == "v2":
        assert root.missing == EXECUTED and tree["simple_executed"].state == tree["rest"].state == "not run"
    else:
        assert tree["multi_turn"].state == "not run" and tree["multi_turn"].missing == tuple(f"multi_turn_{name}" for name in FURTHER)
        assert tree["non_live"].state == tree["live"].state == "scored"
        assert tree["non_live"].value == pytest.approx(0.5)
    del rates["simple_java"]
    tree = {node.name: node for node in nodes(score_tree(version, rates))}
    assert (tree["simple"].value, tree["simple"].state, tree["simple"].missing) == (None, "incomplete", ("simple_java",))
    assert tree["simple_java"].state == "not run" and tree["simple_java"].rate is None


def test_a_subset_run_in_part_has_no_value_nor_has_what_is_above_it() -> None:
    rates = drawn("v4", 3)
    reach = {name: Reach(n, n) for name, n in ROWS.items()}
    assert score_tree("v4", rates, reach).value == score_tree("v4", rates).value
    reach["simple_python"] = Reach(5, 400)
    tree = {node.name: node for node in nodes(score_tree("v4", rates, reach))}
    for name in ("simple_python", "simple", "non_live", "overall"):
        assert (tree[name].value, tree[name].partial, tree[name].state) == (None, ("simple_python",), "incomplete"), name
    assert tree["simple_python"].reach == (5, 400) and tree["simple"].reach == (155, 550)
    assert tree["live"].value is not None and tree["total_irrelevance"].value is not None
