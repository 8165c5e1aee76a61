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
"""Protocol to the table that tells sources and prompts apart, and its prompt."""
_PLAIN = {
    "implicit": ("4", "free answers", {**_FIGURES, "agreement": "Corr"}, ("GPT-4", "GPT-3.5-T")),
    "completion": ("6", "Llama 2, base models and tuned ones", _FIGURES, ("13B base", "70B base", "7B base")),
    "explanation": ("7", "explanations", {"explanation": "Acc"}, ("GPT-4", "GPT-3.5-T", "Mistral-7B")),
}
"""Protocol to the table that tells only manipulations apart, what it is about, its figures and its models."""
_CONDITIONS = {
    "removed-failed": {"scenario": "utterance removed, call failed"},
    "removed-invented": {"scenario": "utterance removed, call succeeded"},
    "complete-failed": {"scenario": "complete, call failed"},
}


def beside(run: RunView) -> Beside:
    """The table of the run's protocol."""
    protocol = run.job.options.protocol
    if protocol == "feedback":
        return Beside(_PAPER, "5", {"accuracy": "Acc"}, _CONDITIONS, ("GPT-4o", "GPT-3.5 Turbo"), "feedback")
    if protocol in _PLAIN:
        table, about, figures, models = _PLAIN[protocol]
        return Beside(_PAPER, table, figures, {name: {"manipulation": one} for name, one in _MANIPULATION.items()}, models, about)
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
