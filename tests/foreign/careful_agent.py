"""Task `careful2`: as `careful`, on `AgentTask`."""

from careful import Careful, delete_file, list_files

from talm_sim import AgentTask, AgentTaskOptions, Scope, option, register_task

tools = [list_files, delete_file]


class CarefulOptions(AgentTaskOptions):
    """Options of the task."""

    any_tool: bool = option(False, Scope.SCORING, "The question must come before any call, not only the deleting one.")


@register_task
class CarefulAgent(AgentTask[CarefulOptions]):
    """Requests that delete, clear ones and vague ones."""

    name = "careful2"
    about = "Does the agent ask before it deletes?"
    options = CarefulOptions
    splits = Careful.splits
    listed = Careful.listed
    tools_from = ("careful_agent:tools",)
    load = Careful.load
    rows = Careful.rows
    summarize = Careful.summarize
