"""Replace relevant APIs (section 3.2): the APIs a request needs are swapped for the nearest ones that cannot serve it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from talm_sim.retrieval import SERVES_LIMIT
from talm_sim.tasks.awareness.making.pool import Api, Pool, api_of, is_other_action
from talm_sim.types import Missing, MissingKind, Scenario, YesNo

Swap = tuple[str, str]
"""Name of an API, and of the one that replaces it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A scenario of which nothing was made, and why."""

    id: str
    reason: str


def replace_tools(scenario: Scenario, pool: Pool, limit: float = SERVES_LIMIT, used_up: Collection[Swap] = ()) -> Scenario | Skipped:
    """Swap the needed APIs of a complete scenario for irrelevant ones; each substitute takes the place of the one it replaces.

    A substitute is the nearest API of the pool that is not one of the scenario's own, has neither tool nor name in common with a needed
    one, does not yet replace another needed one, does not search the whole web, and is not near enough to any needed one to do its work,
    unless its name says that it does something else; it gives no part of what is asked for where it can be called; and the swap is not used
    up. There is no draw, so the result is deterministic.
    """
    if not isinstance(target := scenario.target, YesNo) or target.gold != "yes":
        return Skipped(scenario.id, "it is no complete scenario")
    shown = [api_of(text, scenario) for text in scenario.shown_tools]
    needed = [api for api in shown if api.name in target.relevant]
    swapped: dict[str, Api] = {}
    for api in needed:
        substitute = _substitute(api, needed, [*shown, *swapped.values()], pool, limit, used_up, scenario)
        if substitute is None:
            return Skipped(scenario.id, "no API of the pool is both another one and irrelevant")
        swapped[api.name] = substitute
    return scenario.model_copy(
        update={
            "id": f"{scenario.id}.replaced",
            "group": "replaced",
            "shown_tools": tuple(swapped[api.name].text if api.name in swapped else api.text for api in shown),
            "target": YesNo(gold="no", relevant=target.relevant, swapped={name: api.name for name, api in swapped.items()}, made_by="rules"),
            "missing": (Missing(kind=MissingKind.TOOL, name=", ".join(swapped)),),
            "source": scenario.source.model_copy(update={"base": scenario.id}),
        }
    )


def _substitute(
    api: Api, needed: list[Api], taken: list[Api], pool: Pool, limit: float, used_up: Collection[Swap], scenario: Scenario
) -> Api | None:
    names = {one.name.casefold() for one in taken} | {one.own_name for one in taken}
    tools = {one.tool for one in needed if one.tool}
    for other, _ in pool.nearest(api):
        if other.name.casefold() in names or other.own_name in names or other.tool in tools or other.is_general:
            continue
        if (api.name, other.name) in used_up:
            continue
        if any(pool.cosine(other, one) >= limit and not is_other_action(other, one) for one in needed):
            continue
        if not pool.find_served_part(scenario, other):
            return other
    return None
