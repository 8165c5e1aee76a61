"""Tasks: one folder each, which says what the task loads, opens, asks, counts and prints; nothing outside this room knows one by name.

From the lowest layer up:

- `options.py` has the options that several tasks share, `bounds.py` bounds what an episode may cost
- `keys.py` names a model's recording, `shared.py` opens once what several runs use, `open_job.py` is what opening a job gives
- `row_figures.py` computes figures over rows, `page_sections.py` shows an episode on a page
- `judged_by_people.py` is what a person who judges is asked
- `makers.py` is what makes a task's scenarios
- `outcomes.py` counts what episodes came to
- `paper/` shows a paper's rows beside a run's
- `base.py` is what a task is, its job, and the run it reads
- `control_outcomes.py` knows what two controls come to
- `model_task.py` is the base of tasks that open only a model
- `registry.py` finds tasks by name
- `judge_names.py` says which judges a run has
- `acting/` is what tasks whose agent acts share
- `agent_task.py` and `single_step_task.py` are the bases to derive a task from: an agent acts, or a model is asked once
- `reasoning/` lets a model think first, `templates/` writes an item for a model
- `talm/`, `when2call/`, `awareness/` and `refusal/` are the tasks
- `translation/` and `tool_building/` make things for any task: scenarios in another language, and tools from documents
"""

from talm_sim.tasks.acting.gold_calls import EpisodeCalls, MadeCall
from talm_sim.tasks.agent_task import AgentTask
from talm_sim.tasks.base import Exporter, Job, RunView, Task
from talm_sim.tasks.judged_by_people import PersonQuestion, PublishedAgreement, pass_question
from talm_sim.tasks.makers import Maker
from talm_sim.tasks.open_job import Exported, Opened, Recorded
from talm_sim.tasks.options import AgentOptions, AgentTaskOptions, PairedOptions, PersonOptions, PromptOptions, TaskOptions
from talm_sim.tasks.paper.paper_rows import Beside, PaperRow, PaperRows
from talm_sim.tasks.registry import TASKS, find_task, job_of, list_tasks, register_task
from talm_sim.tasks.single_step_task import Request, SingleStepTask

__all__ = [
    "TASKS",
    "AgentOptions",
    "AgentTask",
    "AgentTaskOptions",
    "Beside",
    "EpisodeCalls",
    "Exported",
    "Exporter",
    "Job",
    "MadeCall",
    "Maker",
    "Opened",
    "PairedOptions",
    "PaperRow",
    "PaperRows",
    "PersonOptions",
    "PersonQuestion",
    "PromptOptions",
    "PublishedAgreement",
    "Recorded",
    "Request",
    "RunView",
    "SingleStepTask",
    "Task",
    "TaskOptions",
    "find_task",
    "job_of",
    "list_tasks",
    "pass_question",
    "register_task",
]
