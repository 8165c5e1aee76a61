from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.perturbations import PERTURBATIONS, open_perturbations, option_help
from tests.offered import bring_along

BANNER = """
from typing import Literal

from pydantic import Field, field_validator

from talm_sim.tools_env.perturbations import Perturbation, PerturbationOptions, register_perturbation


@register_perturbation
class Banner(Perturbation):
    name, summary = "banner", "put a text before the answer"

    class Options(PerturbationOptions):
        text: str = Field(description="What to say.")
        lines: int = Field(1, gt=0, lt=9, description="How often.")
        place: Literal["top", "end"] = Field("top", description="Where.")
        instead: bool = Field(False, alias="with", description="In place of the answer.")
        share: float = Field(0.5, le=1)

        @field_validator("text")
        @classmethod
        def _short(cls, text: str) -> str:
            if len(text) > 20:
                raise ValueError("longer than 20 characters.")
            return text

    options: Options
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("banner", "--perturb banner: text: must be given; write text=VALUE."),
        ("banner:txt=a", "--perturb banner:txt=a: txt: banner has no such option. Did you mean 'text'?"),
        ("banner:text=a,lines=1.5", "--perturb banner:text=a,lines=1.5: lines: '1.5' is not a whole number."),
        ("banner:text=a,lines=9", "--perturb banner:text=a,lines=9: lines: 9 is too large; it must be less than 9."),
        ("banner:text=a,place=mid", "--perturb banner:text=a,place=mid: place: 'mid' is not one of 'top' or 'end'."),
        ("banner:text=a,with=perhaps", "--perturb banner:text=a,with=perhaps: with: 'perhaps' is neither true nor false."),
        (
            "banner:text=a,instead=true",
            "--perturb banner:text=a,instead=true: instead: banner has no such option. "
            "Known: tool, p, seed, call, times, after, text, lines, place, with, share.",
        ),
        ("banner:text=a,share=2", "--perturb banner:text=a,share=2: share: 2 is too large; the most is 1."),
        ("banner:text=" + "a" * 21, f"--perturb banner:text={'a' * 21}: text: longer than 20 characters."),
        ("banner:text=a,times=-1", "--perturb banner:text=a,times=-1: times: -1 is too small; the least is 0."),
    ],
)
def test_a_wrong_option_is_one_line(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, BANNER) as load:
        load()
        with pytest.raises(PrerequisiteError) as err:
            open_perturbations((text,), seed=0, episode="e")
    assert str(err.value) == message


@pytest.mark.parametrize("entry", ["", "banner = Banner"])
def test_one_of_ones_own_is_one_file_with_options_of_any_type(entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, BANNER, entry=entry) as load:
        if not entry:
            load()
        (one,) = open_perturbations((r"banner:text=Sorry\, =no=,with=true,p=0.5",), seed=0, episode="e")
        assert str(one.spec) == r"banner:text=Sorry\, =no=,with=true,p=0.5"
        assert one.options.model_dump() == {
            "text": "Sorry, =no=",
            "lines": 1,
            "place": "top",
            "instead": True,
            "share": 0.5,
            "tool": "",
            "p": 0.5,
            "seed": None,
            "call": None,
            "times": None,
            "after": None,
        }
        assert PERTURBATIONS.origin("banner") == ("package toy" if entry else "--plugin brought_along")
        described = [(item.name, item.default, item.required, item.values) for item in option_help(PERTURBATIONS.get("banner").Options)]
    assert described == [
        ("text", "", True, "text"),
        ("lines", "1", False, "a whole number, more than 0, less than 9"),
        ("place", "top", False, "one of top, end"),
        ("with", "false", False, "true or false"),
        ("share", "0.5", False, "a number, at most 1"),
        ("tool", "", False, "text"),
        ("p", "1", False, "a chance between 0 and 1"),
        ("seed", "", False, "a whole number"),
        ("call", "", False, "a whole number, 1 or more"),
        ("times", "", False, "a whole number, 0 or more"),
        ("after", "", False, "a whole number, 0 or more"),
    ]
