"""The provider `hf/`: exactness on a tiny random model, behaviour on a real one (`TALM_SIM_TEST_MODEL=DIR pytest -m local`)."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from talm_sim.common.typed_options import read_options
from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.base import Continuation, GenerationSettings, TextModel
from talm_sim.models.local.decoding import end_tokens
from talm_sim.models.local.engine import HFOptions
from talm_sim.models.local.hf import HFModel, size_of
from talm_sim.models.local.scoring import encode_question, encode_text
from talm_sim.models.registry import open_model
from talm_sim.types import ModelTurn, ToolSpec
from tests.models.local.architectures import ARCHITECTURES, Architecture, write_model
from tests.models.local.tiny import CONTEXT, make_tiny

pytestmark = [pytest.mark.local, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")

REAL = os.environ.get("TALM_SIM_TEST_MODEL", "")
needs_model = pytest.mark.skipif(not REAL, reason="TALM_SIM_TEST_MODEL names no model directory")
OPTIONS = (" the answer is here", " no", ' {"name": "f", "arguments": {"a": 1}} and more', " Which one? ")
CODE = {"type": "object", "properties": {"code": {"type": "string", "maxLength": 4}}, "required": ["code"]}
TOOL = ToolSpec(name="get_airport", description="Get an airport by its code.", parameters=CODE)
MESSAGES: list[BaseMessage] = [SystemMessage("Use the tools."), HumanMessage("How high does HAN lie?")]
LATER: list[BaseMessage] = [
    *MESSAGES,
    AIMessage("", tool_calls=[tool_call(id="a", name="get_airport", args={"code": "HAN"})]),
    ToolMessage('{"elevation_ft":39}', tool_call_id="a", name="get_airport"),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
async def model(tiny: Path) -> AsyncIterator[HFModel]:
    opened = _open(tiny)
    yield opened
    await opened.aclose()


def _open(directory: Path | str, constrained: bool = False, **options: str) -> HFModel:
    opened = open_model(f"hf/{directory}", options={"device": "cpu", "threads": "1", **options}, constrained=constrained)
    assert isinstance(opened, HFModel)
    return opened


def _naive(model: HFModel, prompt: str, options: Sequence[str]) -> list[float]:
    """One full pass an option."""
    engine = model._engine
    question = encode_question(engine.tokenizer, prompt, options, max_length=None, name="m")
    sums = []
    for option in question.options:
        with torch.inference_mode():
            logits = engine.model(torch.tensor([question.prompt + option])).logits[0, len(question.prompt) - 1 : -1]
        sums.append(float(logits.log_softmax(-1).gather(-1, torch.tensor(option)[:, None]).sum()))
    return sums


async def test_prompts_that_begin_alike_are_read_on_and_stay_exact(model: HFModel, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []
    real = model._engine.model.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        fed.append(kwargs["input_ids"].shape[1])
        return real(*args, **kwargs)

    head = "There are tools: " + "one, two, " * 9
    prompts = [head + tail for tail in ("What?", "Why?", "", "What now?", "What?")] + ["y", "", head]
    expected = [_naive(model, prompt, OPTIONS) for prompt in prompts]
    monkeypatch.setattr(model._engine.model, "forward", forward)
    found = [await model.score(prompt, OPTIONS) for prompt in prompts]
    for scores, sums in zip(found, expected, strict=True):
        assert [score.logprob for score in scores] == pytest.approx(sums, abs=2e-5, rel=1e-6)
    assert fed[0] > 90
    # Of the second prompt only its end is fed, then its options.
    assert fed[2] < 6
    assert sum(length > 90 for length in fed) == 2
    fed.clear()
    await asyncio.gather(*(model.score(prompt, ["a"]) for prompt in ("Q" * 50 + "1", "R" * 50 + "1", "Q" * 50 + "2", "R" * 50 + "2")))
    assert sum(length > 40 for length in fed) == 2


async def test_text_becomes_tokens_as_in_the_harness(model: HFModel) -> None:
    tokenizer = model._engine.tokenizer
    one = encode_question(tokenizer, "a b ", ["c"], max_length=None, name="m")
    two = encode_question(tokenizer, "a b", [" c"], max_length=None, name="m")
    assert one == two
    assert one.prompt[0] == tokenizer.bos_token_id
    assert encode_text(tokenizer, "<s>a b") == encode_text(tokenizer, "a b")
    empty = encode_question(tokenizer, "", ["c"], max_length=None, name="m")
    assert (empty.prompt, len(empty.options[0])) == ((tokenizer.bos_token_id,), 1)
    assert await model.score("", ["c", "d"]) == await model.score("", ["c", "d"])
    melted = encode_question(tokenizer, "t", ["h"], max_length=None, name="m")
    assert melted.options == (tuple(tokenizer.encode("h", add_special_tokens=False)),)


async def test_what_does_not_fit_is_refused_and_what_just_fits_is_scored(model: HFModel) -> None:
    # Every character is a token, the opening one comes on top, and an option's last token is never fed.
    fitting = "x" * (CONTEXT - 10)
    scores = await model.score(fitting, ["y" * 10, "z"])
    assert [score.tokens for score in scores] == [10, 1]
    with pytest.raises(ContextOverflowError, match=r"513 tokens, the context 512; nothing was cut"):
        await model.score(fitting, ["y" * 11, "z"])
    with pytest.raises(ProviderError, match="an option is empty"):
        await model.score("x", ["a", ""])
    with pytest.raises(ContextOverflowError, match="leaves no room"):
        await model.complete("x" * CONTEXT, GenerationSettings())
    short = _open(model.name.removeprefix("hf/"), max_length="8")
    with pytest.raises(ContextOverflowError, match="the context 8"):
        await short.score("x" * 8, ["y"])
    await short.aclose()


async def test_greedy_text_is_what_transformers_generates(model: HFModel) -> None:
    engine = model._engine
    turn = await model.complete("Say something", GenerationSettings(temperature=0, max_new_tokens=20))
    prompt = torch.tensor([encode_text(engine.tokenizer, "Say something")])
    expected = engine.model.generate(prompt, max_new_tokens=20, do_sample=False, pad_token_id=1)[0, prompt.shape[1] :]
    assert turn.raw_text == engine.tokenizer.decode([token for token in expected if token != 1])
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (prompt.shape[1], len(expected))


async def test_a_seed_gives_the_same_text_whatever_else_runs(model: HFModel) -> None:
    seeded = [GenerationSettings(seed=seed, max_new_tokens=12) for seed in (1, 2)]
    alone = [await model.complete("x", settings) for settings in seeded]
    together: Any = await asyncio.gather(model.complete("x", seeded[1]), model.score("y", OPTIONS), model.complete("x", seeded[0]))
    assert [together[2], together[0]] == alone
    assert alone[0].raw_text != alone[1].raw_text


async def test_the_text_ends_where_the_room_or_the_turn_ends(model: HFModel) -> None:
    turn = await model.complete("x" * (CONTEXT - 5), GenerationSettings(temperature=0, max_new_tokens=100))
    assert (turn.stop, turn.usage.output_tokens) == ("length", 4)
    model._limits = replace(model._limits, ends=frozenset(range(300)))
    turn = await model.complete("x", GenerationSettings(temperature=0))
    assert (turn.stop, turn.raw_text, turn.usage.output_tokens) == ("stop", "", 1)


async def test_what_is_sampled_by_is_obeyed_or_refused(model: HFModel, tiny: Path) -> None:
    async def text(asked: HFModel = model, **options: Any) -> str:
        return (await asked.complete("x", GenerationSettings(seed=3, max_new_tokens=12, options=options))).raw_text

    greedy = (await model.complete("x", GenerationSettings(temperature=0, max_new_tokens=12))).raw_text
    assert await text() != greedy
    assert [await text(top_p=1e-6), await text(top_k=1), await text(min_p=1.0)] == [greedy] * 3
    repeats = GenerationSettings(temperature=0, max_new_tokens=12, options={"repetition_penalty": 50.0})
    assert (await model.complete("x", repeats)).raw_text != greedy
    with pytest.raises(ProviderError, match="cannot sample by 'typical_p'; it knows top_p"):
        await text(typical_p=0.5)
    given = _open(tiny, top_k="1")
    assert (await text(given), await text(given, top_k=0)) == (greedy, await text())
    await given.aclose()


async def test_what_a_models_author_samples_by_is_left_out(tmp_path: Path, tiny: Path, model: HFModel) -> None:
    from transformers import GenerationConfig

    shutil.copytree(tiny, tmp_path, dirs_exist_ok=True)
    GenerationConfig(do_sample=True, top_k=1, repetition_penalty=9.0, eos_token_id=1).save_pretrained(tmp_path)
    other = _open(tmp_path)
    for settings in (GenerationSettings(seed=3, max_new_tokens=9), GenerationSettings(temperature=0, max_new_tokens=9)):
        assert (await other.complete("x", settings)).raw_text == (await model.complete("x", settings)).raw_text
    await other.aclose()


async def test_a_seed_leaves_the_random_numbers_of_others_alone(model: HFModel) -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    await model.complete("x", GenerationSettings(seed=9, max_new_tokens=4))
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(
    ("named", "vocabulary", "ends"),
    [
        ([9, 7], {"<|return|>": 9, "<|channel|>": 8, "<|end|>": 6}, {0, 9, 7}),
        (9, {"<|return|>": 9, "<|channel|>": 8, "<|end|>": 6}, {0, 9}),
        (0, {"<|im_end|>": 5}, {0, 5}),
        (None, {"<|end|>": 6}, {0, 6}),
    ],
)
def test_a_turn_ends_where_the_model_says_and_by_family_only_where_it_names_one_end(
    named: Any, vocabulary: dict[str, int], ends: set[int]
) -> None:
    tokenizer = SimpleNamespace(eos_token_id=0, get_added_vocab=lambda: vocabulary)
    assert end_tokens(named, tokenizer) == ends


async def test_what_is_no_number_is_no_result(tmp_path: Path) -> None:
    """Weights that overflow in half precision: the first option used to win, and the stored score could not be read again."""
    safetensors = pytest.importorskip("safetensors.torch")
    make_tiny(tmp_path)
    weights = safetensors.load_file(tmp_path / "model.safetensors")
    weights["model.layers.1.mlp.down_proj.weight"] *= 1e6
    safetensors.save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    model = _open(tmp_path, dtype="float16")
    with pytest.raises(ProviderError, match=r"not a finite number; its dtype overflows: use -M dtype=float32\.$"):
        await model.score("x", OPTIONS)
    with pytest.raises(ProviderError, match=r"are not numbers; its dtype overflows: use -M dtype=float32\.$"):
        await model.complete("x", GenerationSettings(temperature=0))
    await model.aclose()
    single = _open(tmp_path)
    assert all(math.isfinite(one.logprob) for one in await single.score("x", OPTIONS))
    await single.aclose()


async def test_in_half_precision_a_question_alone_does_not_depend_on_what_was_asked_before(tiny: Path) -> None:
    model = _open(tiny, dtype="bfloat16", batch_size="1")
    head = "There are tools: " + "one, two, " * 9
    first = await model.score(head + "What?", OPTIONS)
    for other in (head, head + "What now?", "x"):
        await model.score(other, OPTIONS)
        assert await model.score(head + "What?", OPTIONS) == first
    assert model.precision.half
    await model.aclose()


def test_positions_that_turn_with_the_length_are_kept_to_the_length_they_were_made_for(tmp_path: Path) -> None:
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}
    write_model(tmp_path, Architecture("llama", {"rope_parameters": rope}))
    assert _open(tmp_path)._engine.max_length == 256
    with pytest.raises(PrerequisiteError, match=r"max_length=9999: .* has a context of 256 tokens"):
        _open(tmp_path, max_length="9999")


def test_weights_that_are_not_in_the_files_are_no_random_numbers(tmp_path: Path) -> None:
    make_tiny(tmp_path)
    config = tmp_path / "config.json"
    config.write_text(config.read_text(encoding="utf-8").replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'), encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"9 of its weights are not in its files .*model\.layers\.2\."):
        _open(tmp_path)


def test_a_model_that_the_library_computes_in_two_ways_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path, Architecture("falcon", {"alibi": True}))
    with pytest.raises(
        PrerequisiteError, match="the library's attention implementations differ for a Falcon with ALiBi, so it is not run here"
    ):
        _open(tmp_path)


def test_a_cap_on_attention_is_kept(tmp_path: Path) -> None:
    write_model(tmp_path, next(one for one in ARCHITECTURES if one.kind == "gemma2"))
    assert _open(tmp_path).precision.attention == "eager"
    with pytest.raises(PrerequisiteError, match="attn_implementation=sdpa: ignores the cap"):
        _open(tmp_path, attn_implementation="sdpa")


def test_what_the_library_loads_by_is_passed_on(tiny: Path) -> None:
    model = _open(tiny, attn_implementation="eager")
    assert (model.precision.attention, model.precision.dtype, model.precision.batch_size) == ("eager", "float32", 1)
    with pytest.raises(PrerequisiteError, match="revision: applies to a model from the hub"):
        _open(tiny, revision="v1")
    mapped = open_model(f"hf/{tiny}", options={"device_map": '{"": "cpu"}'})
    assert isinstance(mapped, HFModel) and not mapped._engine.on_gpu
    written = {"quantization_config": '{"load_in_4bit": true}', "revision": "v1", "device_map": "auto"}
    read = read_options(written, HFOptions, "hf/m", "-M ")
    assert read.loading == {"device_map": "auto", "quantization_config": {"load_in_4bit": True}, "revision": "v1"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quantization_config": "4bit"}, "quantization_config: '4bit' is not a JSON object"),
        ({"device_map": "auto", "device": "cpu"}, "leave one of them out"),
        ({"revision": ""}, "revision: is empty"),
        ({"top_p": "2"}, "top_p: 2 is too large; the most is 1"),
        ({"top_k": "0.5"}, "top_k: '0.5' is not a whole number"),
        ({"min_p": "nan"}, "min_p: nan is not a finite number"),
        ({"frequency_penalty": "1"}, "frequency_penalty: hf/m has no such option"),
        ({"threads": "1000000"}, "threads: this machine has"),
        ({"device_map": '{"": "disk"}'}, "a model cannot be run from disk"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(options: dict[str, str], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said) as refused:
        read_options(options, HFOptions, "hf/m", "-M ")
    assert "\n" not in str(refused.value)


async def test_a_large_vocabulary_makes_smaller_batches(model: HFModel) -> None:
    question = encode_question(model._engine.tokenizer, "x" * 99, ["y" * 10, "z"], max_length=None, name="m")
    assert (size_of(question, 32_000), size_of(question, 262_144)) == (100 + 20, 100 + 20 * 8)


def test_a_model_in_the_hubs_cache_asks_no_hub(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub as hub

    kept = tmp_path / "models--me--tiny"
    shutil.copytree(tiny, kept / "snapshots" / "abc")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path))
    asked: list[str] = []
    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda url, **_: asked.append(url))
    assert isinstance(open_model("hf/me/tiny", options={"device": "cpu"}), HFModel)
    assert not asked


async def test_conversations_go_through_the_tokenizers_template(model: HFModel, tiny: Path, tmp_path: Path) -> None:
    assert isinstance(model, TextModel)
    tools = [{"name": "f", "description": "F.", "parameters": {}}]
    rendered = model.render_chat([{"role": "user", "content": "hi"}], tools)
    assert rendered.endswith("</tools><|user|>hi</s><|assistant|>")
    assert '"function"' in rendered and '"name": "f"' in rendered
    for template, said in (("", "no chat template"), ("{{ raise_exception('roles must alternate') }}", "roles must alternate")):
        other = _open(make_tiny(tmp_path / str(len(template)), chat_template=template))
        with pytest.raises(PrerequisiteError, match=said):
            other.render_chat([{"role": "user", "content": "hi"}], [])
        await other.aclose()


async def test_native_calls_are_read_and_results_go_back(model: HFModel, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = model.write

    async def write(prompt: str, settings: GenerationSettings, schema: Any = None) -> Any:
        seen.append(prompt)
        written = await real(prompt, settings, schema)
        return replace(written, text='<think>hm</think>I look.<tool_call>{"name": "get_airport", "arguments": {"code": "HAN"}}</tool_call>')

    monkeypatch.setattr(model, "write", write)
    turn = await model.generate(LATER, (TOOL,), GenerationSettings(seed=1, max_new_tokens=3))
    assert [(call.id, call.arguments) for call in turn.tool_calls] == [("call-1-0", {"code": "HAN"})]
    assert (turn.text, turn.reasoning) == ("I look.", "hm")
    assert turn.usage.output_tokens > 0
    assert '<tool_call>{"code": "HAN"}</tool_call>' in seen[0] and "get_airport" in seen[0] and "elevation_ft" in seen[0]


async def test_a_template_that_hides_the_tools_is_said(tmp_path: Path) -> None:
    model = _open(make_tiny(tmp_path, chat_template="{% for m in messages %}{{ m.content }}{% endfor %}"))
    with pytest.raises(PrerequisiteError, match="shows the model no tool 'get_airport'; use --tool-format constrained"):
        await model.generate(MESSAGES, (TOOL,), GenerationSettings())
    assert isinstance(await model.generate(MESSAGES, (), GenerationSettings(max_new_tokens=2)), ModelTurn)
    await model.aclose()


@pytest.mark.parametrize("seed", range(2))
async def test_even_a_random_model_is_held_to_the_schema(seed: int, tiny: Path) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed (the extra local)")
    model = _open(tiny, constrained=True, answer_chars="20")
    turn = await model.generate(MESSAGES, (TOOL,), GenerationSettings(seed=seed, max_new_tokens=300))
    assert turn.unparsable_calls == ()
    assert json.loads(turn.raw_text)["action"] in {"answer", "get_airport"}
    assert bool(turn.tool_calls) is not bool(turn.text)
    for call in turn.tool_calls:
        assert set(call.arguments) == {"code"} and len(call.arguments["code"]) <= 4
    label = await model.generate(MESSAGES, (), GenerationSettings(seed=seed, max_new_tokens=300, choices=("Yes", "No")))
    assert label.text.startswith(("Yes. Reason:", "No. Reason:"))
    await model.aclose()


@needs_model
async def test_a_real_model_knows_a_capital_and_acts() -> None:
    model = _open(REAL, constrained=True)
    options = (" Paris", " Rome", " a small village near Oslo")
    scores = await model.score("The capital of France is", options)
    assert isinstance(scores[0], Continuation)
    assert [score.logprob for score in scores] == pytest.approx(_naive(model, "The capital of France is", options), abs=1e-3)
    assert max(scores, key=lambda score: score.logprob) is scores[0]
    turn = await model.generate(LATER, (TOOL,), GenerationSettings(seed=1, max_new_tokens=120))
    assert bool(turn.tool_calls) is not bool(turn.text)
    assert turn.usage.input_tokens > 50 and turn.usage.output_tokens > 5
    await model.aclose()


async def test_closing_ends_a_pass_in_the_middle(tiny: Path) -> None:
    model = _open(tiny)
    layers = model._engine.model.model.layers
    entered, go_on = threading.Event(), threading.Event()
    passed: list[int] = []

    def wait(*_: object) -> None:
        entered.set()
        go_on.wait(30)

    layers[0].register_forward_hook(wait)
    layers[1].register_forward_hook(lambda *_: passed.append(1))
    asked = asyncio.ensure_future(model.score("the head", ["one", "two"]))
    await asyncio.to_thread(entered.wait, 30)
    asked.cancel()
    closing = asyncio.ensure_future(model.aclose())
    await asyncio.sleep(0.05)
    go_on.set()
    await asyncio.wait_for(closing, 30)
    assert not passed
