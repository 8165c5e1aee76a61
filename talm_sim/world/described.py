"""The built-in tools as they are described; no service is started."""

from functools import cache
from typing import Any

from talm_sim.tools_env.sources.http import HttpTools
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.world.app import create_app


def built_in_tools() -> HttpTools:
    """Return the built-in tools, from the application itself: no server is needed to describe it."""
    return tools_from_openapi(_document())


@cache
def _document() -> dict[str, Any]:
    """What the application says of itself, which takes half a second and stays the same."""
    return create_app().openapi()
