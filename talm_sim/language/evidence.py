"""Weigh what a final message shows: that it asks its reader for something, that it declines, or that it answers.

No phrase decides. The signs of `evidence.toml`, kinds of construction, are looked for in each sentence; what counts is which there are, in the
first sentence or the last, and to what kind of request. Beside them count the words, what kind of word follows, and the forms and classes of
words. Their weights (`evidence.json`) were fitted by logistic regression to the labelled messages of several writers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from talm_sim.language.answer_words import compile_words, finds, read_words
from talm_sim.language.question_words import GENERIC, content_stems, stem
from talm_sim.language.sentences import Sentence, split_sentences

_CLAUSE_END = compile_words(
    r"[,;:()]\s|\s[-\u2013\u2014]+\s|\u2014"
    r"|\b(?:but|although|though|despite|because|since|while|so|and (?=(?:it|your|the|i|you|we|that|there)\b))\b"
)
_NAME = re.compile(r"(?<=[a-z,:] )[A-Z][a-z]+")
_LONGEST = 1_000
_TOKEN = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d[\d.,:]*|[^\w\s.!]")
_FEW, _SOME = 6, 20
"""Words of a short message, and of one of middle length."""


@cache
def _words(table: str) -> dict[str, Any]:
    return read_words("evidence.toml")[table]  # type: ignore[no-any-return]


@cache
def _pattern(table: str, name: str) -> re.Pattern[str]:
    """Return what is left out of a text, by its table and name in the file."""
    return compile_words(*_words(table)[name])


def _is(table: str, name: str, text: str) -> bool:
    return finds("evidence.toml", table, name, text)


@lru_cache(maxsize=4_096)
def _shows(text: str, name: str) -> bool:
    return _is("signs", name, text)


class _Request(NamedTuple):
    """What was asked: its kind, the stems of its words, without and with those that name nothing, and what is said of it once it was done."""

    kind: str
    stems: frozenset[str]
    words: frozenset[str]
    done: re.Pattern[str] | None


@lru_cache(maxsize=512)
def _read_request(request: str) -> _Request:
    said = request[:_LONGEST].replace("\u2019", "'").strip()
    parts = split_sentences(said) or [""]
    main = _pattern("request", "opening").sub("", next((one for one in parts if one.endswith("?")), parts[0]))
    asked = _pattern("request", "asked").match(main)
    main = main[asked.end() :] if asked else main
    words = content_stems(said)
    stems = words - GENERIC
    for kind in ("wh", "yn") if main and not asked else ():
        if _is("request", kind, main):
            return _Request(kind, stems, words, None)
    if not main or (main.endswith("?") and not asked):
        return _Request("wh" if main else "none", stems, words, None)
    kind = next((one for one in ("make", "info") if _is("request", one, main)), "act")
    verb = re.match(r"[\w'-]+", main.lower())
    if kind == "make" or not verb:
        return _Request(kind, stems, words, None)
    own = re.escape(verb[0])
    forms = rf"{own}(?:ed|d|ing|{own[-1]}(?:ed|ing))|{own[:-1]}(?:ied|ing)"
    return _Request(kind, stems, words, compile_words(rf"\b(?:{'|'.join(filter(None, (forms, _words('done').get(verb[0]))))})\b"))


def weigh(sentences: Sequence[Sentence], request: str, read: Iterable[str]) -> str:
    """Return what a message shows in the main: `asks`, `declines` or `answers`.

    Args:
        sentences: Of the message.
        request: What was asked; empty where it is not known.
        read: What else was read of the message, by name.
    """
    weights = _weights()
    asks = declines = 0.0
    for mark in sorted(marks(sentences, request, read)):
        for_asking, for_declining = weights.get(mark, (0.0, 0.0))
        asks, declines = asks + for_asking, declines + for_declining
    return "asks" if asks > max(0.0, declines) else "declines" if declines > 0.0 else "answers"


@cache
def _weights() -> dict[str, tuple[float, float]]:
    """Return for each mark what it says for asking and for declining, against answering."""
    return json.loads(files(__package__).joinpath("evidence.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def marks(sentences: Sequence[Sentence], request: str, read: Iterable[str]) -> set[str]:
    """Return the names of all that a message shows; what depends on the kind of request has that behind an `&`."""
    asked = _read_request(request)
    found = {"all", *read}
    wording: set[str] = set()
    if sentences:
        texts = [(_pattern("idle", "phrases").sub(" okay ", one.said[:_LONGEST].replace("\u2019", "'")), one) for one in sentences]
        stated = [(text, one) for text, one in texts if not one.questions]
        found.update(_of_form(texts))
        found.update(_of_questions(texts, asked))
        found.update(_of_beginning(stated))
        for place, (text, _) in enumerate(stated):
            found.update(_of_sentence(text, place == 0, place == len(stated) - 1 > 0, asked))
        tokens = [_tokens(text, asked, one.questions) for text, one in texts]
        found.update(mark for those in tokens for mark in _of_classes(those))
        wording = {mark for those in tokens for mark in _of_wording(those)}
        wording.add(f"told {sum(any(one.word == 'R' for one in those) for those in tokens[:3])} of {min(len(asked.words), _FEW)}")
    return wording | found | {f"{one}&{asked.kind}" for one in found if "@" not in one}


_Texts = Sequence[tuple[str, Sentence]]


def _of_form(texts: _Texts) -> Iterator[str]:
    words = sum(len(text.split()) for text, _ in texts)
    yield f"sentences:{min(len(texts), 5)}"
    yield "short" if words <= _FEW else "middle" if words <= _SOME else "long"
    if items := [_denies(text) for text, one in texts if one.item and not one.questions]:
        yield "items:denying" if all(items) else "items:mixed" if any(items) else f"items:{min(len(items), 3)}"
    if any("`" in one.text for _, one in texts):
        yield "code"


def _of_questions(texts: _Texts, asked: _Request) -> Iterator[str]:
    questions = [place for place, (_, one) in enumerate(texts) if one.questions]
    if len(questions) > 1:
        yield "questions"
    for place in questions:
        text, following = texts[place][0], texts[place + 1] if place + 1 < len(texts) else None
        kinds = {name for name in _words("questions") if _is("questions", name, text)}
        if not kinds & {"idle", "tag", "offer"}:
            kinds.add("real")
        if content_stems(text) & asked.stems:
            kinds.add("about")
        if len(text.split()) <= _FEW - 2:
            kinds.add("brief")
        if following and not following[1].questions:
            kinds.add("replied" if _is("replies", "to_itself", following[0]) else "followed")
        yield "question"
        yield from (f"question:{kind}" for kind in kinds)
        for where in (["first"] if place == 0 else []) + (["last"] if following is None else []):
            yield f"question@{where}"
            if "real" in kinds:
                yield f"question:real@{where}"
        if "real" in kinds and "you" in kinds:
            yield "question:real:you"


def _of_beginning(stated: _Texts) -> Iterator[str]:
    if stated:
        text = stated[0][0]
        clean = not _shows(text, "neg") and not _denies(text)
        if clean:
            yield "clean@first"
            if len(text.split()) <= _FEW - 2:
                yield "bare@first"
        if (first := next(_clauses(text), "")) and not _shows(first, "neg") and not _denies(first):
            yield "clean@begin"
        denials = sum(map(_denies, (text for text, _ in stated)))
        if denials == len(stated):
            yield "all denies"
        if denials > 1:
            yield "several denials"


def _of_sentence(text: str, first: bool, last: bool, asked: _Request) -> Iterator[str]:
    here = {name for name in _words("signs") if _shows(text, name)}
    if _NAME.search(text):
        here.add("name")
    about = bool(content_stems(text) & asked.stems)
    if here.intersection(_words("groups")["denies"]):
        here.add("denies")
        yield "denies about" if about else "denies beside"
    elif "neg" not in here:
        here.add("clean")
        yield from (f"clean {name}" for name in ("value", "name") if name in here)
    if about and "neg" in here:
        yield "neg about"
    for name in here:
        yield name
        if first:
            yield f"{name}@first"
        if last:
            yield f"{name}@last"
    for clause in _clauses(text):
        if asked.done and asked.done.search(clause):
            done = "requested undone" if _shows(clause, "neg") or _shows(clause, "fail") or shows(clause, "open") else "requested done"
            yield from (done, f"{done}@first") if first else (done,)


class _Token(NamedTuple):
    """A word or mark: itself, its form (a particle is its own, of other words the ending counts), and its class of `[classes]`, or its form."""

    word: str
    form: str
    kind: str


def _tokens(text: str, asked: _Request, questions: bool) -> list[_Token]:
    """Return the tokens of a sentence between two that stand for its ends; `R` is a word of the request, `N` a name, `0` a number."""
    tokens = [_Token("^", "^", "^")]
    for place, word in enumerate(_TOKEN.findall(text)):
        named = place and word[0].isupper() and word != "I" and word[:2] != "I'"
        tokens.append(_token("R" if stem(word) in asked.words else "N" if named else word))
    end = "?$" if questions else "$"
    return [*tokens, _Token(end, end, end)]


@lru_cache(maxsize=8_192)
def _token(word: str) -> _Token:
    if not word[0].isalpha() or word in ("R", "N"):
        return _Token(*("0" if word[0].isdigit() else word,) * 3)
    word = word.lower()
    form = word if word in _particles() else next((f"*{end}" for end in ("ed", "ing", "ly", "s") if len(word) > 4 and word.endswith(end)), "*")
    classes = _classes()
    kind = classes.get(word) or classes.get(stem(word)) or ("<un>" if _is("classes_of", "un", word) else form)
    return _Token(word, form, kind)


@cache
def _particles() -> frozenset[str]:
    return frozenset(_words("words")["particles"].split())


@cache
def _classes() -> dict[str, str]:
    listed = [(word, f"<{name}>") for name, words in reversed(_words("classes").items()) for word in words.split()]
    return {stem(word): name for word, name in listed} | dict(listed)


def _of_classes(tokens: Sequence[_Token]) -> Iterator[str]:
    kinds = {one.kind for one in tokens}
    yield from (f"k:{kind}" for kind in kinds if kind[0] == "<" or kind in "R0N?")
    if len(tokens) > 2:
        yield f"b:{tokens[1].kind}"


def _of_wording(tokens: Sequence[_Token]) -> Iterator[str]:
    for one, following in pairwise(tokens):
        yield f"w:{one.word}"
        yield f"w:{one.word} {following.kind}"
        yield f"f:{one.form} {following.form}"


def _clauses(text: str) -> Iterator[str]:
    return (clause for clause in _CLAUSE_END.split(text) if clause.strip())


def _denies(text: str) -> bool:
    return shows(text, "denies")


def shows(text: str, group: str) -> bool:
    """Return whether a text shows any sign of a group."""
    return any(_shows(text, name) for name in _words("groups")[group])


def denies(text: str) -> bool:
    """Return whether a text denies anything."""
    return _denies(_pattern("idle", "phrases").sub(" okay ", text.replace("\u2019", "'")))
