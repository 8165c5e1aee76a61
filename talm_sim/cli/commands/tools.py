"""`talm-sim tools list|show|serve`."""

from __future__ import annotations

import click

from talm_sim.cli.arguments import completed, json_option, print_json, print_list
from talm_sim.cli.text import count, one_line
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.types import ToolSpec

__all__ = ["built_in_specs", "command"]


@click.group()
def command() -> None:
    """The tools: list, show, serve."""


@command.command("list")
@click.option("--category", metavar="NAME", shell_complete=completed("category"), help="Only this category.")
@json_option
def list_(category: str | None, as_json: bool) -> None:
    """List the tools of the built-in service."""
    specs = built_in_specs()
    known = sorted({spec.category for spec in specs.values()})
    if category is not None and category not in known:
        raise PrerequisiteError(f"--category: unknown category '{category}'.{did_you_mean(category, known)}")
    chosen = [spec for spec in specs.values() if category in (None, spec.category)]
    if as_json:
        print_json([spec.model_dump(mode="json") for spec in chosen])
        return
    rows = [
        {"name": spec.name, "category": spec.category, "what": one_line(spec.description.split("\n")[0], 160)}
        for spec in sorted(chosen, key=lambda spec: (spec.category, spec.name))
    ]
    print_list(rows, {"name": "Tool", "category": "Category", "what": "What it does"}, empty="no tool")
    categories = len({spec.category for spec in chosen})
    click.echo(f"{count(len(rows), 'tool')} in {categories} {'category' if categories == 1 else 'categories'}", err=True)


@command.command("show")
@click.argument("name", shell_complete=completed("tool"))
def show(name: str) -> None:
    """Print one tool as a model is told of it (JSON)."""
    specs = built_in_specs()
    if name not in specs:
        near = did_you_mean(name, specs)
        raise PrerequisiteError(f"unknown tool '{name}'.{near if near.startswith(' Did') else ' See: talm-sim tools list'}")
    print_json(specs[name].model_dump(mode="json"))


@command.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port on loopback; 0 takes a free one.")
def serve(port: int) -> None:
    """Serve the tools over HTTP on loopback until Ctrl-C."""
    from talm_sim.tools_env.service.serve import serve as serve_tools

    def ready(url: str) -> None:
        click.echo(url)
        click.echo(f"OpenAPI document: {url}/openapi.json; stop with Ctrl-C", err=True)

    serve_tools(port, on_ready=ready)


def built_in_specs() -> dict[str, ToolSpec]:
    """Specs of the built-in tools."""
    from talm_sim.tools_env.service import app  # not at the top: a help page needs no service

    return dict(app.built_in_tools().specs)
