"""Read a reasoning form at the beginning of a text: its fields, and where the answer begins.

The form ends at the first line that does not continue one of its ten fields, and everything behind it is the answer, so a call behind a broken
form counts. A field is continued by the rest of its list, by indented lines and bullets, and by a line of prose right before another field.
A line that may be a call never continues one. Around the form there may be a fence, a tag, a line that announces it, and blank lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from talm_sim.reasoning.fields import FIELDS, LISTS, Decision, Value, field_named, value_of

_LINE = 400
"""Characters at the beginning of a line in which a field's name may be."""
_MOST_BEFORE, _MOST_INTRODUCED, _MOST_WRAPPED = 8, 2, 2
"""Lines before a form, those of prose among them, and lines of prose between two fields."""
_BEFORE_NAME = re.compile(r"(?:[\s>|*_#`\"'+•{\[-]|\d{1,2}[.)])*")
_SEPARATOR = re.compile(r"[:\uff1a=|]|->|→|\s[–—-]\s")
_NAMES = "|".join((*FIELDS, *(name.replace("_", " ") for name in FIELDS if "_" in name)))
_INSIDE = re.compile(rf"(?:(?<=[\s;|])|(?<=[,.]\s)|(?<=[\"'*`{{,]))[\"'*`]{{0,3}}(?P<name>{_NAMES})[\"'*`]{{0,3}}\s?[:=]", re.IGNORECASE)
"""A field whose line break was lost."""
_FENCE = re.compile(r"\s*(?:```|~~~)\s*\w*\s*")
_TAG = re.compile(r"\s*</?(?!\w*(?:tool|call|function))(\w+)>\s*", re.IGNORECASE)
_ELEMENT = re.compile(r"\s*<(\w+)>(?=.)")
_ELEMENT_END = re.compile(r"</\w+>\s*\Z")
_RULE = re.compile(r"[\s|:*_=-]*")
_TABLE_HEAD = re.compile(r"\s*\|[^|]{0,40}\|[^|]{0,40}\|\s*")
_CALL = re.compile(r"\s*(?:[-*>]\s+)?(?:<[|\w]|\[|\{|```|[\w.]+\(|functools\b|(?:action|call)\s*:)", re.IGNORECASE)
"""The beginning of a line that may be a call."""
_BULLET = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+(?=\S)")
_BLOCKS = frozenset({">", "|", ">-", "|-"})
"""How YAML begins a text of several lines."""
_OTHER_FIELD = re.compile(r"\W*\w+(?:[ _]\w+){0,3}\W*?[:\uff1a=]")
"""A field that the form does not have."""
_NOT_PROSE = frozenset('()[]{}<>=`"|')


@dataclass(frozen=True, slots=True)
class ReasoningForm:
    """A form that was read.

    Attributes:
        text: The form with what frames it; empty if there is none. `text + rest` is what was read.
        rest: The answer behind it.
        fields: The fields that have a value, in the study's order.
    """

    text: str
    rest: str
    fields: Mapping[str, Value] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are not there or have no value."""
        return tuple(name for name in FIELDS if name not in self.fields)

    @property
    def decision(self) -> Decision | None:
        """What the form decides; None if it does not say so, or in no words that can be read."""
        said = self.fields.get("decision")
        return Decision(said) if said in set(Decision) else None


def read_form(text: str) -> ReasoningForm:
    r"""Read the form that a text begins with; whatever the text, nothing is raised.

    >>> form = read_form("task_summary: time in Hue\ndecision: call\n\n[clock(city='Hue')]")
    >>> form.fields, form.missing[0], form.rest
    ({'task_summary': 'time in Hue', 'decision': 'call'}, 'task_type', "[clock(city='Hue')]")
    """
    reader = _Reader(text)
    values = reader.read()
    return ReasoningForm(text[: reader.at], text[reader.at :], values) if values else ReasoningForm("", text)


def find_form(text: str) -> ReasoningForm:
    """Return the fullest form that begins with some line of a text, for example of a longer thought; the last one of several equal ones.

    What is before it is left out.
    """
    best: dict[str, Value] = {}
    begun = end = at = 0
    while at < len(text):
        line, after = _line_of(text, at)
        if _name_in(line):
            reader = _Reader(text, at)
            if (values := reader.read()) and len(values) >= len(best):
                best, begun, end = values, at, reader.at
            after = max(after, reader.at)
        at = after
    return ReasoningForm(text[begun:end], text[end:], best)


def _is_form(values: Mapping[str, Value]) -> bool:
    """Return whether these fields are a form: words such as `why` or `decision` alone may begin any answer."""
    return set(values) == {"task_summary"} or (len(values) > 1 and any("_" in name for name in values))


class _Reader:
    """Reads one form."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text, self.at = text, at
        self.said: dict[str, str] = {}
        self._round: set[str] = set()
        self._fence = self._brace = False
        self._tags: set[str] = set()

    def read(self) -> dict[str, Value]:
        """Read the form up to its end; return its fields, none if there is no form."""
        if not self._lead():
            return {}
        if not self._json():
            while self._fields_of_line():
                pass
        self._close()
        values = {name: value for name in FIELDS if name in self.said and (value := value_of(name, self.said[name])) is not None}
        return values if _is_form(values) else {}

    # --- lines ------------------------------------------------------------------------------------------------------------------------

    def _line(self, at: int) -> tuple[str, int]:
        return _line_of(self.text, at)

    def _skip_blank(self, at: int) -> int:
        while at < len(self.text):
            line, after = self._line(at)
            if line.strip():
                break
            at = after
        return at

    # --- before the form --------------------------------------------------------------------------------------------------------------

    def _lead(self) -> bool:
        """Go to the first field, past what may be before it; return whether there is one."""
        at, introduced = self.at, 0
        for _ in range(_MOST_BEFORE):
            at = self._skip_blank(at)
            if at >= len(self.text):
                break
            line, after = self._line(at)
            if _name_in(line):
                self.at = at
                return True
            if not self._frames(line):
                introduced += 1
                if introduced > _MOST_INTRODUCED or not _announces(line):
                    return False
            at = after
        return False

    def _frames(self, line: str) -> bool:
        if tag := _TAG.fullmatch(line):
            self._tags.add(tag[1].lower())
        elif line.strip() == "{":
            self._brace = True
        elif _FENCE.fullmatch(line):
            self._fence = True
        else:
            return bool(_RULE.fullmatch(line) or _TABLE_HEAD.fullmatch(line))
        return True

    # --- the form ---------------------------------------------------------------------------------------------------------------------

    def _json(self) -> bool:
        begun = self.text.rfind("{", 0, self.at) if self._brace else self.at
        if not self.text.startswith("{", begun):
            return False
        try:
            found, end = json.JSONDecoder().raw_decode(self.text, begun)
        except (ValueError, RecursionError):
            return False
        for key, value in found.items():
            if (name := field_named(key[:_LINE])) is not None:
                items = value if isinstance(value, list) else [value]
                said = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in items if one is not None]
                self.said.setdefault(name, "[]" if value == [] else "\n".join(said))
        line, after = self._line(end)
        self.at, self._brace = end if line.strip() else after, False
        return True

    def _fields_of_line(self) -> bool:
        """Read the fields of the line at `at` and what continues the last of them; return whether there may be more."""
        if (at := self._next_field()) is None:
            return False
        line, self.at = self._line(at)
        for name, said in (split := _split(line, self._round)):
            self._round.add(name)
            fresh = name not in self.said
            self.said.setdefault(name, "" if said.strip() in _BLOCKS else said)
        more = self._continue(*split[-1])
        if fresh and more:
            self.said[name] = ("\n" if name in LISTS else " ").join((self.said[name], *more))
        return True

    def _next_field(self) -> int | None:
        """Return where the line of the next field begins, whose text may be separated by a blank line; None if the form has ended."""
        at = self._skip_blank(self.at)
        name = _name_in(self._line(at)[0]) if at < len(self.text) else None
        if name is None:
            return None
        if at > self.at and name in self._round:
            # A small model may begin the same form again and again.
            if name != FIELDS[0]:
                return None
            self._round = set()
        return at

    def _continue(self, name: str, value: str) -> list[str]:
        """Go past the lines that continue a field, and return them."""
        opened = name in LISTS and value.lstrip().startswith("[") and "]" not in value
        more: list[str] = []
        while self.at < len(self.text):
            line, after = self._line(self.at)
            if not line.strip() or _name_in(line):
                break
            bullet = _BULLET.match(line) if name in LISTS and not value.strip() else None
            indented = line[0] in " \t" and not _CALL.match(line) and not _TAG.fullmatch(line)
            if opened and not _CALL.match(line):
                opened = "]" not in line
            elif bullet and line[bullet.end()] not in "<{[":
                line = line[bullet.end() :]
            elif not indented and not self._wrapped(self.at):
                break
            if opened or indented or bullet or not _OTHER_FIELD.match(line):
                more.append(line)
            self.at = after
        return more

    def _wrapped(self, at: int) -> bool:
        """Return whether a line is prose right before another field: the rest of a long value, or a field that the form does not have."""
        for _ in range(_MOST_WRAPPED):
            line, at = self._line(at)
            if not line.strip() or len(line) > _LINE or _NOT_PROSE & set(line):
                return False
            if _name_in(self._line(at)[0]):
                return True
        return False

    # --- behind the form --------------------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        """Go past what closes the frame, and blank lines."""
        while (at := self._skip_blank(self.at)) < len(self.text):
            line, after = self._line(at)
            tag = _TAG.fullmatch(line)
            closes = (
                (self._fence and _FENCE.fullmatch(line))
                or (self._brace and line.strip() in ("}", "},"))
                or (tag and line.lstrip().startswith("</") and tag[1].lower() in self._tags)
                or (len(line.strip()) > 2 and _RULE.fullmatch(line))
            )
            if not closes:
                break
            if self._fence and _FENCE.fullmatch(line):
                self._fence = False
            self.at = after
        self.at = at


def _line_of(text: str, at: int) -> tuple[str, int]:
    """Return the line at a place, and where the next one begins."""
    end = text.find("\n", at)
    return (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)


def _name_in(line: str) -> str | None:
    """Return the field that a line begins; None if it begins none."""
    found = _head(line)
    return None if found is None else found[0]


def _head(line: str) -> tuple[str, int] | None:
    """Return the field that a line begins and where its value begins."""
    line = line[:_LINE]
    if (element := _ELEMENT.match(line)) and (name := field_named(element[1])):
        return name, element.end()
    before = _BEFORE_NAME.match(line)
    begun = before.end() if before else 0
    if (separator := _SEPARATOR.search(line, begun)) is None:
        return None
    name = field_named(line[begun : separator.start()])
    return None if name is None else (name, separator.end())


def _split(line: str, known: set[str]) -> list[tuple[str, str]]:
    """Return the fields of a line and their texts: one or, where line breaks were lost, several."""
    head = _head(line)
    assert head is not None
    if _ELEMENT.match(line):
        line = _ELEMENT_END.sub("", line)
    elif line.lstrip().startswith("{"):
        line = line.rstrip().rstrip("}")
    found, (name, begun) = [], head
    seen = {*known, name}
    for inside in _INSIDE.finditer(line, begun):
        if (other := field_named(inside["name"])) and other not in seen:
            found.append((name, line[begun : inside.start()]))
            seen.add(other)
            name, begun = other, inside.end()
    return [*found, (name, line[begun:])]


def _announces(line: str) -> bool:
    """Return whether a line may announce a form: a heading, or prose that ends in a colon."""
    line = line.strip()
    return len(line) <= 100 and not _NOT_PROSE & set(line) and (line.startswith("#") or line.rstrip("*").endswith((":", "\uff1a")))
