"""Find the sentences of a message that ask its reader for something.

English is read by its wording; of another language only the final question mark counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from talm_sim.language.sentences import Sentence, read_sentences
from talm_sim.models.parsing import split_reasoning


def _compile_alternatives(*patterns: str, start: str = r"\b") -> re.Pattern[str]:
    """Compile alternatives that begin at a word; `'` matches both apostrophes."""
    return re.compile(f"{start}(?:{'|'.join(patterns)})".replace("'", "['\u2019]"), re.IGNORECASE)


_ENGLISH = frozenset(
    re.findall(
        r"\w+",
        "the of and to you your which what for is are can could would please this that with have it not when where who how "
        "does if my we there from need know like tell let but by should shall anything something else thanks sorry here has been missing"
        " provide",
    )
)
"""Frequent words that few other languages share."""

_SOFT = (
    "(?:(?:please|kindly|just|also|then|simply|first|perhaps|possibly|briefly|at least|maybe|still|can|could|would|will|do|only"
    "|now|be able to) ){0,3}"
)
_ME = "(?:tell|give|send|show) (?:me|us)|let (?:me|us) know"
_WHAT_WAS_SAID = (
    r"(?: (?:that|this|it|these|those|them|everything|my \w+|(?:the|these|those) (?:answers?|figures?|values?|results?)))?"
    r"(?: ?[.!,;:)]|$| (?:with|against|before|yourself|independently|elsewhere|first|if|in an?|in the)\b)"
)
"""What an answer asks its reader to check: itself, so that it asks for nothing."""
_TO_KNOW = (
    r"(?:anything|something|what)(?: else)?(?: that)? (?:(?:i|we) (?:should|need to|must|ought to|have to)|should (?:i|we))"
    r" (?:know|consider|watch|keep|take|be aware)\b"
)
"""What somebody who has not begun asks for; no offer."""
_GIVE = (
    f"(?:{_ME}|provide|specify|supply|clarify|confirm|indicate|state|share|enter|choose|select|pick|type|name|mention|include|describe|list"
    f"|upload|attach|paste|rephrase|reply|respond|answer|advise|tell|give|send|fill in|(?:double-?check|verify)(?!{_WHAT_WAS_SAID})|re-?enter"
    r"|resend|identify|elaborate|revert with|try again with|(?:check|correct|review) (?:it|that|them|this|the \w+|your \w+) and (?:send|tell"
    r"|give|let|try)|(?:check|review) (?:the|your) (?:\w+ )?(?:spelling|reference|number|code|id|name|date|address|format))\b"
)
_FACT = "(?:your|the|a|an|which|what|where|when|who|whom|whose|how|whether|at|in|on|for|by|of|about|any)"
_NOT_A_FACT = (
    r"(?! (?:(?:is|are|was|were|does|do)(?:n't| not)|to (?!know|have|ask|confirm|get)|not\b|no\b|a moment|more time|some time|(?:this|that|it"
    r"|these|them) (?:to|for|so|because|before|in order)\b))(?! [^.]*, which (?:is|are|was|were|equals))"
)
"""Phrases for a need of something other than a fact: something to do, or known already."""

_REQUEST = _compile_alternatives(
    rf"(?:please|kindly) {_SOFT}{_GIVE}",
    rf"(?:can|could|would|will|might) you {_SOFT}(?:{_GIVE}|remind me|help me understand)",
    rf"(?:can|could|may|might) (?:i|we) {_SOFT}(?:have|get|know|ask|take|confirm|trouble you|bother you)\b",
    "(?:i|we)(?:'ll|'d|'m|'re)? (?:(?:will|would|do|still|also|just|only|first|then|may|might|have to|am|are|going to) ){0,3}(?:need|require)"
    f"{_NOT_A_FACT}(?=[ :])",
    f"(?:if|once|when|as soon as|after|until|unless) you(?:'ll|'d|'ve)? {_SOFT}(?:have )?(?:{_ME}|told me|given me|sent me|(?:provide|clarifie"
    r"|confirme|share|indicate)d|provide|specif(?:y|ied)|supply|clarify|confirm|indicate|share|choose|select|pick|paste|upload|attach|type)\b",
    r"(?:if|once|as soon as) you(?:'ve| have| happen to)? (?:know|have|got|find) (?:the|its|it|that|your)\b[^.!?]{0,60}, (?:i|we)"
    r"(?:'ll| can| could| will)\b",
    rf"you(?:'ll| will)? (?:need to|have to|must|should) {_SOFT}(?:{_ME}|provide|specify|clarify|confirm|choose|select|pick|share)\b",
    r"(?:i|we)(?:'d| would) (?:just )?(?:like|love|have|want) to (?:know|ask|confirm|clarify)",
    r"i(?:'m| am| was)? wonder(?:ing)? (?:which|what|who|where|when|how|if you|whether you)\b",
    r"(?:waiting for|awaiting|await) your\b",
    r"need(?:ed)? from you\b",
    r"your\b.{0,80}\b(?:is|are) (?:still )?(?:needed|required|missing)\b",
    r"(?:is|are) (?:still )?(?:needed|required|missing)\b.{0,20}\b(?:to (?:proceed|continue|go on)|before i can|for me to|from you)",
    r"(?:information|details|info) (?:i need|needed|required|missing)\b.{0,20}:$|missing (?:information|details|info)\b.{0,20}:$",
    r"(?:it )?would (?:really |also )?(?:help|be (?:helpful|useful|great|good))(?: me)? (?:to know|to have|if you)\b",
    r"(?:details|information|context|specifics)\b.{0,60}\bwould (?:help|be (?:helpful|useful))",
    rf"let (?:me|us) know {_FACT}\b",
    r"(?<!.)(?:and |so |also )?your [^.!?]{1,60}, please",
    rf"(?:(?<=[,;:\u2013\u2014-] )|(?:then|just|simply|so|and|or|first) |(?<!.))(?:(?:{_ME}) (?!if\b|and\b)\S|(?:reply|respond|answer) (?:with"
    r"|yes|no)\b|(?:reply|type|say|enter) [\"\u201c]|(?:choose|pick|select) (?:one|a number|from|between)\b)",
    r"(?<!.)(?:(?:then|so|first|also|or|and),? )?(?:(?:specify|clarify|confirm|provide) \S"
    r"|(?:paste|upload|attach|share|send|post) (?:it|them|(?:the|your) \w+) (?:here|over|again|below)\b)",
)
"""Phrases that ask without being a question."""
_REQUEST_HINT = _compile_alternatives(
    "please|kindly|you|your|need|require|wonder|would|let|tell|give|send|show|reply|respond|answer|choose|pick|select|missing|info"
    "|type|say|enter|paste|upload|attach|share|post|specify|clarify|confirm|provide|details|waiting|await"
)
"""Words, one of which is in every request: most sentences have none, and are skipped at once."""
_ELSEWHERE = _compile_alternatives(
    r"(?:with|to|at|by|on|in|of) (?:the|your|their|our|its) (?:\w+ ){0,2}(?:bank|doctor|physician|desk|counter|airport|office|support|team"
    "|provider|embassy|pharmacist|airline|station|driver|administrator|website|site|page|app|settings|portal|service|department|operator"
    r"|authorit\w+|staff|clerk|lawyer|advisor|professional)\b",
    "click|tap|press the|button|menu|password field|strong password|next time|in (?:the )?future",
)
"""Advice: what to tell somebody else, to type somewhere else, or to do another time."""
_MORE = _compile_alternatives(
    "also|too|as well|else|another|others?|different|instead|more|further|additional|additionally|alternatives?|later|again|similar|next"
)
"""Words of an offer that goes beyond what was wanted."""
_ADDED = _compile_alternatives("also|too|as well|else")
_LIKE = _compile_alternatives(
    "(?:if|in case|should|whenever) you(?:'d| would| do| ever| still)? (?:like|want|need|wish|prefer|have any|have (?:more|other|further"
    "|additional)|care|require|change|run into|decide|are|'re)"
)
_IN_RETURN = _compile_alternatives("(?:if|once|when|as soon as|after) you")
_CLOSING = _compile_alternatives(
    rf"(?!{_TO_KNOW})(?:anything|something|what|who|where|how) else|feel free|(?:don't|do not) hesitate",
    "(?:any|other|more|further|additional) (?:questions?|queries|concerns|help|assistance)",
    "let (?:me|us) know (?:if|should|in case|how (?:it|that|this|else|i can|we can)|what you think|your thoughts|your feedback"
    "|when(?:ever)? you)",
    "(?:just|please|simply) (?:let me know|tell me|ask|say so|say the word)[.!]*$|tell me if|(?:let me know|tell me)[.!]*$",
    r"(?:how|what) (?:can|may|could|might) (?:i|we) (?:\w+ )?(?:help|assist|do|be of)\b|what(?:'s| is) next"
    r"|what would you like to do (?:next|now|today)",
    r"(?:does|did|do|is|was|were|has) (?:that|this|it|these|i|my (?:answer|reply)) (?:\w+ )?(?:help|helps|helpful|answer|clear"
    r"|useful|make sense)",
    "makes? sense|(?:would|will) (?:that|this|it) (?:be helpful|help|be useful|be of)|any(?:thing)? (?:other )?questions",
    "if (?:this|that|it|anything|something|not)\\b.{0,40}(?:let me know|tell me)|rate (?:this|your|our|my)|how (?:was|did) (?:your|i|we)",
    "you(?:'d| would) like (?:to (?:know|hear|learn|see) more|more|further|additional)",
)
_OFFER = _compile_alternatives(
    "would you (?:also |still |perhaps |maybe |rather )?(?:like|want|care|love|be interested|be open|be willing)",
    "(?:do|did) you (?:also |still )?want me to|(?:do|did) you (?:also |still )?(?:want|wish) (?:to (?:know|see|hear|learn|try|explore)|more"
    "|any|some|another|help)",
    "(?:do|will|would) you (?:also |still )?(?:need|require)|need (?:me|any|some|help|a hand|more|anything)|(?:should|shall) (?:i|we)",
    "(?:can|may|could|might) (?:i|we)|is there (?:anything|something|any other|another|some other)",
    "are you (?:also |perhaps )?(?:interested|curious|up for|keen)|(?<!.)(?:need|want|interested|curious|care|fancy|looking for)"
    "|(?<=, )want (?:me|to)",
)
_ASKS_FOR = _compile_alternatives(
    rf"(?:can|could|may|might) (?:i|we) {_SOFT}(?:have|get|know|ask|take|confirm|assume|trouble|bother)\b",
    _TO_KNOW,
    "(?:would|do) you (?:like|want|wish) to (?:provide|specify|share|tell|include|exclude|choose|select|use|set|give|confirm)",
)
"""Phrases that look like an offer and ask for a fact."""
_SHOULD = _compile_alternatives("should (?:i|we)")
_GO_AHEAD = _compile_alternatives(
    "proceed|go ahead|go on with|continue|confirm|finali[sz]e",
    "(?:book|cancel|delete|remove|pay|buy|purchase|order|submit|transfer|reserve|schedule|reschedule|change|update|place|create|refund|register"
    r"|post|publish|overwrite|replace|send|move|make) (?:it|this|that|these|those|them|the|your|both)\b(?!.{0,40}\bto you\b)",
)
"""Phrases of an agent that waits before an act that binds the user."""
_CHOICE = _compile_alternatives(
    "or (?!(?:anything|something|else|not|would|do|is|should|shall|can|could|perhaps|maybe|even|try|look|check|search|see|explore|find|help"
    r"|suggest|provide|know|learn|get|have|need|set|add|explain|show|if|so|two|any|some)\b)\w"
)
"""Two things to choose from: not two things to do."""
_WH = _compile_alternatives(
    r"(?:which|what|when|where|who|whom|whose|how (?:many|much|long|far|often|old|would|should|do|big|large|soon|early|late))\b"
)
_IDLE = _compile_alternatives(
    "who (?:knows|cares|wouldn't|doesn't|could|needs)|why not|why (?:don't|doesn't) (?:you|we)|(?:how|what) about|what if|did you know",
    r"what more (?:can|could|do|would|should) \w+ (?:ask|want|need|wish|say|expect)\b",
    "have you (?:ever|tried|considered|thought)|can you (?:believe|imagine|guess)|guess (?:what|who|which|how)|(?:what|how) could (?:be|go)",
    "isn't (?:it|that|this)|aren't (?:they|we)|(?:wouldn't|don't) you (?:think|agree|say|love)|(?<!.)(?:are you )?ready\\b",
    "(?:could|can|would|will) you (?:please )?(?:try again later|wait|come back|check back|contact|call)",
    r"you (?:asked|wanted to know)|your question|(?<!.)(?:q|question):|(?:for )?examples?:|e\.g\.:",
)
"""Rhetorical questions, suggestions, examples, and the user's own question repeated."""
_TO_YOU = _compile_alternatives(r"(?:you|your|yours|me to|should i|shall i)\b")
_ASSUMED = _compile_alternatives(
    r"(?:(?:for now|so|since|as|in the meantime|meanwhile|if not|to be safe|here|because)\b[^.!?]{0,80}?)?\b(?:i(?:'ve| have|'ll| will|'d"
    r"| would|'m| am)? (?:(?:just|simply|also|now|have) ){0,2}(?:assum\w+|presum\w+|guess\w*|suppos\w+|take it\b(?! from)|default\w*)|i(?:'ve"
    r"| have)? (?:(?:just|simply|also|now) ){0,2}(?:went with|gone with|used|took|taken|chose|chosen|picked|treated)\b|i(?:'ll| will|'d| would"
    r"|'m| am) (?:(?:just|simply|also|now) ){0,2}(?:go with|going with|use|using|take|taking|treat|treating)\b(?! (?:it|this|that|them) (?:to"
    r"|for|from)\b)|i(?:'ve| have)? (?:left|put|set|kept|made|booked|added|gave)\b(?: (?:it|that|this|them|you)\b|[^.!?]{1,60} for now\b))",
    r"[^.!?]{1,80}\b(?:so|and|therefore) i(?:'ve| have)? (?:used|took|chose|picked|assumed|went with)\b",
    r"assuming|presumably|let's (?:assume|say|take)|[^.!?]{1,60}, i (?:assume|presume|guess|suppose|take it|think|believe)\b",
    start="^",
)
"""Phrases that are used instead of waiting for an answer."""
_REPLY = _compile_alternatives(
    "(?:yes|yep|no(?! (?:problem|worries|matter|need|rush|hurry))|not|nope|because|probably|presumably|apparently|most likely|likely|of course"
    r"|absolutely|indeed|definitely|certainly|actually|only|it depends|that depends|sort of|according to)\b|(?:a|answer):"
    r"|[^.!?]{1,60}(?:, (?:yes|no)[.!]| sa(?:y|ys|id) (?:yes|no|so)\b)",
    start="^",
)
"""Beginnings of an answer to a question to oneself."""
_GOES_ON = _compile_alternatives(
    r"(?:i|i'\w+|we|we'\w+|you (?:can|could|may|have|gave|said|mentioned|did|asked)|you'\w+|your|please|thanks?|once|then|with|without|if|so"
    r"|for example|for instance|e\.g|such as|either|there (?:are|is)|this|that|as soon|just|or|and|also|after|when|sorry|otherwise|currently"
    r"|available|options?|examples?|possible|looking|happy|note|these|here are|for (?:the|your|a|any|my))\b|[(\[]",
    r".{0,900}\b(?:or|needs?|requires?|required|needed)\b",
    start=r"^\W*",
)
"""Beginnings of what follows a question to the reader: what it is asked for, examples, what comes next."""


_LONGEST = 1_000
"""Characters; a longer text is not a sentence that a person should answer."""
_LOOKED_AT = 4_000
"""Words of a text by which its language is recognized."""
_ENGLISH_SHARE = 0.15


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
    request = _REQUEST_HINT.search(said) and _REQUEST.search(said)
    closing = _CLOSING.search(said)
    if closing and request and request.end() <= closing.start():
        closing = None  # "Please give me the date, or let me know if ..."
    if sentence.questions:
        return not closing and _is_question(said)
    if not request or _ELSEWHERE.search(said):
        return False
    if closing:
        return bool(_CHOICE.search(said)) and not _MORE.search(said)
    if _IN_RETURN.match(request[0]) and _ADDED.search(said):
        return False
    wish = _LIKE.search(said)
    return not (wish and wish.start() < request.start() and _MORE.search(said))


def _is_question(said: str) -> bool:
    if _IDLE.search(said):
        return False
    offer = _OFFER.search(said)
    if not offer or _ASKS_FOR.search(said):
        return True
    asked = _WH.search(said)
    if asked and asked.start() < offer.start():
        return True
    if _GO_AHEAD.search(said):
        return not _ADDED.search(said)
    return not _MORE.search(said) and bool(_CHOICE.search(said) or _SHOULD.search(said))


def _is_answered(sentence: Sentence, following: Sentence | None) -> bool:
    """Return whether the text then answers what it asks: by an assumption, or as a question to itself."""
    if following is None or following.questions:
        return False
    after = following.said[:_LONGEST]
    if _ASSUMED.search(after) or not sentence.questions:
        return bool(_ASSUMED.search(after))
    if sentence.heading:
        return not following.heading
    return bool(_REPLY.search(after)) or (_is_to_itself(sentence, following) and not _GOES_ON.search(after) and not _asks(following))


def _is_to_itself(sentence: Sentence, following: Sentence) -> bool:
    """Return whether a question that does not address its reader may be one to oneself: it wants a fact, and a statement follows."""
    said = sentence.said.lstrip(" \"'(").lower()
    if _TO_YOU.search(said) and not said.startswith("you"):
        return False
    listed = following.item and not sentence.item
    if listed:
        return not said.startswith("which")
    return bool(_WH.search(said)) or said.startswith(("you", "why", "how"))


_PLAIN = re.compile(r"[?\uff1f]|\b(?:please|kindly|tell me|let me know|could you|can you|would you|specify|clarify|confirm)\b", re.IGNORECASE)


def asks_plainly(text: str) -> bool:
    """Return whether what was taken for a question has a question mark, or words of a request: a weak model's babble has neither.

    >>> asks_plainly("Which day do you mean?"), asks_plainly("Please give me the date."), asks_plainly("I need you to work on the 4th.")
    (True, True, False)
    """
    return any(map(_PLAIN.search, asking_sentences(text)))
