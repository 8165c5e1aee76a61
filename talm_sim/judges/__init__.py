"""What an episode was worth: one judge per file, the metrics over their verdicts, and the intervals.

A judge sees an episode and its scenario, never a running agent, so a stored run can be judged again offline. Your own judge is a class:

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
