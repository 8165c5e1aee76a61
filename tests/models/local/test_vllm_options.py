"""Options, devices, the arguments made of them, and where vLLM's log goes."""

from __future__ import annotations

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.models.local import vllm_model, vllm_options
from talm_sim.models.local.vllm_model import log_to_file, open_vllm
from talm_sim.models.local.vllm_options import (
    VllmOptions,
    check_devices,
    engine_arguments,
    engine_environment,
    read_vllm_options,
    require_vllm,
)
from talm_sim.models.request import ModelRequest
from tests.tables import labelled

with_vllm = [
    pytest.mark.timeout(900),
    pytest.mark.local,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("ignore"),
]


def no_gpu() -> int:
    return 0


def no_question() -> int:
    raise AssertionError("a vLLM built for CPUs is not asked for GPUs")


def test_our_own_options_need_no_vllm() -> None:
    assert read_vllm_options("vllm/m", {"kv_gib": "2", "device": "cpu", "answer_chars": "90"}) == VllmOptions(
        device="cpu", kv_gib=2, answer_chars=90
    )


@labelled
def test_a_wrong_option_is_named_in_one_line(option: dict[str, str], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said) as caught:
        read_vllm_options("vllm/m", option)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"dtype": ("bfloat16", "bfloat16"), "max_model_len": ("2k", 2000)}, marks=with_vllm),
        pytest.param({"enforce_eager": ("False", False), "gpu_memory_utilization": ("0.5", 0.5)}, marks=with_vllm),
        pytest.param({"hf_overrides": ('{"rope_theta": 5}', {"rope_theta": 5}), "kv_cache_dtype": ("fp8", "fp8")}, marks=with_vllm),
        pytest.param({"tensor_parallel_size": ("2", 2), "tokenizer_mode": ("slow", "slow"), "revision": ("v1", "v1")}, marks=with_vllm),
    ],
)
def test_what_is_vllms_own_is_read_as_vllm_reads_it(values: dict[str, tuple[str, object]]) -> None:
    options = read_vllm_options("vllm/m", {"top_k": "4", **{key: text for key, (text, _) in values.items()}})
    assert options.engine == {key: value for key, (_, value) in values.items()}
    assert options.sampling == {"top_k": 4}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        pytest.param(option, said, marks=with_vllm)
        for option, said in (
            ({"max_model_length": "1"}, r"-M max_model_length: vllm/m has no such option\. Did you mean 'max_model_len'\?"),
            ({"kv_gb": "1"}, r"Did you mean 'kv_gib'\?"),
            ({"max_model_len": "two"}, "-M max_model_len=two: vLLM does not take it"),
            ({"dtype": "flaot32"}, "-M dtype=flaot32: vLLM does not take it .*float32"),
            ({"enforce_eager": "yes"}, "true or false"),
            ({"top_p": "7"}, r"-M top_p=7: top_p must be in \(0, 1\]"),
            ({"generation_config": "auto"}, "-M generation_config: vllm/m fills this in itself"),
            ({"logprobs_mode": "raw_logits"}, "fills this in itself"),
            ({"tokenizer": "other"}, "fills this in itself"),
        )
    ],
)
def test_what_vllm_does_not_take_is_named_in_one_line(option: dict[str, str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PrerequisiteError, match=said) as caught:
        read_vllm_options("vllm/m", option)
    assert "\n" not in str(caught.value)
    assert "usage" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "cpu_build", "said"),
    [
        (VllmOptions(device="cuda"), True, "-M device=cuda asks for a GPU"),
        (VllmOptions(tensor_parallel_size=2), True, "-M tensor_parallel_size=2 asks for a GPU"),
        (VllmOptions(device="cpu"), False, "is for GPUs"),
        (VllmOptions(), False, "needs a GPU, and none can be used here"),
        (VllmOptions(tensor_parallel_size=2, pipeline_parallel_size=2), False, "needs 4 GPUs, and none can be used here"),
    ],
)
def test_a_gpu_that_is_absent_is_one_line(options: VllmOptions, cpu_build: bool, said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said) as caught:
        check_devices("vllm/m", options, cpu_build=cpu_build, count_gpus=no_question if cpu_build else no_gpu)
    assert "\n" not in str(caught.value)


def test_devices_that_are_there_pass() -> None:
    check_devices("vllm/m", VllmOptions(device="cpu"), cpu_build=True, count_gpus=no_question)
    check_devices("vllm/m", VllmOptions(device="cuda", tensor_parallel_size=2), cpu_build=False, count_gpus=lambda: 2)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_options, "find_spec", lambda name: None)
    with pytest.raises(PrerequisiteError, match=re.escape(pip_install("vllm"))) as caught:
        require_vllm("vllm/m")
    assert "scripts/local_vllm.sh" in str(caught.value)


def test_on_cpu_prompts_are_never_cut_and_a_step_holds_the_longest() -> None:
    arguments = engine_arguments(VllmOptions(kv_gib=2, max_model_len=8192), "/m", cpu=True)
    assert arguments["dtype"] == "float32"
    assert arguments["kv_cache_memory_bytes"] == 2 * 2**30
    assert arguments["enable_chunked_prefill"] is False
    assert arguments["max_num_batched_tokens"] == 8192
    assert engine_arguments(VllmOptions(max_model_len=2048), "/m", cpu=True)["max_num_batched_tokens"] == 4096


def test_the_user_wins_and_on_gpu_vllm_chooses_for_itself() -> None:
    assert engine_arguments(VllmOptions(dtype="bfloat16", block_size=64), "/m", cpu=True)["dtype"] == "bfloat16"
    chosen = engine_arguments(VllmOptions(tensor_parallel_size=2), "/m", cpu=False)
    assert not {"dtype", "block_size", "enforce_eager", "kv_cache_memory_bytes", "enable_chunked_prefill"} & set(chosen)
    assert (chosen["tensor_parallel_size"], chosen["enable_prefix_caching"]) == (2, True)


def test_the_hub_is_shut_out_only_for_a_directory() -> None:
    for is_directory in (True, False):
        variables = engine_environment(eager=True, cpu=True, is_directory=is_directory)
        assert ("HF_HUB_OFFLINE" in variables) is is_directory
        assert variables["VLLM_NO_USAGE_STATS"] == "1"


def request(model: str, **fields: object) -> ModelRequest:
    return ModelRequest(f"vllm/{model}", model, environ={}, **fields)  # type: ignore[arg-type]


def test_opening_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_model, "require_vllm", lambda name: None)
    monkeypatch.setattr(vllm_model, "is_cpu_build", lambda: True)
    monkeypatch.setattr(vllm_model, "engine_environment", lambda **_: {})
    monkeypatch.setattr(vllm_model, "log_to_file", lambda: tmp_path / "log")
    for file, said in (("config.json", "contains no config.json"), ("tokenizer.json", "contains no tokenizer")):
        with pytest.raises(PrerequisiteError, match=said):
            open_vllm(request(str(tmp_path)))
        (tmp_path / file).write_text("{}")
    with pytest.raises(PrerequisiteError, match="asks for a GPU"):
        open_vllm(request(str(tmp_path), options={"device": "cuda"}))
    with pytest.raises(PrerequisiteError, match="no recorded traffic"):
        open_vllm(request(str(tmp_path), replay=True))


def test_vllm_writes_to_a_file_and_the_dead_lose_their_logs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLLM_LOGGING_CONFIG_PATH", "restored by monkeypatch, whatever is set here")
    monkeypatch.delenv("VLLM_LOGGING_CONFIG_PATH")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "talm-sim" / "vllm"
    folder.mkdir(parents=True)
    mine = folder / f"engine-{os.getpid()}.log"
    for name in (mine.name, "engine-999999999.log", "engine-999999999.json", "notes.log"):
        (folder / name).write_text("said")
    assert log_to_file() == mine
    config = Path(os.environ["VLLM_LOGGING_CONFIG_PATH"])
    assert json.loads(config.read_text())["handlers"]["file"]["filename"] == str(mine)
    assert {path.name for path in folder.iterdir()} == {mine.name, config.name, "notes.log"}
