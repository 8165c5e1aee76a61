"""Deliberate damage to the tools of an episode, usable from the command line on any split (`--perturb NAME[:key=value,...]`)."""

from talm_sim.tools_env.perturbations import bodies, http_errors, mask, no_answer
from talm_sim.tools_env.perturbations.base import (
    Outcome,
    Perturbation,
    PerturbationSpec,
    known_perturbations,
    open_perturbations,
    parse_perturbation,
    register,
)

__all__ = [
    "Outcome",
    "Perturbation",
    "PerturbationSpec",
    "bodies",
    "http_errors",
    "known_perturbations",
    "mask",
    "no_answer",
    "open_perturbations",
    "parse_perturbation",
    "register",
]
