"""What the agent reads under each silent fault, over built-in tools whose right answer is known from elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple


class SilentCase(NamedTuple):
    """A call that a fault strikes."""

    tool: str
    arguments: dict[str, Any]
    seen: str
    """What stands in the result that the agent reads."""
    unseen: str
    """What stands in the true result alone."""
    first: tuple[str, dict[str, Any]] | None = None
    """A call whose answer is read before."""


HUNG_KINGS = {"country_code": "VN", "year": 2025, "name": "Hung Kings' Commemoration Day"}
"""The tenth day of the third lunar month: 7 April 2025, 18 April 2024."""

SILENT = {
    # As 7.5 was cut to 7: seven fluid ounces of 29.5735 ml.
    "coerced-argument": SilentCase(
        "convert_units", {"value": 7.5, "from_unit": "fluid_ounce", "to_unit": "millilitre"}, '"result":207.015', '"result":221.801'
    ),
    "contradiction": SilentCase(
        "convert_to_hijri", {"date": "1994-03-11"}, '"date":"2025-04-08"', '"date":"2025-04-07"', ("find_holiday", HUNG_KINGS)
    ),
    # A concert pitch of 415 Hz makes F4 329.4 Hz; at the usual 440 Hz it has 349.23 Hz.
    "ignored-argument": SilentCase(
        "get_note_frequency", {"note": "F4", "concert_pitch": 415}, '"frequency_hz":349.23', '"frequency_hz":329.39'
    ),
    "implicit-default": SilentCase("get_city_by_rank", {"country": "Madagascar", "rank": 4}, '"city":"Antananarivo"', '"city":"Fianarantsoa"'),
    "off-by-one": SilentCase("get_scale_notes", {"tonic": "C", "scale": "major"}, '"note_count":8', '"note_count":7'),
    "stale": SilentCase("find_holiday", HUNG_KINGS, '"date":"2025-04-18"', '"date":"2025-04-07"'),
    "wrong-record": SilentCase("get_country_facts", {"country": "Vanuatu"}, '"capital":"Gaborone"', '"capital":"Port Vila"'),
    # Nairobi's airport lies at 5,330 ft: 1,625 m.
    "wrong-unit": SilentCase("get_airport_details", {"code": "NBO"}, '"elevation_ft":1625', '"elevation_ft":5330'),
}
OTHERS = {"get_country_facts": [{"country": "Botswana"}, {"country": "Vanuatu"}]}
"""Arguments of other gold calls, for `wrong-record`."""


class ListCase(NamedTuple):
    """A list of tools that a fault changes."""

    perturb: str
    tools: tuple[str, ...]
    names: tuple[str, ...]
    """The names that the model sees, in order."""
    description: str
    """How the description of the first one begins."""


TOOL_LISTS = {
    "description": ListCase("description:tool=romanize_text", ("romanize_text", "get_plural"), ("romanize_text", "get_plural"), "Write a text"),
    "distractors": ListCase(
        "distractors:n=2", ("get_element", "get_isotope"), ("get_ionic_radius", "get_ionization_energy", "get_element", "get_isotope"), "Get"
    ),
    "rename": ListCase("rename", ("romanize_text", "get_plural"), ("romanize_text_v2", "fetch_plural"), "Write a text of any script"),
    "replacement": ListCase(
        "replacement:tool=get_chord_notes", ("get_chord_notes", "transpose_chords"), ("get_scale_notes", "transpose_chords"), "Get the notes"
    ),
}
