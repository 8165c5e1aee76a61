"""Who acts: the prompts, the LangGraph graph, the human's side of a question, and `run_episode`, which turns one scenario into one `Episode`.

Knows models, tools and scenarios; knows neither files of a run nor a terminal.
"""
