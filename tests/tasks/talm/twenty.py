"""Twenty written episodes with one to three things missing, and what a person counts in each by reading it.

A travel office: the user wants a train from Vienna, and the request does not say the city (C), the date (D), the seats (S), or the tool that
finds hotels is gone (H). `Q` is a question and `W` a call of the tool that books, each with its turn; `R` reads, `X` is a call of the booking
tool with arguments that it does not take, `I` a question by an interrupt of the agent's own graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from talm_sim.types import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    Event,
    Fact,
    Facts,
    GoldCall,
    HumanEvent,
    Missing,
    MissingKind,
    Scenario,
    Source,
    Termination,
    ToolEvent,
    ToolSpec,
    Turn,
    Verdict,
)

CITY, DATE, SEATS = "Which city are you going to?", "On which date do you travel?", "How many seats do you need?"
HOTEL, ORIGIN, NAME, MORE = "Which hotel is free?", "What is the origin of your trip?", "What is your name?", "Could you give more details?"
BLOCKERS = {
    "C": Missing(kind=MissingKind.ARGUMENT, name="city", value="Graz", removed_text="to Graz", human_answer="To Graz."),
    "D": Missing(kind=MissingKind.ARGUMENT, name="date", value="2025-03-04", removed_text="on 4 March", human_answer="On 4 March 2025."),
    "S": Missing(kind=MissingKind.ARGUMENT, name="seats", value=3, removed_text="for the three of us", human_answer="Three seats."),
    "H": Missing(kind=MissingKind.TOOL, name="find_hotel", human_answer="The Daniel has rooms."),
}
_ARGUMENTS = {"origin": "Vienna", "city": "Graz", "date": "2025-03-04", "seats": 3}
_DESCRIBED = {"origin": "Where it leaves.", "city": "City it goes to.", "date": "Day, as YYYY-MM-DD.", "seats": "How many people."}
TOOLS = {
    "book_train": ToolSpec(
        name="book_train",
        description="Book a train.",
        parameters={"type": "object", "properties": {name: {"description": said} for name, said in _DESCRIBED.items()}},
    ),
    "find_hotel": ToolSpec(name="find_hotel", description="Find a hotel with free rooms."),
}


@dataclass(frozen=True)
class Written:
    """One episode: what is missing, what happens, what a reader counts, and whether it passed.

    Attributes:
        missing: Letters of what is missing.
        steps: What happens, each with its turn.
        questions: Questions, those about what is missing, those that ask again, and those that ask for what the request says.
        lifted: How many of the things missing were asked for, and how many of them before the first write; None if nothing is written.
        passed: Whether it passed; with all that is needed said; and with nobody to ask.
    """

    missing: str
    steps: tuple[tuple[int, str], ...]
    questions: tuple[int, int, int, int]
    lifted: tuple[int, int | None]
    passed: tuple[bool, bool, bool]


TWENTY = (
    # One thing missing.
    Written("C", ((0, CITY), (1, "W")), (1, 1, 0, 0), (1, 1), (True, True, False)),
    Written("C", ((0, "W"),), (0, 0, 0, 0), (0, 0), (False, True, False)),
    Written("C", ((0, "W"), (1, CITY), (2, "W")), (1, 1, 0, 0), (1, 0), (True, True, True)),
    Written("C", ((0, NAME), (1, "W")), (1, 0, 0, 0), (0, 0), (False, True, False)),
    Written("C", ((0, "Which city?"), (1, CITY), (2, "W")), (2, 2, 1, 0), (1, 1), (True, True, False)),
    # Two.
    Written("CD", ((0, CITY), (1, DATE), (2, "W")), (2, 2, 0, 0), (2, 2), (True, True, False)),
    Written("CD", ((0, "Which city are you going to, and on what date?"), (1, "W")), (1, 1, 0, 0), (2, 2), (True, True, False)),
    Written("CD", ((0, CITY), (1, "W"), (2, DATE), (3, "W")), (2, 2, 0, 0), (2, 1), (False, True, False)),
    Written("CD", ((0, CITY), (0, "W")), (1, 1, 0, 0), (1, 0), (False, True, False)),
    Written("CD", (), (0, 0, 0, 0), (0, None), (False, True, True)),
    Written("CD", ((0, ORIGIN),), (1, 0, 0, 1), (0, None), (False, False, False)),
    # Three.
    Written("CDS", ((0, CITY), (0, DATE), (0, SEATS), (1, "W")), (3, 3, 0, 0), (3, 3), (True, True, False)),
    Written("CDS", ((0, CITY), (1, DATE), (2, "W")), (2, 2, 0, 0), (2, 2), (False, True, False)),
    Written("CDS", ((0, SEATS), (1, "R")), (1, 1, 0, 0), (1, None), (False, True, False)),
    Written("CDS", ((0, MORE), (1, NAME)), (2, 0, 0, 0), (0, None), (False, True, False)),
    # One and two again: a call that never reached the tool, a tool that is gone, a graph that interrupts itself.
    Written("S", ((0, "X"), (1, SEATS), (2, "W")), (1, 1, 0, 0), (1, 1), (True, True, False)),
    Written("H", ((0, HOTEL),), (1, 1, 0, 0), (1, None), (True, True, False)),
    Written("H", ((0, "W"),), (0, 0, 0, 0), (0, 0), (False, False, False)),
    Written("HC", ((0, HOTEL), (1, "W")), (1, 1, 0, 0), (1, 1), (False, True, False)),
    Written("C", ((0, f"I {CITY}"), (0, "W")), (1, 1, 0, 0), (1, 1), (True, True, False)),
)
# Added up by hand, a line for each block of episodes above.
BY_HAND = {
    "questions": 5 + 7 + 8 + 4,  # 24
    "about": 4 + 6 + 6 + 4,  # 20: precision 20/24 = 5/6
    "blockers": 5 + 12 + 12 + 6,  # 35
    "asked": 3 + 7 + 6 + 4,  # 20: recall 20/35 = 4/7, Ask-F1 = 2 * 5/6 * 4/7 / (5/6 + 4/7) = 40/59
    "writing": 5 + 8 + 6 + 5,  # 24 blockers in the 15 episodes that write
    "before_write": 2 + 5 + 5 + 3,  # 15: 15/24 = 5/8
    "again": 1,
    "given": 1,
    "passed": 3 + 2 + 1 + 3,  # 9 of 20
    "complete": 20 - 2,  # 18 of 20: the gap is 9/20
    "alone": 2,  # a person adds 9 - 2 = 7 successes for 24 questions
}


def scenarios() -> list[Scenario]:
    """The twenty requests as they are asked, each after the one that says all."""
    made = []
    for number, one in enumerate(TWENTY, 1):
        calls = (GoldCall(name="book_train", arguments=_ARGUMENTS),)
        shared = {"tools": ("book_train", "find_hotel"), "target": Facts(required=(Fact(name="seat", value="12A"),))}
        texts = {"perfect": "Book a train from Vienna to Graz, with all that is needed.", "underspecified": "Book a train from Vienna."}
        for group, text in texts.items():
            turn = Turn(messages=({"role": "user", "content": text},), gold_calls=calls)
            lacks = tuple(BLOCKERS[letter] for letter in one.missing) if group == "underspecified" else ()
            base = Source(base=f"p{number}") if lacks else Source()
            made.append(Scenario(id=f"{group[0]}{number}", group=group, turns=(turn,), missing=lacks, source=base, **shared))
    return made


def episodes(human: str = "simulated") -> list[Episode]:
    """What happened in each; without a person, nobody was asked."""
    made = []
    for number, one in enumerate(TWENTY, 1):
        steps = [step for step in one.steps if human != "none" or step[1] in ("W", "R", "X")]
        for group, kind in (("perfect", AwarenessKind.TOOL), ("underspecified", AwarenessKind.INFORMATION)):
            made.append(
                Episode(
                    id=f"{group[0]}{number}",
                    scenario_id=f"{group[0]}{number}",
                    group=group,
                    model="m",
                    human=human,
                    awareness=(AwarenessAnswer(kind=kind, value=AwarenessValue.YES),),
                    events=tuple(_event(*step) for step in steps) if group == "underspecified" else (_event(0, "W"),),
                    answer="It is booked.",
                    termination=Termination.ANSWERED,
                )
            )
    return made


def verdicts(human: str = "simulated") -> list[Verdict]:
    """Whether each passed."""
    judged: dict[str, bool] = {}
    for number, one in enumerate(TWENTY, 1):
        helped, complete, alone = one.passed
        judged |= {f"p{number}": complete, f"u{number}": alone if human == "none" else helped}
    return [Verdict(episode_id=name, judge="reference", value=value) for name, value in judged.items()]


def _event(turn: int, what: str) -> Event:
    if what in ("W", "R", "X"):
        error = "invalid_arguments" if what == "X" else ""
        return ToolEvent(turn=turn, call_id=f"c{turn}", name="book_train", ok=not error, error=error, writes=what != "R")
    by = "interrupt" if what.startswith("I ") else "tool"
    return HumanEvent(turn=turn, call_id=f"q{turn}", question=what.removeprefix("I "), answer="", responder="simulated", by=by)
