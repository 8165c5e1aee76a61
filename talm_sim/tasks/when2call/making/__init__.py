"""Make multiple-choice items in the manner of When2Call (section 2.2, appendices A and C), from scenarios with gold calls.

    scenarios -> source questions (one ask, one call) -> for each: tool use, three items -> options -> checks -> rows, with no, one, many tools

What runs it, and survives interruption, is `talm_sim.scenarios.making`. From the lowest layer up:

- `splitting.py` takes a query with two asks apart, `sources.py` makes source questions
- `other_rows.py` reads rows of BFCL and APIGen as source questions
- `items.py` is an item, and the rows that it is written as
- `faulty_wording.py` finds wording that gives a fault away
- `item_checks.py` checks answers, `question_checks.py` questions
- `writers.py` is who writes, and what they are asked; `rules.py` writes without a model
- `pipeline.py` makes one source question's items
- `review.py` is what a person decides on
"""

from talm_sim.tasks.when2call.making.pipeline import ItemOutcome, make_items
from talm_sim.tasks.when2call.making.rules import RuleWriter
from talm_sim.tasks.when2call.making.sources import SourceQuestion, source_questions
from talm_sim.tasks.when2call.making.writers import GenerateOptions, ModelWriter, Writer

__all__ = ["GenerateOptions", "ItemOutcome", "ModelWriter", "RuleWriter", "SourceQuestion", "Writer", "make_items", "source_questions"]
