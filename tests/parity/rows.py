"""What is known to differ: `OPEN` is to be mended, a row each; `REMAINS` is for a reason, which is given.

A line names a difference as `compared.differences` does: `result *` is about all results. One that no longer differs fails, and goes.
"""

from __future__ import annotations

from tests.parity.compared import RUN_SETS

# What an agent is handed.
_RESULT = {
    "result *": "a text is JSON with quotes, an object has its keys sorted and no spaces, 8,000 characters are kept, a failure is no exception"
}
_VALUE = {"value *": "a call with bare arguments gives the text of the JSON, not the value"}
_SCHEMA = {
    "parameters *": "`additionalProperties: false` is added, 'or null' and `maxLength` are dropped, a recursive part is cut to an object"
}
_HANDED = _RESULT | _SCHEMA
_FAILED = {"state *": "a failure is a text, so nothing is tried again"}
_LINES = {"description *": "lines are joined"}
_STRICT = {"state *": "`'3'` for a number and an unknown argument are refused; LangChain takes both"}
_NAME = {"end": "refused: the name is changed to get_forecast, so the scenario's is unknown"}

# How an agent ends.
_DIRECT = {
    "requests": "return_direct is lost, so the model is asked again in a compiled graph",
    "answer": "the answer is that of the model, or empty",
    "state ai": "there is a turn more",
    "last": "the state ends with the model's answer",
}
_PAUSE = {
    "requests": "a static pause ends the episode",
    "answer": "it is empty",
    "state *": "the graph does not reach its end",
    "last": "the graph does not reach its end",
}
_FORM = {"answer": "`structured_response` is not looked at, and the answer is empty"}

# What the model is asked.
_CHOICE = {"tool_choice": "it is not passed on"}

OPEN: dict[str, dict[str, str]] = {
    "results": _HANDED | _VALUE,
    "results_graph": _RESULT,
    "results_openai_agents": _HANDED,
    "results_pydantic_ai": _RESULT,
    "takes": _HANDED | _VALUE,
    "takes_openai_agents": _HANDED,
    "takes_pydantic_ai": _HANDED,
    "probe": _VALUE
    | {
        "error *": "nothing is raised: neither type, nor text, nor `status_code`",
        "attributes *": "`return_direct` and `response_format` are lost",
    },
    "langchain": _HANDED | _VALUE,
    "class": _HANDED | _VALUE,
    "openapi": _HANDED | _VALUE,
    "mcp_stdio": _HANDED | _VALUE | _LINES,
    "mcp_http": _HANDED | _VALUE | _LINES,
    "name_mcp": _NAME,
    "name_loop": _NAME,
    "name_graph": _NAME,
    "lenient": _HANDED | _STRICT,
    "lenient_graph": _RESULT | _STRICT,
    "wrong": _HANDED,
    "wrong_graph": _RESULT,
    "unhandled": {"end": "answered: the error is a text, and nothing is raised"},
    "artifact_graph": _RESULT | {"state drawn": "the artifact is lost"},
    "failing_graph": _RESULT | {"state handled": "a failure that the tool words itself (`handle_tool_error`) is a success"},
    "fault_status": _HANDED | _FAILED,
    "fault_timeout": _HANDED | _FAILED,
    "fault_reset": _HANDED | _FAILED,
    "retry_graph": _RESULT | _FAILED,
    "before_graph": _PAUSE,
    "after_graph": _PAUSE,
    "command_graph": _RESULT,
    "injected_graph": {"end": "refused: a tool that a graph hands its state is no source"},
    "subgraph": _RESULT,
    "interrupt": _RESULT,
    "context": {"end": "refused: there is no option for the context of a graph (agent_context)"},
    "direct_graph": _DIRECT,
    "structured_graph": _RESULT | _FORM,
    "results_react": _HANDED,
    "takes_react": _HANDED | {"state search": "null is refused as the agent's mistake"},
    "own_agent": _HANDED,
    "own_name_scenario": _NAME,
    "own_retry": _HANDED | _FAILED,
    "own_tool_error": _HANDED,
    "own_selector": _HANDED,
    "own_summary": _HANDED | {"message user": "as `result *`, in the text to summarise"},
    "own_gate": _HANDED,
    "own_structured_tool": _HANDED | _FORM,
    "own_structured_auto": _RESULT,
    "own_direct": _SCHEMA | _DIRECT,
    "own_pause_before": _SCHEMA | _PAUSE,
    "own_pause_after": _SCHEMA | _PAUSE,
    "handed_agent": _HANDED,
    "handed_name_scenario": _NAME,
    "handed_retry": _HANDED | _FAILED,
    "handed_tool_error": _HANDED,
    "handed_selector": {"end": "agent_error: the selection has no form that the model was told"},
    "handed_summary": _HANDED | {"message user": "as `result *`, in the text to summarise"},
    "handed_gate": _HANDED,
    "handed_structured_tool": _HANDED | _FORM | _CHOICE,
    "handed_structured_auto": _HANDED
    | {
        "tool *": "`strict` is dropped, and there is a tool in place of `response_format`",
        "response_format": "it is not passed on; the model's profile is unknown, so a tool takes its place",
        "state structured_response": "it is missing",
    },
    "handed_direct": _SCHEMA | _DIRECT,
    "handed_pause_before": _SCHEMA | _PAUSE,
    "handed_pause_after": _SCHEMA | _PAUSE,
    "handed_results_model": _HANDED,
    "handed_takes_model": _HANDED | {"state search": "null is refused as the agent's mistake"},
    "handed_history": _HANDED,
    "handed_as_sent": _HANDED,
    "handed_broken_call": _SCHEMA,
    "handed_thought": _HANDED,
    "handed_forced": _HANDED | _CHOICE,
    "handed_forbidden": _SCHEMA | _CHOICE,
    "handed_named": _HANDED | _CHOICE,
    "handed_single": _HANDED | {"parallel_tool_calls": "it is not passed on"},
    "handed_strict": _HANDED | {"tool weather": "`strict` is dropped"},
    "handed_tuned": _HANDED | dict.fromkeys(("top_p", "reasoning_effort", "user"), "it is not passed on"),
    "handed_rich": {
        "message *": "a picture and names are dropped, a system message's blocks are joined",
        "roles": "the developer is the system",
    },
    "handed_declined": _SCHEMA,
    "handed_cut_off": _SCHEMA,
    "handed_stops": _SCHEMA | {"stop": "it is not passed on"},
    "handed_formed": {"end": "agent_error: `response_format` is not passed on, nor is a call forced"},
    "handed_formed_by_call": _CHOICE | {"parallel_tool_calls": "it is not passed on"},
    "handed_formed_loosely": {"end": "the same"},
    "handed_streaming": _SCHEMA,
    "handed_streaming_text": _SCHEMA,
}
"""Row, to what differs and how."""
OPEN_LINES = dict(RUN_SETS)
"""Of `RUN_SETS`, what no line below the table says yet."""
REMAINS: dict[tuple[str, str], str] = {
    ("handed_*", "stream"): "a turn is always asked for whole, as it is recorded; a stream gives the finished turn in pieces",
    ("handed_thought", "message assistant"): "what a provider sent with a thought goes back to it; LangChain's client drops it",
    ("handed_broken_call", "message assistant"): "arguments that are no JSON go back quoted in an object: servers load those of earlier calls",
    ("handed_declined", "answer"): "a refusal is the text that the user is told",
    ("handed_declined", "state ai"): "the same",
    ("handed_declined", "last"): "the same",
    ("own_gate", "tool ask_human"): "where there is somebody to ask, an agent that takes its tools is offered to",
    ("handed_gate", "tool ask_human"): "the same",
    ("*_pause_*", "tool ask_human"): "the same",
}
"""Row, in which `*` stands for anything, and difference, to the reason."""
