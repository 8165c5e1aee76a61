"""Find the sentences of a message that ask its reader for something.

English is read by its wording; of another language only the final question mark counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import takewhile

from talm_sim.language.answer_words import read_words
from talm_sim.language.sentences import Sentence, read_sentences
from talm_sim.models.parsing import split_reasoning

_ENGLISH = frozenset(
    re.findall(
        r"\w+",
        "the of and to you your which what for is are can could would please this that with have it not when where who how "
        "does if my we there from need know like tell let but by should shall anything something else thanks sorry here has been missing"
        " provide",
    )
)
"""Frequent words that few other languages share."""


_LONGEST = 1_000
"""Characters; a longer text is not a sentence that a person should answer."""
_LOOKED_AT = 4_000
"""Words of a text by which its language is recognized."""
_ENGLISH_SHARE = 0.15


@cache
def _way(name: str) -> re.Pattern[str]:
    """Return a way of asking, offering or closing, by its name in the file; `'` matches both apostrophes."""
    tables = read_words("asking.toml")
    table, start = next(one for one in (("anywhere", r"\b"), ("at_start", "^"), ("at_word", r"^\W*")) if name in tables[one[0]])
    return re.compile(f"{start}(?:{'|'.join(tables[table][name])})".replace("'", "['\u2019]"), re.IGNORECASE)


@lru_cache(maxsize=2_048)  # what is asked of a turn while it is played is asked again for the table, and repeats are often alike
def asking_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences that ask the reader for something that the reader must supply: a fact, a choice, a go-ahead.

    Offers, closing phrases, rhetorical and quoted questions, and questions that the text then answers do not count. A request that
    introduces a list is one sentence with it. The work grows linearly with the length of the text.

    Args:
        text: A message in markdown or plain text, as an agent wrote it; thinking blocks are skipped.

    Returns:
        Whole sentences in order, without markdown, each once; empty if nothing is asked.

    >>> asking_sentences("I can cancel it. Could you tell me the **reference**?")
    ('Could you tell me the reference?',)
    >>> asking_sentences("Which reference? I assumed QX7K2P."), asking_sentences("Done. Anything else?")
    ((), ())
    """
    sentences = read_sentences(split_reasoning(text)[0])
    found = _in_english(sentences) if _is_english(sentences) else _closing_questions(sentences)
    return tuple(dict.fromkeys(found))


def _is_english(sentences: Sequence[Sentence]) -> bool:
    spoken: list[str] = []
    for sentence in sentences:
        spoken += re.findall(r"[^\W\d_]+", sentence.said[:_LONGEST].lower())
        if len(spoken) > _LOOKED_AT:
            break
    return sum(word in _ENGLISH for word in spoken) >= _ENGLISH_SHARE * len(spoken)


def _closing_questions(sentences: Sequence[Sentence]) -> list[str]:
    """Return the questions a message in any language ends with; "Anything else?" is too short to show its language, but is known."""
    questions = takewhile(lambda one: one.questions and len(one.text) <= _LONGEST, reversed(sentences))
    return [one.text for one in questions if _asks(one)][::-1]


def _in_english(sentences: Sequence[Sentence]) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(sentences):
        sentence = sentences[at]
        following = sentences[at + 1] if at + 1 < len(sentences) else None
        at += 1
        if len(sentence.text) > _LONGEST or not _asks(sentence) or _is_answered(sentence, following):
            continue
        shown = sentence.text
        if _introduces_list(sentence, following):
            listed = list(takewhile(lambda one: one.item, sentences[at : at + _LONGEST]))
            if not all(one.questions for one in listed):
                shown, at = _append_list(shown, listed), at + len(listed)
            elif shown.endswith(":"):
                continue  # it announces questions that are complete by themselves
        found.append(shown)
    return found


def _introduces_list(sentence: Sentence, following: Sentence | None) -> bool:
    if following is None or not following.item or sentence.item:
        return False
    return sentence.text[-1] not in ".!?" or "following" in sentence.said.lower()


def _append_list(lead: str, listed: Sequence[Sentence]) -> str:
    items: dict[int, list[str]] = {}
    for one in listed:
        items.setdefault(one.item, []).append(one.text)
    return f"{lead} {'; '.join(' '.join(parts) for parts in items.values())}"


def _asks(sentence: Sentence) -> bool:
    said = sentence.said
    request = _way("request_hint").search(said) and _way("request").search(said)
    if (closing := _way("closing").search(said)) and request and request.end() <= closing.start():
        closing = None  # "Please give me the date, or let me know if ..."
    if sentence.questions:
        return not closing and _is_question(said)
    if not request or _way("elsewhere").search(said):
        return False
    if closing:
        return bool(_way("choice").search(said)) and not _way("more").search(said)
    if _way("in_return").match(request[0]) and _way("added").search(said):
        return False
    wish = _way("like").search(said)
    return not (wish and wish.start() < request.start() and _way("more").search(said))


def _is_question(said: str) -> bool:
    if _way("idle").search(said):
        return False
    if not (offer := _way("offer").search(said)) or _way("asks_for").search(said):
        return True
    if (asked := _way("wh").search(said)) and asked.start() < offer.start():
        return True
    if _way("go_ahead").search(said):
        return not _way("added").search(said)
    return not _way("more").search(said) and bool(_way("choice").search(said) or _way("should").search(said))


def _is_answered(sentence: Sentence, following: Sentence | None) -> bool:
    """Return whether the text then answers what it asks: by an assumption, or as a question to itself."""
    if following is None or following.questions:
        return False
    after = following.said[:_LONGEST]
    if _way("assumed").search(after) or not sentence.questions:
        return bool(_way("assumed").search(after))
    if sentence.heading:
        return not following.heading
    return bool(_way("reply").search(after)) or (
        _is_to_itself(sentence, following) and not _way("goes_on").search(after) and not _asks(following)
    )


def _is_to_itself(sentence: Sentence, following: Sentence) -> bool:
    """Return whether a question that does not address its reader may be one to oneself: it wants a fact, and a statement follows."""
    said = sentence.said.lstrip(" \"'(").lower()
    if _way("to_you").search(said) and not said.startswith("you"):
        return False
    listed = following.item and not sentence.item
    if listed:
        return not said.startswith("which")
    return bool(_way("wh").search(said)) or said.startswith(("you", "why", "how"))


_PLAIN = re.compile(r"[?\uff1f]|\b(?:please|kindly|tell me|let me know|could you|can you|would you|specify|clarify|confirm)\b", re.IGNORECASE)


def asks_plainly(text: str) -> bool:
    """Return whether what was taken for a question has a question mark, or words of a request: a weak model's babble has neither.

    >>> asks_plainly("Which day do you mean?"), asks_plainly("Please give me the date."), asks_plainly("I need you to work on the 4th.")
    (True, True, False)
    """
    return any(map(_PLAIN.search, asking_sentences(text)))
