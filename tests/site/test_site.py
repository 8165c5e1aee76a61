"""The documentation's site as it was built (`sh scripts/docs.sh`); `TALM_SIM_SITE` names its folder."""

from __future__ import annotations

import ast
import importlib
import os
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest

import talm_sim
from talm_sim.cli.root import root

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("TALM_SIM_SITE") or "/nowhere")
LOADING = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src", "object": "data"}
"""Elements that load something, to the attribute that says what; and every `link` but those that only name a page."""

pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="TALM_SIM_SITE names no built site: sh scripts/docs.sh")


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADING and found.get(LOADING[tag]):
            self.loaded.append(found[LOADING[tag]])
        if tag == "link" and found.get("rel") not in {"index", "search", "next", "prev", "author", "canonical"}:
            self.loaded.append(found.get("href", ""))


@cache
def pages() -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in sorted(SITE.rglob("*.html"))}


def targets(path: Path, links: list[str]) -> Iterator[tuple[str, Path, str]]:
    """Yield each link within the site with the file and the place that it leads to."""
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            yield link, (path.parent / unquote(parts.path)).resolve() if parts.path else path, unquote(parts.fragment)


def test_no_link_is_dead() -> None:
    assert len(pages()) > 30
    dead = []
    for path, page in pages().items():
        for link, target, place in targets(path, page.links):
            if not target.is_file() or (place and target in pages() and place not in pages()[target].places):
                dead.append(f"{path.name}: {link}")
    assert not dead


def test_nothing_is_loaded_from_elsewhere() -> None:
    loaded = 0
    for path, page in pages().items():
        for address in page.loaded:
            parts = urlsplit(address)
            assert parts.scheme in {"", "data"} and not parts.netloc, f"{path.name} loads {address}"
            assert parts.scheme == "data" or (path.parent / unquote(parts.path)).is_file(), f"{path.name}: {address} is not there"
            loaded += 1
    assert loaded > 100
    for file in [*SITE.rglob("*.css"), *SITE.rglob("*.svg")]:
        found = re.findall(r"(?:@import\s+|url\()\s*[\"']?((?:https?:)?//[^\"')]+)", file.read_text(encoding="utf-8"))
        assert not found, f"{file.name} loads {found}"


def test_search_has_an_index_of_every_page() -> None:
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    for name in ("concepts", "reference/python", "validation"):
        assert f'"{name}"' in index


def documented() -> set[str]:
    """The names in the reference, as the anchors of its pages give them."""
    return {place for path, page in pages().items() if path.parent.name == "reference" for place in page.places}


@pytest.mark.parametrize("name", talm_sim.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert f"talm_sim.{name}" in documented()


def imported() -> set[tuple[str, str]]:
    """What the Python examples of the documents import from the package: module and name."""
    found = set()
    texts = [document.read_text(encoding="utf-8") for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))]
    texts += [f"```python\n{file.read_text(encoding='utf-8')}```" for file in (ROOT / "examples" / "extending").glob("*.py")]
    for text in texts:
        for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "talm_sim":
                    found |= {(str(node.module), one.name) for one in node.names}
    return found


def test_every_name_that_the_documents_import_is_in_the_reference() -> None:
    names = imported()
    assert {"talm_sim", "talm_sim.extend"} <= {module for module, _ in names}
    # A name of a documented module may be described where the package itself offers it.
    lacking = {f"{module}.{name}" for module, name in names if not documented() & {f"{module}.{name}", f"talm_sim.{name}"}}
    assert not lacking


@pytest.mark.parametrize("module", ["talm_sim.types", "talm_sim.extend", "talm_sim.testing.lab"])
def test_every_name_of_a_documented_module_is_in_the_reference(module: str) -> None:
    for name in importlib.import_module(module).__all__:
        assert documented() & {f"{module}.{name}", f"talm_sim.{name}"}, name


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def test_every_command_and_option_is_in_the_reference() -> None:
    page = pages()[(SITE / "reference" / "command_line.html").resolve()]
    every = list(commands(root))
    assert len(every) > 40
    for path, command in every:
        assert f"command-{'-'.join(path)}" in page.places
        for option in () if path == ("config", "show") else command.params:  # it takes those of `run`, and shows few
            if isinstance(option, click.Option) and not option.hidden:
                places = {f"cmdoption-talm-sim-{'-'.join(path)}-{flag.lstrip('-')}" for flag in (*option.opts, *option.secondary_opts)}
                assert places & page.places or option.name in {"live", "replay", "record", "help_all"}, (path, option.opts)
    for flag in ("--perturb", "--mode", "--protocol", "--bfcl"):  # of one task each
        assert f"cmdoption-talm-sim-run{flag[1:]}" in page.places
