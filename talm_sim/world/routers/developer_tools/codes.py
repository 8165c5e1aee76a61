"""What is computed from its arguments: run times of cron, Unix time, checksums, one-time codes."""

import base64
import binascii
import hashlib
import hmac
import zlib
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.zones import time_zone, time_zone_names

router = APIRouter()

CLOCK_TIME = r"^(19[789]|20\d)\d-\d\d-\d\dT\d\d:\d\d(:\d\d)?$"
CRON_FIELDS = 5
LAST_SECOND = 4_102_444_799
"""The last one of the year 2099."""
Checksum = Literal["adler32", "crc32", "md5", "sha1", "sha256"]


class CronRuns(BaseModel):
    """When a cron job runs."""

    expression: str
    meaning: str
    next_date: str
    next_time: str
    following_date: str
    following_time: str


class UnixTime(BaseModel):
    """A moment by its clock time somewhere and as Unix time."""

    zone: str
    abbreviation: str
    utc_offset: str
    utc: str
    unix_time: int


class TextChecksum(BaseModel):
    """The checksum of a text in UTF-8."""

    algorithm: str
    hex: str
    byte_count: int


class OneTimeCode(BaseModel):
    """A time-based one-time code."""

    code: str
    seconds_left: int


@cache
def _zones() -> dict[str, str]:
    return {name.casefold(): name for name in sorted(time_zone_names())}


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise HTTPException(422, f"'{text}' is not a date and time that exists; write it as YYYY-MM-DDTHH:MM.") from None


@router.get(
    "/cron",
    operation_id="find_next_cron_run",
    summary="Find the next two times at which a cron expression runs after a moment.",
    openapi_extra=person_can("An administrator reads the five fields and a calendar."),
)
async def find_next_cron_run(
    expression: Annotated[str, Query(description="Cron expression with five fields.", examples=["*/5 * * * *"], min_length=9, max_length=80)],
    after: Annotated[
        str, Query(description="Clock time after which to look, as YYYY-MM-DDTHH:MM.", examples=["2030-01-01T00:00"], pattern=CLOCK_TIME)
    ],
) -> CronRuns:
    from cronsim import CronSim, CronSimError

    if len(expression.split()) != CRON_FIELDS:
        raise HTTPException(422, f"'{expression}' does not have five fields: minute, hour, day of month, month, day of week.")
    try:
        runs = CronSim(expression, _moment(after))
        meaning = runs.explain()
    except CronSimError as err:
        raise HTTPException(422, f"'{expression}' is not a cron expression: {err}.") from None
    found = [run for run, _ in zip(runs, range(2), strict=False)]
    if len(found) < 2:
        raise HTTPException(404, f"'{expression}' never runs in the 50 years after {after}.")
    (next_date, next_time), (following_date, following_time) = (run.isoformat(timespec="minutes").split("T") for run in found)
    return CronRuns(
        expression=expression,
        meaning=meaning,
        next_date=next_date,
        next_time=next_time,
        following_date=following_date,
        following_time=following_time,
    )


@router.get(
    "/unix-time",
    operation_id="convert_to_unix_time",
    summary="Convert a clock time in a time zone to UTC and to a Unix timestamp.",
    openapi_extra=person_can("Any epoch converter on the web does it, or a line in a shell."),
)
async def convert_to_unix_time(
    local_time: Annotated[str, Query(description="Clock time, as YYYY-MM-DDTHH:MM.", examples=["2030-06-01T12:00"], pattern=CLOCK_TIME)],
    zone: Annotated[str, Query(description="IANA name of the time zone.", examples=["Asia/Tokyo"], min_length=3, max_length=40)],
    abbreviation: Annotated[
        str | None,
        Query(description="Abbreviation that the zone has then, as on a clock that is set back at night.", examples=["JST"], max_length=8),
    ] = None,
) -> UnixTime:
    names = _zones()
    if zone.casefold() not in names:
        raise not_found("time zone", zone, names.values(), "Give a name like Asia/Tokyo.")
    area = time_zone(names[zone.casefold()])
    start = _moment(local_time)
    readings = {one.utcoffset(): one for fold in (0, 1) if (one := start.replace(tzinfo=area, fold=fold))}
    real = [one for one in readings.values() if one.astimezone(UTC).astimezone(area).replace(tzinfo=None) == start]
    if not real:
        raise HTTPException(422, f"The clocks of {area.key} skip {local_time}: they are set forward over it.")
    found = [one for one in real if abbreviation is None or (one.tzname() or "").casefold() == abbreviation.casefold()]
    if not found:
        raise not_found(f"reading of {local_time}", abbreviation or "", hint=f"There it is {' or '.join(str(one.tzname()) for one in real)}.")
    if len(found) > 1:
        raise several_fit("moments", f"{local_time} in {area.key}", (str(one.tzname()) for one in found), "abbreviation")
    moment = found[0]
    return UnixTime(
        zone=area.key,
        abbreviation=moment.tzname() or "",
        utc_offset=moment.isoformat(timespec="seconds")[19:],
        utc=moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        unix_time=int(moment.timestamp()),
    )


@router.get(
    "/checksum",
    operation_id="compute_checksum",
    summary="Compute a checksum of a text in UTF-8, in hexadecimal.",
    openapi_extra=person_cannot("No person computes a checksum by hand."),
)
async def compute_checksum(
    text: Annotated[str, Query(description="The text.", examples=["hello world"], max_length=2000)],
    algorithm: Annotated[Checksum, Query(description="Algorithm.", examples=["sha256"])],
) -> TextChecksum:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise HTTPException(422, "The text has half of a character (a lone surrogate) and cannot be encoded.") from None
    if algorithm in ("adler32", "crc32"):
        digest = f"{zlib.crc32(data) if algorithm == 'crc32' else zlib.adler32(data):08x}"
    else:
        digest = hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
    return TextChecksum(algorithm=algorithm, hex=digest, byte_count=len(data))


@router.get(
    "/one-time-codes",
    operation_id="compute_one_time_code",
    summary="Compute the time-based one-time code (RFC 6238, SHA-1) of a Base32 key at a moment.",
    openapi_extra=person_cannot("No person computes an HMAC by hand."),
)
async def compute_one_time_code(
    key: Annotated[str, Query(description="Shared test key in Base32.", examples=["GEZDGNBVGY3TQOJQ"], min_length=8, max_length=128)],
    unix_time: Annotated[int, Query(description="Moment in seconds since 1970.", examples=[1000000], ge=0, le=LAST_SECOND)],
    digits: Annotated[int, Query(description="Digits of the code.", examples=[6], ge=6, le=8)] = 6,
    period: Annotated[int, Query(description="Seconds for which a code is valid.", examples=[30], ge=15, le=300)] = 30,
) -> OneTimeCode:
    plain = key.replace(" ", "").upper().rstrip("=")
    try:
        secret = base64.b32decode(plain + "=" * (-len(plain) % 8))
    except (binascii.Error, ValueError):
        raise HTTPException(422, "The key is not Base32: it may have the letters A to Z and the digits 2 to 7.") from None
    counter, passed = divmod(unix_time, period)
    mac = hmac.digest(secret, counter.to_bytes(8, "big"), "sha1")
    start = mac[-1] & 15
    number = int.from_bytes(mac[start : start + 4], "big") & 0x7FFFFFFF
    return OneTimeCode(code=f"{number % 10**digits:0{digits}}", seconds_left=period - passed)
