"""Helpers that every room may use: reading and writing files safely, typed options, credentials, digests, processes, interrupts.

From the lowest layer up:

- `plain_files.py` reads every file that comes from outside, `json_values.py` reads and compares JSON values
- `typed_options.py` reads options given as `KEY=VALUE`, in TOML or in Python, `toml_files.py` reads TOML files
- `tool_files.py` reads how ToolBench and Fail-TaLMs write tools down
- `credentials.py` recognizes credentials, `digests.py` gives equal values equal digests
- `gate.py`, `budgets.py` and `shard.py` read a gate, a budget and a part of a run as they are written
- `ignored_parts.py` takes out of prompts what differs from run to run
- `kappa.py` computes how far people or programs agree
- `interrupts.py` takes Ctrl-C once, `processes.py` knows which process something belongs to
- `http_body.py` reads the body of an HTTP answer within a limit
- `turn_notes.py` notes the model turn that an episode is at
- `garbage.py` searches for garbage rarely
"""
