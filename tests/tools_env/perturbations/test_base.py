from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.perturbations import PERTURBATIONS, Call, Outcome, open_perturbations, parse_perturbation
from talm_sim.types import ToolSpec

ANSWER = Outcome(200, b'{"city": "Hanoi"}')
CALL = Call(ToolSpec(name="t"), {}, 1, {}, VirtualClock(), "e")


def _open(text: str, seed: int = 0, episode: str = "e") -> list[bool]:
    """Which of 200 calls of tool `t` a perturbation fires on."""
    (perturbation,) = open_perturbations((text,), seed=seed, episode=episode)
    return [perturbation.applies("t") for _ in range(200)]


def test_the_first_set_is_there() -> None:
    assert set(PERTURBATIONS.names()) >= {
        "mask",
        "http-403",
        "http-404",
        "http-429",
        "http-500",
        "http-503",
        "timeout",
        "connection-reset",
        "malformed-body",
        "empty-result",
    }


def test_fires_always_unless_told_otherwise() -> None:
    assert _open("http-500") == [True] * 200


def test_tool_option_leaves_other_tools_alone_and_unarmed() -> None:
    (perturbation,) = open_perturbations(("http-500:tool=a",), seed=0, episode="e")
    assert not perturbation.applies("b")
    assert perturbation.applies("a")
    assert (perturbation.log().armed, perturbation.log().fired) == (1, 1)


def test_times_bounds_the_hits_of_an_episode() -> None:
    assert _open("http-500:times=2") == [True, True] + [False] * 198


def test_chance_is_kept_and_repeats_with_the_seed() -> None:
    hits = _open("http-503:p=0.3")
    assert 40 <= sum(hits) <= 80
    assert hits == _open("http-503:p=0.3")
    assert hits != _open("http-503:p=0.3", seed=1)
    assert hits != _open("http-503:p=0.3", episode="f")


@pytest.mark.parametrize(
    ("text", "seed", "episode", "hits"),
    [
        ("http-503:p=0.3", 0, "e", "0001000010001100001000010000011000000000"),
        ("timeout:p=0.50,seconds=2.0,tool=t", 7, "geo-01.perfect@2", "1000101011000111111111010111011110101101"),
        ("empty-result:times=3,p=.4", 0, "s@1", "0110010000000000000000000000000000000000"),
    ],
)
def test_draws_stay_as_they_were(text: str, seed: int, episode: str, hits: str) -> None:
    """They hang on the text as it was written: recorded runs were made with them."""
    assert "".join(str(int(hit)) for hit in _open(text, seed, episode)[:40]) == hits


def test_log_says_how_often_it_fired() -> None:
    (perturbation,) = open_perturbations(("http-500:times=1",), seed=0, episode="e")
    for _ in range(3):
        perturbation.applies("t")
    assert perturbation.log().model_dump() == {"name": "http-500:times=1", "armed": 3, "fired": 1, "seen": 0}


@pytest.mark.parametrize(("name", "status"), [("http-403", 403), ("http-404", 404), ("http-500", 500), ("http-503", 503), ("http-429", 429)])
async def test_http_errors_answer_in_the_tools_place(name: str, status: int) -> None:
    (perturbation,) = open_perturbations((name,), seed=0, episode="e")
    outcome = await perturbation.before(CALL)
    assert outcome is not None
    assert outcome.status == status


async def test_429_says_how_long_to_wait() -> None:
    (perturbation,) = open_perturbations(("http-429:retry_after=7",), seed=0, episode="e")
    outcome = await perturbation.before(CALL)
    assert outcome is not None
    assert outcome.retry_after == 7


async def test_timeout_waits_on_the_given_clock() -> None:
    clock = VirtualClock()
    (perturbation,) = open_perturbations(("timeout:seconds=30",), seed=0, episode="e")
    outcome = await perturbation.before(replace(CALL, clock=clock))
    assert outcome == Outcome(None, error="timeout")
    assert clock.slept == 30


async def test_reset_has_no_answer() -> None:
    (perturbation,) = open_perturbations(("connection-reset",), seed=0, episode="e")
    assert await perturbation.before(CALL) == Outcome(None, error="connection_reset")


async def test_bodies_are_damaged_on_the_way_back() -> None:
    malformed, empty = open_perturbations(("malformed-body", "empty-result"), seed=0, episode="e")
    assert await malformed.before(CALL) is None
    assert (await malformed.after(CALL, ANSWER)).body == ANSWER.body[:8]
    assert await empty.after(CALL, Outcome(404, b"x")) == Outcome(200, b"{}")


def test_mask_hides_one_tool_or_all() -> None:
    tools = [ToolSpec(name="a"), ToolSpec(name="b")]
    one, everything = open_perturbations(("mask:tool=a", "mask"), seed=0, episode="e")
    assert [tool.name for tool in one.narrow(tools, {})] == ["b"]
    assert everything.narrow(tools, {}) == []
    assert (one.log().armed, one.log().fired) == (1, 1)
    assert not one.watches_calls


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("htpp-500", "unknown perturbation 'htpp-500'. Did you mean 'http-500'?"),
        ("http-500:p", "'p' is not an option; write KEY=VALUE."),
        ("http-500:p=2", "p: 2 is too large; the most is 1."),
        ("http-500:times=x", "times: 'x' is not a whole number."),
        ("http-500:tol=a", "tol: http-500 has no such option. Did you mean 'tool'?"),
        ("timeout:seconds=-1", "seconds: -1 is too small; the least is 0."),
        ("timeout:seconds=nan", "seconds: nan is not a finite number; give one."),
        ("http-500:p=", "p: is empty; leave it out or give it a value."),
    ],
)
def test_bad_text_is_named_with_its_fix(text: str, message: str) -> None:
    with pytest.raises(PrerequisiteError) as err:
        open_perturbations((text,), seed=0, episode="e")
    assert message in str(err.value)
    assert text in str(err.value)


_KEYS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
_VALUES = st.text(st.sampled_from("a0._-,= "), min_size=1, max_size=8)


@given(name=st.sampled_from(PERTURBATIONS.names()), options=st.dictionaries(_KEYS, _VALUES, max_size=4))
def test_written_form_reads_back(name: str, options: dict[str, str]) -> None:
    text = name + (":" + ",".join(f"{key}={value}".replace(",", r"\,") for key, value in options.items()) if options else "")
    spec = parse_perturbation(text)
    assert str(spec) == text
    assert dict(spec.options) == options
