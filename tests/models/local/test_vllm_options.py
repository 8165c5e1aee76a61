"""Options, devices and the arguments made of them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.models.local import vllm_options
from talm_sim.models.local.vllm_options import (
    VllmOptions,
    check_devices,
    engine_arguments,
    engine_environment,
    read_options,
    require_vllm,
    server_arguments,
    server_environment,
)


def no_gpu() -> int:
    return 0


def no_question() -> int:
    raise AssertionError("a vLLM built for CPUs is not asked for GPUs")


def test_options_become_values(tmp_path: Path) -> None:
    template = tmp_path / "own.jinja"
    template.write_text("{{ messages }}")
    options = read_options(
        {
            "dtype": "bfloat16",
            "max_model_len": "2048",
            "gpu_memory_utilization": "0.5",
            "enforce_eager": "False",
            "chat_template": str(template),
            "top_p": "0.9",
            "tool_choice": "required",
        }
    )
    assert options.max_model_len == 2048
    assert options.gpu_memory_utilization == 0.5
    assert options.enforce_eager is False
    assert options.chat_template == template
    assert options.request == {"top_p": 0.9, "tool_choice": "required"}
    assert options.kv_gib == VllmOptions().kv_gib


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"max_model_length": "1"}, r"-M max_model_length: no option of vllm/\.\.\. models\. Did you mean 'max_model_len'\?"),
        ({"max_model_len": "0"}, "whole number of 1 or more"),
        ({"max_model_len": "two"}, "whole number of 1 or more"),
        ({"gpu_memory_utilization": "1.5"}, "share above 0 and up to 1"),
        ({"gpu_memory_utilization": "nan"}, "share above 0 and up to 1"),
        ({"enforce_eager": "yes"}, "true or false"),
        ({"dtype": "flaot32"}, r"one of auto, float32.* Did you mean 'float32'\?"),
        ({"device": "tpu"}, "one of auto, cpu, cuda"),
        ({"served_name": "--host"}, "must be a name"),
        ({"chat_template": "no/such.jinja"}, "no such file"),
    ],
)
def test_a_wrong_option_is_named_in_one_line(option: dict[str, str], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said) as caught:
        read_options(option)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "cpu_build", "said"),
    [
        (VllmOptions(device="cuda"), True, "-M device=cuda asks for a GPU"),
        (VllmOptions(tensor_parallel_size=2), True, "-M tensor_parallel_size=2 asks for a GPU"),
        (VllmOptions(device="cpu"), False, "is for GPUs"),
        (VllmOptions(), False, "needs a GPU, and none can be used here"),
        (VllmOptions(tensor_parallel_size=2), False, "needs 2 GPUs, and none can be used here"),
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
    arguments = engine_arguments(VllmOptions(max_model_len=8192), "/m", cpu=True)
    assert arguments["dtype"] == "float32"
    assert arguments["enable_chunked_prefill"] is False
    assert arguments["max_num_batched_tokens"] == 8192
    assert engine_arguments(VllmOptions(max_model_len=2048), "/m", cpu=True)["max_num_batched_tokens"] == 4096


def test_on_gpu_vllm_chooses_for_itself() -> None:
    arguments = engine_arguments(VllmOptions(tensor_parallel_size=2, gpu_memory_utilization=0.8), "/m", cpu=False)
    assert arguments == {
        "model": "/m",
        "dtype": "auto",
        "tensor_parallel_size": 2,
        "gpu_memory_utilization": 0.8,
        "enforce_eager": False,
        "enable_prefix_caching": True,
    }


def test_the_server_listens_on_loopback_only_and_reads_tool_calls() -> None:
    template = Path("/t.jinja")
    command = server_arguments(VllmOptions(reasoning_parser="qwen3"), "/m", cpu=True, port=81, served_name="m", chat_template=template)
    pairs = dict(pairwise(command))
    assert pairs["--host"] == "127.0.0.1"
    assert pairs["--port"] == "81"
    assert pairs["--served-model-name"] == "m"
    assert pairs["--tool-call-parser"] == "hermes"
    assert pairs["--reasoning-parser"] == "qwen3"
    assert pairs["--chat-template"] == "/t.jinja"
    assert {"--enable-auto-tool-choice", "--enforce-eager", "--no-enable-chunked-prefill", "--enable-prefix-caching"} <= set(command)
    on_gpu = server_arguments(VllmOptions(), "/m", cpu=False, port=81, served_name="m", chat_template=None)
    assert not {"--no-enable-chunked-prefill", "--enforce-eager", "--chat-template"} & set(on_gpu)


def test_the_hub_is_shut_out_only_for_a_directory() -> None:
    for is_directory in (True, False):
        engine = engine_environment(VllmOptions(), cpu=True, is_directory=is_directory)
        server = server_environment(VllmOptions(), "key", {}, cpu=True, is_directory=is_directory)
        assert ("HF_HUB_OFFLINE" in engine) is ("HF_HUB_OFFLINE" in server) is is_directory
        assert engine["VLLM_NO_USAGE_STATS"] == server["VLLM_NO_USAGE_STATS"] == "1"


def test_what_the_user_set_wins_but_for_the_key() -> None:
    environ: dict[str, Any] = {"VLLM_CPU_KVCACHE_SPACE": "9", "VLLM_API_KEY": "theirs", "LD_PRELOAD": "/own.so"}
    variables = server_environment(VllmOptions(kv_gib=2), "ours", environ, cpu=True, is_directory=True)
    assert variables["VLLM_CPU_KVCACHE_SPACE"] == "9"
    assert variables["VLLM_API_KEY"] == "ours"
    assert variables["LD_PRELOAD"].endswith("/own.so")
