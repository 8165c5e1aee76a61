"""`talm-sim perturbations list|show`: the built-in ones, and those a user brings along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.tools_env.perturbations import PERTURBATIONS
from tests.cli.wrong import Talm
from tests.offered import bring_along
from tests.tables import labelled

BANNER = '''
from pydantic import Field

from talm_sim.tools_env.perturbations import Perturbation, PerturbationOptions, register_perturbation


@register_perturbation
class Banner(Perturbation):
    """The answer begins with a text."""

    name, summary = "banner", "put a text before the answer"

    class Options(PerturbationOptions):
        text: str = Field(description="What to say.")

    options: Options
'''


_SHARED = "all take p=CHANCE and seed=N, all but those of the model tool=NAME, and those of calls call=N, times=N, after=N"


def _families() -> set[str]:
    return {PERTURBATIONS.get(name).family for name in PERTURBATIONS.names()}


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_list_names_every_one_and_what_it_does(talm: Talm) -> None:
    code, out, err = talm("perturbations", "list")
    assert code == 0
    for name in PERTURBATIONS.names():
        assert f"\n{name} " in out
    assert "timeout           explicit, transient  let the call time out; seconds=10" in out
    assert "null-field        silent, permanent    answer null for fields; field=..." in out
    assert "built in" not in out
    families = [family.upper() for family in ("endpoint", "silent", "drift", "tools", "model") if family in _families()]
    assert [line.split()[0] for line in out.splitlines() if line.split()[0] in families] == families
    assert err == f"{len(PERTURBATIONS.names())} perturbations; {_SHARED}\n"
    records = {record["name"]: record for record in json.loads(talm("perturbations", "list", "--json")[1])}
    assert list(records) == PERTURBATIONS.names()
    assert {record["origin"] for record in records.values()} == {"built in"}
    assert records["http-429"]["options"][0] == {
        "name": "retry_after",
        "default": "2",
        "required": False,
        "values": "a number, 0 or more",
        "help": "Seconds that the caller is asked to wait.",
        "own": True,
    }


def test_show_tells_of_the_options(talm: Talm) -> None:
    code, out, _ = talm("perturbations", "show", "timeout")
    text = " ".join(out.split())
    assert code == 0
    assert text.startswith("timeout: let the call time out (built in) The tool does not answer in time;")
    assert "Family: endpoint, the endpoint fails. Explicit, transient: the agent can see that something is wrong" in text
    assert "seconds 10 Seconds until the call times out. (a number, 0 or more) tool Only this tool. (text) p 1 Probability" in text
    assert max(map(len, out.splitlines())) <= 80
    assert json.loads(talm("perturbations", "show", "timeout", "--json")[1])["options"][0]["name"] == "seconds"


@labelled
def test_show_plays_an_example_with_the_fault_and_without(name: str, words: str, talm: Talm) -> None:
    text = " ".join(talm("perturbations", "show", name)[1].split())
    asked = "get_mountain(name='Mont Blanc', unit='ft', year=2023)"
    clean = '{"name":"Mont Blanc","country":"France","elevation":15768,"unit":"ft"}'
    assert f"Fault What the agent sees without {asked} {clean} with {asked} {words} talm-sim run" in text
    sees = json.loads(talm("perturbations", "show", name, "--json")[1])["sees"]
    assert (sees["result"], sees["result_with_fault"]) == (clean, words.partition(" (after")[0])


@pytest.mark.parametrize("name", PERTURBATIONS.names())
def test_every_example_shows_something(name: str, talm: Talm) -> None:
    record = json.loads(talm("perturbations", "show", name, "--json")[1])
    assert record["injects"] or not record["silent"] or name in {"removed-field", "slow"}, "a silent fault says where its value comes from"
    if record["family"] != "model":
        sees = record["sees"]
        assert sees["applies"]
        assert (sees["result"], 0) != (sees["result_with_fault"], sees["seconds"]) or "tools" in sees


@pytest.mark.parametrize("entry", ["", "banner = Banner"])
def test_ones_own_says_where_it_comes_from(entry: str, talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = () if entry else ("--plugin", "brought_along")
    origin = "package toy" if entry else "--plugin brought_along"
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, BANNER, entry=entry):
        code, out, _ = talm("perturbations", "list", *plugin)
        assert code == 0
        assert f"banner explicit, transient put a text before the answer; text=... ({origin})" in " ".join(out.split())
        text = " ".join(talm("perturbations", "show", "banner", *plugin)[1].split())
        assert text.startswith(f"banner: put a text before the answer ({origin}) The answer begins with a text.")
        assert "text (must be given) What to say. (text)" in text
        assert text.endswith("talm-sim run --live --perturb banner:text=...")
    assert talm("perturbations", "list", "--plugin", "no_such_module")[0] == 2


def test_one_that_fails_in_the_example_shows_its_options(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = BANNER.replace('Field(description="What to say.")', 'Field("", description="What to say.")')
    failing += "\n    async def after(self, call, outcome):\n        raise ValueError('no\\x1b[31m red')\n"
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, failing):
        code, out, _ = talm("perturbations", "show", "banner", "--plugin", "brought_along")
    assert code == 0
    assert "What to say." in out
    assert "The example cannot be played: ValueError: no" in out and "\x1b" not in out


def test_a_package_that_cannot_be_imported_hides_no_other(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, "1 / 0", entry="banner = Banner"):
        code, out, _ = talm("perturbations", "list")
        assert code == 0
        assert "timeout" in out
        assert "'banner' of package toy cannot be loaded" in " ".join(out.split())
        code, _, err = talm("perturbations", "show", "banner")
        assert code == 2
        assert "cannot be loaded: ZeroDivisionError" in err
