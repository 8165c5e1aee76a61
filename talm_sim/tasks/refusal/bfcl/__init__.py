"""BFCL's data as scenarios of task `refusal`, read where the user has them: the installed `bfcl-eval` package or a path."""

from talm_sim.tasks.refusal.bfcl.find import data_version, find_installed_data, find_package
from talm_sim.tasks.refusal.bfcl.load import LoadedBfcl, load_bfcl
from talm_sim.tasks.refusal.bfcl.subsets import MULTI_TURN, SINGLE_TURN, SUBSETS, Subset

__all__ = [
    "MULTI_TURN",
    "SINGLE_TURN",
    "SUBSETS",
    "LoadedBfcl",
    "Subset",
    "data_version",
    "find_installed_data",
    "find_package",
    "load_bfcl",
]
