"""Directive `public-names`, and what autodoc needs to know of this package: options models, and names that are public elsewhere."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import inspect
import re
import sys
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from docutils import nodes
from pydantic import BaseModel
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import find_pending_xref_condition

import talm_sim

PACKAGE = "talm_sim"


class PublicNames(SphinxDirective):
    """Documents names of a module: those in its content, else all of its `__all__` that the package itself does not offer."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the documentation of each name."""
        home = self.arguments[0]
        module = importlib.import_module(home)
        named = " ".join(self.content).split()
        names = named or [name for name in module.__all__ if name not in talm_sim.__all__]
        lines = [f".. currentmodule:: {home}", ""]
        for name in names:
            kind = kind_of(getattr(module, name))
            if kind == "data":
                lines += [f".. data:: {name}", "", *(f"   {line}" for line in written_about(home, name)), ""]
            else:
                for base in getattr(module, name).__mro__ if kind == "class" else ():
                    if issubclass(base, BaseModel) and base.__module__.startswith(PACKAGE):
                        describe_fields(base)
                lines += [f".. auto{kind}:: {home}.{name}", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def kind_of(value: object) -> str:
    """Return what a value is to autodoc."""
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isfunction(value) else "data"


def skip_member(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what pydantic adds to each model."""
    return True if name.startswith("model_") and name in vars(BaseModel) | {"model_config": 0} else None


def shorten_signature(app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str | None, returned: str | None) -> Any:
    """Leave out the signature of a model or dataclass, whose fields follow with their types; elsewhere write aliases by their names."""
    if inspect.isclass(value) and (issubclass(value, BaseModel) or is_dataclass(value)):
        return "", returned
    # In a union, Sphinx writes an alias as its own object. A default that is an object is no Python, and would spoil the rest.
    plain = re.sub(r"TypeAliasForwardRef\('([\w.]+)'\)", r"~\1", signature or "")
    return re.sub(r"<(?:function|class|factory)[^<>]*(?:<[^<>]*>[^<>]*)*>", "...", plain) or signature, returned


ASIDE: dict[str, list[str]] = {}
ATTRIBUTES: dict[str, list[str]] = {}
"""Text about attributes that their class's docstring describes, by dotted name."""


def take_attributes(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Move what a class's docstring says of attributes to the attributes themselves, which are listed with their types."""
    if what not in {"class", "exception"} or "Attributes:" not in lines:
        return
    start = lines.index("Attributes:")
    stop = next((at for at in range(start + 1, len(lines)) if lines[at] and not lines[at].startswith(" ")), len(lines))
    current = ""
    for line in lines[start + 1 : stop]:
        if begun := re.match(r"    (\w+)(?: \(.*?\))?: (.*)", line):
            current = begun[1]
            ATTRIBUTES[f"{name}.{current}"] = [begun[2]]
        elif current:
            ATTRIBUTES[f"{name}.{current}"].append(line.strip())
    del lines[start:stop]


def bring_attributes(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Give an attribute the text that its class's docstring has about it."""
    if what == "attribute" and not any(lines):
        lines[:] = ATTRIBUTES.get(name, [])


def describe_fields(model: type[BaseModel]) -> None:
    """Add each field's help and default to what is written below it, and take what pydantic needs out of its type."""
    with contextlib.suppress(PycodeError):
        written = ModuleAnalyzer.for_module(model.__module__)
        written.analyze()
        for name in model.__annotations__.keys() & model.model_fields.keys():
            info = model.model_fields[name]
            text = [*written.attr_docs.get((model.__qualname__, name), [])]
            default = "" if info.is_required() else repr(info.get_default(call_default_factory=True, validated_data={}))
            parts = [[info.description or ""], text, [f"Default: ``{default}``."] if 0 < len(default) < 80 else []]
            written.attr_docs[model.__qualname__, name] = [line for part in parts if any(part) for line in (*part, "")]
            model.__annotations__[name] = plain_type(info.annotation)


def plain_type(annotation: Any) -> Any:
    """Return a type without validators and other metadata."""
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return Union[tuple(plain_type(one) for one in get_args(annotation))]  # noqa: UP007
    return annotation


def written_about(home: str, name: str) -> list[str]:
    """Return the text below a name's assignment, in whichever module of the room it is assigned."""
    for module in [other for other in sys.modules if other == home or other.startswith(f"{home}.")]:
        with contextlib.suppress(PycodeError):
            if text := ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name)):
                return text
    return []


def set_aside(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Keep an attribute's text from napoleon, which takes what is before its first colon for a type."""
    if what in {"attribute", "property"}:
        ASIDE[name] = [*lines]
        lines.clear()


def bring_back(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Bring the text back that was set aside."""
    lines[:] = ASIDE.pop(name, lines)


class BuiltIns(SphinxPostTransform):
    """Takes names such as `type` for Python's own, not for a field that is called so."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Replace the references of one page by their texts."""
        for node in [*self.document.findall(pending_xref)]:
            if node.get("refdomain") == "py" and not node.get("refexplicit") and hasattr(builtins, node["reftarget"]):
                short = find_pending_xref_condition(node, "resolved")
                node.replace_self(node.children if short is None else short.children)


@cache
def found(name: str) -> Any:
    """Return what a dotted name means, or None."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            value = getattr(value, part, None)
        return value
    return None


def resolve(app: Sphinx, env: Any, node: pending_xref, text: nodes.Element) -> nodes.Element | None:
    """Resolve a reference to a Python name that is documented under another module's name, or that is not documented here."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    domain = env.domains.python_domain
    last = target.rpartition(".")[2]
    for full in (f"{PACKAGE}.{last}", *(name for name in domain.objects if name.rpartition(".")[2] == last)):
        if full in domain.objects and (target == last or found(full) is found(target)):
            entry = domain.objects[full]
            uri = app.builder.get_relative_uri(node["refdoc"], entry.docname)
            return nodes.reference("", "", text, internal=True, refuri=f"{uri}#{entry.node_id}", reftitle=full)
    # The type checker knows that the names of annotations exist; what a page or a "Raises:" section names must be documented.
    return text if node["reftype"] in {"class", "obj"} and "refwarn" not in node else None


def find_home(app: Sphinx, module: str, name: str) -> str:
    """Return the module whose source defines a documented name."""
    home = getattr(found(f"{module}.{name.partition('.')[0]}"), "__module__", "")
    return home if home.partition(".")[0] == PACKAGE else module


def drop_links_back(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Drop the links from a module's source to the reference: where a module's names are documented in several places, they lead astray."""
    if page.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back"[^>]*>.*?</a>', "", context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive and the hooks."""
    # Autodoc adds to a class what its module's source annotates; models that are imported later could then not be derived from pydantic's.
    ModuleAnalyzer.cache["module", BaseModel.__module__] = PycodeError("not read")
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", take_attributes, priority=100)  # before napoleon reads it
    app.connect("autodoc-process-docstring", bring_attributes, priority=100)
    app.connect("autodoc-process-docstring", set_aside, priority=200)
    app.connect("autodoc-process-docstring", bring_back, priority=900)
    app.add_post_transform(BuiltIns)
    app.connect("missing-reference", resolve)
    app.connect("viewcode-follow-imported", find_home)
    app.connect("html-page-context", drop_links_back)
    return {"parallel_read_safe": True}
