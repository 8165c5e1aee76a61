"""Links from a page to a file of the repository: they lead to a page that shows the file, as they do where the repository is browsed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).resolve().parents[2]
INCLUDED = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}
"""Files outside docs/ that are pages of their own, to the page that includes them."""
SHOWN = "repository"
"""Folder of the pages that show files."""
NAME = re.compile(r"(docs/)?\w+\.md")
COMMENT = re.compile(r"<!-- (?P<what>file|shown): (?P<name>.*?) -->")


class RepositoryLinks(SphinxTransform):
    """Turn each link to a file or folder outside docs/ into one to its page."""

    default_priority = 5  # before the links between pages are resolved

    def apply(self, **kwargs: Any) -> None:
        """Change the links of one page."""
        for node in [*self.document.findall(addnodes.pending_xref), *self.document.findall(addnodes.download_reference)]:
            target = node["reftarget"]
            if node.get("reftype") != "myst" or (node.get("refdomain") == "doc" and target in self.env.found_docs):
                continue
            path, _, anchor = target.partition("#")
            file = (Path(self.env.srcdir) / posixpath.dirname(self.env.docname) / path).resolve()
            if node.get("refdomain") == "doc":
                file, anchor = file.with_suffix(".md"), node.get("reftargetid") or ""
            if not file.exists() or not file.is_relative_to(ROOT):
                continue  # Sphinx reports it
            name = file.relative_to(ROOT).as_posix()
            if name in INCLUDED:
                page = addnodes.pending_xref(
                    "", *node.children, refdomain="doc", reftype="myst", refdoc=self.env.docname, refexplicit=True,
                    reftarget=INCLUDED[name], reftargetid=anchor or None,
                )  # fmt: skip
                node.replace_self(page)
            else:
                uri = self.app.builder.get_relative_uri(self.env.docname, f"{SHOWN}/{name}")
                node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))
                shown_in(self.env).setdefault(name, set()).add(self.env.docname)


class FileNames(SphinxTransform):
    """Puts above a block what the comment before it says: the name of the file that it is, or the command that prints it."""

    default_priority = 210  # after directives have run

    def apply(self, **kwargs: Any) -> None:
        """Give the blocks of one page their captions."""
        for comment in [*self.document.findall(nodes.raw)]:
            named = COMMENT.fullmatch(comment.astext().strip())
            block = comment.next_node(descend=False, siblings=True)
            if named and isinstance(block, nodes.literal_block):
                text = nodes.literal("", named["name"]) if named["what"] == "file" else nodes.literal("", f"$ {named['name']}")
                caption = nodes.paragraph("", "", text, classes=["block-name"])
                block.replace_self(nodes.container("", caption, block.deepcopy(), classes=["named-block"]))


class PageTitles(SphinxPostTransform):
    """Calls a page by its title, and a section by its heading, where a text names the file."""

    default_priority = 5  # before the links between pages are resolved

    def run(self, **kwargs: Any) -> None:
        """Change the texts of one page's links."""
        for node in self.document.findall(addnodes.pending_xref):
            page = node["reftarget"]
            if node.get("refdomain") == "doc" and NAME.fullmatch(node.astext()) and page in self.env.titles:
                heading = self.env.metadata[page].get("myst_slugs", {}).get(node.get("reftargetid"), (0, "", ""))[2]
                title = heading or self.env.titles[page].astext()
                node.children = [nodes.inline("", "", nodes.emphasis(title, title))]
                node["refexplicit"] = True


def shown_in(env: Any) -> dict[str, set[str]]:
    """Return the files that pages link to, each with these pages."""
    if not hasattr(env, "repository_files"):
        env.repository_files = {}
    files: dict[str, set[str]] = env.repository_files
    return files


def forget(app: Sphinx, env: Any, docname: str) -> None:
    """Forget the links of a page that is read again."""
    for pages in shown_in(env).values():
        pages.discard(docname)


def show_files(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each linked file, and for a folder one that lists its files, each with a page of its own."""
    linked = [name for name, pages in shown_in(app.env).items() if pages]
    files = {name: ROOT / name for name in linked}
    for name in linked:
        if (ROOT / name).is_dir():
            inside = [path for path in sorted((ROOT / name).rglob("*")) if path.is_file() and path.suffix != ".pyc"]
            files |= {path.relative_to(ROOT).as_posix(): path for path in inside}
    for name, path in sorted(files.items()):
        page = f"{SHOWN}/{name}"
        if path.is_dir():
            below = [other for other in sorted(files) if other.startswith(f"{name}/")]
            links = (
                f'<li><a href="{app.builder.get_relative_uri(page, f"{SHOWN}/{other}")}">{other.removeprefix(f"{name}/")}</a></li>'
                for other in below
            )
            body = f"<ul>{''.join(links)}</ul>"
        else:
            text = path.read_text(encoding="utf-8")
            try:
                lexer = get_lexer_for_filename(path.name)
            except ClassNotFound:
                lexer = TextLexer()
            body = app.builder.highlighter.highlight_block(text, lexer.aliases[0])  # type: ignore[attr-defined]
        yield page, {"title": name, "body": f"<h1>{name}</h1>{body}"}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform and the pages."""
    app.add_transform(RepositoryLinks)
    app.add_transform(FileNames)
    app.add_post_transform(PageTitles)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", show_files)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
