"""Odd cases of the developer tools: what is unknown, ambiguous, or at an edge."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.in_process import direct_caller

ODD: list[tuple[str, dict[str, Any], int, str]] = [
    ("identify_mac_vendor", {"address": "------"}, 422, "fewer than 6"),
    ("identify_mac_vendor", {"address": "02-00-00-00-00-01"}, 404, "020000"),
    ("get_port_service", {"port": 514}, 422, "tcp (shell); udp (syslog)"),
    ("get_port_service", {"port": 22, "transport": "dccp"}, 404, "sctp, tcp, udp"),
    ("get_port_service", {"port": 4}, 404, "no assigned service"),
    ("describe_subnet", {"network": "10.0.0.0/33"}, 422, "not an IPv4 network"),
    ("get_node_release", {"version": "18.12.1"}, 404, "Did you mean '18.12.0'"),
    ("get_electron_release", {"version": "99.0.0"}, 404, "No stable release"),
    ("get_browser_release", {"browser": "chrome", "version": "3"}, 404, "Known are 4 to"),
    ("get_browser_support", {"browser": "internet_explorer", "feature": "CSS grid"}, 404, "fully supports"),
    ("get_browser_support", {"browser": "safari", "feature": "container queries"}, 404, "'CSS Container Queries (Size)'"),
    ("get_browser_support", {"browser": "safari", "feature": "??"}, 404, "caniuse.com"),
    ("get_extension_language", {"extension": "v"}, 422, "Rocq Prover; V; Verilog"),
    ("get_extension_language", {"extension": ".v", "language": "Perl"}, 404, "Known are Rocq Prover"),
    ("get_software_licence", {"identifier": "GPL-2"}, 404, "GPL-2.0"),
    ("find_next_cron_run", {"expression": "61 * * * *", "after": "2026-03-06T12:00"}, 422, "Bad minute"),
    ("find_next_cron_run", {"expression": "* * * * * *", "after": "2026-03-06T12:00"}, 422, "five fields"),
    ("find_next_cron_run", {"expression": "* * * * *", "after": "2026-02-30T12:00"}, 422, "exists"),
    ("convert_to_unix_time", {"local_time": "2025-11-02T01:30", "zone": "America/New_York"}, 422, "EDT; EST"),
    ("convert_to_unix_time", {"local_time": "2025-03-09T02:30", "zone": "America/New_York"}, 422, "skip"),
    ("convert_to_unix_time", {"local_time": "2025-06-01T02:30", "zone": "Europe/Paris", "abbreviation": "CET"}, 404, "CEST"),
    ("convert_to_unix_time", {"local_time": "2025-06-01T02:30", "zone": "Pariss"}, 404, "No time zone"),
    ("compute_one_time_code", {"key": "189018901890", "unix_time": 59}, 422, "Base32"),
]


@pytest.mark.parametrize(("tool", "arguments", "status", "said"), ODD)
def test_what_cannot_be_answered_gets_a_reason(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    answer = asyncio.run(direct_caller().ask(tool, arguments))
    assert answer[0] == status and said in answer[1], answer


def test_a_clock_time_that_comes_twice_is_told_apart_by_its_abbreviation() -> None:
    call = direct_caller()
    first, second = (
        call("convert_to_unix_time", {"local_time": "2025-11-02T01:30", "zone": "america/new_york", "abbreviation": one})
        for one in ("EDT", "est")
    )
    assert second["unix_time"] - first["unix_time"] == 3600


def test_the_two_addresses_of_a_point_to_point_network_are_hosts() -> None:
    found = direct_caller()("describe_subnet", {"network": "203.0.113.6/31"})
    assert (found["first_host"], found["last_host"], found["usable_hosts"]) == ("203.0.113.6", "203.0.113.7", 2)


def test_an_offset_with_seconds_is_given_whole() -> None:
    assert direct_caller()("convert_to_unix_time", {"local_time": "1970-01-01T00:00", "zone": "Africa/Monrovia"})["utc_offset"] == "-00:44:30"


@pytest.mark.parametrize(("unix_time", "code"), [(59, "94287082"), (1234567890, "89005924"), (2000000000, "69279037")])
def test_one_time_codes_are_those_of_the_standard(unix_time: int, code: str) -> None:
    found = direct_caller()("compute_one_time_code", {"key": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "unix_time": unix_time, "digits": 8})
    assert found["code"] == code
