"""Releases of Node.js, Electron and browsers, and what browsers support, from node-releases, electron-to-chromium and caniuse-lite."""

import re
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found
from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

MOST_CANDIDATES = 8
VERSION = r"^v?\d{1,4}(\.\d{1,5}){2}$"
Browser = Literal["chrome", "edge", "firefox", "internet_explorer", "opera", "safari", "safari_ios", "samsung_internet"]
IDS = {"internet_explorer": "ie", "safari_ios": "ios_saf", "samsung_internet": "samsung"}
BROWSER = Path(description="Browser.", examples=["internet_explorer"])


class NodeRelease(BaseModel):
    """One release of Node.js."""

    version: str
    released: str
    v8_version: str
    long_term_line: str


class ElectronRelease(BaseModel):
    """One stable release of Electron."""

    version: str
    chromium_version: str
    chromium_major: int


class BrowserRelease(BaseModel):
    """One release of a browser."""

    browser: str
    version: str
    released: str


class BrowserSupport(BaseModel):
    """Since when a browser supports a web feature."""

    feature: str
    browser: str
    first_version: str
    released: str


@cache
def _rows(name: str) -> dict[str, dict[str, str]]:
    return {row["version"]: row for row in read_data("developer_tools", name)}


@cache
def _dates(browser: str) -> dict[str, str]:
    """Return the dates of a browser's releases by version."""
    releases = read_data("developer_tools", "browser_support.json.gz")["browsers"][IDS.get(browser, browser)]
    return {version: datetime.fromtimestamp(seconds, UTC).date().isoformat() for version, seconds in releases}


@cache
def _features() -> dict[str, Any]:
    found: dict[str, Any] = read_data("developer_tools", "browser_support.json.gz")["features"]
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.casefold().replace("_", " ")))


def _feature(name: str) -> dict[str, Any]:
    """Find a feature by its id or title, or by words that only one has."""
    wanted = _words(name)
    for key, one in _features().items():
        if wanted in (_words(key), _words(one["title"])):
            return dict(one)
    near = [one for key, one in _features().items() if wanted and {*wanted} <= {*_words(key), *_words(one["title"])}]
    if len(near) == 1:
        return dict(near[0])
    if near:
        titles = ", ".join(f"'{one['title']}'" for one in near[:MOST_CANDIDATES])
        raise HTTPException(404, f"No feature '{name}'. Those with these words: {titles}.")
    raise not_found("feature", name, [one["title"] for one in _features().values()], "Give its name on caniuse.com.")


@router.get(
    "/node-releases/{version}",
    operation_id="get_node_release",
    summary="Get the release date of a Node.js version, its V8 version and the name of its long-term support line.",
    openapi_extra=person_cannot("The dates and engine versions of hundreds of releases are in the project's release data.", record=True),
)
async def get_node_release(
    version: Annotated[str, Path(description="Node.js version with three numbers.", examples=["7.1.0"], pattern=VERSION)],
) -> NodeRelease:
    row = _rows("node_releases.csv").get(version.removeprefix("v"))
    if row is None:
        raise not_found(
            "release of Node.js", version, _rows("node_releases.csv"), "Known are the first releases of minor versions since 4.0.0."
        )
    return NodeRelease(version=row["version"], released=row["date"], v8_version=row["v8"], long_term_line=row["lts"])


@router.get(
    "/electron-releases/{version}",
    operation_id="get_electron_release",
    summary="Get the Chromium version inside a stable Electron release.",
    openapi_extra=person_cannot(
        "Which build of Chromium went into which of more than a thousand releases is only in Electron's data.", record=True
    ),
)
async def get_electron_release(
    version: Annotated[str, Path(description="Electron version with three numbers.", examples=["8.0.0"], pattern=VERSION)],
) -> ElectronRelease:
    row = _rows("electron_releases.csv").get(version.removeprefix("v"))
    if row is None:
        raise not_found("stable release of Electron", version, _rows("electron_releases.csv"))
    return ElectronRelease(version=row["version"], chromium_version=row["chromium"], chromium_major=int(row["chromium"].partition(".")[0]))


@router.get(
    "/browsers/{browser}/releases/{version}",
    operation_id="get_browser_release",
    summary="Get the date on which a version of a browser was released, by the tables of caniuse.com.",
    openapi_extra=person_cannot("The dates of hundreds of browser versions are in a table that nobody learns.", record=True),
)
async def get_browser_release(
    browser: Annotated[Browser, BROWSER],
    version: Annotated[str, Path(description="Version of the browser.", examples=["8"], pattern=r"^[\d.\-]{1,12}$")],
) -> BrowserRelease:
    dates = _dates(browser)
    if version not in dates:
        raise not_found(f"release of {browser}", version, dates, f"Known are {next(iter(dates))} to {[*dates][-1]}.")
    return BrowserRelease(browser=browser, version=version, released=dates[version])


@router.get(
    "/browsers/{browser}/support",
    operation_id="get_browser_support",
    summary="Find the first version of a browser that fully supports a web feature, with its release date, by the tables of caniuse.com.",
    openapi_extra=person_cannot("The support tables have hundreds of features by browser and version."),
)
async def get_browser_support(
    browser: Annotated[Browser, BROWSER],
    feature: Annotated[str, Query(description="A web feature by its caniuse.com name.", examples=["Web Workers"], min_length=2, max_length=80)],
) -> BrowserSupport:
    found = _feature(feature)
    version = found["first"].get(IDS.get(browser, browser))
    if version is None:
        raise HTTPException(404, f"No version of {browser} fully supports '{found['title']}' by default.")
    return BrowserSupport(feature=found["title"], browser=browser, first_version=version, released=_dates(browser)[version])
