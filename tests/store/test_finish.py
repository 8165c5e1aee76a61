"""`--finish`, `--result-limit` and the awareness questions, as a model behind a real server reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim import RunConfig, run
from talm_sim.agent.prompts import load_prompts
from talm_sim.cli.report.blocks import block_of
from talm_sim.errors import PrerequisiteError
from talm_sim.models.control_names import CONTROLS
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Termination
from tests.models.loopback import Answer, Loopback, chat_answer, loopback
from tests.runs.recorded_world import LATITUDE, make_world

REMINDER = load_prompts().reminder
YES = chat_answer("Yes.")


def call(name: str, **arguments: Any) -> Answer:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return chat_answer(None, finish="tool_calls", tool_calls=[{"id": "c1", "type": "function", "function": function}])


LOOK = call("town_latitude", town="oslo")
FINISH = call("Finish", final_answer="Oslo is 59 degrees north.")


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Play one episode against a server that answers by script; return the run and what the server was sent."""
    world = make_world(tmp_path)

    def played(*script: Answer, **options: Any) -> tuple[StoredRun, Loopback]:
        with loopback(*script) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            monkeypatch.setenv("OPENAI_API_KEY", "key-of-nobody")
            how = {"limit": "1", "tools": "replay", "progress": False, "max_retries": 0, **options}
            return run(RunConfig(**{**world, "model": "openai/stand-in", "tool_format": "native"}), **how), server

    yield played


def offered(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def test_finish_is_offered_a_text_is_reminded_and_the_call_answers(play: Any) -> None:
    stored, server = play(YES, YES, chat_answer("Let me look that up."), LOOK, FINISH, finish="tool")
    assert not any("Finish" in str(seen.body) for seen in server.seen[:2]), "it gives nothing that a request needs"
    solving = [seen.body for seen in server.seen[2:]]
    assert [offered(body) for body in solving] == [["town_latitude", "Finish"]] * 3
    assert solving[0]["tools"][1]["function"]["parameters"]["required"] == ["final_answer"]
    assert solving[1]["messages"][-2:] == [{"role": "assistant", "content": "Let me look that up."}, {"role": "user", "content": REMINDER}]
    (episode,) = stored.episodes()
    assert (episode.termination, episode.answer) == (Termination.ANSWERED, "Oslo is 59 degrees north.")
    assert stored.summary()[0].measure("pass_rate").value == 1


def test_without_tools_nobody_is_asked_and_nothing_is_said_of_memory(play: Any, tmp_path: Path) -> None:
    file = tmp_path / "bare.jsonl"
    file.write_text(
        json.dumps({"id": "a.no-tools", "group": "no-tools", "turns": [{"messages": [{"role": "user", "content": "How far north is Oslo?"}]}]})
    )
    stored, server = play(chat_answer("59 degrees. Which Oslo?"), scenarios=file, split="no-tools", human="simulated")
    (seen,) = server.seen
    assert offered(seen.body) == []
    assert not any(word in str(seen.body) for word in ("ask_human", "Finish", "memory", "tool"))
    (episode,) = stored.episodes()
    assert (episode.termination, episode.answer, episode.human) == (Termination.ANSWERED, "59 degrees. Which Oslo?", "none")
    assert stored.summary()[0].measure("interaction").n is None


def test_awareness_questions_show_schemas_and_are_asked_again_by_default(play: Any) -> None:
    stored, server = play(chat_answer("Well, ..."), split="underspecified", human="simulated")
    asked = [seen.body for seen in server.seen if "tools" not in seen.body]
    assert len(asked) == 4, "once, and three times more"
    question = asked[0]["messages"][1]["content"]
    assert json.dumps(LATITUDE.parameters) in question and "only if you absolutely need" in question
    assert {json.dumps(body["messages"]) for body in asked} == {json.dumps(asked[0]["messages"])}
    (episode,) = stored.episodes()
    assert episode.awareness[0].unread == ("Well, ...",) * 3
    assert offered(server.seen[-1].body) == ["town_latitude", "ask_human", "Finish"], "by default"
    assert "ask_human" not in server.seen[-1].body["messages"][0]["content"]


def test_with_text_the_first_turn_without_a_call_ends_the_episode(play: Any) -> None:
    stored, server = play(YES, YES, chat_answer("Let me look that up."), finish="text")
    assert offered(server.seen[2].body) == ["town_latitude"]
    assert [one.answer for one in stored.episodes()] == ["Let me look that up."]


def test_a_result_is_cut_where_the_user_says_and_the_judge_reads_the_same(play: Any) -> None:
    votes = [chat_answer("Pass.")] * 3
    _, server = play(YES, YES, LOOK, chat_answer("59."), *votes, result_limit=8, judge_model="openai/judge", judge="llm", finish="text")
    cut = '{"latitu... [7 characters cut]'
    assert server.seen[3].body["messages"][-1]["content"] == cut
    assert f"It returned: {cut}" in server.seen[4].body["messages"][-1]["content"]


def test_whoever_plays_an_own_agent_cannot_be_offered_finish(play: Any) -> None:
    with pytest.raises(PrerequisiteError, match="finish: your agent ends its episodes itself; leave out finish"):
        play(YES, finish="tool", agent=lambda messages, tools: "12 m")


def test_a_tool_of_that_name_is_refused(tmp_path: Path) -> None:

    def Finish(final_answer: str) -> str:
        """Finish the race."""
        return final_answer

    file = tmp_path / "mine.jsonl"
    line = {"id": "a", "group": "perfect", "turns": [{"messages": [{"role": "user", "content": "Go."}]}], "tools": ["Finish"]}
    file.write_text(json.dumps(line))
    config = RunConfig(model="sim/oracle", scenarios=file, run_dir=tmp_path / "runs", split="all")
    message = r"scenario a: its tool 'Finish' has the name of the one that ends an episode; add finish=.text"
    with pytest.raises(PrerequisiteError, match=message):
        run(config, tools=[Finish], finish="tool", progress=False)
    assert run(config, tools=[Finish], finish="text", progress=False).episodes()


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("human", ["none", "simulated"])
def test_the_rates_of_a_control_do_not_depend_on_what_ends_its_episodes(tmp_path: Path, control: str, human: str) -> None:
    def rates(finish: str) -> list[Any]:
        stored = run(
            model=f"sim/{control}", split="all", limit="2", human=human, tools="replay", run_dir=tmp_path, progress=False, finish=finish
        )
        assert {one.termination for one in stored.episodes()} <= {Termination.ANSWERED, Termination.SKIPPED}
        return [{key: value for key, value in one.record().items() if key != "run"} for one in stored.summary()]

    assert rates("tool") == rates("text")


def test_a_recording_has_the_name_it_had_unless_an_option_is_given() -> None:
    from talm_sim.tasks.keys import recording_key
    from tests.tasks.views import job

    def key(**options: Any) -> str:
        return recording_key(job("talm", **{"model": "openai/m", "human": "none", "finish": "text", **options}))

    assert key(result_limit=8_000) == key()
    assert len({key(), key(finish="tool"), key(result_limit=127_000)}) == 3
    assert key(finish="auto") == key(finish="tool") and key(finish="auto", agent="tests.agent.own.playing:react") == key(
        agent="tests.agent.own.playing:react"
    )


@pytest.mark.parametrize("finish", ["tool", "text"])
def test_calls_that_a_server_left_in_the_text_are_read_said_and_left_with_native(play: Any, finish: str) -> None:
    look = chat_answer('<tool_call>\n{"name": "town_latitude", "arguments": {"town": "oslo"}}\n</tool_call>')
    end = chat_answer("Finish(final_answer='Oslo is 59 degrees north.')") if finish == "tool" else chat_answer("Oslo is 59 degrees north.")
    other = chat_answer('{"name": "nothing_of_ours", "arguments": {}}')
    stored, server = play(YES, YES, look, end, finish=finish, tool_format="auto")
    (episode,) = stored.episodes()
    assert (episode.answer, [event.name for event in episode.tool_events]) == ("Oslo is 59 degrees north.", ["town_latitude"])
    assert [message["role"] for message in server.seen[3].body["messages"]][-2:] == ["assistant", "tool"]
    read = sum(turn.calls_from_text for turn in episode.model_turns)
    assert f"{read} of 2 turns: calls read from text; --tool-format native leaves them" in block_of(stored).notes
    (left,) = play(YES, YES, look, finish=finish, run_id="left")[0].episodes()
    assert not left.tool_events and not any("calls_from_text" in str(turn.model_dump()) for turn in left.model_turns)
    (kept,) = play(YES, YES, other, finish="text", tool_format="auto", run_id="other")[0].episodes()
    assert "nothing_of_ours" in kept.answer
