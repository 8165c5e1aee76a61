"""The simulated person whom an agent asks, played by a model or a rule: what they know, how they speak, and what they get wrong.

From the lowest layer up:

- `knowledge.py` says what they know of a scenario
- `giving.py` tells whether a text gives a thing they know
- `faults.py` finds what they got wrong
- `model_person.py` has a model play them
- `read_person.py` reads what they said in an episode
"""
