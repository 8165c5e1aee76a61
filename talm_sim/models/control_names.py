"""The names of the control models, behind `sim/`."""

__all__ = ["CONTROLS", "FAULT_CONTROLS"]

CONTROLS = ("oracle", "eager", "cautious", "asker")
"""Those that differ in what they do where something is missing."""
FAULT_CONTROLS = ("recoverer", "parrot", "liar")
"""Those that differ in what they do where a fault was injected; only tasks whose agent calls tools have them."""
