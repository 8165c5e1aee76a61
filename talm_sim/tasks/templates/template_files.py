"""Find templates by name or file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.models.base import TextModel
from talm_sim.tasks.templates.chat_template import ChatTemplate, pick
from talm_sim.tasks.templates.jinja import JinjaTemplate, Template

_SUFFIX = ".jinja"
_CHATS = ("chat", "chat-bare")


def list_templates() -> tuple[str, ...]:
    """List the names that `load_template` knows: `auto`, `chat` and `chat-bare`, then the styles by name."""
    return ("auto", *_CHATS, *_styles())


def load_template(name_or_path: str, model: TextModel | None, also: Sequence[str] = ()) -> Template:
    """Return a template by its name, or from the user's Jinja file.

    Args:
        name_or_path: A style, `chat` (the tokenizer's chat template, a call in the form it shows), `chat-bare` (the same, a call as a bare JSON
            object), `auto` (see `pick`), or a file with the macros `prompt` and `tool_call`.
        model: The model that will read the prompts; None if it takes no raw text, like a provider's chat model.
        also: Further names of the caller, listed if the name is unknown.
    """
    name = pick(model.chat_template if model is not None else "") if name_or_path == "auto" else name_or_path
    if name in _CHATS:
        return ChatTemplate(model, _style("default", None), bare=name == _CHATS[1])
    return _style(name, model) if name in _styles() else _from_file(name, model, also)


def _styles() -> tuple[str, ...]:
    names = (file.name for file in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


def _style(name: str, model: TextModel | None) -> JinjaTemplate:
    source = (resources.files(__package__) / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
    return JinjaTemplate(source, name, f"template '{name}'", _in_chat(model))


def _from_file(name: str, model: TextModel | None, also: Sequence[str]) -> JinjaTemplate:
    try:
        source = read_text(Path(name), LARGEST_SETTINGS)
    except UnicodeDecodeError:
        raise PrerequisiteError(f"{name}: is not UTF-8 text; --template needs a Jinja file.") from None
    except (OSError, ValueError) as err:  # a name may contain what no path can
        if Path(name).suffix in {_SUFFIX, ".j2", ".jinja2"} or "/" in name or Path(name).exists():
            why = f" ({err.strerror})" if isinstance(err, OSError) else ""
            raise PrerequisiteError(f"{name}: cannot be read{why}; --template needs a Jinja file or a built-in name.") from None
        hint = did_you_mean(name, (*list_templates(), *also))
        raise PrerequisiteError(f"unknown template '{name}': give a built-in name or a Jinja file.{hint}") from None
    return JinjaTemplate(source, name, name, _in_chat(model))


def _in_chat(model: TextModel | None) -> Callable[[str], str] | None:
    if model is None or not model.chat_template.strip():
        return None
    chat = model
    return lambda text: chat.render_chat([{"role": "user", "content": text}], [])
