"""Load a stored run as pandas frames and single episodes. Usage: load_results.py RUN (a name below runs/, or a directory)."""

from __future__ import annotations

import sys

from talm_sim import load_run


def main(run: str) -> None:
    """Print how episodes ended, and what the first question to a person was about."""
    stored = load_run(run)
    frame = stored.to_pandas()
    print(frame.groupby(["group", "termination"]).size().to_string())
    for episode in stored.episodes():
        if episode.human_events:
            asked = episode.human_events[0]
            print(f"\n{episode.id} asked: {asked.question}\nand was told: {asked.answer}")
            break


if __name__ == "__main__":
    main(sys.argv[1])
