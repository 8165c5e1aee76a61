"""Deliberate damage to the tools of an episode, or to its model's answers, usable from the command line on any split.

It is written as `--perturb NAME[:key=value,...]`. One of your own is one file: a subclass of `Perturbation`, or for the model of
`ModelPerturbation`, under `register_perturbation`.
"""

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation, ReadAnswer, is_drawn, narrow_tools, real_name
from talm_sim.tools_env.perturbations.model_side import ModelCall, ModelPerturbation, ModelRequestError
from talm_sim.tools_env.perturbations.options import (
    ModelOptions,
    OptionHelp,
    PerturbationOptions,
    PerturbationSpec,
    ToolListOptions,
    option_help,
)
from talm_sim.tools_env.perturbations.registry import PERTURBATIONS, open_perturbations, parse_perturbation, register_perturbation

__all__ = [
    "PERTURBATIONS",
    "Call",
    "ModelCall",
    "ModelOptions",
    "ModelPerturbation",
    "ModelRequestError",
    "OptionHelp",
    "Outcome",
    "Perturbation",
    "PerturbationOptions",
    "PerturbationSpec",
    "ReadAnswer",
    "ToolListOptions",
    "is_drawn",
    "narrow_tools",
    "open_perturbations",
    "option_help",
    "parse_perturbation",
    "real_name",
    "register_perturbation",
]
