"""The user's own agent in place of our graph: a compiled LangGraph graph, a function, or a function that builds one of them.

From the lowest layer up:

- `agents.py` finds the agent by name
- `contracts.py` reads how graphs elsewhere ask a person about a call
- `agent_rules.py` says what holds for all its episodes
- `own_texts.py` cleans what an own agent writes
- `own_session.py` records and limits one episode of it
- `handed_tools.py` hands it our tools, and `handed_model.py` the model
- `talk.py` reads what it returns, and answers what it asks
- `sessions.py` plays it in stretches, each until the end or a question
"""
