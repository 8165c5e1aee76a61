"""The knowledge of a simulated person: the request of a scenario, and what is missing from it with its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from talm_sim.language.about_missing import describe_missing, question_is_about, replaceable_tools
from talm_sim.language.leaks import mentions
from talm_sim.scenarios.dialogue import dialogue
from talm_sim.types import Fact, Missing, Scenario, ToolSpec

_LEAD = re.compile(r"^(?:(?:the|a|an|of|on|in|at|to|from|by|with|taking|is|are)\b\s*)+|[\"'\u2018\u2019\u201c\u201d]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KnownThing:
    """Something that is missing from the request and that the person can supply.

    Attributes:
        description: What the tool specification says of it.
        facts: Its values; empty if only the words of its answer are known.
        withheld: Whether the person gives it to nobody yet: the work of a tool that is there, and has not failed.
    """

    missing: Missing
    description: str = ""
    facts: tuple[Fact, ...] = ()
    words: str = ""
    withheld: bool = False

    def is_asked(self, question: str) -> bool:
        """Return whether a question asks for it, and the person may say it."""
        return not self.withheld and question_is_about(question, self.missing, self.description)

    @property
    def name(self) -> str:
        """Its name, for a reader."""
        return self.missing.name


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that a person knows of a scenario."""

    request: str
    things: tuple[KnownThing, ...] = field(default=())

    @property
    def text(self) -> str:
        """Everything, as text."""
        return "\n".join([self.request, *(thing.words for thing in self.things)])


def knowledge_of(scenario: Scenario, specs: Mapping[str, ToolSpec], *, stands_in: Collection[str] | None = None) -> Knowledge:
    """Return what the person of a scenario knows.

    Args:
        scenario: What the agent is asked.
        specs: The tools, by name.
        stands_in: Tools whose work the person does, of those that a person can replace; what the others say is withheld. None leaves all of
            these out.
    """
    known = [
        (missing, describe_missing(scenario, missing, specs))
        for missing in scenario.missing
        if missing.human_answer or missing.value is not None or missing.removed_text
    ]
    things = [_thing(missing, description, scenario) for missing, description in known]
    if stands_in is not None:
        for tool in replaceable_tools(scenario, specs):
            things.append(replace(_thing(tool, specs[tool.name].description, scenario), withheld=tool.name not in stands_in))
    request = "\n".join(message["content"] for message in dialogue(scenario) if message["role"] == "user")
    return Knowledge(request, tuple(things))


def _thing(missing: Missing, description: str, scenario: Scenario) -> KnownThing:
    value = missing.value
    shown = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    words = "\n".join(filter(None, [shown, missing.removed_text, missing.human_answer or ""]))
    if isinstance(value, str | int | float | bool):
        spelt = _LEAD.sub("", missing.removed_text.strip()).strip()
        accepted = (spelt,) if spelt and not spelt.isdigit() else ()
        return KnownThing(missing, description, (Fact(name=missing.name, value=value, accepted=accepted),), words)
    said = missing.human_answer or ""
    facts = tuple(one for one in scenario.facts if not isinstance(one.value, bool) and mentions(said, one.value, one.accepted))
    return KnownThing(missing, description, facts, words)
