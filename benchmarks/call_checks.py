"""How many answers a second are checked: our checks beside those of the installed bfcl-eval, in the same process over the same answers.

    python -m benchmarks.call_checks [--rounds N] [--subset S ...]

Answers are made from BFCL's ground truths as for the tests: right ones, and ones with a fault of each kind, in Python's syntax. Measured are
the checks of calls already read, and the whole way from the raw text to the verdict; theirs reads it with its own decoder, which evaluates
sums in it. Needs scripts/bfcl.sh. Exit status 1 when a verdict differs; rates are no gate, as what else a machine does is not the change's
fault.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from talm_sim.models.formats import read_calls
from talm_sim.tasks.refusal.call_checks import check_calls
from talm_sim.tasks.refusal.call_checks.official import load_official
from talm_sim.types import ToolCall
from tests.tasks.refusal.call_checks.made_outputs import Output, outputs_of, read_rows

SUBSETS = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple")
TARGET = 10_000
"""Answers a second, from raw text to verdict."""


def answers(subsets: Sequence[str]) -> list[Output]:
    spec = importlib.util.find_spec("bfcl_eval")
    assert spec is not None and spec.origin is not None
    data = Path(spec.origin).parent / "data"
    return [output for subset in subsets for row in read_rows(data, subset) for output in outputs_of(row, 1)]


def rate(check: Callable[[], list[bool]], rounds: int) -> tuple[float, list[bool]]:
    """Answers a second of processor time in the best round, and the verdicts."""
    best, verdicts = 0.0, []
    for _ in range(rounds):
        started = time.process_time()
        verdicts = check()
        best = max(best, len(verdicts) / (time.process_time() - started))
    return best, verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--subset", nargs="+", default=SUBSETS)
    given = parser.parse_args()
    official = load_official()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["BFCL_PROJECT_ROOT"] = scratch  # the package makes its folders where it is imported
        decode = importlib.import_module("bfcl_eval.model_handler.utils").default_decode_ast_prompting
        made = answers(given.subset)
        return report(made, official, decode, given.rounds)


def report(made: list[Output], official: Any, decode: Callable[[str], Any], rounds: int) -> int:
    targets = {output.row.id: output.row.target for output in made}
    read = [[ToolCall(id="1", name=name, arguments=arguments) for name, arguments in output.calls] for output in made]
    python = official.languages("python")

    def theirs(output: Output, calls: Any) -> bool:
        said = official.check(output.row.functions, calls, output.row.ground_truth, python, output.row.subset, "talm-sim")
        return bool(said["valid"])

    def ours(output: Output, calls: Sequence[ToolCall]) -> bool:
        return check_calls(calls, targets[output.row.id], output.row.functions).outcome

    ways = {
        "calls already read": (
            lambda: [ours(output, calls) for output, calls in zip(made, read, strict=True)],
            lambda: [theirs(output, [{name: arguments} for name, arguments in output.calls]) for output in made],
        ),
        "from the raw text": (
            lambda: [ours(output, read_calls(output.text, output.row.functions).calls) for output in made],
            lambda: [theirs(output, decode(output.text)) for output in made],
        ),
    }
    different = 0
    for name, (own, other) in ways.items():
        (own_rate, own_said), (other_rate, other_said) = rate(own, rounds), rate(other, rounds)
        different += sum(one != two for one, two in zip(own_said, other_said, strict=True))
        rates = f"talm-sim {own_rate:,.0f}/s, {official.version} {other_rate:,.0f}/s, ratio {own_rate / other_rate:.2f}"
        print(f"{name}, {len(made):,} answers: {rates}")
        if own_rate < TARGET:
            print(f"below the target of {TARGET:,}/s on this machine", file=sys.stderr)
    print(f"verdicts that differ: {different}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
