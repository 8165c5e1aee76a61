"""Find what a person claims to have done or said: "I already sent it", "I told you before"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from talm_sim.language.question_words import stem
from talm_sim.language.sentences import split_sentences

_SAID = "told|mentioned|said|wrote you|gave you|provided|stated|explained|answered|specified"
_DID = (
    "checked|double-checked|looked|searched|googled|sent|e-?mailed|mailed|texted|forwarded|called|phoned|rang|asked|booked|reserved|paid|ordered"
    "|bought|cancell?ed|submitted|uploaded|attached|shared|filled|signed|verified|confirmed|tested|tried|ran|measured|weighed|counted"
    "|calculated|computed|converted|found|discovered|installed|contacted|spoke|talked|visited|done|did|finished|completed|updated|changed"
    "|fixed|posted|shipped|transferred|downloaded|entered|wrote|written|typed|registered|requested|applied|arranged|printed|copied|handled"
    "|took care|taken care|put it|made the|read it|figured|worked it out|translated|corrected|opened|saved|deleted|moved|notified|informed"
)
_ADVERBS = r"(?:already|just|also|even|actually|then|only|personally|recently|myself|really|now|once|twice|both|have|long since)"
_ACT = re.compile(
    rf"\b(?:I|we)(?:['\u2019]ve| have| had|['\u2019]d)?(?: {_ADVERBS})* (?P<verb>{_SAID}|{_DID})\b(?P<rest>[^.!?;\n]{{0,80}})", re.IGNORECASE
)
_DONE = re.compile(
    r"\b(?:it|that|this|everything|they|all)(?:['\u2019]s| is|['\u2019]re| are| was| has been| have been| were)?(?: all)? already(?: been)?"
    rf" (?P<verb>{_DID}|taken care of)\b(?P<rest>[^.!?;\n]{{0,80}})",
    re.IGNORECASE,
)
_BY_OTHERS = re.compile(
    rf"\b(?:(?:my|our|an?) \w+(?: \w+)?|he|she|they|some(?:one|body))(?:['\u2019]s|['\u2019]ve| has| have| had)?(?: {_ADVERBS})*"
    rf" (?P<verb>(?!put|done|did|read|ran|visited|changed|moved|opened|shared|counted)(?:{_DID}))\b(?P<rest>[^.!?;\n]{{0,80}})",
    re.IGNORECASE,
)
_YOU_SAID = re.compile(
    rf"\byou(?:['\u2019]ve| have)?(?: {_ADVERBS})* (?P<verb>told|promised|confirmed|assured|offered|booked|sent)\b(?P<rest>[^.!?;\n]{{0,80}})",
    re.IGNORECASE,
)
_AS_SAID = re.compile(
    r"\b(?P<verb>(?:as|like) (?:I|we)(?:['\u2019]ve| have)? (?:already |just )?(?:said|told|mentioned|wrote|explained)"
    r"|as (?:already |previously )?(?:stated|mentioned|said|written|explained|noted|described|specified)"
    r"|see my (?:last|earlier|previous|first) (?:message|mail|answer))\b(?P<rest>[^.!?;\n]{0,80})",
    re.IGNORECASE,
)
_HYPOTHESIS = re.compile(r"\b(?:if|unless|whether|wish|suppose|before|until|when|once|maybe|perhaps) $", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ClaimedAct:
    """An act that somebody claims."""

    words: str
    of_saying: bool


def claimed_acts(text: str, known: str = "") -> Iterator[ClaimedAct]:
    """Yield the acts in the past that a text claims of the person, somebody of theirs or whom they speak to.

    Args:
        text: What was said.
        known: What is known to be so; an act that it claims in the same words, or of the person with the same verb, is not claimed anew.

    >>> [act.words for act in claimed_acts("I have already sent it. I have not paid.")]
    ['I have already sent it']
    """
    done = {stem(match["verb"].lower()) for form in (_ACT, _DONE) for match in form.finditer(known)}
    told = set(re.findall(r"\w+", known.lower()))
    for sentence in split_sentences(text, also=";"):
        if "?" in sentence[-3:]:
            continue
        for form in (_ACT, _DONE, _BY_OTHERS, _YOU_SAID, _AS_SAID):
            for match in form.finditer(sentence):
                verb = match["verb"].lower()
                if match[0].strip() in known:
                    continue
                if form in (_BY_OTHERS, _YOU_SAID):
                    if verb not in told and not _HYPOTHESIS.search(sentence[: match.start()]):
                        yield ClaimedAct(match[0].strip(), of_saying=False)
                    continue
                saying = form is _AS_SAID or re.fullmatch(_SAID, verb) is not None or verb == "asked"
                if _HYPOTHESIS.search(sentence[: match.start()]) or (not saying and stem(verb) in done):
                    continue
                yield ClaimedAct(match[0].strip(), saying)
