"""Deliberate damage to the tools of an episode, usable from the command line on any split (`--perturb NAME[:key=value,...]`).

One of your own is one file: a subclass of `Perturbation` under `register_perturbation`.
"""

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation, ReadAnswer
from talm_sim.tools_env.perturbations.options import OptionHelp, PerturbationOptions, PerturbationSpec, ToolListOptions, option_help
from talm_sim.tools_env.perturbations.registry import PERTURBATIONS, open_perturbations, parse_perturbation, register_perturbation
from talm_sim.tools_env.perturbations.sight import narrow_tools, real_name

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
    "narrow_tools",
    "open_perturbations",
    "option_help",
    "parse_perturbation",
    "real_name",
    "register_perturbation",
]
