"""Time zones of the pinned package `tzdata`: a system's own may be another release, and give other answers."""

from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo


@cache
def time_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name in the IANA database.

    Raises:
        KeyError: There is no such zone.
    """
    if name not in time_zone_names():
        raise KeyError(name)
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@cache
def time_zone_names() -> tuple[str, ...]:
    """Return the names of all time zones, in order."""
    return tuple(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())
