"""MAC addresses, ports and networks, from the registers of the IEEE and IANA and the standard library."""

import ipaddress
import re
from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

PREFIX_DIGITS = 6
Transport = Literal["tcp", "udp", "sctp", "dccp"]


class MacVendor(BaseModel):
    """Who a block of MAC addresses is registered to."""

    prefix: str
    vendor: str
    country_code: str


class PortService(BaseModel):
    """The service that a port is assigned to."""

    port: int
    transport: str
    service: str
    description: str


class Subnet(BaseModel):
    """The addresses of an IPv4 network."""

    network: str
    netmask: str
    first_host: str
    last_host: str
    broadcast: str
    usable_hosts: int


@cache
def _vendors() -> dict[str, tuple[str, str]]:
    return {row["prefix"]: (row["vendor"], row["country"]) for row in read_data("developer_tools", "mac_vendors.csv.gz")}


@cache
def _services() -> dict[int, list[PortService]]:
    found: dict[int, list[PortService]] = {}
    for row in read_data("developer_tools", "ports.csv.gz"):
        port = int(row["port"])
        one = PortService(port=port, transport=row["transport"], service=row["service"], description=row["description"])
        found.setdefault(port, []).append(one)
    return found


@router.get(
    "/mac-vendors/{address}",
    operation_id="identify_mac_vendor",
    summary="Find the organization that a MAC address block is registered to, and its country.",
    openapi_extra=person_cannot("The register of the IEEE has tens of thousands of blocks, and nobody knows them.", record=True),
)
async def identify_mac_vendor(
    address: Annotated[
        str,
        Path(
            description="A MAC address, or its first three bytes, in hexadecimal.",
            examples=["00:00:0C:9F:F0:01"],
            min_length=6,
            max_length=23,
            pattern=r"^[0-9A-Fa-f:.\-]+$",
        ),
    ],
) -> MacVendor:
    digits = re.sub("[^0-9A-F]", "", address.upper())
    if len(digits) < PREFIX_DIGITS:
        raise HTTPException(422, f"'{address}' has fewer than {PREFIX_DIGITS} hexadecimal digits; give the first three bytes at least.")
    prefix = digits[:PREFIX_DIGITS]
    if prefix not in _vendors():
        raise HTTPException(404, f"No organization has the block {prefix} in the register.")
    vendor, country = _vendors()[prefix]
    return MacVendor(prefix=prefix, vendor=vendor, country_code=country)


@router.get(
    "/ports/{port}",
    operation_id="get_port_service",
    summary="Look up the service that IANA assigned to a port number.",
    openapi_extra=person_can("The public list of port numbers is one search away, and /etc/services has it."),
)
async def get_port_service(
    port: Annotated[int, Path(description="Port number.", examples=[9], ge=1, le=65535)],
    transport: Annotated[
        Transport | None, Query(description="Transport protocol, to tell services on one port apart.", examples=["sctp"])
    ] = None,
) -> PortService:
    known = _services().get(port, [])
    found = [one for one in known if transport in (None, one.transport)]
    if not found:
        where = f" over {transport}" if transport else ""
        hint = f" It has one over {', '.join(one.transport for one in known)}." if known else ""
        raise HTTPException(404, f"Port {port}{where} has no assigned service.{hint}")
    if len({one.service for one in found}) > 1:
        raise several_fit("services", f"port {port}", (f"{one.transport} ({one.service})" for one in found), "transport")
    return found[0]


@router.get(
    "/subnets",
    operation_id="describe_subnet",
    summary="Compute netmask, broadcast address, host range and number of usable hosts of an IPv4 network.",
    openapi_extra=person_can("A network engineer counts the bits on paper, or asks a subnet calculator."),
)
async def describe_subnet(
    network: Annotated[
        str,
        Query(description="An IPv4 address with a prefix length (CIDR notation).", examples=["192.168.1.0/24"], min_length=9, max_length=18),
    ],
) -> Subnet:
    try:
        found = ipaddress.IPv4Network(network, strict=False)
    except ValueError:
        raise HTTPException(422, f"'{network}' is not an IPv4 network; write it like 192.168.1.0/24.") from None
    few = found.prefixlen >= 31  # RFC 3021: both addresses of a /31 are hosts
    return Subnet(
        network=str(found),
        netmask=str(found.netmask),
        first_host=str(found[0] if few else found[1]),
        last_host=str(found[-1] if few else found[-2]),
        broadcast=str(found.broadcast_address),
        usable_hosts=found.num_addresses if few else found.num_addresses - 2,
    )
