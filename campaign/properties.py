"""The property tests with random examples: tests of a change draw the same examples each time; here chance is let in."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from campaign.base import ROOT, Outcome, Part

_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_TESTED: Final = re.compile(r"(\d+) (?:passed|failed)")


def _play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    outcome = Outcome(tried=count)
    tested = 0
    for _ in range(count):
        seed = rng.randrange(2**32)
        words = ["-m", "hypothesis", f"--hypothesis-seed={seed}", "--quiet", "-p", "no:cacheprovider", f"--basetemp={scratch / 'tests'}"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=ROOT,
            env={**os.environ, "TALM_TEST_EXAMPLES": "random"},
            capture_output=True,
            text=True,
            check=False,
        )
        tested += sum(int(found) for found in _TESTED.findall(done.stdout.rpartition("\n")[2] or done.stdout[-500:]))
        if done.returncode:
            names = _FAILED.findall(done.stdout) or [f"pytest ended with {done.returncode}: {done.stderr[-300:]}"]
            outcome.failures += [f"TALM_TEST_EXAMPLES=random pytest {name} --hypothesis-seed={seed}" for name in names]
    outcome.figures["tests"] = f"{tested:,}"
    return outcome


PARTS: Final = (Part("properties", "Property tests with examples drawn at random", "seeds", 8, 0, _play),)
