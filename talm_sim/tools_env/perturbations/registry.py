"""The perturbations by name: built in, registered by the decorator `register_perturbation`, or offered by an installed package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.foreign.plugins import Registry
from talm_sim.tools_env.perturbations.base import Perturbation
from talm_sim.tools_env.perturbations.options import PerturbationSpec

_BUILT_IN = {
    "broken_answers": (
        "connection-reset empty-result hang http-401 http-403 http-404 http-410 http-429 http-500 http-503 malformed-body slow timeout "
        "truncated-body"
    ),
    "drift": "field-to-list null-field removed-field renamed-argument renamed-field retyped-field",
    "model_faults": "model-500 model-cut model-empty model-html model-refusal model-repeat",
    "other_tools": "distractors mask replacement",
    "silent_arguments": "coerced-argument ignored-argument implicit-default stale wrong-record",
    "silent_values": "contradiction off-by-one wrong-unit",
    "tool_texts": "description rename",
}
"""Module to its perturbations; the class of `http-401` is called `Http401`."""
_FILES = sorted((name, f"{__package__}.{module}") for module, names in _BUILT_IN.items() for name in names.split())
PERTURBATIONS: Registry[type[Perturbation]] = Registry(
    "perturbation", {name: f"{file}:{name.title().replace('-', '')}" for name, file in _FILES}
)
"""Entry points of group `talm_sim.perturbations` name a class."""

Kind = TypeVar("Kind", bound=type[Perturbation])


def register_perturbation(kind: Kind) -> Kind:
    """Make a perturbation known under its name; a class decorator."""
    PERTURBATIONS.register(kind.name, kind)
    return kind


def parse_perturbation(text: str) -> PerturbationSpec:
    r"""Read `NAME[:key=value,...]`; a comma within a value is written `\,`."""
    parts = [part.strip() for part in re.split(r"(?<!\\),", text)]
    begun = [part for part in parts if re.split("[:=]", part)[0] in PERTURBATIONS]
    if len(begun) > 1 and parts[0] in begun:
        repeated = " ".join(f"--perturb {part}" for part in begun)
        said = f"for several perturbations, repeat the option: {repeated}; in Python and TOML give a list."
        raise PrerequisiteError(f"--perturb {text}: commas separate the options of one perturbation; {said}")
    name = text.partition(":")[0]
    if name not in PERTURBATIONS:
        raise PrerequisiteError(f"--perturb {text}: unknown perturbation '{name}'.{did_you_mean(name, PERTURBATIONS.names())}")
    return PerturbationSpec.parse(text)


def open_perturbations(texts: Sequence[str], *, seed: int, episode: str) -> list[Perturbation]:
    """Make the perturbations of one episode, in the order given."""
    specs = [parse_perturbation(text) for text in texts]
    before: Counter[str] = Counter()
    opened = []
    for spec in specs:
        opened.append(PERTURBATIONS.get(spec.name)(spec, seed=seed, episode=episode, place=before[spec.name]))
        before[spec.name] += 1
    return opened
