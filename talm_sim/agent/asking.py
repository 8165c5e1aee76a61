"""Which sentences of a message ask its reader for something? The rule, with its hard cases, is in docs/asking.md.

English is read by its wording; of another language only a final question mark counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.agent.sentences import Place, Sentence, read_sentences
from talm_sim.models.parsing import split_reasoning

__all__ = ["asking_sentences"]

_LONGEST = 1_000
"""Characters; what is longer is no sentence that a person is meant to answer."""
_LOOKED_AT = 4_000
"""Words of a text by which its language is told."""
_ENGLISH = frozenset(
    "the of and to you your which what for is are can could would please this that with have it not when where who how do does did if my we "
    "there from need know like tell let me but by be at as will should shall".split()
) - frozenset("me be at as will do".split())
_ENGLISH_SHARE = 0.15


def _words(pattern: str) -> re.Pattern[str]:
    """Compile words and phrases: a blank stands for one blank, `'` for both apostrophes."""
    return re.compile(rf"\b(?:{pattern})".replace("'", "['\u2019]"), re.IGNORECASE)


_GIVE = (
    "provide|specify|supply|clarify|confirm|indicate|state|share|enter|choose|select|pick|type|name|mention|include|describe|list|upload|attach|paste"
    "|rephrase|reply|respond|answer|advise|tell|give|send|let (?:me|us) know|fill in|double-check|verify|re-?enter|resend|identify|elaborate"
)
_TOLD = "tell (?:me|us)|give (?:me|us)|send (?:me|us)|let (?:me|us) know|show (?:me|us)"
_SOFT = r"(?:(?:please|kindly|just|also|then|simply|first|perhaps|possibly|briefly|at least|maybe|still|can|could|would|will|do|only|now|be able to) ){0,3}"

_REQUESTS = (
    _words(rf"(?:please|kindly) {_SOFT}(?:{_GIVE})\b"),
    _words(rf"(?:can|could|would|will|might) you {_SOFT}(?:{_GIVE}|help me (?:understand|with)|remind me)\b"),
    _words(rf"(?:can|could|may|might) (?:i|we) {_SOFT}(?:have|get|know|ask|take|confirm)\b"),
    _words(rf"(?:i|we)(?:'ll|'d)? (?:(?:will|would|do|still|also|just|only|first|then|may|might|have to) ){{0,3}}(?:need|require)(?! (?:to (?!know|have|ask|confirm|get)|not\b|a moment|no\b|more time|some time))(?= )"),
    _words(rf"(?:if|once|when|as soon as|after|until|unless) you(?:'ll|'d|'ve)? {_SOFT}(?:have )?(?:{_TOLD}|provide|provided|specify|specified|supply|clarify|confirm|confirmed|indicate|share|choose|select|pick|told me|given me|sent me)\b"),
    _words(rf"you(?:'ll| will)? (?:need to|have to|must|should) {_SOFT}(?:{_TOLD}|provide|specify|clarify|confirm|choose|select|pick|share)\b"),
    _words(r"(?:i|we)(?:'d| would) (?:just )?(?:like|love|have|want) to (?:know|ask|confirm|clarify)"),
    _words(r"(?:i(?:'m| am) )?(?:still )?(?:waiting for|awaiting|await) your\b"),
    _words(r"need(?:ed)? from you\b"),
    _words(r"your\b.{0,80}\b(?:is|are) (?:still )?(?:needed|required|missing)\b"),
    _words(r"(?:is|are) (?:still )?(?:needed|required|missing)\b.{0,20}\b(?:to (?:proceed|continue|go on)|before i can|for me to|from you)"),
    _words(r"(?:information|details|info) (?:i need|needed|required|missing)\b.{0,20}:$|missing (?:information|details|info)\b.{0,20}:$"),
    re.compile(
        r"(?:^|[,;:\u2013\u2014-] |\b(?:then|just|simply|so|and|or|first) )"
        rf"(?:(?:{_TOLD}) (?!if\b)\S|(?:reply|respond|answer) with\b|(?:choose|pick|select) (?:one|a number|from|between)\b|(?:specify|clarify|confirm|provide) \S)",
        re.IGNORECASE,
    ),
)
"""What asks without being a question."""
_FOR_OTHERS = _words(
    r"(?:with|to|at|by|on|in|of) (?:the|your|their|our|its) (?:\w+ ){0,2}(?:bank|doctor|physician|desk|counter|airport|office|support|team|provider|embassy|pharmacist|airline|station"
    r"|driver|administrator|website|site|page|app|settings|portal|service|department|operator|authorit\w+|staff|clerk|lawyer|advisor|professional)\b"
    r"|click|tap|press the|button|menu|password field"
)
"""Advice on what to tell somebody else, or to type somewhere else."""
_MORE = _words(r"also|too|as well|else|another|other|others|different|instead|more|further|additional|additionally|alternative|alternatives|later|again|similar|next")
"""Words of an offer: it goes beyond what was wanted."""
_LIKE = _words(r"(?:if|in case|should|whenever) you(?:'d| would| do| ever| still)? (?:like|want|need|wish|prefer|have any|have (?:more|other|further|additional)|care|require|change|run into|decide|are|'re)")
_CLOSING = _words(
    r"(?:anything|something|what|who|where|how) else|feel free|(?:don't|do not) hesitate|(?:any|other|more|further|additional) (?:questions?|queries|concerns|help|assistance)"
    r"|let (?:me|us) know (?:if|should|in case|how (?:it|that|this|else|i can|we can)|what you think|your thoughts|your feedback|when you(?:'re| are) (?:ready|done)|when(?:ever)? you)"
    r"|(?:just|please|simply) (?:let me know|tell me|ask|say so|say the word)[.!]*$|tell me if|(?:let me know|tell me)[.!]*$"
    r"|(?:how|what) (?:can|may|could|might) (?:i|we) (?:\w+ )?(?:help|assist|do|be of)\b|what(?:'s| is) next|what would you like to do (?:next|now|today)"
    r"|(?:does|did|do|is|was|were|has) (?:that|this|it|these|i|my (?:answer|reply)) (?:\w+ )?(?:help|helps|helpful|answer|clear|useful|make sense)|makes? sense"
    r"|(?:would|will) (?:that|this|it) (?:be helpful|help|be useful|be of)|any(?:thing)? (?:other )?questions"
)
_OFFER = _words(
    r"would you (?:also |still |perhaps |maybe |rather )?(?:like|want|care|love|be interested|be open|be willing|mind if)|(?:do|did) you (?:also |still )?want me to|(?:^|, )want me to|(?:do|did) you (?:also |still )?(?:want|wish) (?:to (?:know|see|hear|learn|try|explore)|more|any|some|another|help)"
    r"|(?:do|will|would) you (?:also |still )?(?:need|require)|need (?:me|any|some|help|a hand|more|anything)|(?:should|shall) (?:i|we)|(?:can|may|could|might) (?:i|we)|is there (?:anything|something|any other|another|some other)"
    r"|are you (?:also |perhaps )?(?:interested|curious|ready|up for|keen)|interested in|(?:^|, )want (?:to|a|some|the)|care (?:for|to)"
)
_ASKED_FOR = _words(r"(?:can|may|could|might) (?:i|we) (?:please |kindly |also |just )?(?:have|get|know|ask|take|confirm|assume)")
_SHOULD = _words(r"should (?:i|we|it|this|that)")
_GO_AHEAD = _words(
    r"proceed|go ahead|go on with|continue|confirm|finali[sz]e"
    r"|(?:book|cancel|delete|remove|pay|buy|purchase|order|submit|transfer|reserve|schedule|reschedule|change|update|place|create|refund|register|post|publish|overwrite|replace|send|move|make)"
    r" (?:it|this|that|these|those|them|the|your|both)\b(?!.{0,40}\bto you\b)"
)
"""The agent stands before an act that binds the user, and waits."""
_CHOICE = _words(
    r"or (?!anything|something|else|not\b|would|do\b|is\b|should|shall|can\b|could|perhaps|maybe|even|try|look|check|search|see|explore|find|help|suggest|provide|know|learn|get|have|need|set|add|explain|show|if\b|so\b|two\b|any\b|some\b)\w"
)
_WH = _words(r"(?:which|what|when|where|who|whom|whose|how (?:many|much|long|far|often|old|would|should|do|big|large|soon|early|late))\b")
_IDLE = _words(
    r"who (?:knows|cares|wouldn't|doesn't|could|needs)|why not|why (?:don't|doesn't) (?:you|we)|(?:how|what) about|have you (?:ever|tried|considered|thought)|did you know|can you (?:believe|imagine|guess)"
    r"|guess what|isn't (?:it|that|this)|aren't (?:they|we)|(?:wouldn't|don't) you (?:think|agree|say|love)|(?:what|how) could (?:be|go)|what if|(?:could|can|would|will) you (?:please )?(?:try|wait|come back|check back|contact|call)"
    r"|you (?:asked|wanted to know)|your question|q:|question:|fun, right|right\?$"
)
"""Rhetorical questions, suggestions, and the user's own question repeated."""
_TALK = _words(r"(?:you|your|yours|me to|should i|shall i)\b")
_ASSUMED = re.compile(
    r"^(?:(?:for now|so|since|as|in the meantime|meanwhile|if not|to be safe|here|because)\b[^.!?]{0,80}?)?\b(?:i(?:'ve| have|['’]ll| will|['’]d| would|['’]m| am)? (?:just |simply |also |now |have )?(?:assum\w+|presum\w+|guess\w*|went with|go with|going with|us(?:e|ed|ing)|took|take it|suppos\w+|chose|picked|default\w*|treat\w*)|assuming|presumably|let['’]s (?:assume|say|take))\b"
    r"|^[^.!?]{1,60}, i (?:assume|presume|guess|suppose|take it|think|believe)\b",
    re.IGNORECASE,
)
_REPLY = _words(
    r"(?:yes|yep|no(?! (?:problem|worries|matter|need|rush|hurry))|not|nope|because|probably|presumably|apparently|most likely|likely|of course|absolutely|indeed|definitely|certainly|actually|only|it depends|that depends|sort of"
    r"|according to|a:|answer:|both\b.{0,40}\.$)"
)
_GOES_ON = re.compile(
    r"^\W*(?:i|i['’]\w+|we|we['’]\w+|you|you['’]\w+|your|please|thanks?|thank|once|then|with|without|if|so|for example|for instance|e\.g|such as|either|there (?:are|is)|this|that|once|as soon|just|or|and|also|after|when"
    r"|sorry|otherwise|currently|available|options?|examples?|possible|looking|happy|note|these|here are|for (?:the|your|a|any|my))\b|^[(\[]|\bor\b|\b(?:needs?|requires?|required|needed)\b",
    re.IGNORECASE,
)
"""How a text goes on that has put a question to the reader: with what it is asked for, with examples, with what comes then."""


def asking_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences that ask the reader for something that the reader must supply: a fact, a choice, a go-ahead.

    Offers, closing phrases, rhetorical and quoted questions, and questions that the text goes on to answer are none. A request that leads in a
    list is one sentence with it. The work grows in step with the length of the text.

    Args:
        text: A message in markdown or plain text, as an agent wrote it; thinking blocks are passed over.

    Returns:
        Whole sentences in their order, without markdown, each once; empty where nothing is asked.

    >>> asking_sentences("I can cancel it. Could you tell me the **reference**?")
    ('Could you tell me the reference?',)
    >>> asking_sentences("Which reference? I assumed QX7K2P."), asking_sentences("Done. Anything else?")
    ((), ())
    """
    sentences = read_sentences(split_reasoning(text)[0])
    found = _in_english(sentences) if _is_english(sentences) else _at_the_end(sentences)
    return tuple(dict.fromkeys(found))


def _is_english(sentences: Sequence[Sentence]) -> bool:
    words: list[str] = []
    for sentence in sentences:
        words += re.findall(r"[^\W\d_]+", sentence.said[:_LONGEST].lower())
        if len(words) > _LOOKED_AT:
            break
    return sum(word in _ENGLISH for word in words) >= _ENGLISH_SHARE * len(words)


def _at_the_end(sentences: Sequence[Sentence]) -> list[str]:
    found: list[str] = []
    for sentence in reversed(sentences):
        if not sentence.questions or len(sentence.text) > _LONGEST:
            break
        found.append(sentence.text)
    return found[::-1]


def _in_english(sentences: Sequence[Sentence]) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(sentences):
        sentence = sentences[at]
        following = sentences[at + 1] if at + 1 < len(sentences) else None
        at += 1
        if len(sentence.text) > _LONGEST or not (_asks(sentence) and not _is_answered(sentence, following)):
            continue
        shown = sentence.text
        if _leads(sentence, following):
            end = at
            while end < len(sentences) and sentences[end].item:
                end += 1
            listed = sentences[at:end]
            if all(one.questions for one in listed):
                if shown.endswith(":"):
                    continue  # it announces questions that stand for themselves
            else:
                shown, at = _with_list(shown, listed), end
        found.append(shown)
    return found


def _leads(sentence: Sentence, following: Sentence | None) -> bool:
    if following is None or not following.item or sentence.item:
        return False
    return sentence.text[-1] not in ".!?" or "following" in sentence.said.lower()


def _with_list(lead: str, listed: Sequence[Sentence]) -> str:
    items: dict[int, list[str]] = {}
    for one in listed:
        items.setdefault(one.item, []).append(one.text)
    return f"{lead} {'; '.join(' '.join(parts) for parts in items.values())}"


def _asks(sentence: Sentence) -> bool:
    said = sentence.said
    if sentence.questions:
        return _is_question(said)
    if not any(one.search(said) for one in _REQUESTS) or _FOR_OTHERS.search(said):
        return False
    if _CLOSING.search(said) and not (_CHOICE.search(said) and not _MORE.search(said)):
        return False
    return not (_LIKE.search(said) and _MORE.search(said))


def _is_question(said: str) -> bool:
    if _IDLE.search(said) or (_CLOSING.search(said)):
        return False
    offer = _OFFER.search(said)
    if not offer or _ASKED_FOR.search(said):
        return True
    wh = _WH.search(said)
    if wh and wh.start() < offer.start():
        return True
    if _MORE.search(said):
        return False
    return bool(_CHOICE.search(said) or _GO_AHEAD.search(said) or _SHOULD.search(said))


def _is_answered(sentence: Sentence, following: Sentence | None) -> bool:
    """Whether the text goes on to answer what it asks, by an assumption or as a question to itself."""
    if following is None or following.questions:
        return False
    after = following.said[:_LONGEST]
    if _ASSUMED.search(after):
        return True
    if not sentence.questions:
        return False
    if sentence.place is Place.HEADING:
        return following.place is not Place.HEADING
    if _REPLY.match(after):
        return True
    if _TALK.search(sentence.said) and not re.match(r"\W*you\b", sentence.said, re.IGNORECASE):
        return False
    if following.item and not sentence.item:
        return not re.match(r"\W*which\b", sentence.said, re.IGNORECASE)
    asks_for_a_fact = _WH.search(sentence.said) or re.match(r"\W*(?:you|why|how)\b", sentence.said, re.IGNORECASE)
    return bool(asks_for_a_fact) and not _GOES_ON.search(after) and not _asks(following)
