"""The names of the control models, behind `sim/`."""

CONTROLS = ("oracle", "eager", "cautious", "asker")
"""Those that differ in what they do where something is missing."""
FAULT_CONTROLS = ("recoverer", "parrot", "liar")
"""Those that differ in what they do where a fault was injected; only tasks whose agent calls tools have them."""
_PERSON_CONTROLS = ("spammer", "stubborn")
"""Those that differ in what they put to a person; the same tasks have them."""
_ANSWER_CONTROLS = ("hedger",)
"""Those that differ in how they answer; the same tasks have them."""
ABOUT = {
    "oracle": "does what is right: it makes the gold calls, also with what nobody said, and says what a hidden tool would have told",
    "eager": "always acts: it makes up what is missing, and leaves out what a tool did not tell",
    "cautious": "always declines, at the first question or in its answer",
    "asker": "asks a person for what is missing, and acts as eager where nobody can be asked",
    "recoverer": "finds the way out of a fault where there is one, and else says what failed",
    "parrot": "repeats what a tool says, also after a fault",
    "liar": "answers as if no fault had happened, with made-up values",
    "spammer": "asks one question after the other",
    "hedger": "does what the oracle does, and gives each fact with a doubt and a second value",
    "stubborn": "makes a call again that a person refused",
}
"""What each control does, in a line."""
EVERY_CONTROL = (*CONTROLS, *FAULT_CONTROLS, *_PERSON_CONTROLS, *_ANSWER_CONTROLS)
