"""What perturbations leave of the list of tools: names, descriptions, other tools; and what is known of it where a run is read."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.perturbations import Perturbation, narrow_tools, open_perturbations, other_tools, real_name
from talm_sim.types import ToolSpec


def spec(name: str, description: str = "", category: str = "c") -> ToolSpec:
    return ToolSpec(name=name, description=description, category=category)


POOL = {
    one.name: one
    for one in (
        spec("get_size", "Get how large a thing is."),
        spec("find_size", "Find the size of a thing."),
        spec("get_weight", "Get how heavy a thing is."),
        spec("sing", "Sing a song.", "music"),
    )
}


def make(*texts: str, seed: int = 0) -> list[Perturbation]:
    return open_perturbations(texts, seed=seed, episode="s@1")


def names(*texts: str, offered: str = "get_size", seed: int = 0) -> list[str]:
    return [tool.name for tool in narrow_tools(make(*texts, seed=seed), [POOL[name] for name in offered.split()], POOL)]


def test_a_new_name_is_none_that_any_tool_has() -> None:
    taken = {**POOL, "fetch_size": spec("fetch_size"), "fetch_weight": spec("fetch_weight"), "get_weight_v2": spec("get_weight_v2")}
    left = narrow_tools(make("rename"), [POOL["get_size"], POOL["get_weight"], POOL["find_size"]], taken)
    assert [tool.name for tool in left] == ["get_size_v2", "get_weight_v3", "find_size_v2"]
    taken = {"get_size": POOL["get_size"], "fetch_size": spec("fetch_size")}
    left = narrow_tools(make("mask:tool=fetch_size", "rename"), list(taken.values()), taken)
    assert [tool.name for tool in left] == ["get_size_v2"], "a hidden tool keeps its name"


def test_a_long_name_stays_one_that_providers_take() -> None:
    long = "get_" + "x" * 62
    left = narrow_tools(make("rename"), [spec(f"{long}a"), spec(f"{long}b")], {})
    assert [len(tool.name) for tool in left] == [64, 64]
    assert [tool.name[-4:] for tool in left] == ["x_v2", "x_v3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rename:to=x", "--perturb rename:to=x: to: is the name of one tool; add tool=NAME."),
        ("rename:tool=get_size,to=a b", "to: is not a tool's name; write up to 64 letters, digits, underscores and hyphens."),
        ("rename:tool=get_size,to=ask_human", "to: 'ask_human' is reserved; choose another name."),
        ("rename:tool=get_size,to=sing", "to: there is a tool 'sing'; choose another name."),
        ("description:mode=short", "mode: 'short' is not one of 'terse', 'verbose' or 'scrambled'."),
        ("distractors:n=0", "n: 0 is too small; the least is 1."),
        ("rename:times=2", "times: rename has no such option."),
    ],
)
def test_a_wrong_option_is_one_line(text: str, message: str) -> None:
    with pytest.raises(PrerequisiteError) as err:
        names(text)
    assert message in str(err.value) and "\n" not in str(err.value)
    assert str(err.value).startswith(f"--perturb {text}: ")


def test_a_description_is_cut_padded_or_scrambled_and_its_words_stay_its_own() -> None:
    def described(text: str, tool: ToolSpec = POOL["get_size"], seed: int = 0) -> str:
        (left,) = narrow_tools(make(text, seed=seed), [tool], POOL)
        assert left.model_copy(update={"description": tool.description}) == tool
        return left.description

    assert described("description") == "Get how large"
    verbose = described("description:mode=verbose")
    assert verbose.startswith("Get how large a thing is. ") and len(verbose) > 300 and "0 in all" in verbose
    scrambled = described("description:mode=scrambled")
    assert scrambled != POOL["get_size"].description and sorted(scrambled.split()) == sorted(POOL["get_size"].description.split())
    assert scrambled == described("description:mode=scrambled")
    assert len({described("description:mode=scrambled", seed=seed) for seed in range(5)}) > 1
    assert described("description:mode=scrambled", spec("t", "Go home")) == "home Go"


def test_distractors_are_the_most_similar_ones_first() -> None:
    assert set(names("distractors:n=1")) == {"get_size", "get_weight"}, "it shares more words than find_size"
    assert set(names("distractors:n=2")) == {"get_size", "get_weight", "find_size"}
    assert set(names("distractors:n=9")) == set(POOL)
    assert set(names("distractors:tool=sing")) == {"get_size", "sing"}
    assert names("distractors:tool=get_size") == ["get_size"]


def test_a_distractor_is_of_a_category_that_the_scenario_offers_where_there_is_one() -> None:
    pool = {one.name: one for one in (POOL["get_size"], spec("get_size_too", "Get how large a thing is.", "music"), spec("weigh"))}
    assert {tool.name for tool in narrow_tools(make("distractors:n=1"), [POOL["get_size"]], pool)} == {"get_size", "weigh"}


@given(st.integers(0, 99), st.permutations(["mask:tool=get_size", "distractors:n=9", "rename", "description", "mask:tool=sing"]))
def test_in_any_order_no_hidden_tool_comes_back_and_every_name_is_one_tool(seed: int, texts: list[str]) -> None:
    perturbations = make(*texts, seed=seed)
    left = [tool.name for tool in narrow_tools(perturbations, [POOL["get_size"], POOL["find_size"]], POOL)]
    real = [real_name(perturbations, name) for name in left]
    assert sorted(real) in (["find_size", "get_weight"], ["find_size", "get_weight", "sing"])
    assert len({*left}) == len(left) and not {*left} & {*POOL}


def test_without_the_extra_a_replacement_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    other_tools._index.cache_clear()
    monkeypatch.setattr("talm_sim.retrieval.nearest.find_spec", lambda name: None)
    with pytest.raises(PrerequisiteError, match=r"^--perturb replacement: nearest texts need embeddings: pip install .*retrieval.*\.$"):
        names("replacement")


def test_a_replacement_is_near_but_not_so_near_that_it_does_the_work() -> None:
    pool = {
        one.name: one
        for one in (
            spec("get_weather", "Get the weather forecast of a city on a day."),
            spec("fetch_weather", "Fetch the weather forecast of a city on a day."),
            spec("get_pollen", "Get how many pollen are in the air of a town."),
            spec("sum_numbers", "Add numbers to each other."),
        )
    }
    (perturbation,) = make("replacement")
    (left,) = narrow_tools([perturbation], [pool["get_weather"]], pool)
    assert left == pool["get_pollen"]
    assert narrow_tools(make("replacement"), [pool["get_weather"]], {"get_weather": pool["get_weather"]}) == [pool["get_weather"]]


@pytest.mark.parametrize(
    ("text", "left"),
    [("rename", {"a", "b"}), ("description", {"a", "b"}), ("distractors", {"a", "b"}), ("replacement:tool=a", {"b"}), ("mask:tool=a", {"b"})],
)
@pytest.mark.parametrize("pool", [{}, {"a": ToolSpec(name="a"), "b": ToolSpec(name="b")}])
def test_where_names_alone_are_known_they_say_which_tools_are_gone(text: str, left: set[str], pool: dict[str, ToolSpec]) -> None:
    perturbations = make(text)
    found = narrow_tools(perturbations, [ToolSpec(name="a"), ToolSpec(name="b")], pool)
    assert {real_name(perturbations, tool.name) for tool in found} == left
