"""Multiple-choice items in the manner of When2Call (section 2.2, appendices A and C), made from scenarios with gold calls.

    scenarios -> source questions (one ask, one call) -> for each: tool use, three items -> options -> checks -> rows, with no, one, many tools

`options` holds what is asked for, `sources` takes queries apart, `writers` and `rules` write, `checks` and `question_checks` judge,
`pipeline` makes one source question's items, `report` counts them. What runs it, and survives interruption, is `talm_sim.scenarios.making`.
"""

from talm_sim.scenarios.multiple_choice.options import GenerateOptions
from talm_sim.scenarios.multiple_choice.pipeline import ItemOutcome, make_items
from talm_sim.scenarios.multiple_choice.rules import RuleWriter
from talm_sim.scenarios.multiple_choice.sources import SourceQuestion, source_questions
from talm_sim.scenarios.multiple_choice.writers import ModelWriter, Writer

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
