"""What broken tools do to an agent that makes no mistakes of its own: the oracle control under three perturbations, as one table."""

from __future__ import annotations

from talm_sim import RunConfig, ablate


def main() -> None:
    """Run the grid and print one line a cell; run again, it reads the finished cells."""
    base = RunConfig(split="perfect", limit="5", model="sim/oracle", tools="live")
    grid = ablate(base, over={"perturb": ["", "http-500:times=1", "http-500", "timeout"]})
    for row in grid.to_records():  # grid.to_pandas() is the same as a data frame, where pandas is installed
        passed, low, high = (row[f"pass_rate{end}"] for end in ("", "_low", "_high"))
        print(f"{row['perturb'] or 'nothing':18} n {row['n']}  passed {passed:.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
