"""`-M lora=DIR`: what is no adapter is refused in a line; what is one gives the scores of the merged weights."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.local.adapters import Adapter, describe_weights, read_adapter
from talm_sim.models.local.folders import check_directory
from talm_sim.models.local.vllm_options import VllmOptions, engine_arguments
from talm_sim.models.local.weights import cached_folder, digest_files, weights_digest
from talm_sim.models.registry import open_model
from tests.models.local.adapting import change_settings, change_tensor, make_adapter
from tests.models.local.tiny import make_tiny

SETTINGS = {"peft_type": "LORA", "r": 4, "base_model_name_or_path": "some/base"}
PROMPT = "There are tools: " + "one, two, " * 6 + "Question: which?\nAnswer:"
OPTIONS = (" the answer is here", " no", ' {"name": "f", "arguments": {"a": 1}} and more', " The other: 1234567890 and then some.")

needs_peft = pytest.mark.skipif(find_spec("peft") is None, reason="peft is not installed (the extra local)")
local = [pytest.mark.local, needs_peft, pytest.mark.filterwarnings("ignore")]
REAL = os.environ.get("TALM_SIM_TEST_MODEL", "")


def write_settings(folder: Path, **values: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps({**SETTINGS, **values}))
    return folder


# --- without a model ----------------------------------------------------------------------------------------------------------------------


def test_what_is_no_adapter_is_refused_in_a_line(tmp_path: Path) -> None:
    def refusal(folder: Path) -> str:
        with pytest.raises(PrerequisiteError) as caught:
            read_adapter(str(folder))
        text = str(caught.value)
        assert text.startswith(f"-M lora={folder}: ") and "\n" not in text
        return text.removeprefix(f"-M lora={folder}: ")

    assert refusal(tmp_path / "absent") == "there is no such directory; name the one that contains adapter_config.json."
    assert refusal(tmp_path) == "contains no adapter_config.json, so it is not an adapter; name the directory that does."
    folder = tmp_path / "adapter"
    folder.mkdir()
    for damaged in ("{", "[]", "[" * 5000):
        (folder / "adapter_config.json").write_text(damaged)
        assert refusal(folder) == "adapter_config.json is not a JSON object; save the adapter again."
    write_settings(folder, peft_type="IA3")
    assert refusal(folder) == "is an adapter of type IA3; only LORA is loaded."
    write_settings(folder, megatron_config={"a": 1}, megatron_core="os")
    assert refusal(folder) == "has megatron_config, which names code to import; save the adapter without it."
    write_settings(folder, layer_replication=[[0, 30]] * 2000)
    assert refusal(folder) == "has layer_replication, which changes the model's own layers; save the adapter without it."
    write_settings(folder, init_lora_weights="pissa_niter_4")
    fault = "has init_lora_weights 'pissa_niter_4', which changes the model's own weights; convert it to a plain LoRA with PEFT."
    assert refusal(folder) == fault
    write_settings(folder, init_lora_weights="gaussian")
    assert refusal(folder) == "contains no adapter_model.safetensors; copy it from where it was trained."


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    (write_settings(tmp_path) / "adapter_model.bin").write_bytes(b"cos\nsystem\n(S'touch %s'\ntR." % str(tmp_path / "ran").encode())
    with pytest.raises(PrerequisiteError, match=r"adapter_model\.bin is a pickle, which is never loaded; save the adapter as safetensors\.$"):
        read_adapter(str(tmp_path))
    assert not (tmp_path / "ran").exists()


def test_an_adapter_in_place_of_a_model_is_named(tmp_path: Path) -> None:
    write_settings(tmp_path)
    with pytest.raises(PrerequisiteError, match=rf"^hf/x: {tmp_path} is an adapter; name the model .* and add -M lora={tmp_path}\.$"):
        check_directory("hf/x", tmp_path)


def test_digests_are_of_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "b.safetensors").write_bytes(b"2")
    (tmp_path / "a.safetensors").write_bytes(b"1")
    by_hand = b"".join(name.encode() + hashlib.sha256(data).digest() for name, data in (("a.safetensors", b"1"), ("b.safetensors", b"2")))
    assert weights_digest(tmp_path) == hashlib.sha256(by_hand).hexdigest()
    (tmp_path / "config.json").write_text("{}")
    assert weights_digest(tmp_path) == hashlib.sha256(by_hand).hexdigest()
    (tmp_path / "a.safetensors").write_bytes(b"3")
    assert weights_digest(tmp_path) != hashlib.sha256(by_hand).hexdigest()
    assert weights_digest(tmp_path / "absent") == ""


def test_the_hubs_cache_names_large_files_by_their_digest(tmp_path: Path) -> None:
    data = b"weights"
    blob = tmp_path / "blobs" / hashlib.sha256(data).hexdigest()
    blob.parent.mkdir()
    blob.write_bytes(data)
    (tmp_path / "model.safetensors").symlink_to(blob)
    plain = tmp_path / "plain" / "model.safetensors"
    plain.parent.mkdir()
    plain.write_bytes(data)
    assert digest_files([tmp_path / "model.safetensors"]) == digest_files([plain])
    blob.write_bytes(b"not read")
    assert digest_files([tmp_path / "model.safetensors"]) == digest_files([plain])


def test_an_adapter_of_another_base_is_noted(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "model.safetensors").write_bytes(b"base")
    folder = write_settings(tmp_path / "adapter")
    (folder / "adapter_model.safetensors").write_bytes(b"adapter")

    def note(trained_on: str) -> str:
        adapter = Adapter(str(folder), folder, {**SETTINGS, "base_model_name_or_path": trained_on}, {})
        known = describe_weights(f"hf/{base}", base, adapter)
        assert known.digests == {"base": weights_digest(base), "adapter": adapter.digest}
        return known.notes.get("adapter", "")

    assert note(str(base)) == note("") == ""
    assert note("some/" * 9999) == f"{folder} was trained on '{'some/' * 40}', and is used on hf/{base}"
    assert note("some/other") == f"{folder} was trained on 'some/other', and is used on hf/{base}"
    digest = weights_digest(base)
    (folder / "training.json").write_text(json.dumps({"base_digest": digest}))
    assert note("some/other") == ""  # the same weights, whatever their folder was called
    (base / "model.safetensors").write_bytes(b"changed")
    digests = f"(weights {digest[:12]}, here {weights_digest(base)[:12]})"
    assert note(str(base)) == f"{folder} was trained on '{base}' {digests}, and is used on hf/{base}"


def test_vllm_is_told_the_rank_and_the_layers() -> None:
    shapes = {f"model.layers.{at}.{layer}.lora_{half}.weight": (4, 4) for at in (0, 1) for layer in ("mlp.up_proj", "q") for half in "AB"}

    def told(rank: int, pattern: dict[str, int]) -> dict[str, Any]:
        adapter = Adapter("a", Path("a"), {**SETTINGS, "r": rank, "rank_pattern": pattern}, shapes)
        return {key: value for key, value in engine_arguments(VllmOptions(), "m", cpu=True, adapter=adapter).items() if "lora" in key}

    assert told(32, {}) == {"enable_lora": True, "max_loras": 1, "max_lora_rank": 32, "lora_target_modules": ["q", "up_proj"]}
    assert [told(4, {})["max_lora_rank"], told(4, {"q": 20})["max_lora_rank"], told(600, {})["max_lora_rank"]] == [8, 32, 600]
    assert not [key for key in engine_arguments(VllmOptions(), "m", cpu=True) if "lora" in key]


# --- with a tiny model --------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def made(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_adapter(tiny, tmp_path_factory.mktemp("adapter"))


@pytest.fixture
def adapter(made: Path, tmp_path: Path) -> Path:
    """An adapter that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "adapter"))


async def answers_of(name: str, **options: str) -> tuple[list[Continuation], str, Any]:
    model: Any = open_model(name, options=options)
    async with aclosing(model):
        found = await model.score(PROMPT, OPTIONS)
        return found, (await model.complete(PROMPT, GenerationSettings(temperature=0, max_new_tokens=20))).raw_text, model.weights


class TestTiny:
    pytestmark = local

    async def test_scores_and_answers_are_those_of_the_merged_weights(self, tiny: Path, made: Path) -> None:
        adapted, text, known = await answers_of(f"hf/{tiny}", lora=str(made))
        merged, merged_text, unknown = await answers_of(f"hf/{made / 'merged'}")
        plain, _, _ = await answers_of(f"hf/{tiny}")
        assert max(abs(one.logprob - other.logprob) for one, other in zip(adapted, merged, strict=True)) < 1e-4
        assert min(abs(one.logprob - other.logprob) for one, other in zip(adapted, plain, strict=True)) > 0.1
        assert text == merged_text
        assert known.digests == {"base": weights_digest(tiny), "adapter": digest_files(made.glob("adapter_*"))} and not known.notes
        assert not unknown.digests

    @pytest.mark.parametrize(
        ("name", "shape", "fault"),
        [
            ("layers.1.self_attn.q_proj.lora_A", (4, 33), "does not fit hf/{tiny}: tensor '{name}' has the shape (4, 33), not (4, 32)."),
            ("layers.1.self_attn.q_proj.lora_B", None, "lacks the tensor '{name}', which its adapter_config.json asks for; save it again."),
            ("layers.2.q_proj.lora_A", (4, 32), "does not fit hf/{tiny}, which has no layer 'model.layers.2.q_proj' for the tensor '{name}'."),
            ("layers.1.self_attn.k_proj.lora_A", (4, 32), "has a tensor '{name}', which its adapter_config.json does not name; save it again."),
        ],
    )
    def test_an_adapter_that_does_not_fit_is_refused_by_its_tensor(
        self, tiny: Path, adapter: Path, name: str, shape: tuple[int, ...] | None, fault: str
    ) -> None:
        tensor = f"model.{name}.weight"
        change_tensor(adapter, f"base_model.model.{tensor}", shape)
        with pytest.raises(PrerequisiteError) as caught:
            open_model(f"hf/{tiny}", options={"lora": str(adapter)})
        assert str(caught.value) == f"-M lora={adapter}: {fault.format(tiny=tiny, name=tensor)}"

    @pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")
    def test_vllm_refuses_it_before_it_starts(self, tiny: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        change_tensor(adapter, "base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight", (4, 33))
        with pytest.raises(PrerequisiteError, match=r"tensor 'model\.layers\.1\.self_attn\.q_proj\.lora_A\.weight' has the shape"):
            open_model(f"vllm/{tiny}", options={"lora": str(adapter)})
        of_head = make_adapter(tiny, tmp_path / "head", layers=["lm_head"])
        with pytest.raises(PrerequisiteError, match=r"changes the layer lm_head, with which vLLM cannot score; use hf/ instead of vllm/\.$"):
            open_model(f"vllm/{tiny}", options={"lora": str(of_head)})

    def test_settings_and_files_that_cannot_be_read_are_one_line(self, tiny: Path, adapter: Path) -> None:
        (adapter / "adapter_model.safetensors").write_bytes(b"\xff" * 100)
        with pytest.raises(PrerequisiteError, match=r"adapter_model\.safetensors cannot be read \(.*\); copy it again\.$"):
            open_model(f"hf/{tiny}", options={"lora": str(adapter)})

    @pytest.mark.parametrize(
        ("changed", "fault"),
        [
            ({"target_modules": "(([a-z0-9._]+)+)+!"}, "has patterns that take over 0.5 s to match; name the layers in full."),
            ({"exclude_modules": ".*.*.*.*.*.*.*.*.*.*.*!"}, "has patterns that take over 0.5 s to match; name the layers in full."),
            ({"layers_pattern": ["(.+)+!"]}, "has patterns that take over 0.5 s to match; name the layers in full."),
            ({"alpha_pattern": {"q_proj": 4, r"(\w|.)*!": 4}}, "has patterns that take over 0.5 s to match"),
            ({"target_modules": [f"x{one}" for one in range(200_000)]}, "has 200,000 entries in target_modules, more than hf/"),
            ({"r": 100_000, "target_modules": ["embed_tokens"]}, "says rank 100,000, and none of its tensors is of more than 1,024;"),
        ],
    )
    def test_settings_that_take_endless_time_or_memory_are_refused(
        self, tiny: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], fault: str
    ) -> None:
        monkeypatch.setattr("talm_sim.models.local.adapters._MOST_SECONDS", 0.5)
        change_settings(adapter, **changed)
        with pytest.raises(PrerequisiteError) as caught:
            open_model(f"hf/{tiny}", options={"lora": str(adapter)})
        assert str(caught.value).startswith(f"-M lora={adapter}: {fault}")

    def test_values_that_are_no_numbers_and_weights_of_the_model_itself_are_refused(self, tiny: Path, adapter: Path) -> None:
        name = "base_model.model.model.norm.weight"
        change_tensor(adapter, name, (32,))
        with pytest.raises(PrerequisiteError, match=r"has a tensor 'model\.norm\.weight', which its adapter_config\.json does not name"):
            open_model(f"hf/{tiny}", options={"lora": str(adapter)})
        change_tensor(adapter, name, None)
        change_tensor(adapter, "base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight", (4, 32), value=float("nan"))
        with pytest.raises(PrerequisiteError, match=r"lora_A\.weight' that are no finite numbers; train it again\.$"):
            open_model(f"hf/{tiny}", options={"lora": str(adapter)})

    def test_settings_that_peft_does_not_take_are_one_line(self, tiny: Path, adapter: Path) -> None:
        change_settings(adapter, r=-1)
        with pytest.raises(PrerequisiteError, match=rf"^-M lora={adapter}: does not fit hf/[^\n]*$"):
            open_model(f"hf/{tiny}", options={"lora": str(adapter)})


@pytest.mark.local
@pytest.mark.slow
@needs_peft
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not REAL, reason="TALM_SIM_TEST_MODEL names no model directory")
@pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")
def test_vllm_gives_the_scores_of_the_merged_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = make_adapter(Path(REAL), tmp_path / "adapter", rank=12, deviation=0.03)
    merged, text, _ = asyncio.run(answers_of(f"hf/{folder / 'merged'}"))
    adapted, own_text, known = asyncio.run(answers_of(f"hf/{REAL}", lora=str(folder)))
    served, served_text, same = asyncio.run(answers_of(f"vllm/{REAL}", lora=str(folder), kv_gib="1", max_model_len="512", max_num_seqs="8"))
    assert max(one.tokens for one in merged) < 50
    assert max(abs(one.logprob - other.logprob) for one, other in zip(adapted, merged, strict=True)) < 1e-4
    assert max(abs(one.logprob - other.logprob) for one, other in zip(served, merged, strict=True)) < 1e-3
    assert text == own_text == served_text
    assert known == same and cached_folder(REAL) == Path(REAL)
