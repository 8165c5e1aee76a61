"""Replay the shipped recording with and without a person to ask, and print how the pass rate moves."""

from __future__ import annotations

from talm_sim import run


def main() -> None:
    """Run both settings and print one line a group."""
    for human in ("none", "recorded"):
        stored = run(split="underspecified", human=human)
        for summary in stored.summary():
            rate = summary.measure("pass_rate")
            if rate is None or rate.value is None:
                print(f"human {human}: {summary.group}: no pass rate")
            else:
                print(f"human {human}: {summary.group}: {rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}], n = {rate.n}")


if __name__ == "__main__":
    main()
