"""Extension points: built in lazily, registered, offered by an installed package; what is broken is one line."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from talm_sim.agent.own.agents import load_agent
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.plugins import Registry, load_plugins
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.python import open_python
from tests.offered import bring_along

BUILT_IN = {"sqrt": "math:sqrt", "here": len, "gone": "no_such_module:thing"}


@pytest.fixture
def things() -> Registry[Any]:
    """A registry of its own; `brought_along` reaches it by its attribute `REGISTRY`."""
    registry: Registry[Any] = Registry("thing", BUILT_IN)
    Registry.REGISTRY = registry  # type: ignore[attr-defined]
    return registry


MODULE = """
from talm_sim.foreign.plugins import Registry

def thing(): return "mine"

Registry.REGISTRY.register("mine", thing)
"""


def test_what_is_built_in_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys\nfrom talm_sim.foreign.plugins import Registry\n"
        "things = Registry('thing', {'a': 'colorsys:rgb_to_hsv'})\n"
        "assert things.names() == ['a'] and 'a' in things and things.get_loaded('a') is None and things.origin('a') == ''\n"
        "assert 'colorsys' not in sys.modules\n"
        "assert things.get('a') is __import__('colorsys').rgb_to_hsv and 'colorsys' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_thing_may_stand_in_the_table_itself(things: Registry[Any]) -> None:
    assert things.group == "talm_sim.things"
    assert things.get("here") is things.get_loaded("here") is len
    assert things.get("sqrt")(4) == 2


def test_an_unknown_name_is_met_with_a_hint(things: Registry[Any]) -> None:
    assert "sqrd" not in things
    with pytest.raises(PrerequisiteError, match=r"^unknown thing 'sqrd'\. Did you mean 'sqrt'\?$"):
        things.get("sqrd")


def test_what_is_registered_stands_after_the_built_in_and_may_take_its_place(things: Registry[Any]) -> None:
    things.register("zeta", 1, module="a_module.b")
    things.register("alpha", test_an_unknown_name_is_met_with_a_hint)
    assert things.names() == [*BUILT_IN, "alpha", "zeta"]
    assert (things.origin("zeta"), things.origin("alpha")) == ("--plugin a_module.b", f"--plugin {__name__}")
    things.register("sqrt", round, module="mine")
    assert things.get("sqrt") is round and things.names() == [*BUILT_IN, "alpha", "zeta"]
    assert things.origin("sqrt") == "--plugin mine"
    things.register("ours", len, module="talm_sim.somewhere")
    assert things.origin("ours") == ""


@pytest.mark.parametrize("entry", ["", "mine = thing", "other = thing", "mine = MODULE"])
def test_what_is_brought_along_is_loaded_when_it_is_asked_for(
    entry: str, things: Registry[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, attribute = entry.partition(" = ")
    text = MODULE + "\nMODULE = 'the module, whose decorators do the rest'\n"
    with bring_along(monkeypatch, tmp_path, things, text, entry=entry) as load:
        if not entry:
            load()
        name = name or "mine"
        assert things.names() == [*BUILT_IN, name] and name in things
        assert ("brought_along" in sys.modules) is not bool(entry)
        assert things.origin(name) == ("package toy" if entry else "--plugin brought_along"), "known before it is loaded"
        if entry:
            assert things.get_loaded(name) is None
        assert things.get(name)() == "mine" if attribute != "MODULE" else things.get(name)
        assert things.get(name) is things.get(name) is things.get_loaded(name)
        assert things.get(name)() == "mine", "what the decorator registered counts, not what the entry point names"
        assert things.origin(name) == ("package toy" if entry else "--plugin brought_along"), "and after it"
    assert things.names() == [*BUILT_IN]


def test_a_built_in_name_is_not_a_packages(things: Registry[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, things, "1 / 0", entry="here = thing"):
        assert (things.names(), things.get("here"), things.origin("here")) == ([*BUILT_IN], len, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import not_installed_here", "ModuleNotFoundError: No module named 'not_installed_here'"),
        ("other = 1", r"AttributeError: module 'brought_along' has no attribute 'thing'"),
        ("def (", r"SyntaxError: invalid syntax \(brought_along\.py, line 1\)"),
        ("raise ValueError('two\\n  lines')", "ValueError: two lines"),
        ("raise KeyError", "KeyError"),
    ],
)
def test_a_broken_package_or_plugin_is_one_line(
    text: str, reason: str, things: Registry[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason += r"( \(brought_along\.py, line 1\))?\."
    with bring_along(monkeypatch, tmp_path, things, text, entry="mine = thing") as load:
        assert things.names() == [*BUILT_IN, "mine"], "a broken one is listed all the same"
        for _ in range(2):
            with pytest.raises(PrerequisiteError, match=rf"^thing 'mine' of package toy cannot be loaded: {reason}$"):
                things.get("mine")
        if "AttributeError" not in reason:
            with pytest.raises(PrerequisiteError, match=rf"^--plugin brought_along: cannot be imported: {reason}$"):
                load()


def test_a_plugin_is_looked_for_in_the_working_directory_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "colorsys.py").write_text("WHERE = 'here'\n")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    load_plugins(["", "colorsys"])
    load_plugins(["colorsys"])
    assert sys.modules["colorsys"].WHERE == "here"
    assert sys.path.count("") == 1
    monkeypatch.delitem(sys.modules, "colorsys")


@pytest.mark.parametrize("name", ["not_there", "./not_there", "a b", "."])
def test_a_plugin_that_is_not_there_is_one_line(name: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        load_plugins([name])
    assert str(caught.value).startswith(f"--plugin {name}: cannot be imported: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise BaseException('plain \\x1b[31m \\ud800')", r"cannot be imported: BaseException: plain \x1b[31m \ud800."),
        ("raise SystemExit('bye \\x1b]0;t\\x07')", r"cannot be imported: SystemExit: bye \x1b]0;t\x07."),
        ("raise BaseExceptionGroup('g', [KeyboardInterrupt()])", "cannot be imported: BaseExceptionGroup: g (1 sub-exception)."),
        ("class Mute(Exception):\n    def __str__(self): return self.missing\nraise Mute('x')", "cannot be imported: Mute."),
        ("raise ModuleNotFoundError(name=5)", "cannot be imported: ModuleNotFoundError."),
        (
            "def __getattr__(name):\n    if name == 'thing': raise RuntimeError('\\x1b[31m')",
            r"cannot be read from odd_one: RuntimeError: \x1b[31m.",
        ),
        ("def __getattr__(name):\n    if name == 'thing': raise BaseException('x')", "cannot be read from odd_one: BaseException: x."),
        (
            "import sys\nclass M:\n    def __getattr__(self, name): raise ZeroDivisionError(name)\nsys.modules[__name__] = M()",
            "cannot be read from odd_one: ZeroDivisionError: thing.",
        ),
        (
            "class T:\n    def __getattribute__(self, name): raise ValueError('\\x1b[31m')\nthing = T()",
            r"cannot be inspected: ValueError: \x1b[31m.",
        ),
    ],
)
def test_a_module_that_fails_oddly_is_one_line_in_which_nothing_acts(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_one.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_one", raising=False)
    for load in (load_agent, _as_tools):
        with pytest.raises(PrerequisiteError) as caught:
            load("odd_one:thing")
        sys.modules.pop("odd_one", None)
        assert said.rstrip(".") in str(caught.value) and all(one.isprintable() for one in str(caught.value))


def _as_tools(name: str) -> None:
    asyncio.run(open_python(SourceRequest("x", name)))


def test_a_module_does_not_move_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "goes_away.py").write_text("import os\nos.chdir('/')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    load_plugins(["goes_away"])
    assert Path.cwd() == tmp_path
    sys.modules.pop("goes_away")
