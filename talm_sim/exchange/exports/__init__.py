"""Export stored runs of any task in forms that other tools read; what one task alone exports is in its own folder.

From the lowest layer up:

- `safe_texts.py` makes texts fit for a file that leaves the project
- `exchanged_messages.py` and `times.py` put an episode in order: its messages, and when each part happened
- `otlp.py` writes spans as JSON, `span_values.py` names their values, `episode_spans.py` writes a run for `export otel`
- `inspect_samples.py` writes an episode as a sample of Inspect's log, `inspect_log.py` the log
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from talm_sim.foreign.plugins import load_named

if TYPE_CHECKING:
    from talm_sim.store.stored_run import StoredRun
    from talm_sim.tasks import Exported

__all__ = ["GENERAL_EXPORTERS", "find_general_exporter"]

GeneralExporter: TypeAlias = "Callable[[StoredRun], Exported]"
"""Writes a run of any task for another tool, as an `Exporter` writes those of its own task."""

GENERAL_EXPORTERS: Mapping[str, str] = {"inspect": "talm_sim.exchange.exports.inspect_log:export_inspect"}
"""The name that follows `talm-sim export`, to `module:function`."""


def find_general_exporter(name: str) -> GeneralExporter:
    """Return what writes runs of any task in the form called `name`, which must be one of `GENERAL_EXPORTERS`."""
    found: GeneralExporter = load_named(GENERAL_EXPORTERS[name], f"exporter '{name}'")
    return found
