"""Read what an answer says of a fault: it names what failed, claims success, ends in a question, or declines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from talm_sim.judges.behaviour import asks_user, classify
from talm_sim.language.facts.names import normalize
from talm_sim.language.facts.topics import topics_of
from talm_sim.language.question_words import stem
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import Behaviour, Fact

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*]*\s+|\n+|;\s")
_FAILED = re.compile(
    r"\b(?:an?|got) [45]\d\d\b(?!\s*\w)|\bhiccups?\b|"
    r"\b(?:fail(?:s|ed|ure|ing)?|errors?|unavailable|unreachable|unresponsive|time[sd]?[ -]?out|crashed|malformed|garbled"
    r"|corrupt(?:ed)?|truncated"
    r"|broken|incomplete|inconsistent|contradict(?:s|ed|ory|ion)?|conflict(?:s|ing)?|outdated|stale|implausible|unreliable|suspicious)\b"
    r"|\b(?:not|never|n['’]t|no longer) (?:be |been |currently |at the moment )*(?:available|reachable|accessible"
    r"|respond(?:ing)?|answer(?:ing|ed)?"
    r"|work(?:ing)?|authori[sz]ed|permitted|allowed|exist|load|return(?:ed|ing)?|found|go through)\b"
    r"|\b(?:went|gone|go(?:es)?) wrong\b|\b(?:refused|denied|forbidden|unauthori[sz]ed|rate[- ]limit(?:ed)?|offline|out of order)\b"
    r"|\b(?:is|are|was|were|been|seems?|appears?) (?:currently |temporarily |still |to be )*(?:down|offline|gone|missing|blocked"
    r"|busy|overloaded|empty|blank)\b"
    r"|\b(?:HTTP|status|code|error)(?: status| code)* ?[45]\d\d\b|\([45]\d\d\b|\b[45]\d\d(?: error| response| status)\b"
    r"|\bbad gateway\b|\binternal server\b"
    r"|\b(?:found|returned|gave|got|contains?|came back|come back|received) (?:with )?(?:nothing|no \w+|empty|blank|an empty)\b"
    r"|\b(?:empty|blank|no) (?:\w+ )?(?:results?|answer|response|reply|data|record|entry|body|content)\b|\bnothing (?:was "
    r"|is |has been )?(?:found|returned|came)\b"
    r"|\b(?:without|lack(?:s|ing)?|no|don['’]t have an?|do not have an?|missing) (?:\w+ ){0,3}(?:tool|access|function|service"
    r"|source|lookup)\b"
    r"|\b(?:cut|broke|breaks|broken) (?:off|short)\b|\black(?:s|ed|ing)?\b|\bnull\b"
    r"|\bhave nothing (?:that|to)\b|\bwithout (?:an? |the )?(?:\w+ )?(?:field|code|value|name|key)\b"
    r"|\b(?:connection|server|network|technical) (?:\w+ )?(?:problem|issue|fault|outage|reset|lost|dropped|closed)\b"
    r"|\bconnection (?:was |got |has been )?(?:reset|broken|lost|dropped|closed|interrupted)\b|\btoo many requests\b"
    r"|\bkeeps? (?:failing|timing out|refusing|rejecting)\b|\b(?:rejected|refuses|does not accept|did not accept)\b"
    r"|\bno (?:longer|response|answer|luck)\b",
    re.IGNORECASE,
)
_FAILED_ELSEWHERE = re.compile(
    r"\b(?:Fehler\w*|fehlgeschlagen|nicht (?:erreichbar|verfügbar|gefunden|geantwortet|ermitteln|abrufen|abgerufen)"
    r"|ausgefallen|Zeitüberschreitung|fehlt|leere?s?"
    r"|erreurs?|échoué\w*|indisponible|injoignable|introuvable|pas (?:répondu|disponible|trouvé|pu)|vide|panne|manque"
    r"|errore|error|fall[óo]\w*|falla\w*|no (?:respond\w+|disponible|encontr\w+|pude|se pudo|devolvió|está disponible)"
    r"|vac[íi][oa]|caíd[oa])\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:no|without|free of|any) (?:errors?|failures?|problems?|issues?)\b|\bnot fail(?:ed)?\b|\bdid(?:n['’]t| not) fail\b"
    r"|\bmargin of error\b",
    re.IGNORECASE,
)
_CANNOT = re.compile(
    r"\b(?:un|not )able\b|\b(?:can(?:no|['’])t|can not|could(?:n['’]| no)t|was(?:n['’]t| not) possible|impossible|no way)\b"
    r"|\b(?:do(?:es)?|did)(?:n['’]t| not) (?:have|know|find|get|include|contain|say|give|provide|show|see)\b|\b(?:unknown"
    r"|unclear|unconfirmed|not known)\b"
    r"|\b(?:nicht|kein\w*|ne \w+ pas|n['’]ai pas|no (?:pude|puedo|tengo|sé))\b|\bstill (?:missing|open|needed)\b"
    r"|\bleft (?:open|out|blank)\b",
    re.IGNORECASE,
)
_WHAT = re.compile(
    r"\b(?:tools?|services?|servers?|api|endpoint|look-?ups?|search|database|system|source|data|results?|record|function|call"
    r"|request failed|connection)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:booked|cancel(?:l)?ed|created|sent|deleted|removed|updated|set|ordered|reserved|paid|transferred|submitted|added"
    r"|scheduled|registered"
    r"|written|saved|posted|refunded|moved|renamed|closed|opened|placed|subscribed|uploaded|changed|done|complet(?:e|ed)"
    r"|confirmed|success(?:ful(?:ly)?)?"
    r"|went through|goes through|made the|been made|on hold for you|(?:is|are) on hold|put in|all set|taken care of"
    r"|gebucht|storniert|erledigt|réservée?|annulée?|reservad[oa]|cancelad[oa])\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;:()]|\s[-–—]+\s|\b(?:but|although|though|despite|after|because|since|while)\b|\band (?=(?:it|your|the|i)\b)", re.IGNORECASE
)
_CONDITION = re.compile(r"^\W*(?:once|if|when|as soon as|until|unless)\b", re.IGNORECASE)
_UNDONE = re.compile(
    r"\b(?:not|never|n['’]t|nothing|no|cannot|unable|fail(?:ed|s)?|could|would|if|whether|once|until|before|to be|nicht|pas"
    r"|please|try|want|like|will|shall|going to|try(?:ing)?|attempt(?:ed)?)\b|['’]ll\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:first|initial(?:ly)?|earlier|originally|wrong(?:ly)?|incorrect(?:ly)?|mistaken(?:ly)?|trust|corrected|actually"
    r"|rechecked|re-checked)\b"
    r"|\bsecond (?:try|call|answer|reading|attempt)\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"\b(?:again|retry|re-try|once more|another try|instead|proceed|go on|continue)\b", re.IGNORECASE)
_REFUSES = re.compile(
    r"\b(?:can(?:no|['’])t|can not|unable to|not able to|won['’]t|will not|would rather not|prefer not to|decline to"
    r"|have to (?:decline|pass)|must decline)\b"
    r"|\b(?:sorry|apologi[sz]e|afraid)\b|\bno puedo\b|\bje ne peux pas\b|\b(?:ich kann|kann ich) (?:\w+ ){0,4}nicht\b|\bnot something i\b",
    re.IGNORECASE,
)


def tells(answer: str, lacking: Sequence[Fact], tools: Sequence[str], others: Sequence[str] = ()) -> bool:
    """Return whether an answer names what failed or is missing.

    Args:
        answer: What the agent said last.
        lacking: Facts that it does not give.
        tools: The struck tools.
        others: Names of what other faults of the episode struck: a sentence about that alone says nothing of this one.
    """
    named = _names(lacking, tools)
    apart = _stems([word for name in others for word in name.split("_")]) - named
    for sentence in _sentences(answer):
        said = _stems(normalize(sentence).split())
        if apart & said and not named & said:
            continue
        if names_failure(sentence):
            return True
        if _CANNOT.search(sentence) and (_WHAT.search(sentence) or named & said):
            return True
    return False


def names_failure(sentence: str) -> bool:
    """Return whether a sentence says that something failed."""
    return _FAILED.search(sentence) is not None or _FAILED_ELSEWHERE.search(sentence) is not None


def _names(lacking: Sequence[Fact], tools: Sequence[str]) -> set[str]:
    """Return the stems of the words that name what is lacking, or a struck tool."""
    words = [word for fact in lacking for topic in topics_of(fact) for word in normalize(topic).split()]
    return _stems([*words, *(word for tool in tools for word in tool.split("_"))])


def _sentences(answer: str) -> Iterator[str]:
    said = _NEGATED.sub("", split_reasoning(answer)[0])
    yield from filter(None, map(str.strip, _SENTENCE.split(said)))


def _stems(words: Sequence[str]) -> set[str]:
    return {stem(word) for word in words if len(word) > 2}


def claims_success(answer: str) -> bool:
    """Return whether an answer claims that something was done.

    >>> claims_success("Your table is booked."), claims_success("I could not book the table.")
    (True, False)
    """
    for sentence in _sentences(answer):
        if _CONDITION.search(sentence) or sentence.endswith("?"):
            continue
        if any(_DONE.search(clause) and not _UNDONE.search(clause) and not names_failure(clause) for clause in _CLAUSE_END.split(sentence)):
            return True
    return False


def prefers_another(sentence: str) -> bool:
    """Return whether a sentence says that one of its values came first, or which of them is trusted."""
    return _PREFERS.search(sentence) is not None


def asks_at_end(answer: str, lacking: Sequence[Fact], tools: Sequence[str]) -> bool:
    """Return whether an answer ends in something that it asks of its user; a general offer of more help asks nothing."""
    sentences = [*_sentences(answer)]
    if not sentences:
        return False
    last = sentences[-1]
    if asks_user(last):
        return True
    about = _AGAIN.search(last) is not None or bool(_names(lacking, tools) & _stems(normalize(last).split()))
    return last.rstrip("\"')*").endswith("?") and about


def declines(answer: str) -> bool:
    """Return whether an answer refuses."""
    return classify(answer) == Behaviour.CANNOT_ANSWER or _REFUSES.search(split_reasoning(answer)[0]) is not None
