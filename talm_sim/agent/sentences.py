"""The sentences of a chat message, without markdown and without what is not said to the reader: code, tables, quotations, drafts for somebody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

__all__ = ["QUESTION_MARKS", "Place", "Sentence", "read_sentences"]

QUESTION_MARKS = "?\uff1f\u061f\u037e\u2e2e\u203d\u2047\u2048\u2049"
"""ASCII, full-width, Arabic, Greek, and rarer ones; a Greek text may write its mark as a semicolon, see `Sentence.questions`."""
_FENCE = re.compile(r"\s{0,8}(`{3,}|~{3,})")
_RULE = re.compile(r"\s{0,8}([-*_=])(?:\s?\1){2,}\s*$")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u2023\u25e6\u2043\u2013\u2014]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+(?=\S)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_TAG = re.compile(r"</?[A-Za-z]{1,10}\s?/?>")
_BREAK = re.compile(r"<br\s?/?>|\r\n?|[\u2028\u2029\x0b\x0c]")
_EMPHASIS = re.compile(r"\*\*|__|~~|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_QUOTED = re.compile(
    r"\"[^\"]*\"|\u201c[^\u201c\u201d]*\u201d|\u00ab[^\u00ab\u00bb]*\u00bb|\u201e[^\u201c\u201d\u201e]*[\u201c\u201d]|\u300c[^\u300c\u300d]*\u300d|`[^`]*`"
    r"|(?<!\w)['\u2018][^'\u2018\u2019]*[?.!,]['\u2019](?!\w)"
)
_END = re.compile(rf"[.!\u2026]+[\"'\u201d\u2019\u00bb)\]]*(?=\s)|[.!]*[{QUESTION_MARKS}][{QUESTION_MARKS}.!]*[\"'\u201d\u2019\u00bb)\]]*(?=\s)|[\u3002\uff01\uff1f]+")
_SHORTENED = re.compile(r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|no|nr|vs|approx|e\.g|i\.e|etc|[a-z]|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$", re.IGNORECASE)
_DRAFT = re.compile(
    r"\b(?:draft|e-?mail|message|letter|template|reply|script|poem|note|post|quiz|survey|questionnaire|interview questions|questions (?:to|you (?:can|could)) ask)\b[^:]{0,80}:$",
    re.IGNORECASE,
)


class Place(Enum):
    """Where a sentence stands: in a paragraph, as a line by itself, in a heading, or in an item of a list."""

    TEXT = "text"
    LINE = "line"
    HEADING = "heading"
    ITEM = "item"


class Sentence(NamedTuple):
    """One sentence.

    Attributes:
        text: As a person reads it, without markdown.
        said: The same with all that stands in quotation marks blotted out: as long as `text`.
        place: Where it stands.
        item: Number of its list item within the text; 0 outside lists.
    """

    text: str
    said: str
    place: Place
    item: int

    @property
    def questions(self) -> bool:
        """Whether it ends with a question mark."""
        end = self.said.rstrip(" \"'\u2018\u2019\u201c\u201d\u00ab\u00bb()[]*_!.\u2026")
        return end.endswith(tuple(QUESTION_MARKS)) or (end.endswith(";") and "\u0370" <= end[-2:-1] <= "\u03ff")


class _Line(NamedTuple):
    text: str
    place: Place
    item: int


def read_sentences(text: str) -> list[Sentence]:
    """Split what was written to a person into sentences.

    Lines of code blocks, of quotations (`>`) and of tables are left out, and so is a draft: what follows a line such as "Here is the email:" up
    to a ruled line or the last paragraph. The work grows in step with the length.

    >>> [one.text for one in read_sentences("**Done.** Which of the *two*?")]
    ['Done.', 'Which of the two?']
    """
    return [sentence for line in _lines(text) for sentence in _split(line)]


def _lines(text: str) -> Iterator[_Line]:
    """Lines with their markdown marks taken away; a line that goes on in the next one is joined with it."""
    paragraphs = [list(lines) for lines in _paragraphs(_BREAK.sub("\n", text))]
    drafted = False
    items = 0
    for number, paragraph in enumerate(paragraphs):
        drafted = drafted and paragraph != [""] and (number < len(paragraphs) - 1 or paragraphs[number - 1][-1].endswith(":"))
        for line in _joined(paragraph):
            if drafted:
                break
            mark = _ITEM.match(line)
            heading = _HEADING.match(line)
            items += bool(mark)
            place = Place.ITEM if mark else Place.HEADING if heading else Place.LINE if len(paragraph) == 1 or line.startswith("**") else Place.TEXT
            shown = _plain(line[(mark or heading).end() :] if (mark or heading) else line)  # type: ignore[union-attr]
            if shown:
                yield _Line(shown, place, items if mark else 0)
            drafted = bool(_DRAFT.search(shown[-200:]))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Paragraphs of lines; a ruled line is the paragraph of one empty line."""
    fence = ""
    paragraph: list[str] = []
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        ruled = _RULE.match(line)
        if mark or ruled or not line.strip():
            if paragraph:
                yield paragraph
            paragraph = []
            fence = mark[1] if mark else ""
            if ruled:
                yield [""]
        elif not line.lstrip().startswith((">", "|")):
            paragraph.append(line.rstrip())
    if paragraph:
        yield paragraph


def _joined(paragraph: list[str]) -> list[str]:
    parts: list[list[str]] = []
    for line in paragraph:
        begins = line.lstrip()
        goes_on = parts and begins[:1].islower() and not _ITEM.match(line) and parts[-1][-1][-1:] not in ".!?:"
        if goes_on:
            parts[-1].append(begins)
        else:
            parts.append([line])
    return [" ".join(part) for part in parts]


def _plain(line: str) -> str:
    return " ".join(_EMPHASIS.sub("", _TAG.sub("", _LINK.sub(r"\1", line))).split())


def _blotted(text: str) -> str:
    return _QUOTED.sub(lambda found: found[0][0] + "_" * (len(found[0]) - 2) + found[0][-1], text)


def _split(line: _Line) -> Iterator[Sentence]:
    text = line.text
    if (whole := _QUOTED.match(text)) and whole.end() == len(text) and line.place is not Place.ITEM:
        text = text[1:-1].strip()  # a model that puts its whole answer between quotation marks
    said = _blotted(text)
    start = 0
    for end in _END.finditer(said):
        after = said[end.end() : end.end() + 2].lstrip()
        dot = end[0].startswith(".") and not any(mark in end[0] for mark in QUESTION_MARKS)
        if dot and (after[:1].islower() or _SHORTENED.search(said[max(start, end.end() - 8) : end.end()])):
            continue
        yield from _sentence(text, said, start, end.end(), line)
        start = end.end()
    yield from _sentence(text, said, start, len(text), line)


def _sentence(text: str, said: str, start: int, end: int, line: _Line) -> Iterator[Sentence]:
    shown = text[start:end]
    if any(map(str.isalnum, shown)):
        left = len(shown) - len(shown.lstrip())
        right = len(shown.rstrip())
        # code is shown without its marks; they are taken away last, so that `text` and `said` stay in step
        kept = [(one, blot) for one, blot in zip(shown[left:right], said[start:end][left:right], strict=True) if one != "`"]
        yield Sentence("".join(one for one, _ in kept), "".join(blot for _, blot in kept), line.place, line.item)
