"""Any message arrives as it was sent, also several in one read; what cannot be written is refused where it is sent."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from talm_sim.agent.asks import PendingQuestion
from talm_sim.agent.humans import HumanReply
from talm_sim.errors import PrerequisiteError, RefusedError, ToolsGoneError
from talm_sim.models.metering import Count
from talm_sim.runs.events import RequestRetried, ToolsRestarted
from talm_sim.runs.workers import messages
from talm_sim.runs.workers.messages import FROM_WORKER, LENGTH, TO_WORKER, frame
from talm_sim.types import Episode, Form, Termination, ToolEvent, Usage, Verdict

text = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(["\0", "\u2028\x1b[2J", "é\ufeff", "😀", '"\\'])
number = st.integers(0, 2**53)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
json_object = st.dictionaries(text, json_value, max_size=3)
usage = st.builds(Usage, input_tokens=number, output_tokens=number)
tool_event = st.builds(
    ToolEvent, turn=number, call_id=text, name=text, arguments=json_object, result=text, ok=st.booleans(), elapsed_ms=st.floats(0, 1e9)
)
episode = st.builds(
    Episode,
    id=text,
    scenario_id=text,
    group=text,
    epoch=number,
    attempt=number,
    model=text,
    termination=st.sampled_from(Termination),
    events=st.lists(tool_event, max_size=2).map(tuple),
    answer=text,
    error=text,
    usage=usage,
    details=json_object,
    elapsed_s=st.floats(0, 1e9),
)
reply = st.builds(HumanReply, answer=text, responder=text, declined=st.sampled_from(["", "idk", "skip"]), asked_at=st.floats(0, 1e10))
verdict = st.builds(Verdict, episode_id=text, judge=text, judge_config_digest=text, value=st.none() | st.booleans(), explanation=text)
form = st.builds(Form, message=text, fields=json_object, source=text)
question = st.builds(
    PendingQuestion,
    interrupt_id=text,
    ask=number,
    question=text,
    request=st.none() | form,
)
state = json_object.map(json.dumps)
to_worker = st.one_of(
    st.builds(
        messages.Open,
        config=text,
        created=text,
        path=text,
        modules=st.tuples(text),
        import_path=st.tuples(text),
        python_path=st.none() | text,
        log_level=number,
    ),
    st.builds(
        messages.Play,
        number=number,
        scenario=text,
        epoch=number,
        attempt=number,
        resume=st.none() | st.dictionaries(text, reply, max_size=2),
        state=st.none() | state,
    ),
    st.builds(messages.ServiceAt, number=number, address=text, died=text, error=text),
)
from_worker = st.one_of(
    st.builds(messages.Ready),
    st.builds(messages.Finished, number=number, episode=episode, verdicts=st.lists(verdict, max_size=2).map(tuple)),
    st.builds(
        messages.Paused,
        number=number,
        questions=st.lists(question, max_size=2).map(tuple),
        model_turns=st.just(()),
        events=st.lists(tool_event, max_size=2).map(tuple),
        state=state,
        forms=st.booleans(),
        held=st.booleans(),
    ),
    st.builds(messages.Failed, number=number, kind=text, text=text, starts_again=st.booleans()),
    st.builds(messages.Withdrawn, number=number, forms=st.tuples(text, text)),
    st.builds(messages.Spent, counts=st.lists(st.tuples(text, text, st.builds(Count, number, usage, number)), max_size=2).map(tuple)),
    st.builds(messages.Told, event=st.builds(RequestRetried, text, text, st.floats(0, 1e6), number) | st.builds(ToolsRestarted, text)),
    st.builds(messages.Logged, level=number, logger=text, text=text),
    st.builds(messages.AskService, number=number, address=text),
)


def read(kind: Any, stream: io.BytesIO) -> Any:
    (size,) = LENGTH.unpack(stream.read(LENGTH.size))
    return kind.validate_json(stream.read(size))


def check(kind: Any, sent: list[BaseModel]) -> None:
    stream = io.BytesIO(b"".join(map(frame, sent)))
    received = [read(kind, stream) for _ in sent]
    assert received == sent and not stream.read()
    assert [type(one) for one in received] == [type(one) for one in sent]


@settings(max_examples=60)
@given(st.lists(to_worker, min_size=1, max_size=3))
def test_what_a_run_sends_arrives(sent: list[BaseModel]) -> None:
    check(TO_WORKER, sent)


@settings(max_examples=60)
@given(st.lists(from_worker, min_size=1, max_size=3))
def test_what_a_worker_sends_arrives(sent: list[BaseModel]) -> None:
    check(FROM_WORKER, sent)


def test_half_a_character_is_refused_as_the_store_refuses_it() -> None:
    broken = Episode(id="e", scenario_id="s", group="perfect", epoch=1, attempt=1, model="m", termination=Termination.ANSWERED, answer="\ud800")
    with pytest.raises(PydanticSerializationError):
        broken.model_dump_json()
    with pytest.raises(PydanticSerializationError):
        frame(messages.Finished(number=1, episode=broken, verdicts=()))


@pytest.mark.parametrize(
    ("kind", "raised"),
    [("ToolsGoneError", ToolsGoneError), ("RefusedError", RefusedError), ("NotAnAgentError", PrerequisiteError), ("", messages.WorkerError)],
)
def test_an_error_keeps_its_kind(kind: str, raised: type[Exception]) -> None:
    err = messages.Failed(number=1, kind=kind, text="why").error()
    assert type(err) is raised and str(err) == "why"
