"""Traces of agents that ran elsewhere: spans or messages in a file, read into a stored run.

From the lowest layer up:

- `attributes.py` knows the names under which frameworks put one and the same thing
- `trace.py` is what is read of a trace
- `blocks.py` is the table of what messages are made of, `framework_messages.py` reads messages by it, `span_messages.py` those in a span
- `read_spans.py` puts spans together to conversations
- `traced_episodes.py` makes an episode of a trace
- `import_traces.py` imports a file as a run
"""
