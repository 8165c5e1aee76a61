"""The answer of a tool when several things fit what it was asked, and only the user knows which is meant."""

from collections.abc import Sequence

from fastapi import HTTPException

__all__ = ["several_fit"]


def several_fit(what: str, candidates: Sequence[str], argument: str) -> HTTPException:
    """Build the answer that names the candidates.

    Args:
        what: What they are, in the plural, e.g. `counties of that name`.
        candidates: A value of the argument for each.
        argument: The argument that tells them apart.
    """
    return HTTPException(422, f"There are {len(candidates)} {what}. Say which with '{argument}': {', '.join(candidates)}.")
