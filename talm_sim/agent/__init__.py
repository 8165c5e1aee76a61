"""The agent: prompts, the LangGraph graph, the human's side of a question, and `run_episode`, which turns a scenario into an `Episode`.

This room knows models, tools and scenarios, but neither files of a run nor a terminal. From the lowest layer up:

- `prompts.py` loads the wording, `shown_tools.py` shows a chat model its tools, `exposure.py` says which faults an agent met
- `faulty_model.py` puts faults into the model's answers
- `finishing.py` ends an episode, `checkpoints.py` saves one that pauses
- `approvals.py` says what a person and the agent read of a call that waits, `decide.py` decides about it by rule
- `humans.py` answers questions without a person at the keyboard, `responders.py` finds who answers by name
- `ask_limits.py` limits the questions, `open_requests.py` holds what nobody has answered yet, `asks.py` numbers and answers it
- `person/` is a person whom a model or a rule plays
- `context.py` is what every graph receives
- `waiting_calls.py` says which calls wait for a person
- `holding.py` keeps a graph running while a tool waits for a person
- `single_step.py` has the graphs with one answer of the model, `graph.py` the graph of an agent that calls tools
- `own/` plays the user's own agent in place of our graph
- `episode.py` turns a scenario into an episode
"""
