"""What broken tools do to an agent that makes no mistakes of its own: the oracle control under three perturbations, as one table."""

from __future__ import annotations

from talm_sim import RunConfig, ablate


def main() -> None:
    """Run the grid and print one line a cell; run again, it reads the finished cells."""
    base = RunConfig(split="perfect", limit="5", model="sim/oracle", tools="live")
    grid = ablate(base, over={"perturb": ["", "http-500:times=1", "http-500", "timeout"]})
    frame = grid.to_pandas()
    print(frame[["perturb", "group", "n", "pass_rate", "pass_rate_low", "pass_rate_high"]].to_string(index=False))


if __name__ == "__main__":
    main()
