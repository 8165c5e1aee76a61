"""Read a stored run: how its episodes ended, and what a person was asked first. Usage: load_results.py [RUN], by default the newest."""

from __future__ import annotations

import sys
from collections import Counter

from talm_sim import load_run


def main(run: str = "latest") -> None:
    """Print how many episodes of each group ended in which way, then one question and its answer."""
    stored = load_run(run)
    ends = Counter((episode.group, episode.termination.value) for episode in stored.episodes())
    for (group, termination), number in sorted(ends.items()):
        print(f"{group:18} {termination:18} {number}")
    for episode in stored.episodes():
        if episode.human_events:
            asked = episode.human_events[0]
            print(f"\n{episode.id} asked: {asked.question}\nand was told: {asked.answer}")
            break


if __name__ == "__main__":
    main(*sys.argv[1:])
