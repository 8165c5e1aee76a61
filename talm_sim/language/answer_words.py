"""The words with which an agent's final message declines, reports, or answers; `final_answer.py` reads by them."""

from __future__ import annotations

import re


def compile_words(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives; `]*` only so much that the work grows with the length of the text alone."""
    return re.compile("|".join(patterns).replace("]*", "]{0,200}"), re.IGNORECASE)


_TOOL = (
    r"(?:functions?|tools?|commands?|tool ?(?:set|box|kit)s?|apis?|interfaces?|features?|operations?|methods?|(?:cap)?abilit(?:y|ies)"
    r"|functionalit(?:y|ies)|repertoire|arsenal|utilit(?:y|ies)|endpoints?|means|way|access|permissions?|sources?|integrations?|plug-?ins?"
    r"|skills?|instruments?|options? (?:for|to)|services? (?:for|to|that))\b"
)
_MINE = r"(?:\b(?:my|our|these|those|your|the|this)\b(?: \w+){0,2} )"
_I = r"\b(?:i|we)(?:'m|'re|'ve|'d|'ll| am| are| have| had| would| will)?(?: \w+(?<!n't)){0,2}?"
_BEGINS = r"(?:^|[:;,(\u2013\u2014] ?|\b(?:sorry|unfortunately|regrettably|afraid|but|and|so|currently|still)\b,? )"
_NOT = r"(?:\bnot|n't|\bnever)(?: \w+){0,2}?"
_ANSWERED = (
    r"(?:answer|do|help|assist|tell|say|know|determine|complete|fulfil|handle|perform|carry|process|provide|give|look|check(?! in| out)|find"
    r"|calculate|compute|access|retrieve|finish|proceed|continue|go on|establish|work out|satisfy|grant|honou?r|deal|solve)"
)
_FINITE = r"(?! (?:can|could|will|would|is|are|was|were|may|might|must|should)\b)"
"""Not the end of a relative clause: "what I cannot, will be done"."""
_NOT_I = r"(?<!rather )(?<!prefer )(?<!\bi will )(?<!\bi would )(?<!\bi can )(?<!\bi do )\bnot"
"""Negations of what others do: what its author does not do has failed nowhere, and is nothing that a request lacks."""
_PAST = r"could(?:n't| not)|(?:was|were)(?:n't| not) (?:\w+ )?able|(?:was|were|been) unable|not been able|n't been able|(?:n't|not) manage to"
NO_TOOL = compile_words(
    rf"\b(?:no|without an?|without any|lacks?|lacking|lacked|missing|lack an?|lack any|lack the) (?:[\w-]+ ){{0,4}}?{_TOOL}(?! (?:was|were|is"
    rf"|are|would be) (?:needed|necessary|required))|\b(?:the|my) only {_TOOL}[^.!?]* (?:are|is)\b|\b{_TOOL}[^.!?]*\b(?:exclusively|solely"
    r"|nothing but|(?:neither|none) of (?:them|these))\b|(?:\bnot|n't) part of (?:it|them|that)\b|\bhave not (?:the|this|an?"
    rf"|any) (?:\w+ )?{_TOOL}|\b(?:none|neither) of {_MINE}?{_TOOL}|\b(?:none|neither|nothing|nobody)(?: of)?(?: \w+){{0,2}} (?:given me|i can"
    rf"|i have)\b|\b(?:none|neither) of (?:my|these|those|your)\b|{_NOT} (?:have|has|got|include|offer|contain|provide|see|find|list|support"
    r"|given|possess|equipped|come)(?: \w+){0,2}? (?:an?|the|any|direct|access|with|such|for|live|real-time|required"
    rf"|enough)(?: [\w-]+){{0,4}}? ?{_TOOL}|\b(?:do|does|did)(?:n't| not) (?:\w+ )?have access\b|\bthere (?:is|are|was)(?:n't"
    rf"| not) (?:\w+ )?(?:an?|any) (?:[\w-]+ ){{0,4}}?{_TOOL}|\b{_TOOL}[^.!?]*\b(?:absent|missing) from\b|\babsent from\b[^.!?]*\b{_TOOL}"
    rf"|\b{_TOOL} (?:[\w-]+ ){{0,6}}?(?:is|are|was|were|has been|have been|got|'s) (?:\w+ )?(?:unavailable|missing|hidden|absent|lacking"
    r"|not available|removed|taken away|disabled|withdrawn|gone|switched off|turned off|limited|restricted|confined|not exposed)\b(?! at the)"
    rf"|\b{_TOOL}[^.!?]*\b(?:has|have|had|holds?|offers?|contains?|includes?|provides?|given|got|see|find) (?:nothing|none)\b"
    rf"|\b{_TOOL}[^.!?]*(?:\bnot among (?:mine|them|these|those)|\bnone (?:of them )?(?:allows?|lets?|can|could|would|supports?|do(?:es)?)\b)"
    rf"|\b{_TOOL}[^.!?]*\b(?:i|we) (?:(?:do|did) not|don't|didn't|never) (?:\w+ )?(?:have|had|possess|got|see|hold|own)\b"
    rf"|\b{_TOOL}[^.!?]*\b(?:can |to |covers? |supports? |do )?only(?: (?:supports?|allows?|lets?|covers?|lists?|handles?|reach(?:es)?|works?"
    rf"|for|deals?|concerns?)\b|[.;,]|$)|\b{_TOOL} (?:(?:which|that) )?(?:[\w-]+ ){{0,4}}?(?:has|have|is|was|were|do|does|can)(?:n't|not"
    r"| not) (?:\w+ )?(?:been )?(?:provided|used|help|answer|given|offered|included|supplied|exposed|made available|reach|do|cover|go|extend"
    rf"|support|handle|let|allow|include|sort|work for)\b|\b(?:{_TOOL}|list|what i (?:have|was given|can use)) [^.!?]*\bnot with (?:these|those"
    rf"|mine|what)\b|\bnot with (?:these|those|mine|what)\b|\b(?:have|had|'ve|see|find|given|got) (?:nothing|none)\b[^.!?]*\b(?:{_TOOL}|for"
    rf"|that|to|which)\b|\bwas given none\b|\bnothing (?:\S+ ){{0,6}}{_TOOL}|\bnothing (?:here|available|i have|i was given"
    rf"|at my disposal) (?:\w+ )?(?:that|to|for|lets?|does|can)\b|{_NOT}(?: \w+)? (?:anything|something|one) (?:that|to|for|which)\b"
)
"""Ways of saying that there is nothing to do it with."""
CANNOT = compile_words(
    rf"{_I} (?:can(?:'t|not| not){_FINITE}|won't be|will not be|{_PAST}|not in a position|(?:un|not |not \w+ )able\b|incapable|not capable"
    rf"|decline|refuse|fail(?:ed)? to)\b|{_I} (?:won't|will not|'ll not) (?:{_ANSWERED}|guess|make|invent|speculate|share|name|quote|state"
    rf"|offer|write|book|buy|send|delete|cancel|take part)\b|{_I} (?:(?:must|have to|need to) (?:decline|pass|refuse|leave|skip|say no|turn)"
    r"|(?:blocked|barred|prevented|kept) from|(?:rather|better|prefer(?: to)?) (?:not|stop|leave|pass|skip|omit|refrain|stay|hold)\b|(?:skip"
    r"|omit)(?:ped|ping|ted|ting)?\b|(?:leave|leaving|left)\b[^.!?]{0,40}? (?:out|open|blank|undone|aside|unanswered|empty|to (?:you|others"
    rf"|someone|somebody))\b|wish i could|only (?:\w+ )?(?:able|here) to)|{_I} can only (?:{_ANSWERED}|search|read|write|list|work|offer|use"
    rf"|display|show|move|see|act|talk|discuss|advise|answer)\b|{_I} (?:lack|have no|got no|had no|has no)\b(?! (?:doubt|problem|objection"
    r"|preference|issue|trouble))|\b(?:i|we) (?:\w+ ){0,2}?do(?:n't| not) (?!\w+ly\b|(?:even|actually)\b|(?:think|see|find|recommend|believe"
    r"|want|mind|need|expect|like|understand|agree|doubt|suppose|advise|consider|feel|say|mean)\b)\w+\b(?! (?:to|which|what|when|where|who"
    r"|whose|your)\b)|\b(?:i|we) (?:\w+ ){0,2}?d(?:o|id)(?:n't| not) (?:\w+ ){0,2}?(?:know|have|possess|own|get to see|think (?:i|we) (?:can"
    r"|could))\b(?! (?:to|which|what|when|where|who|whose|your)\b)|\bbeats me\b|\b(?:can't|cannot) be (?:predicted|foreseen)\b"
    r"|\bguess is as good as mine\b|\b(?:not (?:gonna|going to) happen|hard no|out of the question|no chance)\b|\bno [\w-]+ from me\b|\b(?:i'm"
    r"|i am|i'll|i will) (?:be )?(?:stay(?:ing)? out|leav(?:e|ing) (?:it|this|that)|steer(?:ing)? clear)\b|\bnot for (?:me|an? (?:\w+)?bot)\b"
    r"|\bnothing (?:i|we)(?:'ve| have)? (?:got|have|can|was|know)\b|\bwithout (?:any|an?) (?:basis|grounds?|evidence)\b|\b(?:i'm|i am|we're"
    r"|we are|i was) (?:\w+ )?(?:not|n't) (?:\w+ )?(?:aware|allowed|permitted|authori[sz]ed|equipped|designed|built|made|meant|set up"
    rf"|programmed|connected|going to|willing|comfortable|familiar|qualified|trained)\b|{_NOT} (?:(?:sure|certain) how to|supported|equipped"
    r"|offered|feasible|doable|implemented)\b|\bno can do\b|\bforbid(?:s|den)?\b[^.!?]* me\b|\bthis assistant (?:does not|doesn't|cannot"
    r"|can't)\b|\bi can [^.!?]{1,60}, (?:but )?not\b|\b(?:be|only be) (?:\w+ )?(?:making (?:it|\w+) up|made up|a guess|guess(?:ing|work)"
    r"|speculation|invention|invented|fiction)\b|\bbeyond me\b|\b(?:i'm|i am|we are|my \w+ (?:is|are)) (?:\w+ )?(?:limited|restricted"
    rf"|confined) to\b|\bi (?:only|just) (?:have|deal|work|handle|cover|know|do)\b|{_BEGINS}(?:can't|cannot|can not|(?:un|not )able to"
    rf"|incapable of|not possible\b|won't be able|{_PAST}|failed to|no idea|no clue|don't know|do not know)\b|\bno (?:\w+ ){{1,4}}(?:can"
    r"|could) be (?:given|named|stated|provided|said|offered|determined|computed|worked out)\b|\b(?:this|that|it|which|i|request|question|task"
    r"|action|operation|step|part|rest)\b (?:\w+ )?(?:can't|cannot|can not|could(?:n't| not)) be (?:\w+ )?(?:done|answered|completed|fulfilled"
    rf"|handled|determined|carried out|performed|processed|achieved|provided|known|looked up|established)\b|{_NOT} (?:possible"
    rf"|feasible)(?: (?:that i|for (?:me|us)|here|with|at (?:this|the)|right now|using|from here|through)\b| to (?:\w+ )?{_ANSWERED}\b|[.;,]|$)"
    rf"|\b(?:is|are|was|seems?|remains?|'s) (?:\w+ )?impossible(?: (?:for (?:me|us)|here|with|without|using)\b| to (?:\w+ )?{_ANSWERED}\b|[.;,]"
    rf"|$)|{_NOT} (?:something|anything|an? [\w-]+(?: \w+)?|one of the things|the kind of \w+|a thing|information) (?:that |which )?(?:i|we|my"
    rf"|lies|the tools?)\b|{_NOT} (?:within|in|part of|among|on|with) (?:my|our|the|what|these|those) (?:\w+ ){{0,2}}(?:things|list|i|set|job"
    rf"|role|power|scope|reach|range|remit|repertoire|{_TOOL})|\b(?:beyond|outside|past|exceeds?|surpass(?:es)?)\b[^.!?]{{0,25}}\b(?:my"
    rf"|what (?:i|we|this)|i've|can do|remit|scope|reach|powers?|allows?|permits?|area|{_TOOL})|\bout of (?:\w+ )?(?:reach|scope)\b|\b(?:above"
    r"|over|out of) (?:my|our) (?:pay grade|league|hands|depth|head)\b|\bmy \w+ (?:ends?|stops?)\b|\ba no(?:-go)? from me\b|\bcan neither\b"
    r"|\bwouldn't know\b|\bunsupported\b|\bno support for\b|\b(?:stops?|falls?) short of\b|(?:\bnot|n't) (?:\w+ )?(?:(?:available|accessible"
    r"|visible|open) (?:to me|here|from here|through me)|(?:covered|offered|handled|provided) (?:by|here|with)|have what it takes)\b"
    r"|\b(?:unavailable|unknown|not known|closed|hidden) to me\b|\bthere(?:'s| is) (?:\w+ )?(?:no way|nothing (?:i|we|that i)\b)|\bno (?:way"
    r"|means) (?:for me|of|to)\b|\b(?:\w+ )?(?:covers?|limited to)\b[^.!?]* only\b|\bonly (?:cover|goes|go|reach(?:es)?) (?:\w+ )?|\b(?:doesn't"
    r"|does not|don't|do not) cover (?:that|this|it)\b|\bthat(?:'s| is) (?:all|as far as) i can\b|\bno puedo\b|\bje ne peux pas\b|\b(?:ich kann"
    r"|kann ich) (?:\w+ ){0,4}nicht\b"
)
"""Ways of saying that its author cannot, will not, or does not know."""
ELSEWHERE = compile_words(
    r"\b(?:please|kindly|best|(?:should|could|can|must|have to|need to|want to)(?: \w+)?|(?:that|the rest|this|it|one|part|half|other),) (?:see"
    "|consult|refer to|turn to|check|look in|look (?:it|that|this|them) up in) (?:an?|the|your|some|any"
    r"|another) (?:[\w-]+ ){0,3}?(?:reference(?: works?| books?)?|encyclop\w+|atlas|almanac|dictionary|handbook|manual|guide|textbook|library"
    r"|specialist|expert|professional|web ?site|site|search engine|map|directory|sources?)\b"
)
"""Ways of sending the reader elsewhere: without an answer, they decline."""
HEDGE = compile_words(
    r"\b(?:can't|cannot|can not|couldn't|could not|(?:un|not )able to|won't) (?:\w+ )?(?:say|tell|be|verify|confirm|guarantee|promise|rule"
    r"|vouch|double-check|check (?:it|this|that)|speak|swear|predict)\b|\b(?:don't|do not|didn't) (?:\w+ )?(?:know\b|have (?:a|the) (?:exact"
    r"|precise|final|full))"
)
"""Limits of an answer; without one, they decline."""
IDLE = compile_words(
    r"\bno (?:\w+ ){1,4}(?:was|were|is|are|will be) (?:needed|necessary|required)\b|\bcould(?:n't| not) (?:be (?:\w+er|more|less)\b|agree more"
    r"|have been (?:\w+er|more))|\b(?:can't|cannot|can not|couldn't|won't) (?:miss|wait|thank|go wrong|complain|overstate|stress|help but"
    r"|say enough|vouch|guarantee|promise|swear|recommend \w+ enough)\b|\b(?:no|without (?:an?|any)|without|free of|any) (?:\w+ )?(?:problems?"
    r"|issues?|errors?|failures?|trouble|worries|doubt|fuss)\b|\b(?:the|this|that|an?|your) (?:error|exception|failure) (?:\d+ )?(?:means"
    r"|occurs|happens|comes|is (?:raised|thrown|caused))\b|\bstops? failing\b|\b(?:not|n't) fail(?:ed)?\b|\bmargins? of error\b"
)
"""Negations that decline nothing."""
CONCESSION = compile_words(
    r"\b(?:even though|although|though|despite|in spite of|while) [^,.!?]*,|\b(?:if|in case|when|whenever) (?!it\b)[^,.;!?]*(?:[,.;]|$)"
)
"""Conditions and concessions, which say nothing of what was done."""
TRIED = compile_words(rf"\b(?:{_PAST}|failed to)\b")
_THINGS = (
    r"(?:results?|data|information|info|records?|entry|entries|match(?:es)?|details?|answers?|content|values?|hits?|listings?|responses?|reply"
    r"|bod(?:y|ies)|fields?|lists?|pages?|rows?|files?|output|payload)"
)
_SYSTEM = (
    r"(?:tools?|services?|servers?|systems?|site|website|page|api|look-?ups?|search|database|endpoint|connection|network|backend|calls?"
    r"|requests?|(?:up|down)loads?|transfer|booking|reservation|cancellation|payment|commands?|messages?|e-?mails?|conversion|functions?"
    r"|converter|calculator|counter|finder|provider|gateway|portal|source|feed|link|query|queries|attempts?|tries|index|registry|\w+_\w+)"
)
FAILED = compile_words(
    r"\b(?:fail(?:s|ed|ures?|ing)?|errors?|hiccups?|unavailable(?! to me)|unreachable|unresponsive|inaccessible|bounced|aborted|stuck"
    "|time[sd]?[ -]?out|timing out|malformed|garbled|corrupt(?:ed)?|truncated|incomplete|inconsistent|contradict(?:s|ed|ory|ion)?|outdated"
    "|stale|implausible|suspicious|offline|out of order|went wrong|gone wrong|goes wrong|refus(?:ed|es|ing)|denied|denies|forbidden"
    "|unauthori[sz]ed|rate[- ]limit(?:ed)?|no luck|without success|null|bad gateway|internal server|too many requests|exceptions?|crash(?:es"
    "|ing)|outage|unreadable|reject(?:ed|s|ing)|in vain|unsuccessful|issues? (?:while|when|with)|never (?:acknowledged|answered|arrived|came"
    r"|replied|loaded)|different (?:values|answers|figures)|(?:neither|none) can be trusted|not trust|n't trust)\b|\b(?:tools?|services?"
    r"|servers?|systems?|api|endpoint|database|backend) (?:did|would|could)(?:n't| not)\b|\bsomething(?:'s| is| was| seems?| looks?| appears?"
    r"| feels?| must be)(?: to be)? (?:\w+ )?(?:odd|off|wrong|strange|weird|fishy|amiss|not right|broken|funny)\b"
    rf"|\b{_SYSTEM} (?:[\w'-]+ ){{0,3}}?(?:crashed|broke\b|hung|choked|gave up|dropped|stalled|blocked)|\b{_SYSTEM} (?:[\w'-]+ ){{0,4}}?(?:is"
    "|are|was|were|been|seems?|appears?|looks?|'s)(?: to be)?(?: currently| temporarily| still| not| just| both)* ?(?:down|broken|gone|missing"
    rf"|blocked|busy|overloaded|empty|blank|closed|reset|lost|dropped|interrupted|unreliable|dead|not (?:up|working|reachable))\b|(?:{_NOT_I}"
    r"|(?<!ca)(?<!wo)n't|\bnever)(?: (?:be|been|currently|yet|even|at the moment|properly|seem to))* (?:available|reachable|accessible"
    "|respond(?:ing|ed)?|answer(?:ing|ed)?|work(?:ing|ed)?(?! out)|recogni[sz]ed?|acknowledged?|load(?:ing|ed)?|return(?:ing|ed)?|found"
    "|succeed(?:ed)?|(?:go(?:ne|ing)?|come) through|reached|looked up|come back|let me|there|accept(?:ing|ed)? (?:my|our|the|this) (?:requests?"
    r"|calls?|quer(?:y|ies)|input|arguments?)|get (?:through|an? (?:answer|reply|response)))\b(?! to me)|\bproblems? with (?:the|my|our)\b"
    r"|\bgot an? [45]\d\d\b|\b(?:HTTP|status|code|error)(?: status| code)* ?[45]\d\d\b|\b(?:an?|got|with)(?: an?)* [45]\d\d\b(?!\s*\w)"
    rf"|\([45]\d\d\b(?!\) \d)|\b[45]\d\d(?: error| response| status)\b|\b(?:{_SYSTEM}|server|internal|technical|connection|network"
    r"|system) (?:\w+ )?(?:problems?|issues?|fault|outage|reset|lost|trouble)\b|\b(?:cut|broke|breaks|broken) (?:off|short|body|connection"
    r"|json)\b|\bconflicting\b|(?<!\bi )\black(?:s|ed)\b|\bno (?:longer|response|answer|reply)\b|\b(?:stays?|left|remains?|still) (?:open|blank"
    rf"|unknown)\b|\bwithout (?:an? |the )?(?:\w+ )?(?:field|code|value|name|key)\b|\b{_TOOL} (?:is|was) broken\b|\bcould(?:n't"
    r"| not) be (?:\w+ )?\w+ed\b|\bwas(?:n't| not) (?:possible|placed|sent|booked|made|saved|reserved|done|changed)\b|\bran into (?:a|an"
    r"|some)\b|\b(?:Fehler\w*|fehlgeschlagen|nicht (?:erreichbar|verfügbar|gefunden|geantwortet|ermitteln|abrufen|abgerufen)|ausgefallen"
    r"|Zeitüberschreitung|fehlt|leere?s?|erreurs?|échoué\w*|indisponible|injoignable|introuvable|pas (?:répondu|disponible|trouvé|pu)|vide"
    r"|panne|manque|errore|fall[óo]\w*|falla\w*|no (?:respond\w+|disponible|encontr\w+|pude|se pudo|devolvió|está disponible)|vac[íi][oa]"
    r"|caíd[oa])\b"
)
"""Ways of saying that something failed."""
OWN = compile_words(rf"\b(?:{_SYSTEM}|i|we|my|HTTP|error \d\d\d|{_THINGS})\b")
"""Whose failure stops an answer; that of anything else may be one."""
_FOUND = r"(?:found|returned|available|given|provided|listed|recorded|shown|known|registered|scheduled|matched|there)"
_GAVE = (
    r"(?:found|finds?|returned|returns?|gave|gives|got|yield(?:s|ed)|contain(?:s|ed)?|shows?|showed|turned up|brought up|came up with"
    r"|came back with|received)"
)
NOTHING = compile_words(
    rf"\bnothing (?:was |is |has been |could be )?(?:{_FOUND}|came (?:back|up)|in\b|under|match(?:es|ed)|turned up|showed up|relevant|for)"
    rf"|\b{_GAVE} (?:me |us )?(?:nothing|no\b|none|zero|an? empty|empty|blank)|\b(?:no|none)(?: [\w'-]+){{0,6}}? (?:was|were|is|are|has been"
    rf"|have been|could be) {_FOUND}\b|\b(?:no|zero|0|without an?|without any|empty|blank) (?:[\w-]+ )?{_THINGS}\b|\b(?:came|comes|come|came up"
    r"|turned up) (?:back |up )?(?:\w+ )?(?:empty|blank)(?:-handed)?\b|\bempty-handed\b|\bis empty[.,]? ?(?:$|so\b|and\b)"
    r"|(?:(?<!\bi )(?<!\bwe )\b(?:does|do)|\bdid)(?:n't| not) (?:\w+ )?(?:find|return|give|contain|yield|list|match|appear|turn up|bring up"
    r"|come across|spot|exist)\b|\b(?:says?|tells?|reveals?) (?:\w+ )?nothing (?:about|on|of)\b|(?<!\bi )(?<!\bwe )\b(?:did|does|do)(?:n't"
    rf"| not) (?:have|hold|include|show|see) (?:[\w-]+ ){{0,3}}{_THINGS}\b|(?:\bnot|n't) (?:\w+ )?(?:in|on|among|part of) (?:the|our|my|its"
    rf"|their|any)(?: [\w-]+){{0,2}} (?:{_SYSTEM}|{_THINGS}|catalogue|directory|calendar|inbox|folder)\b|\b(?:can't|cannot|can not|couldn't"
    r"|could not|(?:un|not )able to) (?:\w+ )?(?:find|locate|see any)\b|\bno (?:[\w-]+ ){0,6}?(?:match|matches|matched|came up|turned up"
    rf"|exists?)\b|\b(?:{_SYSTEM}|{_THINGS}|calendar|catalogue|directory|folder|inbox|table|archive|log) (?:has|have|had|holds?|lists?"
    r"|contains?|shows?|knows?) no\b|\bno (?:matching|such)\b|\bno [\w-]+ (?:with|by|under|of) (?:that|this) (?:name|title|number|\w+)\b"
    rf"|\b{_THINGS}(?:: (?:0|none)| (?:is|was|are|were) (?:empty|blank))\b|\bno (?:trace|sign|record|mention) of\b"
    r"|\bnone (?:of [^.,;!?]* )?(?:match|matched|matches|exists?|came up|turned up|fits?)\b"
)
"""Ways of saying that nothing was found."""
LACKS = compile_words(
    r"\b(?:i|we|you|that|this|it|request|message|order|details?)(?:'m|'re| am| is| are)? (?:\w+ ){0,2}?(?:missing|lacks?|lacking)\b|\b(?:is|are"
    r"|was|were|seems? to be|appears? to be) (?:still |also |currently )?(?:missing|lacking|left open)\b|(?<!\bi )(?<!\bwe )\b(?:forgot"
    r"|left out|left (?:it|that) (?:out|open|blank)|omitted)\b|\b(?:missing|lacking) (?:information|details?|the|a|an|your)\b"
    rf"|(?:(?<!\bi could ){_NOT_I}|\bnever|(?<!ca)(?<!\bi wo)(?<!\bi would)(?<!\bi could)(?<!\bi do)n't"
    r"|\bwithout(?= (?:\w+ )?\w+ing\b)) (?:\w+ ){0,2}?(?:say(?:ing)?|said|tell(?:ing)?|told|giv(?:en?|ing)|specif\w+|provid\w+|stat(?:ed?|ing)"
    r"|mention\w*|nam(?:ed?|ing)|indicat\w+)\b(?! (?:for|with|exactly|precisely)\b)|\b(?:request|message|order|you)\b[^.!?]{0,30}(?:n't| not"
    r"|never) (?:\w+ ){0,2}(?:contain|include)\b|(?:\b(?:not|never)|n't) (?:\w+ )?know (?:which|what|when|where|who|whose|your)\b"
    r"|\bno (?:\w+ ){1,3}(?:was|were|is|are) (?:given|specified|provided|named|stated|mentioned)\b|\bno (?:\w+ ){1,3}in (?:your|the) (?:request"
    r"|message)\b|\b(?:unclear|not clear|ambiguous|(?:not|n't) (?:know|sure|certain))(?: to me)?,? (?:which|what|where|whom?|whose|when"
    r"|how (?:many|much|long|far))\b|\b(?:(?:un|not )able|can't|cannot|can not|could(?:n't| not))\b[^.!?]*\b(?:without|unless|until)\b"
)
"""Statements of what a request lacks."""
SETTLED = compile_words(r"\b(?:assum\w*|presum\w*|guess(?:ed|ing)|default\w*|(?:went|gone|go|going) (?:ahead )?with|took|chose|picked|used)\b")
"""A value that was missing was made up."""
FILLER = compile_words(
    r"^\W*(?:sure|certainly|absolutely|of course|ok(?:ay)?|great|thanks?|thank you|got it|understood|apolog\w+|i'm sorry|sorry|i apologi[sz]e"
    r"|that's|that sounds|no problem|happy to|hello|hi|i see|alright|i understand|unfortunately)\b|\b(?:please|recommend|suggest|advise|consult"
    "|contact|visit|refer|check|consider|try|instead|i'm here|designed to|sorry|apolog|feel free|let me|my (?:knowledge|capab|training|function"
    r"|tools?)|i'm an? (?:\w+ )?assistant|as an? |capabilities are|you(?:'ll| will|'d| would)? (?:\w+ )?(?:can|may|might|could|should|want|find"
    "|wish|need|use|try|look|have to|must|better)|(?:phone|telephone|hotline|website|web site|app|desk|line) |(?:happy|glad|help|assist)"
    r"|(?:would|will|could|might) (?:\w+ )?(?:be|know|have|tell|help|show|need)\b|only|tried|asked|searched|looked|queried|called)"
)
"""Politeness, advice on where to turn, what was tried, and what would be: none of it answers after declining."""
VALUE = compile_words(
    r"[1-9]|\banswer is (?!not |un)|\bmost (?:people|sources)\b|\b(?:is|are|was|were|has|have|in|on|at|by|of|:) (?:the |an? |probably "
    r"|likely )?(?-i:[A-Z][a-z]+)"
)
SO = compile_words(r"[;:]\s|,? (?:but|so|yet|however|still|nevertheless|that said)\b,?|\s[-\u2013\u2014]+\s|, (?=(?:and|which|i)\b)")
QUOTE = re.compile(r"^\s{0,3}>", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*]*\s+|\n+|;\s")
DONE = compile_words(
    r"\b(?:booked|cancel(?:l)?ed|created|sent|deleted|removed|updated|set|ordered|reserved|paid|transferred|submitted|added|scheduled"
    r"|registered|written|saved|posted|refunded|moved|renamed|closed|opened|placed|subscribed|uploaded|changed|done|complet(?:e|ed)|confirmed"
    r"|success(?:ful(?:ly)?)?|went through|goes through|(?:it|that|this|one|which) (?:\w+ )?worked|made the|been made|on hold for you|(?:is"
    r"|are) on hold|put in|all set|taken care of|gebucht|storniert|erledigt|réservée?|annulée?|reservad[oa]|cancelad[oa])\b"
)
CLAUSE_END = compile_words(r"[,;:()]|\s[-–—]+\s|\b(?:but|although|though|despite|after|because|since|while)\b|\band (?=(?:it|your|the|i)\b)")
CONDITION = compile_words(r"^\W*(?:once|if|when|as soon as|until|unless)\b")
UNDONE = compile_words(
    r"\bsent (?:the|an?|your|my) (?:request|cancellation|query|order|booking|reservation)\b|n't\b|\b(?:not|never|nothing|no|cannot|unable"
    r"|fail(?:ed|s)?|could|would|if|whether|once|until|before|to be|nicht|pas|please|try|want"
    r"|like|will|shall|going to|try(?:ing)?|attempt(?:ed)?)\b|'ll\b"
)
