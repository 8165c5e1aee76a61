"""Judge what an episode was worth: one judge per file, the metrics over their verdicts, and the intervals.

A judge sees an episode and its scenario, never a running agent, so a stored run can be judged again offline. From the lowest layer up:

- `stats.py` computes intervals, `power.py` how likely a test finds a difference
- `paired.py` tests two runs over the same scenarios, `repeats.py` says what the epochs of one run say together
- `base.py` is the base of judges, `prompts.py` words what their model is shown
- `reference.py`, `behaviour.py` and `person.py` are judges: by required facts, by rules, by people
- `registry.py` finds judges by name
- `llm.py` and `preference.py` are judges that ask a model
- `fault_words.py` reads what an answer says of a fault
- `refused.py` labels what an agent did after a person had refused
- `fault_stakes.py` finds what rests on a fault, `fault_verdicts.py` labels what an agent did with it

Your own judge is a class:

>>> from talm_sim.judges import Judge, Measured, register_judge
>>> @register_judge
... class Short(Judge):
...     name = "short"
...     measure = Measured(name="short", head="Short", about="the answer is shorter than 400 characters")
...
...     async def __call__(self, episode, scenario):
...         return self.verdict(episode, len(episode.answer) < 400)
"""

from talm_sim.judges.base import Judge, JudgeContext
from talm_sim.judges.registry import register_judge
from talm_sim.types import Measured

__all__ = ["Judge", "JudgeContext", "Measured", "register_judge"]
