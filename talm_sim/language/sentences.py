"""Split a text into sentences; a chat message without markdown and what does not address its reader: code, tables, quotations, drafts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from talm_sim.language.calendar_words import SHORT_MONTHS

_MARKS = "?\uff1f\u061f\u037e\u2e2e\u203d\u2047\u2048\u2049"
"""Question marks: ASCII, full-width, Arabic, Greek, and rarer ones."""
_CLOSERS = "\"'\u201d\u2019\u00bb)\\]*"
# Every repetition that may fail is bounded, so that no text is read again and again.
_FENCE = re.compile(r"\s{0,8}(`{3,}|~{3,})")
_RULE = re.compile(r"\s{0,8}([-*_=])(?:\s?\1){2,}\s*$")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u2023\u25e6\u2043\u2013\u2014]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+(?=\S)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_TAG = re.compile(r"</?[A-Za-z]{1,10}\s?/?>")
_BREAK = re.compile(r"<br\s?/?>|\r\n?|[\u2028\u2029\x0b\x0c]")
_EMPHASIS = re.compile(r"\*\*|__|~~|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_QUOTED = re.compile(
    r'"[^"]*"|\u201c[^\u201c\u201d]*\u201d|\u00ab[^\u00ab\u00bb]*\u00bb|\u201e[^\u201c\u201d\u201e]*[\u201c\u201d]|\u300c[^\u300c\u300d]*\u300d'
    r"|`[^`]*`|(?<!\w)['\u2018][^'\u2018\u2019]*[?.!,]['\u2019](?!\w)"
)
_END = re.compile(
    rf"[.!\u2026]{{1,8}}[{_CLOSERS}]{{0,4}}(?=\s)|[.!]{{0,4}}[{_MARKS}][{_MARKS}.!]{{0,8}}[{_CLOSERS}]{{0,4}}(?=\s)|[\u3002\uff01\uff1f]+"
    r"|[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?(?=\s[A-Z])"
)
_SHORTENED = re.compile(
    rf"(?:^|[\s(])(?:(no|nr)|mr|mrs|ms|dr|prof|st|vs|approx|e\.g|i\.e|etc|[a-z]|{'|'.join(name for name in SHORT_MONTHS if name != 'may')})\.$",
    re.IGNORECASE,
)
_DRAFT = re.compile(
    r"\b(?:draft|e-?mail|message|letter|template|reply|script|poem|note|post|quiz|survey|questionnaire|interview questions"
    r"|questions (?:to|you (?:can|could)) ask)\b[^:]{0,80}:$",
    re.IGNORECASE,
)
_WANTED = re.compile(r"\b(?:need|require|please|provide|share|tell|know|following|could you|can you)\b", re.IGNORECASE)


class Sentence(NamedTuple):
    """One sentence.

    Attributes:
        text: As a person reads it, without markdown.
        said: The same, with everything in quotation marks blotted out: as long as `text`.
        heading: Whether it is in a heading.
        item: Number of its list item within the text; 0 outside lists.
    """

    text: str
    said: str
    heading: bool
    item: int

    @property
    def questions(self) -> bool:
        """Whether it ends with a question mark; in Greek that may be a semicolon."""
        end = self.said.rstrip(" \"'\u2018\u2019\u201c\u201d\u00ab\u00bb()[]*_!.\u2026")
        return end.endswith(tuple(_MARKS)) or (end.endswith(";") and "\u0370" <= end[-2:-1] <= "\u1fff")


class _Line(NamedTuple):
    text: str
    heading: bool
    item: int


def read_sentences(text: str) -> list[Sentence]:
    """Split a text for a person into sentences.

    Blocks of code, quotations (`>`) and tables are left out, and so is a draft: what follows a line such as "Here is the email:", between
    ruled lines or up to the last paragraph. The work grows linearly with the length.

    >>> [one.text for one in read_sentences("**Done.** Which of the *two*?")]
    ['Done.', 'Which of the two?']
    """
    return [sentence for line in _lines(text) for sentence in _split(line)]


def _lines(text: str) -> Iterator[_Line]:
    """Return the lines that address the reader, without markdown."""
    items = 0
    for paragraph in _skip_drafts(list(_paragraphs(_BREAK.sub("\n", text)))):
        for line in paragraph:
            item, heading = _ITEM.match(line), _HEADING.match(line)
            mark = item or heading
            items += bool(item)
            linked = _LINK.sub(r"\1", line[mark.end() :] if mark else line)
            if shown := " ".join(_EMPHASIS.sub("", _TAG.sub("", linked)).split()):
                yield _Line(shown, bool(heading), items if item else 0)


def _skip_drafts(paragraphs: list[list[str]]) -> Iterator[list[str]]:
    """Leave drafts out: what is between ruled lines after an introducing line, otherwise all paragraphs but a last one."""
    led = drafted = False
    for number, paragraph in enumerate(paragraphs):
        if not paragraph:
            led, drafted = False, led
        elif led or (drafted and number < len(paragraphs) - 1):
            led, drafted = False, True
        else:
            lines = _join_line(paragraph)
            leads = next((at for at, line in enumerate(lines) if _introduces_draft(line)), len(lines))
            led = leads == len(lines) - 1
            drafted = leads < len(lines) - 1
            yield lines[: leads + 1]


def _introduces_draft(line: str) -> bool:
    end = line.rstrip(" *_")[-200:]
    return bool(_DRAFT.search(end) and not _WANTED.search(end))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Return paragraphs of lines; a ruled line counts as an empty one."""
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
            if ruled:
                yield []
            paragraph, fence = [], mark[1] if mark else ""
        elif not line.lstrip().startswith((">", "|")):
            paragraph.append(line.rstrip())
    if paragraph:
        yield paragraph


def _join_line(paragraph: list[str]) -> list[str]:
    """Join a line that was broken within a sentence."""
    parts: list[list[str]] = []
    for line in paragraph:
        begins = line.lstrip()
        if parts and begins[:1].islower() and not _ITEM.match(line) and parts[-1][-1][-1:] not in ".!?:":
            parts[-1].append(begins)
        else:
            parts.append([line])
    return [" ".join(part) for part in parts]


def _mask_quotation(found: re.Match[str]) -> str:
    """Blot out a quotation; one that ends a sentence still does, as a statement."""
    quoted = found[0]
    last = "." if quoted[-2] in ".!?" and len(quoted) > 2 and quoted[0] != "`" else "_"
    return quoted[0] + "_" * (len(quoted) - 3) + last * (len(quoted) > 2) + quoted[-1]


def _split(line: _Line) -> Iterator[Sentence]:
    text = line.text
    if _QUOTED.fullmatch(text) and not line.item and text[0] != "`":
        text = text[1:-1].strip()  # a model that puts its whole answer between quotation marks
    said = _QUOTED.sub(_mask_quotation, text)
    for start, end in _spans(said, _END):
        yield from _sentence(text[start:end], said[start:end], line)


def split_sentences(text: str, *, also: str = "") -> list[str]:
    """Split a plain text into sentences, each with its mark at the end; a line break ends one as well.

    Args:
        text: One without markdown; `read_sentences` reads a chat message.
        also: Other marks that end a part where white space follows.

    >>> split_sentences("Dr. No came at 3.5. Is it ok? See e.g. the list; then go", also=";")
    ['Dr. No came at 3.5.', 'Is it ok?', 'See e.g. the list;', 'then go']
    """
    parts = (line[start:end].strip() for line in text.split("\n") for start, end in _spans(line, _ends(also)))
    return [part for part in parts if part]


def last_sentence(text: str, *, also: str = "") -> str:
    """Return what a text has begun to say behind the sentences that are finished.

    >>> last_sentence("It rains. Is it at"), last_sentence("It rains. ")
    (' Is it at', ' ')
    """
    line = text.rpartition("\n")[2]
    return line[[*_spans(line, _ends(also))][-1][0] :]


@cache
def _ends(also: str) -> re.Pattern[str]:
    return re.compile(rf"{_END.pattern}|[{re.escape(also)}](?=\s)") if also else _END


def _spans(said: str, ends: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for end in ends.finditer(said):
        if end[0][0] == "." and not set(end[0]) & set(_MARKS):
            follows = said[end.end() : end.end() + 2].lstrip()
            shortened = _SHORTENED.search(said[max(start, end.end() - 8) : end.end()])
            if follows[:1].islower() or (shortened and (not shortened[1] or follows.isdigit())):
                continue
        yield start, end.end()
        start = end.end()
    yield start, len(said)


def _sentence(text: str, said: str, line: _Line) -> Iterator[Sentence]:
    """Return the sentence, if it says anything; the marks of code are removed last, so that both texts have the same length."""
    shown, heard = text, said
    if "`" in text:
        kept = [at for at, one in enumerate(text) if one != "`"]
        shown, heard = "".join(text[at] for at in kept), "".join(said[at] for at in kept)
    left, right = len(shown) - len(shown.lstrip()), len(shown.rstrip())
    if any(map(str.isalnum, shown)):
        yield Sentence(shown[left:right], heard[left:right], line.heading, line.item)
