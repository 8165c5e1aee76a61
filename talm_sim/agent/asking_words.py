"""Wordings by which `asking` distinguishes requests from offers, closing phrases and questions to oneself: one English pattern for each."""

from __future__ import annotations

import re

__all__ = [
    "ADDED",
    "ASKS_FOR",
    "ASSUMED",
    "CHOICE",
    "CLOSING",
    "ELSEWHERE",
    "ENGLISH",
    "GOES_ON",
    "GO_AHEAD",
    "IDLE",
    "IN_RETURN",
    "LIKE",
    "MORE",
    "OFFER",
    "REPLY",
    "REQUEST",
    "SHOULD",
    "TO_YOU",
    "WH",
]


def _compile_alternatives(*patterns: str, start: str = r"\b") -> re.Pattern[str]:
    """Compile alternatives that begin at a word; `'` matches both apostrophes."""
    return re.compile(f"{start}(?:{'|'.join(patterns)})".replace("'", "['\u2019]"), re.IGNORECASE)


ENGLISH = frozenset(
    re.findall(
        r"\w+",
        "the of and to you your which what for is are can could would please this that with have it not when where who how "
        "does if my we there from need know like tell let but by should shall anything something else thanks sorry here has been",
    )
)
"""Frequent words that few other languages share."""

_SOFT = (
    "(?:(?:please|kindly|just|also|then|simply|first|perhaps|possibly|briefly|at least|maybe|still|can|could|would|will|do|only"
    "|now|be able to) ){0,3}"
)
_ME = "(?:tell|give|send|show) (?:me|us)|let (?:me|us) know"
_GIVE = (
    f"(?:{_ME}|provide|specify|supply|clarify|confirm|indicate|state|share|enter|choose|select|pick|type|name|mention|include"
    f"|describe|list|upload|attach"
    "|paste|rephrase|reply|respond|answer|advise|tell|give|send|fill in|double-check|verify|re-?enter|resend|identify|elaborate|revert with"
    r"|try again with|(?:check|correct|review) (?:it|that|them|this|the \w+|your \w+) and (?:send|tell|give|let|try)"
    r"|(?:check|review) (?:the|your) (?:\w+ )?(?:spelling|reference|number|code|id|name|date|address|format))\b"
)
_FACT = "(?:your|the|a|an|which|what|where|when|who|whom|whose|how|whether|at|in|on|for|by|of|about|any)"
_NOT_A_FACT = (
    r"(?! (?:to (?!know|have|ask|confirm|get)|not\b|no\b|a moment|more time|some time|(?:this|that|it|these|them) (?:to|for|so"
    r"|because|before|in order)\b))"
    "(?! [^.]*, which (?:is|are|was|were|equals))"
)
"""Phrases for a need of something other than a fact: something to do, or known already."""

REQUEST = _compile_alternatives(
    rf"(?:please|kindly) {_SOFT}{_GIVE}",
    rf"(?:can|could|would|will|might) you {_SOFT}(?:{_GIVE}|remind me|help me understand)",
    rf"(?:can|could|may|might) (?:i|we) {_SOFT}(?:have|get|know|ask|take|confirm|trouble you|bother you)\b",
    rf"(?:i|we)(?:'ll|'d|'m|'re)? (?:(?:will|would|do|still|also|just|only|first|then|may|might|have to|am|are|going to) ){{0,3}}"
    "(?:need|require)"
    rf"{_NOT_A_FACT}(?=[ :])",
    rf"(?:if|once|when|as soon as|after|until|unless) you(?:'ll|'d|'ve)? {_SOFT}(?:have )?(?:{_ME}|told me|given me|sent me"
    r"|(?:provide|clarifie|confirme|share|indicate)d|provide|specif(?:y|ied)|supply|clarify|confirm|indicate|share|choose|select"
    r"|pick|paste|upload|attach|type)\b",
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
    rf"(?:(?<=[,;:\u2013\u2014-] )|(?:then|just|simply|so|and|or|first) |(?<!.))(?:(?:{_ME}) (?!if\b|and\b)\S"
    r"|(?:reply|respond|answer) (?:with|yes|no)\b|(?:reply|type|say|enter) [\"\u201c]|(?:choose|pick|select) (?:one|a number|from"
    r"|between)\b)",
    r"(?<!.)(?:(?:then|so|first|also|or|and),? )?(?:specify|clarify|confirm|provide) \S",
)
"""Phrases that ask without being a question."""
REQUEST_HINT = _compile_alternatives(
    "please|kindly|you|your|need|require|wonder|would|let|tell|give|send|show|reply|respond|answer|choose|pick|select|missing|info"
    "|type|say|enter"
    "|specify|clarify|confirm|provide|details|waiting|await"
)
"""Words, one of which is in every request: most sentences have none, and are skipped at once."""
ELSEWHERE = _compile_alternatives(
    r"(?:with|to|at|by|on|in|of) (?:the|your|their|our|its) (?:\w+ ){0,2}(?:bank|doctor|physician|desk|counter|airport|office"
    r"|support|team|provider"
    r"|embassy|pharmacist|airline|station|driver|administrator|website|site|page|app|settings|portal|service|department|operator"
    r"|authorit\w+|staff"
    r"|clerk|lawyer|advisor|professional)\b",
    "click|tap|press the|button|menu|password field|strong password|next time|in (?:the )?future",
)
"""Advice: what to tell somebody else, to type somewhere else, or to do another time."""
MORE = _compile_alternatives(
    "also|too|as well|else|another|others?|different|instead|more|further|additional|additionally|alternatives?|later|again|similar|next"
)
"""Words of an offer that goes beyond what was wanted."""
ADDED = _compile_alternatives("also|too|as well|else")
LIKE = _compile_alternatives(
    "(?:if|in case|should|whenever) you(?:'d| would| do| ever| still)? (?:like|want|need|wish|prefer|have any|have (?:more|other"
    "|further|additional)"
    "|care|require|change|run into|decide|are|'re)"
)
IN_RETURN = _compile_alternatives("(?:if|once|when|as soon as|after) you")
CLOSING = _compile_alternatives(
    "(?:anything|something|what|who|where|how) else|feel free|(?:don't|do not) hesitate",
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
OFFER = _compile_alternatives(
    "would you (?:also |still |perhaps |maybe |rather )?(?:like|want|care|love|be interested|be open|be willing)",
    "(?:do|did) you (?:also |still )?want me to|(?:do|did) you (?:also |still )?(?:want|wish) (?:to (?:know|see|hear|learn|try"
    "|explore)|more|any|some"
    "|another|help)",
    "(?:do|will|would) you (?:also |still )?(?:need|require)|need (?:me|any|some|help|a hand|more|anything)|(?:should|shall) (?:i|we)",
    "(?:can|may|could|might) (?:i|we)|is there (?:anything|something|any other|another|some other)",
    "are you (?:also |perhaps )?(?:interested|curious|up for|keen)|(?<!.)(?:need|want|interested|curious|care|fancy|looking for)"
    "|(?<=, )want (?:me|to)",
)
ASKS_FOR = _compile_alternatives(
    rf"(?:can|could|may|might) (?:i|we) {_SOFT}(?:have|get|know|ask|take|confirm|assume|trouble|bother)\b",
    "(?:would|do) you (?:like|want|wish) to (?:provide|specify|share|tell|include|exclude|choose|select|use|set|give|confirm)",
)
"""Phrases that look like an offer and ask for a fact."""
SHOULD = _compile_alternatives("should (?:i|we)")
GO_AHEAD = _compile_alternatives(
    "proceed|go ahead|go on with|continue|confirm|finali[sz]e",
    "(?:book|cancel|delete|remove|pay|buy|purchase|order|submit|transfer|reserve|schedule|reschedule|change|update|place|create"
    "|refund|register|post"
    r"|publish|overwrite|replace|send|move|make) (?:it|this|that|these|those|them|the|your|both)\b(?!.{0,40}\bto you\b)",
)
"""Phrases of an agent that waits before an act that binds the user."""
CHOICE = _compile_alternatives(
    r"or (?!(?:anything|something|else|not|would|do|is|should|shall|can|could|perhaps|maybe|even|try|look|check|search|see|explore"
    r"|find|help|suggest"
    r"|provide|know|learn|get|have|need|set|add|explain|show|if|so|two|any|some)\b)\w"
)
"""Two things to choose from: not two things to do."""
WH = _compile_alternatives(
    r"(?:which|what|when|where|who|whom|whose|how (?:many|much|long|far|often|old|would|should|do|big|large|soon|early|late))\b"
)
IDLE = _compile_alternatives(
    "who (?:knows|cares|wouldn't|doesn't|could|needs)|why not|why (?:don't|doesn't) (?:you|we)|(?:how|what) about|what if|did you know",
    "have you (?:ever|tried|considered|thought)|can you (?:believe|imagine|guess)|guess (?:what|who|which|how)|(?:what|how) could (?:be|go)",
    "isn't (?:it|that|this)|aren't (?:they|we)|(?:wouldn't|don't) you (?:think|agree|say|love)|(?<!.)(?:are you )?ready\\b",
    "(?:could|can|would|will) you (?:please )?(?:try again later|wait|come back|check back|contact|call)",
    r"you (?:asked|wanted to know)|your question|(?<!.)(?:q|question):|(?:for )?examples?:|e\.g\.:",
)
"""Rhetorical questions, suggestions, examples, and the user's own question repeated."""
TO_YOU = _compile_alternatives(r"(?:you|your|yours|me to|should i|shall i)\b")
ASSUMED = _compile_alternatives(
    r"(?:(?:for now|so|since|as|in the meantime|meanwhile|if not|to be safe|here|because)\b[^.!?]{0,80}?)?\b"
    r"(?:i(?:'ve| have|'ll| will|'d| would|'m| am)? (?:(?:just|simply|also|now|have) ){0,2}(?:assum\w+|presum\w+|guess\w*|suppos\w+"
    r"|take it\b(?! from)"
    r"|default\w*)|i(?:'ve| have)? (?:(?:just|simply|also|now) ){0,2}(?:went with|gone with|used|took|taken|chose|chosen|picked|treated)\b"
    r"|i(?:'ll| will|'d| would|'m| am) (?:(?:just|simply|also|now) ){0,2}(?:go with|going with|use|using|take|taking|treat|treating)\b"
    r"(?! (?:it|this|that|them) (?:to|for|from)\b)"
    r"|i(?:'ve| have)? (?:left|put|set|kept|made|booked|added|gave)\b(?: (?:it|that|this|them|you)\b|[^.!?]{1,60} for now\b))",
    r"[^.!?]{1,80}\b(?:so|and|therefore) i(?:'ve| have)? (?:used|took|chose|picked|assumed|went with)\b",
    r"assuming|presumably|let's (?:assume|say|take)|[^.!?]{1,60}, i (?:assume|presume|guess|suppose|take it|think|believe)\b",
    start="^",
)
"""Phrases that are used instead of waiting for an answer."""
REPLY = _compile_alternatives(
    r"(?:yes|yep|no(?! (?:problem|worries|matter|need|rush|hurry))|not|nope|because|probably|presumably|apparently|most likely"
    r"|likely|of course"
    r"|absolutely|indeed|definitely|certainly|actually|only|it depends|that depends|sort of|according to)\b|(?:a|answer):"
    r"|[^.!?]{1,60}(?:, (?:yes|no)[.!]| sa(?:y|ys|id) (?:yes|no|so)\b)",
    start="^",
)
"""Beginnings of an answer to a question to oneself."""
GOES_ON = _compile_alternatives(
    r"(?:i|i'\w+|we|we'\w+|you (?:can|could|may|have|gave|said|mentioned|did|asked)|you'\w+|your|please|thanks?|once|then|with"
    r"|without|if|so"
    r"|for example|for instance|e\.g|such as|either|there (?:are|is)|this|that|as soon|just|or|and|also|after|when|sorry|otherwise"
    r"|currently|available"
    r"|options?|examples?|possible|looking|happy|note|these|here are|for (?:the|your|a|any|my))\b|[(\[]",
    r".{0,900}\b(?:or|needs?|requires?|required|needed)\b",
    start=r"^\W*",
)
"""Beginnings of what follows a question to the reader: what it is asked for, examples, what comes next."""
