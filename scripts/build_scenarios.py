"""Build the packaged scenarios from `seeds/` over the real tool service, and check them: `make scenarios`."""

from __future__ import annotations

import sys
from pathlib import Path

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.talm.making.build import build_scenarios, write_scenarios
from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.tools_env.caller import ToolCaller

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Build, check, write; nothing is written when a scenario is wrong."""
    target = ROOT / "talm_sim" / "tasks" / "talm" / "scenarios"
    try:
        with ToolCaller() as call:
            groups = build_scenarios(ROOT / "seeds", call.specs, call)
            problems = check_scenarios([scenario for scenarios in groups.values() for scenario in scenarios], call.specs, call, packaged=True)
    except PrerequisiteError as err:
        print(err, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    write_scenarios(groups, target)
    print(", ".join(f"{len(scenarios)} {group}" for group, scenarios in groups.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
