"""The study's figures beside a run's."""

from __future__ import annotations

from talm_sim.tasks.base import RunView
from talm_sim.tasks.beside import Beside
from talm_sim.tasks.refusal.bfcl import SUBSETS
from talm_sim.tasks.refusal.measures import ALL

__all__ = ["beside"]

_FIGURES = {"ast_bfcl": "AST", "irr": "Irr", "h_i": "H-I", "h_s_bfcl": "H-S"}
"""The study's AST and H-S are those of BFCL's own command, so they stand beside the columns that BFCL's reader gives."""
_VARIANT = "Baseline"
"""The study's models before its training; what training did to them stands in the same table."""


def beside(run: RunView) -> Beside | None:
    """The study's table, in each language that was run; None of rows that are not BFCL's."""
    languages = list(dict.fromkeys(one.language for one in run.scenarios() if one.group in SUBSETS))
    if not languages:
        return None
    names = {language: ALL if len(languages) == 1 else f"{ALL}, {language}" for language in languages}
    groups = {name: {"language": language.upper(), "variant": _VARIANT} for language, name in names.items()}
    return Beside("when-not-to-call", "main", _FIGURES, groups, ("Llama-3.2-1B", "Gemma-3-1B"), f"{_VARIANT}, {', '.join(languages)}")
