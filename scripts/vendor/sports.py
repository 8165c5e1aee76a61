"""Extract results: `python -m scripts.vendor.sports FOLDER`, with the archives of football.json (npm) and bokeh-sampledata (PyPI)."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path

from scripts.vendor.archive_reader import Archive, write_bytes, write_csv

FOOTBALL = ("football.json-1.0.0.tgz", "94f6784bf6423b9cb1898765fc5f980cb22442791706a983817dcb0510d9ea55")
SPRINT = ("bokeh_sampledata-2026.1-py3-none-any.whl", "f40331a40ca30c64a1c1471835aad9006b61b0d9731a3f649ee8cbbf48d3822f")
SEASONS = {
    "premier-league-2014-15": ("2014-15/en.1.json", 975),
    "bundesliga-2012-13": ("2012-13/de.1.json", 898),
    "la-liga-2012-13": ("2012-13/es.1.json", 1091),
}
"""Seasons of which every match has a result, with the goals that the leagues report; in the other ones a result is wrong or missing."""
FULL_NAMES = {"R. Madrid": "Real Madrid", "R. Sociedad": "Real Sociedad", "Borussia M'gladbach": "Borussia Mönchengladbach"}
NOT_OLYMPIC = 1906
"""The Intercalated Games do not count."""


def main(folder: Path) -> None:
    """Write the files of `service/data/sports`."""
    rows = [row for season in SEASONS for row in _matches(Archive(folder, *FOOTBALL), season)]
    write_csv("sports", "matches.csv.gz", ("season", "home", "away", "home_goals", "away_goals"), rows)
    sprint = Archive(folder, *SPRINT)
    lines = csv.reader(sprint.text("_data/sprint.csv").splitlines()[1:], skipinitialspace=True, escapechar="\\", doublequote=False)
    medals = [(int(line[4]), line[2].lower(), line[0], line[1], line[3].strip()) for line in lines]
    shared = {key for key, times in Counter(medal[:2] for medal in medals).items() if times > 1}
    kept = sorted(medal for medal in medals if medal[:2] not in shared and medal[0] != NOT_OLYMPIC)
    write_csv("sports", "sprint.csv", ("year", "medal", "athlete", "country_code", "seconds"), kept)
    write_bytes("sports", "LICENSE.bokeh-sampledata", sprint.read("licenses/LICENSE.txt"))


def _matches(archive: Archive, season: str) -> list[tuple[str, str, str, int, int]]:
    """Return the matches of a season; exit unless each club plays each other one once at home, and the goals are as reported."""
    name, goals = SEASONS[season]
    found = [match for part in json.loads(archive.text(name))["rounds"] for match in part["matches"]]
    rows = [(season, _name(one["team1"]), _name(one["team2"]), one["score1"], one["score2"]) for one in found]
    clubs = {row[1] for row in rows}
    if sorted((row[1], row[2]) for row in rows) != sorted((home, away) for home in clubs for away in clubs if home != away):
        sys.exit(f"{season}: not every pair of clubs has its match")
    scored = sum(row[3] + row[4] for row in rows)
    if scored != goals:
        sys.exit(f"{season}: {scored} goals, the league reports {goals}")
    return sorted(rows)


def _name(club: dict[str, str]) -> str:
    return FULL_NAMES.get(club["name"], club["name"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
