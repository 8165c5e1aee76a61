from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.registry import PROVIDERS, cannot_score, in_process, list_providers, open_model
from tests.offered import bring_along
from tests.tables import labelled


@labelled
def test_an_unknown_name_gets_a_hint(name: str, said: str) -> None:
    with pytest.raises(PrerequisiteError) as failure:
        open_model(name)
    assert said in str(failure.value)


@pytest.mark.parametrize("name", ["sim/oracle", "anthropic/m"])
def test_the_constrained_format_needs_a_decoder_that_takes_a_schema(name: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"works with openai, openai-api, hf.* only"):
        open_model(name, constrained=True, replay=True)


PLUGIN = """
from talm_sim.models.registry import register_provider

@register_provider("plugged", form="plugged/NAME", about="Fails.", needs=("PLUG_KEY",), constrains=True)
def open_it(request):
    raise LookupError(request.model, request.constrained)
"""


@pytest.mark.parametrize("entry", ["", "plugged = open_it", "socket = open_it"])
def test_a_provider_brought_along_is_loaded_when_it_is_opened(entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = entry.partition(" = ")[0] or "plugged"
    with bring_along(monkeypatch, tmp_path, PROVIDERS, PLUGIN, entry=entry) as load:
        if not entry:
            load()
        (status,) = [one for one in list_providers({}) if one.name == name]
        assert ("brought_along" in sys.modules) is not bool(entry)
        assert (status.form, status.about) == (f"{name}/MODEL", "From package toy.") if entry else ("plugged/NAME", "Fails.")
        assert not in_process(f"{name}/model-x")
        with pytest.raises(LookupError, match="model-x"):
            open_model(f"{name}/model-x")
        assert PROVIDERS.origin(name) == ("package toy" if entry else "--plugin brought_along")
        if name == "plugged":  # as its decorator declares it, now that it is loaded
            with pytest.raises(LookupError, match="True"):
                open_model("plugged/model-x", constrained=True)
            (status,) = [one for one in list_providers({}) if one.name == name]
            assert (status.form, status.missing) == ("plugged/NAME", ("PLUG_KEY",))
    assert name not in PROVIDERS


@pytest.mark.parametrize("entry", ["bare = open_it", "socket = open_it"])
def test_a_provider_that_a_package_offers_as_a_function_is_opened_again(entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point names a plain function, or a decorated one under another name; agent and judge may both open it."""
    text = "def open_it(request):\n    raise LookupError(request.model)\n" if entry.startswith("bare") else PLUGIN
    name = entry.partition(" = ")[0]
    with bring_along(monkeypatch, tmp_path, PROVIDERS, text, entry=entry):
        for _ in range(2):
            with pytest.raises(LookupError, match="model-x"):
                open_model(f"{name}/model-x")
            (status,) = [one for one in list_providers({}) if one.name == name]
            assert (status.form, status.about, status.ready) == (f"{name}/MODEL", "From package toy.", True)
            assert not in_process(f"{name}/model-x")


def test_a_broken_package_is_listed_and_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, PROVIDERS, "1 / 0", entry="broken = open_it"):
        assert [one.name for one in list_providers({})][-1] == "broken"
        assert open_model("sim/oracle").name == "sim/oracle"


@labelled
def test_a_provider_says_whether_its_models_run_here(model: str, here: bool, chats: bool) -> None:
    assert (in_process(model), cannot_score(model)) == (here, chats)


def test_the_list_says_what_is_needed_and_never_a_value() -> None:
    secret = "sk-do-not-show"
    environ = {
        "OPENAI_API_KEY": secret,
        "VLLM_BASE_URL": f"http://user:{secret}@h/v1,http://i",
        "OPENAI_BASE_URL": "http://x",
        "EMPTY_BASE_URL": "",
    }
    found = {one.name: one for one in list_providers(environ)}
    assert {"openai", "openai-api", "anthropic", "langchain", "hf", "sim"} <= set(found)
    assert {name: one.ready for name, one in found.items() if not one.not_installed and name not in {"hf", "vllm"}} == {
        "openai": True,
        "openai-api": True,
        "anthropic": False,
        "langchain": True,
        "sim": True,
    }
    assert found["openai-api"].found == ("vllm",)
    assert (found["openai-api"].servers, found["openai"].servers, found["anthropic"].servers) == ({"vllm": 2}, {"openai": 1}, {})
    assert found["anthropic"].missing == ("ANTHROPIC_API_KEY",)
    assert secret not in repr(found)
    bare = {one.name: one for one in list_providers({})}
    assert bare["openai-api"].missing == ("<SERVICE>_BASE_URL",)


def test_listing_imports_no_provider() -> None:
    code = (
        "import sys; from talm_sim.models.registry import list_providers; list_providers(); "
        "heavy = {'openai', 'anthropic', 'httpx2', 'langchain_core'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
