"""Multiple-choice items in the manner of When2Call (section 2.2, appendices A and C), made from scenarios with gold calls.

    scenarios -> source questions (one ask, one call) -> for each: tool use, three items -> options -> checks -> rows, with no, one, many tools

`options` holds what is asked for, `sources` takes queries apart, `writers` and `rules` write, `checks` and `question_checks` judge,
`pipeline` makes one source question's items, `generation` makes all of them and survives interruption, `review` keeps what a person said of
them.
"""

from talm_sim.scenarios.generate.generation import ITEMS, REJECTED, REPORT, generate
from talm_sim.scenarios.generate.options import RULES, GenerateOptions, Settings
from talm_sim.scenarios.generate.prompts import load_writer_prompts
from talm_sim.scenarios.generate.rules import RuleWriter
from talm_sim.scenarios.generate.sources import Dropped, SourceQuestion, source_questions
from talm_sim.scenarios.generate.writers import ModelWriter, Writer, Written

__all__ = [
    "ITEMS",
    "REJECTED",
    "REPORT",
    "RULES",
    "Dropped",
    "GenerateOptions",
    "ModelWriter",
    "RuleWriter",
    "Settings",
    "SourceQuestion",
    "Writer",
    "Written",
    "generate",
    "load_writer_prompts",
    "source_questions",
]
