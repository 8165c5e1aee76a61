"""Programming languages of GitHub's Linguist, and licences of the SPDX list."""

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()


class ExtensionLanguage(BaseModel):
    """A language that GitHub knows by a file extension."""

    extension: str
    language: str
    kind: str
    color: str
    linguist_id: int
    extension_count: int


class SoftwareLicence(BaseModel):
    """One entry of the SPDX licence list."""

    identifier: str
    name: str
    osi_approved: bool
    fsf_libre: bool
    deprecated: bool


@cache
def _by_extension() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in read_data("developer_tools", "languages.json.gz"):
        for extension in one.get("extensions", ()):
            found.setdefault(extension.casefold(), []).append(one)
    return found


@cache
def _licences() -> dict[str, dict[str, str]]:
    return {row["id"].casefold(): row for row in read_data("developer_tools", "licences.csv.gz")}


@router.get(
    "/extensions/{extension}",
    operation_id="get_extension_language",
    summary="Get the language that GitHub detects by a file extension, with its color and its number in Linguist.",
    openapi_extra=person_cannot("The colors and numbers of hundreds of languages are only in Linguist's table.", record=True),
)
async def get_extension_language(
    extension: Annotated[
        str, Path(description="File extension, with or without its dot.", examples=[".py"], max_length=30, pattern=r"^\.?[^\s/?#%]+$")
    ],
    language: Annotated[
        str | None,
        Query(description="Name of the language, to tell those of one extension apart.", examples=["Python"], min_length=1, max_length=60),
    ] = None,
) -> ExtensionLanguage:
    key = "." + extension.casefold().removeprefix(".")
    known = _by_extension().get(key)
    if known is None:
        raise not_found("file extension", key, _by_extension())
    found = [one for one in known if language is None or fold(language) in (fold(one["name"]), *map(fold, one.get("aliases", ())))]
    if not found:
        assert language is not None
        raise not_found(f"language with the extension {key}", language, hint=f"Known are {', '.join(one['name'] for one in known)}.")
    if len(found) > 1:
        raise several_fit("languages", key, (one["name"] for one in found), "language")
    one = found[0]
    return ExtensionLanguage(
        extension=key,
        language=one["name"],
        kind=one["type"],
        color=one.get("color") or "",
        linguist_id=one["languageId"],
        extension_count=len(one["extensions"]),
    )


@router.get(
    "/licences/{identifier}",
    operation_id="get_software_licence",
    summary="Look up a software licence by its SPDX identifier: full name, and whether OSI and FSF approve it.",
    openapi_extra=person_can("The SPDX list is a public page, and project maintainers know the licences they use."),
)
async def get_software_licence(
    identifier: Annotated[
        str, Path(description="SPDX licence identifier.", examples=["MIT"], min_length=2, max_length=60, pattern=r"^[\w.+\-]+$")
    ],
) -> SoftwareLicence:
    row = _licences().get(identifier.casefold())
    if row is None:
        raise not_found("SPDX licence", identifier, [one["id"] for one in _licences().values()])
    return SoftwareLicence(
        identifier=row["id"],
        name=row["name"],
        osi_approved=row["osi_approved"] == "True",
        fsf_libre=row["fsf_libre"] == "True",
        deprecated=row["deprecated"] == "True",
    )
