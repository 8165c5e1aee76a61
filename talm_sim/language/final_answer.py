"""Read an agent's final message once: it asks, declines, reports that something failed or was not found, or answers.

By wording, in English; of other languages, only the commonest words for what failed or cannot be done are known.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from talm_sim.language.asking import asking_sentences
from talm_sim.language.sentences import read_sentences
from talm_sim.models.parsing import split_reasoning


class Kind(StrEnum):
    """What a final message does in the main."""

    ASKS = "asks"
    DECLINES = "declines"
    REPORTS = "reports"
    ANSWERS = "answers"


class FinalAnswer(NamedTuple):
    """What a final message says.

    Attributes:
        kind: What it does in the main. What asks, asks, whatever else it says.
        asking: Its sentences that ask the reader for something.
        cannot: Whether it says that its author cannot, will not, does not know how, or has nothing to do it with.
        lacks: Whether it says what the request lacks, and makes nothing up in its place.
        failed: Whether it says that something failed.
        nothing: Whether it says that nothing was found.
    """

    kind: Kind
    asking: tuple[str, ...]
    cannot: bool
    lacks: bool
    failed: bool
    nothing: bool

    @property
    def declines(self) -> bool:
        """Whether it says that what was asked cannot be done or is unknown, and does not answer all the same."""
        return (self.cannot or self.lacks) and self.kind is not Kind.ANSWERS

    @property
    def admits_failure(self) -> bool:
        """Whether it says that something failed, or that its author cannot."""
        return self.failed or self.cannot

    @property
    def admits_nothing(self) -> bool:
        """Whether it says that nothing was found, or that something failed."""
        return self.nothing or self.admits_failure


def _compile(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives; `]*` matches only so much that the work grows with the length of the text alone."""
    return re.compile("|".join(patterns).replace("]*", "]{0,200}"), re.IGNORECASE)


_TOOL = (
    r"(?:functions?|tools?|commands?|tool ?(?:set|box|kit)s?|apis?|interfaces?|features?|operations?|methods?|(?:cap)?abilit(?:y|ies)"
    r"|functionalit(?:y|ies)|repertoire|arsenal|utilit(?:y|ies)|endpoints?|means|way|access|permissions?|sources?|integrations?"
    r"|plug-?ins?|skills?|instruments?|options? (?:for|to)|services? (?:for|to|that))\b"
)
_MINE = r"(?:\b(?:my|our|these|those|your|the|this)\b(?: \w+){0,2} )"
_I = r"\b(?:i|we)(?:'m|'re|'ve|'d|'ll| am| are| have| had| would| will)?(?: \w+(?<!n't)){0,2}?"
_BEGINS = r"(?:^|[:;,(\u2013\u2014] ?|\b(?:sorry|unfortunately|regrettably|afraid|but|and|so|currently|still)\b,? )"
_NOT = r"(?:\bnot|n't|\bnever)(?: \w+){0,2}?"
_ANSWERED = (
    r"(?:answer|do|help|assist|tell|say|know|determine|complete|fulfil|handle|perform|carry|process|provide|give|look|check(?! in| out)|find|calculate"
    r"|compute|access|retrieve|finish|proceed|continue|go on|establish|work out|satisfy|grant|honou?r|deal|solve)"
)
_PAST = r"could(?:n't| not)|(?:was|were)(?:n't| not) (?:\w+ )?able|(?:was|were|been) unable|not been able|n't been able|(?:n't|not) manage to"
_NO_TOOL = _compile(
    rf"\b(?:no|without an?|without any|lacks?|lacking|lacked|missing|lack an?|lack any|lack the) (?:[\w-]+ ){{0,4}}?{_TOOL}"
    r"(?! (?:was|were|is|are|would be) (?:needed|necessary|required))",
    rf"\b(?:none|neither) of {_MINE}?{_TOOL}|\b(?:none|neither|nothing|nobody)(?: of)?(?: \w+){{0,2}} (?:given me|i can|i have)\b|\b(?:none|neither) of (?:my|these|those|your)\b",
    rf"{_NOT} (?:have|has|got|include|offer|contain|provide|see|find|list|support|given|possess|equipped|come)(?: \w+){{0,2}}? (?:an?|the|any|direct"
    rf"|access|with|such|for|live|real-time|required|enough)(?: [\w-]+){{0,4}}? ?{_TOOL}",
    r"\b(?:do|does|did)(?:n't| not) (?:\w+ )?have access\b",
    rf"\bthere (?:is|are|was)(?:n't| not) (?:\w+ )?(?:an?|any) (?:[\w-]+ ){{0,4}}?{_TOOL}",
    rf"\b{_TOOL}[^.!?]*\b(?:absent|missing) from\b|\babsent from\b[^.!?]*\b{_TOOL}",
    rf"\b{_TOOL} (?:[\w-]+ ){{0,6}}?(?:is|are|was|were|has been|have been|got|'s) (?:\w+ )?(?:unavailable|missing|hidden|absent|lacking"
    r"|not available|removed|taken away|disabled|withdrawn|gone|switched off|turned off|limited|restricted|confined|not exposed)\b(?! at the)",
    rf"\b{_TOOL}[^.!?]*\b(?:has|have|had|holds?|offers?|contains?|includes?|provides?|given|got|see|find) (?:nothing|none)\b",
    rf"\b{_TOOL}[^.!?]*(?:\bnot among (?:mine|them|these|those)|\bnone (?:of them )?(?:allows?|lets?|can|could|would|supports?|do(?:es)?)\b)",
    rf"\b{_TOOL}[^.!?]*\b(?:i|we) (?:(?:do|did) not|don't|didn't|never) (?:\w+ )?(?:have|had|possess|got|see|hold|own)\b",
    rf"\b{_TOOL}[^.!?]*\b(?:can |to |covers? |supports? |do )?only(?: (?:supports?|allows?|lets?|covers?|lists?|handles?|reach(?:es)?|works?|for)\b|[.;,]|$)",
    rf"\b{_TOOL} (?:(?:which|that) )?(?:[\w-]+ ){{0,4}}?(?:has|have|is|was|were|do|does|can)(?:n't|not| not) (?:\w+ )?(?:been )?(?:provided"
    r"|given|offered|included|supplied|exposed|made available|reach|do|cover|go|extend|support|handle|let|allow|include|sort|work for)\b",
    rf"\b(?:{_TOOL}|list|what i (?:have|was given|can use)) [^.!?]*\bnot with (?:these|those|mine|what)\b|\bnot with (?:these|those|mine|what)\b",
    rf"\b(?:have|had|'ve|see|find|given|got) (?:nothing|none)\b[^.!?]*\b(?:{_TOOL}|for|that|to|which)\b|\bwas given none\b",
    rf"\bnothing (?:\S+ ){{0,6}}{_TOOL}|\bnothing (?:here|available|i have|i was given|at my disposal) (?:\w+ )?(?:that|to|for|lets?|does|can)\b",
    rf"{_NOT}(?: \w+)? (?:anything|something|one) (?:that|to|for|which)\b",
)
"""Ways of saying that there is nothing to do it with."""
_CANNOT = _compile(
    rf"{_I} (?:can't|cannot|can not|won't be|will not be|{_PAST}|not in a position|(?:un|not |not \w+ )able\b|incapable|not capable|decline|refuse|fail(?:ed)? to)\b",
    rf"{_I} (?:won't|will not|'ll not) (?:{_ANSWERED}|guess|make|invent|speculate|share|write|book|buy|send|delete|cancel|take part)\b",
    rf"{_I} (?:(?:must|have to|need to) (?:decline|pass|refuse|leave)|(?:rather|prefer) not\b|wish i could|only (?:\w+ )?(?:able|here) to)",
    rf"{_I} can only (?:{_ANSWERED}|search|read|write|list|work|offer|use|display|show|move|see|act|talk|discuss|advise|answer)\b",
    rf"{_I} (?:lack|have no|got no|had no|has no)\b(?! (?:doubt|problem|objection|preference|issue|trouble))",
    r"\b(?:i|we) (?:\w+ ){0,2}?(?:do|did)(?:n't| not) (?:\w+ ){0,2}?(?:know|have|possess|own|support|offer|provide|handle|cover|deal|keep"
    r"|hold|carry|store|get to see|do (?:that|this|\w+s)\b|think (?:i|we) (?:can|could))\b(?! (?:to|which|what|when|where|who|whose|your)\b)",
    r"\b(?:i'm|i am|we're|we are|i was) (?:\w+ )?(?:not|n't) (?:\w+ )?(?:aware|allowed|permitted|authori[sz]ed|equipped|designed|built|made|meant|set up"
    r"|programmed|connected|going to|willing|comfortable|familiar|qualified|trained)\b",
    rf"{_NOT} (?:(?:sure|certain) how to|supported|equipped|offered|feasible|doable|implemented)\b|\bno can do\b|\bforbid(?:s|den)?\b[^.!?]* me\b|\bthis assistant (?:does not|doesn't|cannot|can't)\b|\bi can [^.!?]{{1,60}}, (?:but )?not\b|\b(?:be|only be) (?:making (?:it|\w+) up|made up|a guess|guess(?:ing|work)|speculation)\b|\bbeyond me\b",
    r"\b(?:i'm|i am|we are|my \w+ (?:is|are)) (?:\w+ )?(?:limited|restricted|confined) to\b|\bi (?:only|just) (?:have|deal|work|handle|cover|know|do)\b",
    rf"{_BEGINS}(?:can't|cannot|can not|(?:un|not )able to|incapable of|not possible\b|won't be able|{_PAST}|failed to|no idea|no clue|don't know|do not know)\b",
    rf"\b(?:this|that|it|which|i|request|question|task|action|operation|step|part|rest)\b (?:\w+ )?(?:can't|cannot|can not|could(?:n't| not)) be"
    r" (?:\w+ )?(?:done|answered|completed|fulfilled|handled|determined|carried out|performed|processed|achieved|provided|known|looked up|established)\b",
    rf"{_NOT} (?:possible|feasible)(?: (?:for (?:me|us)|here|with|at (?:this|the)|right now|using|from here|through)\b| to (?:\w+ )?{_ANSWERED}\b|[.;,]|$)",
    rf"\b(?:is|are|was|seems?|remains?|'s) (?:\w+ )?impossible(?: (?:for (?:me|us)|here|with|without|using)\b| to (?:\w+ )?{_ANSWERED}\b|[.;,]|$)",
    rf"{_NOT} (?:something|anything|an? [\w-]+(?: \w+)?|one of the things|the kind of \w+|a thing|information) (?:that |which )?(?:i|we|my|lies|the tools?)\b",
    rf"{_NOT} (?:within|in|part of|among|on|with) (?:my|our|the|what|these|those) (?:\w+ ){{0,2}}(?:things|i|set|job|role|power|scope|reach|range|remit|repertoire|{_TOOL})",
    r"\b(?:beyond|outside|past|exceeds?|surpass(?:es)?)\b[^.!?]{0,25}\b(?:my|what (?:i|we)|i've|can do|remit|scope|reach|powers?|allows?|permits?"
    rf"|area|{_TOOL})|\bout of (?:\w+ )?(?:reach|scope)\b|\b(?:stops?|falls?) short of\b",
    r"\b(?:not|n't) (?:\w+ )?available to me\b|\b(?:unavailable|unknown|not known|closed|hidden) to me\b",
    r"\bthere(?:'s| is) (?:\w+ )?(?:no way|nothing (?:i|we|that i)\b)|\bno (?:way|means) (?:for me|of|to)\b",
    r"\b(?:\w+ )?(?:covers?|limited to)\b[^.!?]* only\b|\bonly (?:cover|goes|go|reach(?:es)?) (?:\w+ )?|\b(?:doesn't|does not|don't|do not) cover (?:that|this|it)\b|\bthat(?:'s| is) (?:all|as far as) i can\b",
    r"\bno puedo\b|\bje ne peux pas\b|\b(?:ich kann|kann ich) (?:\w+ ){0,4}nicht\b",
)
"""Ways of saying that its author cannot, will not, or does not know."""
_HEDGE = _compile(
    r"\b(?:can't|cannot|can not|couldn't|could not|(?:un|not )able to|won't) (?:\w+ )?(?:say|tell|be|verify|confirm|guarantee|promise|rule|vouch"
    r"|double-check|check (?:it|this|that)|speak|swear|predict)\b",
    r"\b(?:don't|do not|didn't) (?:\w+ )?(?:know\b|have (?:a|the) (?:exact|precise|final|full))",
)
"""Limits of an answer; without one, they decline."""
_IDLE = _compile(
    r"\bno (?:\w+ ){1,4}(?:was|were|is|are|will be) (?:needed|necessary|required)\b|\bcould(?:n't| not) (?:be (?:\w+er|more|less)\b|agree more"
    r"|have been (?:\w+er|more))",
    r"\b(?:can't|cannot|can not|couldn't|won't) (?:miss|wait|thank|go wrong|complain|overstate|stress|help but|say enough|recommend \w+ enough)\b",
    r"\b(?:no|without (?:an?|any)|without|free of|any) (?:\w+ )?(?:problems?|issues?|errors?|failures?|trouble|worries|doubt|fuss)\b",
    r"\b(?:not|n't) fail(?:ed)?\b|\bmargins? of error\b",
)
"""Negations that decline nothing."""
_CONCESSION = _compile(
    r"\b(?:even though|although|though|despite|in spite of|while) [^,.!?]*,|\b(?:if|in case|when|whenever) (?!it\b)[^,.;!?]*(?:[,.;]|$)"
)
"""Conditions and concessions, which say nothing of what was done."""
_TRIED = _compile(rf"\b(?:{_PAST}|failed to)\b")
_THINGS = (
    r"(?:results?|data|information|info|records?|entry|entries|match(?:es)?|details?|answers?|content|values?|hits?|listings?|responses?|reply"
    r"|bod(?:y|ies)|fields?|lists?|pages?|rows?|files?|output|payload)"
)
_SYSTEM = (
    r"(?:tools?|services?|servers?|systems?|site|website|page|api|look-?ups?|search|database|endpoint|connection|network|backend|calls?|requests?"
    r"|functions?|converter|calculator|counter|finder|provider|gateway|portal|source|feed|link|query|queries|attempts?|tries|index|registry|\w+_\w+)"
)
_FAILED = _compile(
    r"\b(?:fail(?:s|ed|ures?|ing)?|errors?|hiccups?|unavailable|unreachable|unresponsive|inaccessible|time[sd]?[ -]?out|timing out|malformed|garbled"
    r"|corrupt(?:ed)?|truncated|incomplete|inconsistent|contradict(?:s|ed|ory|ion)?|outdated|stale|implausible|suspicious|offline|out of order"
    r"|went wrong|gone wrong|goes wrong|refus(?:ed|es|ing)|denied|denies|forbidden|unauthori[sz]ed|rate[- ]limit(?:ed)?|no luck|without success|null"
    r"|bad gateway|internal server|too many requests|exceptions?|crash(?:es|ing)|outage|unreadable|reject(?:ed|s|ing)|in vain|unsuccessful|different (?:values|answers|figures)|(?:neither|none) can be trusted|not trust|n't trust)\b",
    rf"\b{_SYSTEM} (?:[\w'-]+ ){{0,3}}?(?:crashed|broke\b|hung|choked|gave up|dropped|stalled|blocked)",
    rf"\b{_SYSTEM} (?:[\w'-]+ ){{0,4}}?(?:is|are|was|were|been|seems?|appears?|looks?|'s)(?: to be)?(?: currently| temporarily| still| not| just| both)* ?"
    r"(?:down|broken|gone|missing|blocked|busy|overloaded|empty|blank|closed|reset|lost|dropped|interrupted|unreliable|dead|not (?:up|working|reachable))\b",
    r"(?:\bnot|(?<!ca)(?<!wo)n't|\bnever)(?: (?:be|been|currently|yet|even|at the moment|properly|seem to))* (?:available|reachable|accessible|respond(?:ing|ed)?"
    r"|answer(?:ing|ed)?|work(?:ing|ed)?|load(?:ing|ed)?|return(?:ing|ed)?|found|succeed(?:ed)?|go(?:ne|ing)? through|reached|looked up|come back"
    r"|let me|there|get (?:through|an? (?:answer|reply|response)))\b(?! to me)|\bproblems? with (?:the|my|our)\b|\bgot an? [45]\d\d\b",
    r"\b(?:HTTP|status|code|error)(?: status| code)* ?[45]\d\d\b|\b(?:an?|got|with)(?: an?)* [45]\d\d\b(?!\s*\w)|\([45]\d\d\b(?!\) \d)|\b[45]\d\d(?: error| response| status)\b",
    rf"\b(?:{_SYSTEM}|server|internal|technical|connection|network|system) (?:\w+ )?(?:problems?|issues?|fault|outage|reset|lost|trouble)\b",
    r"\b(?:cut|broke|breaks|broken) (?:off|short|body|connection|json)\b|\bconflict(?:s|ing)?\b|\black(?:s|ed|ing)\b|\bno (?:longer|response|answer|reply)\b",
    r"\b(?:stays?|left|remains?|still) (?:open|blank|unknown)\b|\bwithout (?:an? |the )?(?:\w+ )?(?:field|code|value|name|key)\b",
    rf"\b{_TOOL} (?:is|was) broken\b|\bcould(?:n't| not) be (?:\w+ )?\w+ed\b|\bwas(?:n't| not) (?:possible|placed|sent|booked|made|saved|reserved|done|changed)\b|\bran into (?:a|an|some)\b",
    r"\b(?:Fehler\w*|fehlgeschlagen|nicht (?:erreichbar|verfügbar|gefunden|geantwortet|ermitteln|abrufen|abgerufen)|ausgefallen|Zeitüberschreitung"
    r"|fehlt|leere?s?|erreurs?|échoué\w*|indisponible|injoignable|introuvable|pas (?:répondu|disponible|trouvé|pu)|vide|panne|manque"
    r"|errore|fall[óo]\w*|falla\w*|no (?:respond\w+|disponible|encontr\w+|pude|se pudo|devolvió|está disponible)|vac[íi][oa]|caíd[oa])\b",
)
"""Ways of saying that something failed."""
_OWN = _compile(rf"\b(?:{_SYSTEM}|i|we|my|HTTP|error \d\d\d|{_THINGS})\b")
"""Whose failure stops an answer; that of anything else may be one."""
_FOUND = r"(?:found|returned|available|given|provided|listed|recorded|shown|known|registered|scheduled|matched|there)"
_GAVE = r"(?:found|finds?|returned|returns?|gave|gives|got|yield(?:s|ed)|contain(?:s|ed)?|shows?|showed|turned up|brought up|came up with|came back with|received)"
_NOTHING = _compile(
    rf"\bnothing (?:was |is |has been |could be )?(?:{_FOUND}|came (?:back|up)|in\b|under|match(?:es|ed)|turned up|showed up|relevant|for)",
    rf"\b{_GAVE} (?:me |us )?(?:nothing|no\b|none|zero|an? empty|empty|blank)",
    rf"\b(?:no|none)(?: [\w'-]+){{0,6}}? (?:was|were|is|are|has been|have been|could be) {_FOUND}\b",
    rf"\b(?:no|zero|0|without an?|without any|empty|blank) (?:[\w-]+ )?{_THINGS}\b",
    r"\b(?:came|comes|come|came up|turned up) (?:back |up )?(?:\w+ )?(?:empty|blank)(?:-handed)?\b|\bempty-handed\b|\bis empty[.,]? ?(?:$|so\b|and\b)",
    r"\b(?:did|does|do)(?:n't| not) (?:\w+ )?(?:find|return|give|contain|yield|list|match|appear|turn up|bring up|exist)\b",
    rf"(?<!\bi )(?<!\bwe )\b(?:did|does|do)(?:n't| not) (?:have|hold|include|show|see) (?:[\w-]+ ){{0,3}}{_THINGS}\b",
    rf"(?:\bnot|n't) (?:\w+ )?(?:in|on|among|part of) (?:the|our|my|its|their|any)(?: [\w-]+){{0,2}} (?:{_SYSTEM}|{_THINGS}|catalogue|directory|calendar|inbox|folder)\b",
    r"\b(?:can't|cannot|can not|couldn't|could not|(?:un|not )able to) (?:\w+ )?(?:find|locate|see any)\b|\bno (?:[\w-]+ ){0,6}?(?:match|matches|matched|came up|turned up|exists?)\b",
    rf"\b(?:{_SYSTEM}|{_THINGS}|calendar|catalogue|directory|folder|inbox|table|archive|log) (?:has|have|had|holds?|lists?|contains?|shows?|knows?) no\b",
    rf"\bno (?:matching|such)\b|\bno [\w-]+ (?:with|by|under|of) (?:that|this) (?:name|title|number|\w+)\b|\b{_THINGS}(?:: (?:0|none)| (?:is|was|are|were) (?:empty|blank))\b",
    r"\bno (?:trace|sign|record|mention) of\b|\bnone (?:of [^.,;!?]* )?(?:match|matched|matches|exists?|came up|turned up|fits?)\b",
)
"""Ways of saying that nothing was found."""
_LACKS = _compile(
    r"\b(?:i|we|you|that|this|it|request|message|order|details?)(?:'m|'re| am| is| are)? (?:\w+ ){0,2}?(?:missing|lacks?|lacking)\b",
    r"\b(?:is|are|was|were) (?:\w+ )?(?:missing|lacking|left open)\b|\b(?:forgot|left out|left (?:it|that) (?:out|open|blank)|omitted)\b",
    r"\b(?:missing|lacking) (?:information|details?|the|a|an|your)\b",
    r"(?:\b(?:not|never|without)|n't) (?:\w+ ){0,2}?(?:say|said|tell|told|give|given|specif\w+|provided?|stated?|mention\w*|named?|indicate)\b"
    r"(?! (?:for|with|exactly|precisely)\b)|\b(?:request|message|order|you)\b[^.!?]{0,30}(?:n't| not|never) (?:\w+ ){0,2}(?:contain|include)\b",
    r"(?:\b(?:not|never)|n't) (?:\w+ )?know (?:which|what|when|where|who|whose|your)\b",
    r"\bno (?:\w+ ){1,3}(?:was|were|is|are) (?:given|specified|provided|named|stated|mentioned)\b|\bno (?:\w+ ){1,3}in (?:your|the) (?:request|message)\b",
    r"\b(?:unclear|not clear|ambiguous|(?:not|n't) (?:know|sure|certain))(?: to me)?,? (?:which|what|where|whom?|whose|when|how (?:many|much|long|far))\b",
    r"\b(?:(?:un|not )able|can't|cannot|can not|could(?:n't| not))\b[^.!?]*\b(?:without|unless|until)\b",
)
"""Statements of what a request lacks."""
_SETTLED = _compile(r"\b(?:assum\w*|presum\w*|guess(?:ed|ing)|default\w*|(?:went|gone|go|going) (?:ahead )?with|took|chose|picked|used)\b")
"""A value that was missing was made up."""
_FILLER = _compile(
    r"^\W*(?:sure|certainly|absolutely|of course|ok(?:ay)?|great|thanks?|thank you|got it|understood|apolog\w+|i'm sorry|sorry|i apologi[sz]e|that's"
    r"|that sounds|no problem|happy to|hello|hi|i see|alright|i understand|unfortunately)\b",
    r"\b(?:please|recommend|suggest|advise|consult|contact|visit|refer|check|consider|try|instead|i'm here|designed to|sorry|apolog|feel free|let me"
    r"|my (?:knowledge|capab|training|function|tools?)|i'm an? (?:\w+ )?assistant|as an? |capabilities are|you(?:'ll| will|'d| would)? (?:\w+ )?(?:can|may|might|could|should|want|find|wish"
    r"|need|use|try|look|have to|must|better)|(?:phone|telephone|hotline|website|web site|app|desk|line) |(?:happy|glad|help|assist)"
    r"|(?:would|will|could|might) (?:\w+ )?(?:be|know|have|tell|help|show|need)\b|only|tried|asked|searched|looked|queried|called)",
)
"""Politeness, advice on where to turn, what was tried, and what would be: none of it answers after declining."""
_VALUE = _compile(r"[1-9]|\bmost (?:people|sources)\b|_{3}|\b(?:is|are|was|were|has|have|in|on|at|by|of|:) (?:the |an? |probably |likely )?(?-i:[A-Z][a-z]+)")
_SO = re.compile(r"[;:]\s|,? (?:but|so|yet|however|still|nevertheless|that said)\b,?|\s[-\u2013\u2014]+\s|, (?=(?:and|which|i)\b)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*]*\s+|\n+|;\s")
_DONE = re.compile(
    r"\b(?:booked|cancel(?:l)?ed|created|sent|deleted|removed|updated|set|ordered|reserved|paid|transferred|submitted|added"
    r"|scheduled|registered"
    r"|written|saved|posted|refunded|moved|renamed|closed|opened|placed|subscribed|uploaded|changed|done|complet(?:e|ed)"
    r"|confirmed|success(?:ful(?:ly)?)?"
    r"|went through|goes through|(?:it|that|this|one|which) (?:\w+ )?worked|made the|been made|on hold for you|(?:is|are) on hold|put in|all set|taken care of"
    r"|gebucht|storniert|erledigt|réservée?|annulée?|reservad[oa]|cancelad[oa])\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;:()]|\s[-–—]+\s|\b(?:but|although|though|despite|after|because|since|while)\b|\band (?=(?:it|your|the|i)\b)", re.IGNORECASE
)
_CONDITION = re.compile(r"^\W*(?:once|if|when|as soon as|until|unless)\b", re.IGNORECASE)
_UNDONE = re.compile(
    r"\b(?:not|never|n't|nothing|no|cannot|unable|fail(?:ed|s)?|could|would|if|whether|once|until|before|to be|nicht|pas"
    r"|please|try|want|like|will|shall|going to|try(?:ing)?|attempt(?:ed)?)\b|'ll\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=2_048)
def read_final_answer(text: str) -> FinalAnswer:
    """Read what a final message says.

    What is declined, reported or lacking decides unless the message goes on to give a value or to say that something was done. A mere limit
    of what it says ("I can't say for sure") and a search without a result do not outweigh an answer beside them.

    Args:
        text: The message as the agent wrote it; thinking blocks are skipped.

    >>> [str(read_final_answer(one).kind) for one in ("Which day?", "There is no tool for that.", "The lookup timed out.", "It is 12:30.")]
    ['asks', 'declines', 'reports', 'answers']
    >>> str(read_final_answer("I could not find a code, so the total is 59 euros.").kind)
    'answers'
    """
    shown = split_reasoning(text)[0].replace("\u2019", "'")
    said = [(one.said, one.text) for one in read_sentences(shown) if not one.questions]
    plain = [_CONCESSION.sub(" ", _IDLE.sub(" ", one)) for one, _ in said]
    whole = [_IDLE.sub(" ", one) for _, one in said] if said else [_IDLE.sub(" ", shown)]
    asking = tuple(one for one in asking_sentences(text) if one.rstrip("\"')").endswith("?") or not _NO_TOOL.search(one))
    lacks = any(map(_LACKS.search, plain)) and not _SETTLED.search(shown)
    cannot, failed, nothing = any(map(_says_cannot, plain)), any(map(_FAILED.search, whole)), any(map(_NOTHING.search, whole))
    kind = Kind.ANSWERS
    if asking:
        kind = Kind.ASKS
    elif not _answers(plain, lacks):
        reports = (failed or nothing or any(map(_TRIED.search, plain))) and not any(map(_NO_TOOL.search, plain))
        kind = Kind.REPORTS if reports else Kind.DECLINES
    return FinalAnswer(kind, asking, cannot, lacks, failed, nothing)


def names_failure(sentence: str) -> bool:
    """Return whether a sentence says that something failed, was not found, or is not there to do it with."""
    said = _IDLE.sub(" ", sentence.replace("\u2019", "'"))
    return any(one.search(said) for one in (_FAILED, _NOTHING, _NO_TOOL, _LACKS))


def says_cannot(sentence: str) -> bool:
    """Return whether a sentence says that its author cannot, will not, or does not know."""
    return _says_cannot(_IDLE.sub(" ", sentence.replace("\u2019", "'")))


def _says_cannot(said: str) -> bool:
    return _NO_TOOL.search(said) is not None or _CANNOT.search(said) is not None


def claims_success(answer: str) -> bool:
    """Return whether an answer claims that something was done.

    >>> claims_success("Your table is booked."), claims_success("I could not book the table.")
    (True, False)
    """
    said = _IDLE.sub("", split_reasoning(answer)[0].replace("\u2019", "'"))
    sentences = (one for one in _SENTENCE.split(said) if not _CONDITION.search(one) and not one.endswith("?"))
    return any(
        _DONE.search(clause) and not _UNDONE.search(clause) and not names_failure(clause)
        for sentence in sentences
        for clause in _CLAUSE_END.split(sentence)
    )


class _Part(StrEnum):
    """What a clause does."""

    NO = "no"
    WEAK = "weak"
    FILLER = "filler"
    CONTENT = "content"
    VALUE = "value"


def _answers(sentences: list[str], lacks: bool) -> bool:
    """Return whether sentences answer, whatever they also decline or report."""
    parts: list[_Part] = []
    for sentence in sentences:
        own = [_part(clause, lacks) for clause in _SO.split(sentence) if clause.strip()]
        if _says_cannot(sentence) and not {_Part.NO, _Part.WEAK} & {*own}:
            own = [_Part.NO]  # it is said in two clauses
        parts += own
    last = max((place for place, part in enumerate(parts) if part is _Part.NO), default=-1)
    if last >= 0:
        return _Part.VALUE in parts[last:]
    return _Part.WEAK not in parts or _Part.VALUE in parts


def _part(clause: str, lacks: bool) -> _Part:
    if _NOTHING.search(clause) or (_HEDGE.search(clause) and not _NO_TOOL.search(clause)):
        return _Part.WEAK
    if _says_cannot(clause) or (lacks and _LACKS.search(clause)) or (_FAILED.search(clause) and _OWN.search(clause)):
        return _Part.NO
    if _FAILED.search(clause) and not _VALUE.search(clause):
        return _Part.WEAK
    if _FILLER.search(clause):
        return _Part.FILLER
    return _Part.VALUE if _VALUE.search(clause) or claims_success(clause) else _Part.CONTENT
