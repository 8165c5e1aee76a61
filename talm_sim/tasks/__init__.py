"""Tasks: one folder each, which says what the task loads, opens, asks, counts and prints; nothing outside this room knows one by name."""

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
