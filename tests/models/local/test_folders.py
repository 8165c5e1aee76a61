from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.local import engine
from talm_sim.models.local.engine import HFOptions, load_engine
from talm_sim.models.local.folders import find_model
from talm_sim.models.local.weights import check_weights
from talm_sim.models.registry import list_providers, open_model


def _model_directory(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "config.json").write_text("{}")
    (directory / "tokenizer.json").write_text("{}")
    return directory


def test_a_directory_comes_before_a_fetched_name_and_that_before_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    monkeypatch.chdir(tmp_path)
    assert find_model("hf/tiny", "tiny", environ) == "tiny"
    assert find_model("hf/some/tiny", "some/tiny", environ) == "some/tiny"
    fetched = _model_directory(tmp_path / "cache" / "talm-sim" / "models" / "tiny")
    assert find_model("hf/tiny", "tiny", environ) == str(fetched)
    here = _model_directory(tmp_path / "tiny")
    assert find_model("hf/tiny", "tiny", environ) == here.name


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("{0}/no-config", "contains no config.json"),
        ("{0}/no-tokenizer", "contains no tokenizer"),
        ("{0}/pipe", "weights/extra.safetensors is a pipe, and a model is made of plain files"),
        ("{0}/absent", "there is no directory"),
        ("./absent", "there is no directory"),
        ("{0}/file", "is a file; name the directory"),
        ("smollm2-135m", "fetch it with: talm-sim models get smollm2-135m"),
    ],
)
def test_what_is_no_model_is_said_in_one_line(model: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "no-config").mkdir()
    _model_directory(tmp_path / "no-tokenizer").joinpath("tokenizer.json").unlink()
    (tmp_path / "file").write_text("")
    (_model_directory(tmp_path / "pipe") / "weights").mkdir()
    os.mkfifo(tmp_path / "pipe" / "weights" / "extra.safetensors")
    (tmp_path / "pipe" / "broken").symlink_to("broken")
    with pytest.raises(PrerequisiteError) as failure:
        find_model("hf/x", model.format(tmp_path), {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert said in str(failure.value)
    assert "\n" not in str(failure.value)


def test_weights_that_are_a_pickle_or_far_from_the_configuration_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    save_file = pytest.importorskip("safetensors.numpy").save_file
    numpy = pytest.importorskip("numpy")
    here, settings = _model_directory(tmp_path / "m"), tmp_path / "m" / "config.json"
    (here / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(PrerequisiteError, match=r"^hf/m: .*/m has its weights in pytorch_model.bin, a pickle, which is never"):
        check_weights("hf/m", here)
    save_file({"a": numpy.zeros((4, 8)), "b": numpy.zeros(8)}, here / "model.safetensors")
    for fits in ('{"num_hidden_layers": 128, "hidden_size": 512}', "[]", "{", '{"num_hidden_layers": "many"}'):
        settings.write_text(fits)
        check_weights("hf/m", here)
    for absurd, said in (
        ('{"num_hidden_layers": 100000, "hidden_size": 8}', "says num_hidden_layers 100,000, and the weights have 2 tensors"),
        (
            '{"text_config": {"hidden_size": 1048576}}',
            "says hidden_size 1,048,576, and the weights have 8 as the largest size of a tensor",
        ),
    ):
        settings.write_text(absurd)
        with pytest.raises(PrerequisiteError, match=f"^hf/m: .*config.json {said}; copy it from"):
            check_weights("hf/m", here)
    (here / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(PrerequisiteError, match=r"model.safetensors cannot be read \(.*; copy it again\.$"):
        check_weights("hf/m", here)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"devise": "cpu"}, "no such option. Did you mean 'device'?"),
        ({"device": "tpu"}, "write auto, cpu, cuda or cuda:N"),
        ({"dtype": "float23"}, "'float23' is not one of 'auto', 'float32', 'bfloat16' or 'float16'."),
        ({"batch_size": "0"}, "-M batch_size: 0 is too small; the least is 1."),
        ({"threads": "two"}, "-M threads: 'two' is not a whole number."),
    ],
)
def test_a_wrong_option_is_said_before_anything_is_loaded(options: dict[str, str], said: str) -> None:
    with pytest.raises(PrerequisiteError) as failure:
        open_model("hf/absent", options=options)
    assert said in str(failure.value)


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_torch(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    with pytest.raises(PrerequisiteError, match=r"^hf/x: needs torch and transformers .*: pip install '.*\[local\]'$"):
        open_model("hf/x")


def test_there_is_nothing_to_replay() -> None:
    with pytest.raises(PrerequisiteError, match="run it with --live"):
        open_model("hf/x", replay=True)


def test_the_list_names_missing_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talm_sim.models.registry.find_spec", lambda name: None)
    found = {one.name: one for one in list_providers({})}["hf"]
    assert (found.not_installed, found.ready) == (("torch", "transformers"), False)


class _FakeTorch:
    """As much of torch as is asked before anything is loaded."""

    def __init__(self, gpus: int) -> None:
        self.cuda = SimpleNamespace(is_available=lambda: gpus > 0, device_count=lambda: gpus)


class _Offline:
    @staticmethod
    def from_pretrained(place: str, **options: Any) -> Any:
        raise OSError(f"cannot find {place}\nand more")


def _no_network(*_: object, **__: object) -> str:
    raise OSError("no network")


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the heavy packages, so that their absence is no excuse."""
    fake = SimpleNamespace(AutoConfig=_Offline, AutoTokenizer=_Offline, AutoModelForCausalLM=_Offline)
    monkeypatch.setitem(sys.modules, "torch", _FakeTorch(1))
    monkeypatch.setitem(sys.modules, "transformers", fake)
    hub = SimpleNamespace(hf_hub_url=_no_network, get_hf_file_metadata=_no_network, try_to_load_from_cache=lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setattr(engine, "silence_transformers", lambda transformers: None)


@pytest.mark.usefixtures("fakes")
def test_a_gpu_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = str(_model_directory(tmp_path / "m"))
    with pytest.raises(PrerequisiteError, match=r"^-M device=cuda:1: hf/m was to run on a GPU, but this machine has 1;"):
        load_engine("hf/m", model, HFOptions(device="cuda:1"))
    monkeypatch.setitem(sys.modules, "torch", _FakeTorch(0))
    with pytest.raises(PrerequisiteError, match=r"^-M device=cuda: .*torch finds none here"):
        load_engine("hf/m", model, HFOptions(device="cuda"))


@pytest.mark.usefixtures("fakes")
def test_a_name_the_hub_does_not_give_and_a_damaged_directory_are_one_line(tmp_path: Path) -> None:
    for model, said in (
        ("some/where", "is not a directory, was not fetched"),
        (str(_model_directory(tmp_path / "m")), "cannot be loaded: OSError"),
    ):
        with pytest.raises(PrerequisiteError) as failure:
            load_engine("hf/m", model, HFOptions(device="cpu"))
        assert said in str(failure.value)
        assert "\n" not in str(failure.value)
