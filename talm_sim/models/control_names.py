"""The names of the control models, behind `sim/`."""

CONTROLS = ("oracle", "eager", "cautious", "asker")
"""Those that differ in what they do where something is missing."""
FAULT_CONTROLS = ("recoverer", "parrot", "liar")
"""Those that differ in what they do where a fault was injected; only tasks whose agent calls tools have them."""
_PERSON_CONTROLS = ("spammer", "stubborn")
"""Those that differ in what they put to a person; the same tasks have them."""
EVERY_CONTROL = (*CONTROLS, *FAULT_CONTROLS, *_PERSON_CONTROLS)
