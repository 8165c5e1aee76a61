"""Parts that tasks share whose agent acts: the person, the controls, gold calls, notes, and the way out of a fault.

From the lowest layer up:

- `gold_calls.py` compares an episode's calls with the gold calls
- `standing_in.py` counts how often a person stood in for a tool
- `person_model.py` opens the model that plays the person, `person_faults.py` counts what that person got wrong
- `agent_notes.py` says what a reader should know of a run's agent and tools
- `acting_task.py` settles what is the same for every such task
- `recovery_search.py` searches for a fact that a fault took away, `agent_controls.py` plays the controls
- `fault_controls.py` and `person_controls.py` play the controls for faults and for people
- `recoveries.py` proves or predicts a way out of a fault
"""
