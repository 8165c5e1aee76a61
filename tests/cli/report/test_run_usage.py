"""What a run took stands below its table: limits, tokens, seconds and cost, each as far as it is known and no further."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from talm_sim.cli.report.run_usage import total_usage
from talm_sim.config import RunConfig
from talm_sim.runs.prices import Price
from talm_sim.types import Episode, ModelTurn, Termination, Usage
from tests.cli.wrong import Talm

PRICES = {"openai/gpt-4o": Price(2.5, 10, "USD")}


def stored(model: str = "openai/gpt-4o", models: str | None = "live", **usage: int) -> Any:
    """A run of three episodes, of 1, 2 and 6 seconds, the last of which a limit ended."""
    ends = (Termination.ANSWERED, Termination.ANSWERED, Termination.TURN_LIMIT)
    turns = (ModelTurn(), ModelTurn())
    kept = [
        Episode(
            id=f"s@{place}",
            scenario_id="s",
            group="g",
            model=model,
            model_turns=turns,
            termination=end,
            elapsed_s=seconds,
            usage=Usage(**usage),
        )
        for place, (end, seconds) in enumerate(zip(ends, (1, 2, 6), strict=True))
    ]
    found = {Termination.ANSWERED: 2, Termination.TURN_LIMIT: 1}
    return SimpleNamespace(config=RunConfig(model=model, models=models), episodes=lambda: iter(kept), terminations=found)


COUNTED: Any = {"input_tokens": 400_000, "output_tokens": 1_000}
TOKENS = "tokens: 1,200,000 in, 3,000 out"
REST = "1 of 3 ended at turn_limit"
TIME = "2.0 s per episode (median), 9.0 s together"


@pytest.mark.parametrize(
    ("run", "prices", "said"),
    [
        (stored(**COUNTED), None, f"{REST}; {TOKENS}; {TIME}"),
        (stored(**COUNTED), PRICES, f"{REST}; {TOKENS}; {TIME}; cost: 3.03 USD at the given prices"),
        (
            stored(**COUNTED, cached_tokens=5),
            PRICES,
            f"{REST}; {TOKENS}; {TIME}; cost: 3.03 USD at the given prices, cached tokens at the full price",
        ),
        (
            stored(**COUNTED, uncounted=1),
            PRICES,
            f"{REST}; {TOKENS}; 3 of 6 generations were not counted by the server; {TIME}; cost: at least 3.03 USD at the given prices",
        ),
        (stored("openai/other", **COUNTED), PRICES, f"{REST}; {TOKENS}; {TIME}; cost: no price is given for openai/other"),
        (stored("agent/lg:build", None, **COUNTED), PRICES, f"{REST}; {TOKENS}; {TIME}; cost: no price is given for agent/lg:build"),
        (stored("agent/lg:build", None), PRICES, f"{REST}; {TIME}"),
        (
            stored(models="replay", **COUNTED),
            PRICES,
            f"{REST}; {TOKENS.replace(':', ' of the recording:')}; cost of the recording: 3.03 USD at the given prices",
        ),
        (stored("sim/oracle", None), PRICES, REST),
        (stored("hf/here", None, **COUNTED), PRICES, f"{REST}; {TOKENS}; {TIME}"),
    ],
)
def test_the_line_says_what_is_known_and_no_more(run: Any, prices: Any, said: str) -> None:
    assert total_usage(run, prices).line() == said


def test_run_and_report_take_prices(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text('currency = "EUR"\n"openai-api/vllm/smollm2-135m" = {input = 100, output = 100}\n', encoding="utf-8")
    three = ("run", "--split", "underspecified", "--limit", "3", "--run-id")
    printed = [talm(*three, "r", "--prices", "p.toml", "-q")[1], talm("report", "r", "--prices", "p.toml", "-q")[1]]
    assert all("EUR at the given prices" in " ".join(out.split()) for out in printed)
    assert "EUR" not in talm("report", "r", "--all")[1] and "tokens of the recording" in talm("report", "r", "--all")[1]
    assert talm("report", "r", "--prices", "p.toml", "--html", "page.html")[0] == 0
    assert "EUR at the given prices" in Path("page.html").read_text(encoding="utf-8")
    code, out, err = talm("report", "r", "--prices", "p.toml", "--rows")
    assert (code, out) == (2, "") and "--prices works with the table" in err
    last = json.loads(talm(*three, "s", "--prices", "p.toml", "--display", "json")[1].splitlines()[-1])
    assert last["took"]["currency"] == "EUR" and last["took"]["cost"] > 0
    assert not Path("runs/t").exists() and talm(*three, "t", "--prices", "nosuch.toml")[0] == 2
    assert not Path("runs/t").exists(), "a slip in the file costs no run"
