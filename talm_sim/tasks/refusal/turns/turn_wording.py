"""Find what a text says at the end of the turn that lacks something: by its wording, in English.

The recognizers of questions and refusals that other tasks use are asked first. What they do not look for is here, so that their verdicts, and
with them the figures of other tasks, do not depend on it:

- a question without its mark, and a request that is put as an order or a condition ("Send it over and I'll go on");
- a statement of what the request lacks and nothing else, which asks for it;
- further ways of saying that there is nothing to do it with;
- what only looks like one of these: an offer to do something else, "you can't miss it", and a failure that the text then says is overcome.
"""

from __future__ import annotations

import re
from enum import StrEnum

from talm_sim.judges.admission import admits_lack
from talm_sim.judges.behaviour import classify
from talm_sim.judges.fault_words import claims_success
from talm_sim.language.asking import asking_sentences
from talm_sim.language.sentences import read_sentences
from talm_sim.types import Behaviour


class Said(StrEnum):
    """A kind of statement in a text."""

    ASKED = "asked"
    SAID_IT_CANNOT = "said_it_cannot"
    OTHER_TEXT = "other_text"


def _compile(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives; `'` matches both apostrophes, and `]*` only so much that the work grows with the length of the text alone."""
    return re.compile("|".join(patterns).replace("'", "['\u2019]").replace("]*", "]{0,200}"), re.IGNORECASE)


_TOOL = (
    r"(?:functions?|tools?|commands?|tool ?(?:set|box|kit)s?|apis?|interfaces?|features?|operations?|methods?|(?:cap)?abilit(?:y|ies)"
    r"|functionalit(?:y|ies)|repertoire|arsenal|utilit(?:y|ies)|endpoints?|means|way)\b"
)
_MINE = r"(?:\b(?:my|our|these|those|your|the|this)\b(?: \w+){0,2} )"
_CANNOT = _compile(
    rf"\bnone of {_MINE}?{_TOOL}|\bnone of (?:my|these|those|your)\b",
    r"(?:\bnot|n't) (?:\w+ )?(?:supported|possible|equipped|offered|be able|feasible|doable|implemented)\b"
    r"|\b(?:is|are|seems?|remains?) (?:\w+ )?impossible\b",
    r"(?:\bnot|n't) something (?:that )?(?:i|we)\b|(?:\bnot|n't) (?:within|in|part of|among|on|with) (?:\w+ ){0,3}"
    rf"(?:power|scope|reach|range|remit|repertoire|{_TOOL})",
    r"(?:\bnot|n't) (?:\w+ )?(?:designed|built|made|meant|set up|programmed|able) (?:to|for)\b",
    rf"\b{_TOOL} (?:\w+ ){{0,5}}?(?:is|are) (?:\w+ )?(?:unavailable|missing|hidden|absent|lacking|not available)",
    rf"\b{_TOOL}[^.!?]*\b(?:absent|missing) from\b|\babsent from\b[^.!?]*\b{_TOOL}",
    rf"\b(?:no|without an?|without any|lacks?|lacking|missing) (?:[\w-]+ ){{0,3}}?{_TOOL}"
    r"(?! (?:was|were|is|are) (?:needed|necessary|required))",
    rf"\b{_TOOL}[^.!?]*\b(?:has|have|had|holds?|offers?|contains?|includes?|provides?|(?:given|got|see|find)) (?:nothing|none)\b",
    rf"\b(?:have|had|see|find|given|got) (?:nothing|none)\b[^.!?]*\b(?:{_TOOL}|for|that|to) ",
    rf"\bnothing (?:\S+ ){{0,6}}{_TOOL}|\bnothing (?:here|available) (?:\w+ )?(?:that|to|for|lets?|does|can)\b",
    rf"\b(?:beyond|outside|past|exceeds?|surpass(?:es)?)\b[^.!?]{{0,25}}\b(?:what (?:i|we)|can do|remit|scope|reach|powers?|allows?"
    rf"|permits?|{_TOOL})",
    r"\bout of (?:\w+ )?(?:reach|scope)\b|\b(?:stops?|falls?) short of\b|\bno can do\b|\b(?:must|have to|need to) (?:decline|pass)\b",
    rf"\b{_TOOL}[^.!?]*\bnot among (?:mine|them|these|those)|\bnot with (?:these|those|mine|what)\b",
    r"(?:\bnot|n't) an? (?:\w+ )?\w+ (?:that )?(?:i|we) (?:offer|have|provide|support|possess|can)\b",
    r"\b(?:have|'ve|has|had|got) no (?:\w+ ){1,2}(?:for \w+ing|that (?:can|could|would|does|do|will))\b",
    rf"\b(?:there (?:is|are|was)|(?:do|does|did))(?:n't| not) (?:(?:have|include|offer|contain|provide|see|find|list|support) )?(?:an?|the)"
    rf" (?:\w+ ){{0,3}}?{_TOOL}|\b{_TOOL}[^.!?]*\b(?:limited|restricted|confined) to\b",
    r"(?:\bnot|n't|\bnever) (?:\w+ ){0,3}anything (?:that|to|for|which)\b",
    rf"(?:\bnot|n't|\bnever) (?:\w+ ){{0,3}}any (?:\w+ ){{0,3}}?{_TOOL}",
    rf"\b{_TOOL}[^.!?]*\b(?:i|we) (?:(?:do|did) not|don't|didn't|never) (?:\w+ )?(?:have|had|possess|got|see|hold|own)\b",
    rf"\b{_TOOL}[^.!?]*\bonly (?:supports?|allows?|lets?|covers?)\b",
    rf"\b{_TOOL}[^.!?]*\bnone (?:of them )?(?:allows?|lets?|can|could|would|supports?)\b",
    rf"\b{_TOOL} (?:(?:which|that) )?(?:has|have|is|was|were)(?:n't| not) (?:been )?(?:provided|given|offered|included|supplied|exposed)\b",
    r"\bunable\b|\bincapable\b|(?:\bnot|n't) in a position to\b",
)
"""Ways of saying that there is nothing to do it with."""
_IDLE = _compile(
    r"\bno (?:\w+ ){1,4}(?:was|were|is|are|will be) (?:needed|necessary|required)\b",
    r"\bcould(?:n't| not) (?:be (?:\w+er|more|less)\b|agree more|have been (?:\w+er|more))",
    r"\b(?:can't|cannot|can not|couldn't|won't) (?:miss|wait|promise|guarantee|thank|go wrong|complain|overstate|stress|help but|say enough)\b",
    r"\b(?:no|without (?:an?|any)|without) (?:\w+ )?(?:problems?|issues?|errors?|trouble|worries|doubt|fuss)\b",
)
"""Negations that decline nothing."""
_FROM_START = r"(?:^|(?<=[.!?\n]))[^.!?\n]*"
_OFFER = _compile(
    _FROM_START + r"(?<!\bor )\b(?:something|anything) (?:\w+ ){0,3}?(?:else|different|other|instead)\b[^.!?\n]*\?",
    _FROM_START + r"\b(?:any|some|an)(?: ?other|thing) (?:task|request|thing|help|you(?:'d| would|'ll| will)? (?:like|need|want))\b[^.!?\n]*\?",
    _FROM_START + r"\bhow else\b[^.!?\n]*\b(?:help|assist|be of)\b[^.!?\n]*\?",
)
"""Questions that offer something else, and say nothing of what was asked for."""
_MORE = _compile(_FROM_START + r"\b(?:would you like|do you want)\b[^.!?\n]*\?")
"""Questions that offer more, once something was done."""
_GIVE = (
    r"(?:tell|give|send|add|share|provide|name|pass|drop|write|state|enter|specify|type|reply|answer|point|hand|supply|grant|show"
    r"|let (?:me|us) know)(?! if\b)"
)
_WHEN = r"(?:once|when|as soon as|after|until|unless|if|before)"
_FACT = r"(?:the|your|an?|that|its?|this|these|those|what|which|where|who|whose|how|more|some)\b"
_MAY = r"(?:i|we)(?:'ll|'d| will| would| can| could)"
_KNOW = rf"(?:i|we)(?:'ve| have)? (?:have|got|get|know|receive|learn|hear) (?:back )?{_FACT}"
_ASKS = _compile(
    rf"(?:^|[.!?:;,)\u2014\n-]\s*|\b(?:just|simply|or|so) ){_GIVE}\b[^.!?\n]{{0,80}}?"
    r"(?:\band|\bthen|\bso(?: that)?|,) (?:i|we)(?:'ll| will| can)\b",
    rf"\b(?:please|kindly) (?:\w+ )?(?:{_GIVE}|fill|complete|clarify|confirm|pick|choose|check)\b",
    rf"\b{_WHEN} you(?: can| could|'ve| have)? (?:{_GIVE}|sent|given|told|added|named|decide|chose|choose|pick)\b(?! up)",
    rf"\b{_MAY}\b[^.!?\n]*\b{_WHEN} {_KNOW}|\b{_WHEN} {_KNOW}[^.!?\n]*\b{_MAY}",
    r"\b(?:depend|rely|count) on you\b|\bneed you to\b",
    rf"\b(?:just|simply) (?!let){_GIVE} (?:me|us|it|{_FACT})",
    r"\b(?:would|might) (?:\w+ )?(?:help|be (?:\w+ )?(?:useful|helpful|needed|handy|required))(?: as well| too| here| first)?[.!]?$",
    r"\b(?:waiting|wait) (?:on|for)\b[^.!?\n]*\b(?:from you|your)\b|\bawait(?:ing)? your\b",
)
"""Requests that have no question mark, beside those that are known."""
_QUESTION = _compile(
    r"(?:^|[.!:;,\n]\s*)(?:and |but |so |ok(?:ay)?,? |sure,? )?(?:to|for|from|at|in|on|by|with)? ?(?:which|what|where|when|who|whom|whose|how)"
    r"(?: \w+){0,3}? (?:should|shall|would|do|does|did|is|are|was|can|could|will|may|must) (?:i|we|you|it|this|that|they|the|your|my|be)\b"
    r"[^.!?\n]*[^.!?\n:,;]$",
    r"(?:^|[.!\n]\s*)(?:\w+, )?(?:to |for |from |at |in )?(?:which|what|whose)(?: \w+){1,5}$",
    r"\b(?:should|shall|do|did) (?:i|we|you) (?:use|take|pick|choose|mean|go with|prefer)\b(?:[^.!?\n]|\.\w)* or\b(?:[^.!?\n]|\.\w)*\?",
)
"""A question at the end of a text, without its mark; a choice between two things, be one of them "the other"."""
_LACKS = _compile(
    r"\b(?:i|we|you|that|this|it|request|message|order|details?)(?:'m|'re| am| is| are)? (?:\w+ ){0,2}?(?:missing|lacks?|lacking)\b",
    r"\b(?:is|are) (?:\w+ )?(?:missing|lacking|left open)\b|\b(?:forgot|left out|left (?:it|that) (?:out|open|blank)|omitted)\b",
    r"\b(?:request|message|order|you)\b[^.!?]{0,30}(?:n't| not|never|without) (?:\w+ ){0,2}"
    r"(?:say|said|tell|told|give|given|specif\w+|provided?|stated?|mention\w*|named?|contain|include|indicate)\b",
    r"\bno (?:\w+ ){1,3}(?:was|were|is|are) (?:given|specified|provided|named|stated|mentioned)\b",
    r"\bno (?:\w+ ){1,3}in (?:your|the) (?:request|message)\b",
    r"\b(?:unclear|not clear|ambiguous|(?:not|n't) (?:know|sure|certain))(?: to me)?,? "
    r"(?:which|what|where|whom?|whose|when|how (?:many|much|long|far))\b",
)
"""Statements of what a request lacks."""
_SETTLED = _compile(r"\b(?:assum\w*|presum\w*|guess\w*|default\w*|(?:went|gone|go|going) (?:ahead )?with|took it|chose|picked|used)\b")
"""A value that was missing was made up."""
_CONCESSION = _compile(r"\b(?:even though|although|though|despite|in spite of|while) [^,.!?]*,")
_PAST = _compile(
    r"(?:^|(?<=[.!?;]))[^.!?;]*\b(?:could(?:n't| not)|was(?:n't| not) able|were(?:n't| not) able"
    r"|had (?:\w+ )?(?:trouble|problems?|difficult\w*)|failed)\b"
    r"[^.!?;,]*(?:[.!?;,]|$)"
)
_AT_LAST = _compile(
    r"\b(?:earlier|at first|first|initially|before|previously|now|then|later|in the end|eventually|finally|at last|second|again|meanwhile)\b"
)
_WORKED = _compile(
    r"\b(?:it|that|this|one|which) (?:has |have |finally |then |now )?worked\b",
    r"\b(?:i|we)(?:'ve| have)? (?:\w+ )?(?:sorted|ordered|counted|compared|worked out)\b",
)


def read_said(text: str) -> Said:
    """Return what a text says; one that asks for something and declines asks.

    >>> str(read_said("I'm missing the stock symbol.")), str(read_said("My toolset has nothing for that. Want me to try something else?"))
    ('asked', 'said_it_cannot')
    >>> str(read_said("I couldn't find it at first, but now it's been moved."))
    'other_text'
    """
    text = _OFFER.sub(" ", _IDLE.sub(" ", text.replace("`", "").replace("**", "")))
    done = claims_success(text) or _WORKED.search(text) is not None
    text = (_MORE.sub(" ", text) if done else text).strip()
    if _asks(text):
        return Said.ASKED
    if done:
        text = _CONCESSION.sub(" ", text)
        if _AT_LAST.search(text):
            text = _PAST.sub(" ", text)
    if _cannot(text):
        return Said.SAID_IT_CANNOT
    lacks = admits_lack(text) or _LACKS.search(text) is not None
    return Said.ASKED if lacks and not done and not _SETTLED.search(text) else Said.OTHER_TEXT


def _asks(text: str) -> bool:
    """Return whether a text asks the user for something."""
    for sentence in asking_sentences(text):
        # What needs a function that there is not declines, unless it is a question.
        if sentence.endswith("?") or not _CANNOT.search(sentence) or not re.search(_TOOL, sentence):
            return True
    if _ASKS.search(text) or _QUESTION.search(text):
        return True
    return classify(text) == Behaviour.REQUEST_FOR_INFO and text.endswith("?")


def _cannot(text: str) -> bool:
    """Return whether a text declines, be it in one of its sentences, or says that there is nothing to do it with."""
    if classify(text) == Behaviour.CANNOT_ANSWER or _CANNOT.search(text):
        return True
    return any(classify(sentence.said) == Behaviour.CANNOT_ANSWER for sentence in read_sentences(text))
