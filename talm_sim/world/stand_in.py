"""What each tool of the service says of itself: whether a person could stand in for it, and why."""

from typing import Any

from talm_sim.tools_env.extension_keys import REASON_KEY, RECORD_KEY, REPLACEABLE_KEY


def person_can(why: str) -> dict[str, Any]:
    """Mark a tool whose work a person can do with minimal effort (Fail-TaLMs, section 3.2), as `openapi_extra` of its route.

    Args:
        why: One sentence: how a person would find the answer.
    """
    return {REPLACEABLE_KEY: True, REASON_KEY: why}


def person_cannot(why: str, *, record: bool = False) -> dict[str, Any]:
    """Mark a tool whose work no person does with minimal effort, as `openapi_extra` of its route.

    Args:
        why: One sentence: what stands in the way.
        record: Whether what it gives is a record, such as a rate of a day, an observation or a row of a table: a good model can neither
            compute it from the arguments nor know it. Only such tools are masked in `non-replaceable` scenarios.
    """
    return {REPLACEABLE_KEY: False, REASON_KEY: why, RECORD_KEY: record}
