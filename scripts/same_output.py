"""Compare what two checkouts print: tables, JSON and CSV of the shipped recordings and the controls.

    .venv/bin/python scripts/same_output.py BEFORE AFTER [--only TEXT]

BEFORE and AFTER are checkouts with an environment of their own (`sh scripts/setup.sh`). Each plays the same runs in a directory of its own.
Every output must be the same byte for byte; if one differs, its lines are printed and the exit code is 1.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

CONTROLS = ("oracle", "eager", "cautious", "asker", "recoverer", "parrot", "liar", "spammer", "stubborn")
FORMS = ((), ("--json",), ("--csv",), ("--csv", "--rows"), ("--markdown",))
FAULTS = ("http-500:p=0.5", "off-by-one")
MOST_LINES, LONGEST = 12, 200


def runs() -> Iterator[tuple[str, list[str]]]:
    """Yield each run's name and the options that make it."""
    for split in ("perfect", "underspecified", "unavailable", "no-tools", "late-gap", "several-gaps"):
        yield f"recorded-{split}", ["--split", split]
        yield f"alone-{split}", ["--split", split, "--human", "none"]
    for task in ("awareness", "refusal", "when2call"):
        yield f"recorded-{task}", ["--task", task]
        for control in CONTROLS:
            yield f"{task}-{control}", ["--task", task, "--model", f"sim/{control}", "--limit", "40"]
    for control in CONTROLS:
        yield f"talm-{control}", ["--model", f"sim/{control}", "--human", "simulated", "--limit", "25"]
        faults = [word for fault in FAULTS for word in ("--perturb", fault)]
        yield f"faults-{control}", ["--split", "perfect", "--model", f"sim/{control}", "--human", "simulated", "--limit", "25", *faults]


def outputs(checkout: Path, place: Path, name: str, options: list[str]) -> dict[str, str]:
    """Play a run and return what each form of its report prints, with the exit codes."""
    program = str(checkout / ".venv/bin/talm-sim")
    environment = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def output(*words: str) -> str:
        done = subprocess.run([program, *words], cwd=place, env=environment, capture_output=True, text=True, check=False)
        text = f"{done.stdout}exit {done.returncode}\n"
        return text if done.returncode in (0, 1) else text + done.stderr

    found = {"run": output("run", *options, "--run-id", name, "--display", "none")}
    for form in FORMS:
        found[" ".join(("report", *form))] = output("report", name, *form)
    found["report --csv --rows"] = without_times(found["report --csv --rows"])
    return found


def without_times(text: str) -> str:
    """Return comma-separated rows without the columns that say how long something took."""
    rows = list(csv.reader(io.StringIO(text)))
    kept = [place for place, head in enumerate(rows[0]) if not head.endswith("_s")]
    return "\n".join(",".join(row[place] for place in kept if place < len(row)) for row in rows)


def main() -> int:
    """Compare the checkouts and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", default="", help="play the runs whose name contains this text")
    given = parser.parse_args()
    different = compared = 0
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        for name, options in runs():
            if given.only not in name:
                continue
            before = outputs(given.before.resolve(), Path(one), name, options)
            after = outputs(given.after.resolve(), Path(other), name, options)
            for form, text in before.items():
                compared += 1
                if text != after[form]:
                    different += 1
                    lines = difflib.unified_diff(text.splitlines(), after[form].splitlines(), "before", "after", lineterm="", n=0)
                    print(f"{name}: {form} differs", *(line[:LONGEST] for line in list(lines)[:MOST_LINES]), sep="\n  ", flush=True)
    print(f"{compared} outputs compared, {different} differ")
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
