"""Deliberate damage to the tools of an episode, or to its model's answers, usable from the command line on any split.

It is written as `--perturb NAME[:key=value,...]`. One of your own is one file: a subclass of `Perturbation`, or for the model of
`ModelPerturbation`, under `register_perturbation`. From the lowest layer up:

- `options.py` reads the options after a name
- `base.py` says what a perturbation is
- `broken_answers.py` answers with an error, late or never, or with a damaged body
- `other_tools.py` and `tool_texts.py` change which tools are seen, and what is read of them
- `drift.py` changes an interface, but not its description
- `silent.py` is what silent faults share; `silent_arguments.py` answers for other arguments, `silent_values.py` with other values
- `model_side.py` is the base of faults of the model, `model_faults.py` are those faults
- `registry.py` finds all of them by name
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
