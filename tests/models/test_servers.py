"""Whose turn it is, who is left out, and when."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from talm_sim.models.servers import FIRST_PAUSE_S, LONGEST_PAUSE_S, Servers, ServersChanged, Turn, on_servers_change

URLS = ("http://a:1/v1", "http://b:1/v1/", "http://c:1/v1")


class Clock:
    time = 1000.0

    def __call__(self) -> float:
        return self.time


def made() -> tuple[Servers, Clock, list[ServersChanged]]:
    clock, said = Clock(), list[ServersChanged]()
    on_servers_change.set(said.append)
    return Servers("openai/m", URLS, clock), clock, said


def taken(servers: Servers) -> Turn:
    turn = servers.next_turn()
    assert turn is not None
    return turn


def test_they_are_asked_in_turn() -> None:
    servers, _, said = made()
    assert [taken(servers).server.place for _ in range(7)] == ["a:1", "b:1", "c:1", "a:1", "b:1", "c:1", "a:1"]
    assert [server.base for server in servers.all] == ["http://a:1/v1", "http://b:1/v1", "http://c:1/v1"]
    assert said == []


def test_one_that_failed_is_tried_with_one_request_after_pauses_that_double() -> None:
    servers, clock, said = made()
    servers.leave_out(taken(servers), "gone")
    pauses = []
    for _ in range(6):
        start = clock.time
        while True:
            first, second, third = (taken(servers) for _ in range(3))
            tests = [turn for turn in (first, second, third) if turn.is_test]
            if tests:
                break
            assert {turn.server.place for turn in (first, second, third)} == {"b:1", "c:1"}
            clock.time += 1.0
        assert [turn.server.place for turn in tests] == ["a:1"], "one request, until it is known what becomes of it"
        pauses.append(clock.time - start)
        servers.leave_out(tests[0], "gone still")
        servers.leave_out(tests[0], "gone still")
    assert pauses == [30, 60, 120, 240, 240, 240]
    assert (FIRST_PAUSE_S, LONGEST_PAUSE_S) == (30, 240)
    assert [(one.server, one.reason, one.pause_s, one.in_use, one.total) for one in said] == [
        ("a:1", "gone", 30, 2, 3),
        ("a:1", "gone still", 60, 2, 3),
    ], "that it fails for the same reason is no news"


def test_an_answer_brings_it_back_unless_it_was_asked_for_before() -> None:
    servers, clock, said = made()
    early = taken(servers)
    for _ in URLS[1:]:
        taken(servers)
    servers.leave_out(taken(servers), "HTTP 500: one")
    servers.leave_out(early, "HTTP 500: two")
    servers.note_answer(early)
    assert servers.in_use == 2 and early.server.pause_s == 30
    clock.time += 30
    test = next(turn for turn in (taken(servers) for _ in URLS) if turn.is_test)
    servers.note_answer(test)
    assert [(one.reason, one.in_use) for one in said] == [("HTTP 500: one", 2), ("", 3)]
    servers.leave_out(early, "HTTP 500: an old request")
    assert servers.in_use == 3
    servers.leave_out(next(turn for turn in (taken(servers) for _ in URLS) if turn.server is early.server), "HTTP 500: again")
    assert (said[-1].reason, said[-1].pause_s) == ("HTTP 500: again", 30), "the pauses begin anew"


def test_where_all_are_left_out_any_is_asked() -> None:
    servers, _, said = made()
    for _ in URLS:
        servers.leave_out(taken(servers), "gone")
    assert servers.next_turn() is None and [one.in_use for one in said] == [2, 1, 0]
    turns = [servers.any_turn() for _ in range(4)]
    assert [turn.server.place for turn in turns] == ["a:1", "b:1", "c:1", "a:1"]
    servers.leave_out(turns[0], "gone")
    assert turns[0].server.pause_s == 30, "what fails out of turn makes no pause longer"
    servers.note_answer(turns[1])
    assert (said[-1].server, said[-1].reason, said[-1].in_use) == ("b:1", "", 1)


def test_servers_of_one_host_are_told_apart_without_their_paths() -> None:
    servers = Servers("openai/m", ["http://u:secret-word@h/key-1/v1", "http://h/key-2/v1", "http://h:8000"])
    assert [one.place for one in servers.all] == ["h (address 1)", "h (address 2)", "h:8000"]
    assert servers.path_of("http://h/key-2/v1/chat/completions") == "/chat/completions"
    assert servers.path_of("http://h/key-2/v10/chat") is None
    nested = Servers("openai/m", ["http://h", "http://h/v1"])
    assert nested.path_of("http://h/v1/x") == "/x"


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from("atfrw"), st.integers(0, 5), st.floats(0.0, 100.0)), max_size=60))
def test_nobody_is_lost_whatever_happens(events: list[tuple[str, int, float]]) -> None:
    servers, clock, _ = made()
    open_turns: list[Turn] = []
    for what, which, seconds in events:
        if what == "t" or not open_turns:
            turn = servers.next_turn()
            assert turn is not None or servers.in_use == 0
            open_turns.append(turn or servers.any_turn())
        elif what == "w":
            clock.time += seconds
        else:
            turn = open_turns[which % len(open_turns)]
            if what == "f":
                servers.leave_out(turn, "gone")
            elif what == "a":
                servers.note_answer(turn)
            if what != "f":
                servers.release(open_turns.pop(which % len(open_turns)))
        for server in servers.all:
            assert server.pause_s in (0.0, 30.0, 60.0, 120.0, 240.0)
            assert not server.tested or server.pause_s
    for turn in open_turns:
        servers.release(turn)
    clock.time += LONGEST_PAUSE_S
    assert {taken(servers).server.place for _ in URLS} == {"a:1", "b:1", "c:1"}, "everyone is asked again"
