"""Models: providers behind one small protocol (`base.Model`), opened by name (`registry.open_model`), and the scripted controls.

This room knows neither tools nor graphs. What records traffic is passed in as an HTTP transport.

From the lowest layer up:

- `base.py` is the protocol, `retries.py` says when to try again
- `formats/` writes and reads tool calls as each family of models does
- `parsing.py` reads what a model wrote, `yes_no.py` an answer to a Yes/No question, `answers.py` a server's answer
- `endings.py` turns a server's answer into a turn, by how it ended; `wire_messages.py` turns messages into what is sent
- `constrained.py` has a model write one JSON action per turn
- `servers.py` shares requests among a model's servers, `metering.py` counts what they are sent
- `server_client.py` receives what a server says, `failures.py` says why a request failed
- `request_facts.py` is how a model is asked, `request.py` what a provider is handed to open a model
- `control_names.py` names the controls, `sim.py` plays them
- `registry.py` opens models by name
- `endpoint.py` connects to a model's servers, `sdks.py` sends by the SDKs
- `asked.py` says what an own agent asks of a turn
- `langchain_chat.py`, `anthropic_messages.py`, `openai_chat.py` and `openai_responses.py` speak to a user's own model and in three protocols
- `served_scoring.py` scores texts on a server, `openai_servers.py` opens `openai/...` and `openai-api/...`
- `local/` runs models in this process
"""
