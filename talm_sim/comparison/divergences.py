"""Find where the transcripts of two runs part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from talm_sim.store.stored_run import StoredRun
from talm_sim.types.steps import Divergence, first_difference


def find_divergences(
    first: StoredRun, second: StoredRun, scenarios: Iterable[str], translated: Mapping[str, str] | None = None
) -> dict[str, Divergence]:
    """Return where the episodes of scenarios first differ: of several epochs, the first pair in which one succeeded and the other did not."""
    wanted = set(scenarios)
    names = {other: name for name, other in (translated or {}).items()}
    succeeded = first.job.task.succeeded
    episodes = [
        {(name, one.epoch): one for one in run.episodes() if (name := names.get(one.scenario_id, one.scenario_id)) in wanted} if wanted else {}
        for run in (first, second)
    ]
    said = [
        {(names.get(row.scenario, row.scenario), row.epoch): succeeded(row) for row in run.rows()} if wanted else {} for run in (first, second)
    ]
    found: dict[str, Divergence] = {}
    for key in sorted(episodes[0].keys() & episodes[1].keys(), key=lambda key: (said[0].get(key) == said[1].get(key), key[1])):
        divergence = first_difference(episodes[0][key], episodes[1][key]) if key[0] not in found else None
        if divergence is not None:
            found[key[0]] = divergence
    return found
