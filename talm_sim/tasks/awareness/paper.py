"""Which published figures stand beside a run's: by its protocol, and by where its instances come from."""

from __future__ import annotations

from collections.abc import Mapping

from talm_sim.tasks.base import RunView
from talm_sim.tasks.beside import Beside

__all__ = ["beside"]

_PAPER = "incomplete-conditions"
_MANIPULATION = {"replaced": "API Replacement", "removed": "Utterance Removal"}
_DATA = {"stabletoolbench": "ToolBench"}
"""A source's name to that of the paper's data; dialogues of any other source are compared with APIBank's."""
_MODELS = ("GPT-4o", "GPT-4o mini", "Llama3.1 8B", "Phi-3 small")
_FIGURES = {"accuracy": "Acc", "f1": "F1"}
_TABLES = {"zero-shot": ("2", "0-shot"), "few-shot": ("2", "4-shot"), "cot": ("11", "CoT")}
"""Protocol to the table whose rows are like a run's, and their prompt."""


def beside(run: RunView) -> Beside | None:
    """The table of the run's protocol; None where the paper's rows are of another form than a run's: `talm_sim.published` has them all."""
    protocol = run.job.options.protocol
    if protocol not in _TABLES:
        return None
    table, prompt = _TABLES[protocol]
    sources = sorted({scenario.source.name for scenario in run.scenarios()})
    groups: dict[str, Mapping[str, str]] = {}
    for name, manipulation in _MANIPULATION.items():
        keys = {"manipulation": manipulation, "prompt": prompt}
        if len(sources) < 2:
            groups[name] = {**keys, "data": _data(sources[0] if sources else "")}
        else:
            groups |= {f"{name}, {source}": {**keys, "data": _data(source)} for source in sources}
    return Beside(_PAPER, table, _FIGURES, groups, _MODELS, prompt)


def _data(source: str) -> str:
    return _DATA.get(source, "APIBank")
