"""Multiple-choice items in the manner of When2Call (section 2.2, appendices A and C), made from scenarios with gold calls.

    scenarios -> source questions (one ask, one call) -> for each: tool use, three items -> options -> checks -> rows, with no, one, many tools

`sources` takes queries apart, `writers` (which also holds what is asked for) and `rules` write, `checks` and `question_checks` judge,
`pipeline` makes one source question's items. What runs it, and survives interruption, is `talm_sim.scenarios.making`.
"""

from talm_sim.tasks.when2call.making.pipeline import ItemOutcome, make_items
from talm_sim.tasks.when2call.making.rules import RuleWriter
from talm_sim.tasks.when2call.making.sources import SourceQuestion, source_questions
from talm_sim.tasks.when2call.making.writers import GenerateOptions, ModelWriter, Writer

__all__ = [
    "GenerateOptions",
    "ItemOutcome",
    "ModelWriter",
    "RuleWriter",
    "SourceQuestion",
    "Writer",
    "make_items",
    "source_questions",
]
