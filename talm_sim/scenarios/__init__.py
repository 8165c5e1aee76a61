"""Read, show, check and count scenarios. Their types are in `talm_sim.types`, the packaged ones with their task.

From the lowest layer up:

- `jsonl.py` reads scenario files as people write them, `hub.py` finds files on the Hugging Face hub
- `problems.py` is what can be wrong with a scenario, `turns.py` checks whether its turns can be played
- `tool_names.py` matches its names of tools with those that they have in a run
- `dialogue.py` writes its conversation, as text or as chat messages
- `invention.py` invents a wrong value for an argument that nobody gave
- `item_tools.py` reads tools that come with items as JSON text
- `load.py` reads and selects scenarios, `schema.py` is the JSON Schema of a line
- `stand_ins.py` finds which tool a question asks a person to replace
- `statistics.py` counts what sets of scenarios hold
- `making/` makes scenarios, whatever they are for
"""

__all__: list[str] = []
