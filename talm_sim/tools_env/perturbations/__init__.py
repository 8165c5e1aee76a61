"""Deliberate damage to the tools of an episode, usable from the command line on any split (`--perturb NAME[:key=value,...]`).

One of your own is one file: a subclass of `Perturbation` under `register_perturbation`.
"""

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation, ReadAnswer, is_drawn
from talm_sim.tools_env.perturbations.options import OptionHelp, PerturbationOptions, PerturbationSpec, ToolListOptions, option_help
from talm_sim.tools_env.perturbations.registry import PERTURBATIONS, open_perturbations, parse_perturbation, register_perturbation

__all__ = [
    "PERTURBATIONS",
    "Call",
    "OptionHelp",
    "Outcome",
    "Perturbation",
    "PerturbationOptions",
    "PerturbationSpec",
    "ReadAnswer",
    "ToolListOptions",
    "is_drawn",
    "open_perturbations",
    "option_help",
    "parse_perturbation",
    "register_perturbation",
]
