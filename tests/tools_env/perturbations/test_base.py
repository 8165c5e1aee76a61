from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.perturbations import PERTURBATIONS, Call, Outcome, Perturbation, open_perturbations, parse_perturbation
from talm_sim.types import ToolSpec

ANSWER = Outcome(200, b'{"city": "Hanoi"}')
CALL = Call(ToolSpec(name="t"), {}, 1, {}, VirtualClock(), "e")


def _opened(text: str, seed: int = 0, episode: str = "e") -> Perturbation:
    (perturbation,) = open_perturbations((text,), seed=seed, episode=episode)
    return perturbation


def _hits(text: str, seed: int = 0, episode: str = "e", *, calls: int = 200) -> list[bool]:
    """Which of the calls of tool `t`, all with the same arguments, a perturbation fires on."""
    perturbation = _opened(text, seed, episode)
    return [perturbation.strikes(replace(CALL, of_tool=number, repeated=number - 1)) for number in range(1, calls + 1)]


@pytest.mark.parametrize(
    ("text", "seed", "episode", "hits"),
    [
        ("http-503:p=0.3", 0, "e", "0000001001000100000100001111100011000110"),
        ("timeout:p=0.50,seconds=2.0,tool=t", 7, "geo-01.perfect@2", "1111110011011100001000001101111010000101"),
        ("empty-result:times=30,p=.4", 0, "s@1", "0010010011000000110100100100100000000000"),
    ],
)
def test_draws_stay_as_they_are(text: str, seed: int, episode: str, hits: str) -> None:
    """Recorded runs are made with them: where they change, the schedule's version in a recording's key must."""
    assert "".join(str(int(hit)) for hit in _hits(text, seed, episode, calls=40)) == hits


async def test_429_says_how_long_to_wait() -> None:
    (perturbation,) = open_perturbations(("http-429:retry_after=7",), seed=0, episode="e")
    outcome = await perturbation.before(CALL)
    assert outcome is not None
    assert outcome.retry_after == 7


async def test_bodies_are_damaged_on_the_way_back() -> None:
    malformed, cut, empty = (_opened(text) for text in ("malformed-body", "truncated-body:share=0.5", "empty-result"))
    assert await malformed.before(CALL) is None
    assert await malformed.after(CALL, ANSWER) == await cut.after(CALL, ANSWER) == Outcome(200, ANSWER.body[:8])
    assert await _opened("truncated-body").after(CALL, ANSWER) == Outcome(200, ANSWER.body[:15])
    assert await empty.after(CALL, Outcome(404, b"x")) == Outcome(200, b"{}")


@pytest.mark.parametrize("body", [b"123456", b"7"])
async def test_half_of_a_number_is_not_a_broken_body(body: bytes) -> None:
    assert await _opened("malformed-body").after(CALL, Outcome(200, body)) is None
    assert await _opened("truncated-body").after(CALL, Outcome(200, body)) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("htpp-500", "unknown perturbation 'htpp-500'. Did you mean 'http-500'?"),
        ("http-500:p", "'p' is not an option; write KEY=VALUE."),
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
