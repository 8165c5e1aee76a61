"""`talm-sim models list`."""

from __future__ import annotations

from typing import Any

import click

from talm_sim.cli.arguments import json_option, print_json, print_list
from talm_sim.models.registry import ProviderStatus, list_providers

__all__ = ["command", "provider_records"]


@click.group()
def command() -> None:
    """The model providers: list."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the providers, what a live run with each needs, and the recorded models.

    Environment variables are named, their values never shown.
    """
    from talm_sim.tools_env.cassettes import CassetteLibrary

    recordings = [item for item in CassetteLibrary().describe() if item.model != "tools"]
    recorded: dict[str, list[str]] = {}
    for item in recordings:
        recorded.setdefault(item.model, []).append(item.group)
    if as_json:
        print_json({"providers": provider_records(), "recorded": recorded})
        return
    rows = [record | {"state": _state(status)} for record, status in zip(provider_records(), list_providers(), strict=True)]
    print_list(rows, {"form": "Model", "state": "Live run", "about": "About"}, empty="no provider")
    click.echo()
    rows = [{"model": model, "groups": ", ".join(groups)} for model, groups in recorded.items()]
    print_list(rows, {"model": "Recorded model", "groups": "Groups, replayed without key or network"}, empty="no recording is shipped")


def provider_records() -> list[dict[str, Any]]:
    """Every provider as JSON values: what it needs and whether that is there, never a credential."""
    return [
        {
            "name": status.name,
            "form": status.form,
            "about": status.about,
            "needs": list(status.needs),
            "missing": list(status.missing),
            "found": list(status.found),
            "not_installed": list(status.not_installed),
            "ready": status.ready,
        }
        for status in list_providers()
    ]


def _state(status: ProviderStatus) -> str:
    if status.not_installed:
        return f"install {', '.join(status.not_installed)}"
    if not status.ready:
        return f"set {', '.join(status.missing)}"
    return f"ready: {', '.join(status.found)}" if status.found else "ready"
