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

_AT = "talm_sim.tools_env.perturbations."

PERTURBATIONS: Registry[type[Perturbation]] = Registry(
    "perturbation",
    {
        "coerced-argument": _AT + "silent_arguments:CoercedArgument",
        "connection-reset": _AT + "no_answer:ConnectionReset",
        "contradiction": _AT + "silent_values:Contradiction",
        "description": _AT + "tool_texts:Description",
        "distractors": _AT + "other_tools:Distractors",
        "empty-result": _AT + "bodies:EmptyResult",
        "field-to-list": _AT + "drift:FieldToList",
        "hang": _AT + "no_answer:Hang",
        "http-401": _AT + "http_errors:Http401",
        "http-403": _AT + "http_errors:Http403",
        "http-404": _AT + "http_errors:Http404",
        "http-410": _AT + "http_errors:Http410",
        "http-429": _AT + "http_errors:Http429",
        "http-500": _AT + "http_errors:Http500",
        "http-503": _AT + "http_errors:Http503",
        "ignored-argument": _AT + "silent_arguments:IgnoredArgument",
        "implicit-default": _AT + "silent_arguments:ImplicitDefault",
        "malformed-body": _AT + "bodies:MalformedBody",
        "mask": _AT + "mask:Mask",
        "model-500": _AT + "model_faults:Model500",
        "model-cut": _AT + "model_faults:ModelCut",
        "model-empty": _AT + "model_faults:ModelEmpty",
        "model-html": _AT + "model_faults:ModelHtml",
        "model-refusal": _AT + "model_faults:ModelRefusal",
        "model-repeat": _AT + "model_faults:ModelRepeat",
        "null-field": _AT + "drift:NullField",
        "off-by-one": _AT + "silent_values:OffByOne",
        "removed-field": _AT + "drift:RemovedField",
        "rename": _AT + "tool_texts:Rename",
        "renamed-argument": _AT + "drift:RenamedArgument",
        "renamed-field": _AT + "drift:RenamedField",
        "replacement": _AT + "other_tools:Replacement",
        "retyped-field": _AT + "drift:RetypedField",
        "slow": _AT + "no_answer:Slow",
        "stale": _AT + "silent_arguments:Stale",
        "timeout": _AT + "no_answer:Timeout",
        "truncated-body": _AT + "bodies:TruncatedBody",
        "wrong-record": _AT + "silent_arguments:WrongRecord",
        "wrong-unit": _AT + "silent_values:WrongUnit",
    },
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
