"""The agent: prompts, the LangGraph graph, the human's side of a question, and `run_episode`, which turns a scenario into an `Episode`.

This room knows models, tools and scenarios, but neither files of a run nor a terminal.
"""
