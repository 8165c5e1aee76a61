"""What a chat template is given beside the conversation: its own text, its variables, the run's day; and which templates write calls unread."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from talm_sim.common.typed_options import read_options
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings, TextModel
from talm_sim.models.local.engine import HFOptions
from talm_sim.models.local.prompting import Rendering, chat_template_of, render, render_whole, unread_form
from talm_sim.models.request import ModelRequest
from talm_sim.tasks.templates import load_template, pick
from talm_sim.tasks.templates.chat_template import check_thought_ended
from talm_sim.types import ToolSpec
from tests.agent.test_templates import FakeModel
from tests.models.local.tiny import make_tiny
from tests.tables import labelled

DAY = date(2025, 2, 3)
TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
THINKER = (
    TURNS + "{% if tools %}<tools># Tools {{ tools | tojson }}</tools>{% endif %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% else %}<think>\n{% endif %}"
)
"""As the templates of Qwen 3.5 and Nemotron 3 end."""
WAVERER = THINKER.replace("{% else %}<think>\n", "")
"""As the template of Qwen 3 does: it begins no thought."""
ALWAYS = TURNS + "{{ tools }}<|im_start|>assistant\n<think>\n"
DATED = "{{ strftime_now('%d %b %Y') }} {{ messages[0].content }}"
HELLO: list[dict[str, Any]] = [{"role": "user", "content": "Hello?"}]


class Bare:
    """A tokenizer that is a chat template and nothing else, rendered by transformers."""

    def __init__(self, chat_template: Any) -> None:
        self.chat_template = chat_template

    def apply_chat_template(self, messages: Any, *, tools: Any, add_generation_prompt: bool, tokenize: bool, **given: Any) -> str:
        assert not tokenize
        templates = pytest.importorskip("transformers.utils.chat_template_utils")
        source = given.pop("chat_template", self.chat_template)
        given |= {"tools": tools, "add_generation_prompt": add_generation_prompt, "bos_token": "<s>", "eos_token": "</s>"}
        found, _ = templates.render_jinja_template([messages], chat_template=source, **given)
        return str(found[0])


class Local(FakeModel):
    """A local model whose prompts transformers renders."""

    rendering = Rendering()

    def render_chat(self, messages: Any, tools: Any) -> str:
        wrapped = [{"type": "function", "function": tool} for tool in tools]
        return render(Bare(self.chat_template), list(messages), wrapped, self.name, self.rendering.without_thought())


def public(name: str) -> str:
    """A public chat template, as TRL brings it along."""
    spec = find_spec("trl")
    file = Path(spec.origin).parent / "chat_templates" / f"{name}.jinja" if spec and spec.origin else None
    if file is None or not file.is_file():
        pytest.skip("needs the chat templates of trl: pip install trl==1.16.0")
    return file.read_text(encoding="utf-8")


def asked(template: str, rendering: Rendering, tools: Any = ()) -> str:
    return render(Bare(template), HELLO, list(tools), "hf/x", rendering)


def test_a_rendering_is_made_of_two_options(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(DATED)
    given = {"dtype": "float32", "chat_template": str(file), "chat_template_kwargs": '{"enable_thinking": true, "n": [1]}'}
    rendering = Rendering.of(read_options(given, HFOptions, "hf/x", "-M "), DAY)
    assert rendering == Rendering(DATED, {"enable_thinking": True, "n": [1]}, DAY)
    assert Rendering.of(HFOptions(), None) == Rendering()
    assert chat_template_of(Bare("other"), rendering) == DATED
    assert chat_template_of(Bare({"default": "one", "rag": "two"}), Rendering()) == "one"
    several = Bare({"default": "one", "tool_use": "two"})
    assert (chat_template_of(several), chat_template_of(several, tools=False)) == ("two", "one")


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [
        ("chat_template", "none.jinja", "cannot be read"),
        ("chat_template", "latin.jinja", "is not UTF-8 text"),
        ("chat_template", "empty.jinja", "is empty"),
        ("chat_template", ".", "cannot be read"),
        ("chat_template_kwargs", "enable_thinking=false", "is not a JSON object"),
        ("chat_template_kwargs", "[1]", "is not a JSON object"),
        ("chat_template_kwargs", '{"messages": []}', "'messages'"),
        ("chat_template_kwargs", '{"add_generation_prompt": false}', "'add_generation_prompt'"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(option: str, value: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.jinja").write_bytes("Grüße".encode("latin-1"))
    Path("empty.jinja").write_text(" \n")
    with pytest.raises(PrerequisiteError) as caught:
        read_options({option: value}, HFOptions, "hf/x", "-M ")
    assert str(caught.value).startswith(f"-M {option}") and named in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.local
def test_a_template_is_told_the_day_of_the_run_and_not_todays() -> None:
    assert asked(DATED, Rendering(today=DAY)) == "03 Feb 2025 Hello?"
    assert asked("{{ messages[0].content }}", Rendering(today=DAY)) == "Hello?"
    assert asked(public("llama3_2"), Rendering(today=DAY)).count("Today Date: 03 Feb 2025") == 1
    assert "Current date: 2025-02-03" in asked(public("gptoss"), Rendering(today=DAY))


@pytest.mark.local
def test_a_file_takes_the_place_of_the_tokenizers_own_template() -> None:
    assert asked(THINKER, Rendering(DATED, today=DAY)) == "03 Feb 2025 Hello?"
    assert render(Bare(None), HELLO, [], "hf/x", Rendering("{{ messages | length }}")) == "1"
    with pytest.raises(PrerequisiteError, match="-M chat_template=FILE"):
        render(Bare(None), HELLO, [], "hf/x")


@pytest.mark.local
def test_variables_reach_the_template_and_an_unknown_one_is_told() -> None:
    assert asked(THINKER, Rendering(arguments={"enable_thinking": False})).endswith("</think>\n\n")
    assert asked(DATED, Rendering(arguments={"enable_thinking": False}, today=DAY)) == "03 Feb 2025 Hello?", "it knows no thought"
    with pytest.raises(PrerequisiteError, match="-M chat_template_kwargs: the chat template of hf/x has no variable 'enable_thinkin'"):
        asked(THINKER, Rendering(arguments={"enable_thinkin": False}))


@pytest.mark.local
@pytest.mark.parametrize("name", ["qwen3", "qwen3_5_think", "qwen3_6", "qwen3_8", "glm4moe", "nemotron_3_nano", "nemotron_3_ultra"])
def test_public_templates_that_think_are_scored_behind_the_thought(name: str) -> None:
    source = public(name)
    assert pick(source) == "chat"
    model = Local(source, f"hf/{name}")
    assert isinstance(model, TextModel)
    prompt = load_template("auto", model).prompt("Hello?", [])
    assert prompt.rstrip().endswith("</think>")
    check_thought_ended(prompt, model)


@pytest.mark.local
@pytest.mark.parametrize("name", ["qwen3_5_think", "qwen3_8", "nemotron_3_super"])
def test_a_thought_the_user_asks_for_is_refused_where_answers_are_scored(name: str) -> None:
    model = Local(public(name), f"hf/{name}")
    model.rendering = Rendering(arguments={"enable_thinking": True})
    prompt = load_template("auto", model).prompt("Hello?", [])
    with pytest.raises(PrerequisiteError, match=r"open thinking block.*-M chat_template_kwargs='\{\"enable_thinking\": false\}'") as caught:
        check_thought_ended(prompt, model)
    assert "\n" not in str(caught.value)


@pytest.mark.local
def test_a_template_that_always_thinks_is_refused_with_what_mends_it() -> None:
    for source in (ALWAYS, public("deepseek_r1_distill")):
        model = Local(source)
        with pytest.raises(PrerequisiteError, match="-M chat_template=FILE"):
            check_thought_ended(load_template("chat", model).prompt("Hello?", []), model)


@labelled
def test_only_the_end_of_a_prompt_says_whether_a_thought_is_open(end: str, is_open: bool) -> None:
    model = FakeModel("{{ thinking }}")
    if not is_open:
        check_thought_ended(f"Hello?{end}", model)
        return
    with pytest.raises(PrerequisiteError, match=r'\{"thinking": false\}'):
        check_thought_ended(f"Hello? {end}", model)


def test_thinking_is_left_out_where_nobody_asks() -> None:
    assert asked(TURNS, Rendering().without_thought()) == asked(TURNS, Rendering())


def test_an_answer_of_gpt_oss_begins_on_the_channel_that_the_user_reads() -> None:
    source = public("gptoss")
    answering = asked(source, Rendering().without_thought())
    assert answering == asked(source, Rendering()) + "<|channel|>final<|message|>"
    assert answering.endswith("<|start|>assistant<|channel|>final<|message|>")
    check_thought_ended(answering, Local(source))


def test_a_template_that_joins_arguments_to_text_is_given_texts() -> None:
    each = "{% for m in messages %}{% for call in m.tool_calls or [] %}"
    joins = each + "{{ call.function.name + ' ' + call.function.arguments }}{% endfor %}{% endfor %}"
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": {"word": "mañana"}}}
    said = [*HELLO, {"role": "assistant", "content": "", "tool_calls": [call]}]
    assert render(Bare(joins), said, [], "hf/x") == 'look_up {"word": "mañana"}'
    with pytest.raises(PrerequisiteError, match="cannot take this conversation"):
        render(Bare("{{ raise_exception('no') }}"), said, [], "hf/x")


@pytest.mark.parametrize("source", [THINKER, WAVERER])
def test_auto_takes_the_chat_template_that_knows_thinking(source: str) -> None:
    assert pick(source) == "chat"
    assert pick(source.replace("tools", "other")) == "default"


@pytest.mark.local
def test_a_template_whose_calls_are_not_read_is_known() -> None:
    assert unread_form(Bare(public("muse_glimmer")), "hf/x").startswith("to=look_up<|message|><atem:function_calls>")


READ = ("qwen2_5", "qwen3", "qwen3_6", "glm4moe", "lfm2_v2", "nemotron_3_nano", "gptoss", "gemma4_v5")
WRITES_NONE = ("llama3_2", "gemma3", "phi3", "deepseekv3", "smolvlm")


@pytest.mark.local
@pytest.mark.parametrize("name", [*READ, *WRITES_NONE])
def test_a_template_whose_calls_are_read_or_that_writes_none_is_not(name: str) -> None:
    assert unread_form(Bare(public(name)), "hf/x") == ""


UNREAD = (
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}<call {{ call.function.name }}"
    "{% for key, value in call.function.arguments.items() %} {{ key }}={{ value }}{% endfor %}"
    ">{% endfor %}</s>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""Calls in a form that no family has."""


@pytest.mark.local
@pytest.mark.parametrize(
    ("template", "lines"), [(UNREAD, 1), (UNREAD.replace("<call {{ call.function.name }}", "{{ call.function | tojson }}"), 0)]
)
async def test_calls_that_are_not_read_are_told_once_before_the_first_answer(
    template: str, lines: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("torch")
    from talm_sim.models.local.hf import open_hf

    if not lines:
        template = re.sub(r"{% for key.*?{% endfor %}>", "", template)
    model = open_hf(ModelRequest("hf/tiny", str(make_tiny(tmp_path / "m", chat_template=template)), options={"threads": "1"}))
    look_up = ToolSpec(name="look_up", category="", description="Look a word up.", parameters={"type": "object", "properties": {}})
    try:
        for _ in range(2):
            await model.generate([HumanMessage("Hello?")], [look_up], GenerationSettings(temperature=0, max_new_tokens=2))
        await model.generate([HumanMessage("Hello?")], [], GenerationSettings(temperature=0, max_new_tokens=2))
    finally:
        await model.aclose()
    told = [record.getMessage() for record in caplog.records if record.name.startswith("talm_sim")]
    assert len(told) == lines
    assert all("hf/tiny" in line and "<call look_up" in line and "--tool-format constrained" in line for line in told)


@pytest.mark.local
async def test_both_kinds_of_prompt_of_a_model_in_this_process_are_rendered_as_asked(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from talm_sim.models.local.hf import open_hf

    place = str(make_tiny(tmp_path / "m", chat_template=DATED + THINKER))
    request = ModelRequest("hf/tiny", place, options={"threads": "1"}, created=DAY)
    model = open_hf(request)
    assert isinstance(model, TextModel)
    prompt = model.render_chat(HELLO, [])
    assert prompt.startswith("03 Feb 2025") and prompt.endswith("<think>\n\n</think>\n\n")
    await model.aclose()
    asking = open_hf(replace(request, options={"threads": "1", "chat_template_kwargs": '{"enable_thinking": true}'}))
    assert isinstance(asking, TextModel)
    assert asking.render_chat(HELLO, []).endswith("<think>\n")
    await asking.aclose()


@pytest.mark.local
@pytest.mark.parametrize(("template", "given", "named"), [(THINKER, True, '{"enable_thinking": false}'), (ALWAYS, None, "chat_template=FILE")])
def test_a_run_that_would_score_inside_a_thought_is_refused_before_it_begins(
    template: str, given: bool | None, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    from talm_sim.cli import main

    monkeypatch.chdir(tmp_path)
    place = str(make_tiny(tmp_path / "m", chat_template=template, context=100_000))
    options = ["-M", "threads=1", "--template", "chat"]
    if given is not None:
        options += ["-M", f'chat_template_kwargs={{"enable_thinking": {str(given).lower()}}}']
    run = ("run", "--task", "when2call", "--split", "tool_call", "--limit", "1", "--model", f"hf/{place}")
    assert main((*run, *options)) == 2
    err = capsys.readouterr().err.splitlines()
    assert len([line for line in err if line.startswith("talm-sim: error") and named in line]) == 1
    assert not Path("runs").exists()
    if given:
        assert main((*run, *options[:-2], "--run-id", "ended")) == 0
        assert Path("runs", "ended", "run.json").is_file()


class Strict:
    """A tokenizer whose chat template takes strictly alternating turns, and treats what the system says in one of the ways there are."""

    chat_template = "{{ messages }}"

    def __init__(self, system: str) -> None:
        self.system = system

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        late = [place for place, message in enumerate(messages) if place and message["role"] == "system"]
        if (self.system == "refused" and any(message["role"] == "system" for message in messages)) or (self.system == "first" and late):
            raise ValueError("System message must be at the beginning.")
        kept = [message for message in messages if self.system != "dropped" or message["role"] != "system"]
        turns = [message["role"] for message in kept if message["role"] != "system"]
        if any(one == other for one, other in pairwise(turns)):
            raise ValueError("Conversation roles must alternate.")
        said = [(message["role"], json.dumps(message["content"]) if self.system == "escaped" else message["content"]) for message in kept]
        return " ".join(f"<{role}>{content}" for role, content in said)


SAID: list[dict[str, Any]] = [
    {"role": "system", "content": "Ours."},
    {"role": "system", "content": "Theirs."},
    {"role": "user", "content": "How high?"},
    {"role": "assistant", "content": "16 m."},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "And LHR?"},
]


@pytest.mark.parametrize(
    ("system", "prompt"),
    [
        ("taken", "<system>Ours.\n\nTheirs. <user>How high? <assistant>16 m. <system>Be brief. <user>And LHR?"),
        *((way, "<user>Ours.\n\nTheirs.\n\nHow high? <assistant>16 m. <user>Be brief.\n\nAnd LHR?") for way in ("first", "refused", "dropped")),
    ],
)
def test_what_the_system_says_is_never_lost(system: str, prompt: str) -> None:
    assert render_whole(Strict(system), SAID, [], "hf/x") == prompt


@pytest.mark.parametrize("system", ["taken", "first"])
def test_a_conversation_that_a_template_takes_is_rendered_as_it_is(system: str) -> None:
    plain = [SAID[0], *SAID[2:4], SAID[5]]
    assert render_whole(Strict(system), plain, [], "hf/x") == render(Strict(system), plain, [], "hf/x")
    with pytest.raises(PrerequisiteError, match="cannot take this conversation"):
        render_whole(Strict(system), [SAID[3], SAID[3]], [], "hf/x")


_GROWS = "{% set ns = namespace(x='aa') %}{% for i in range(40) %}{% set ns.x = ns.x OP ns.x %}{% endfor %}{{ ns.x }}"


@pytest.mark.local
def test_a_template_without_end_is_stopped_and_others_are_rendered_as_before() -> None:
    long = "{% set a = 'a' * 1000000 %}"
    bodies: tuple[str, ...] = (
        _GROWS.replace("OP", "~"),
        _GROWS.replace("OP", "+"),
        "{% for a in range(999) %}{% for b in range(999) %}{% endfor %}{% endfor %}",
    )
    bodies += (long + "{{ a.replace('a', a) }}", long + "{{ [1, 2, 3, 4, 5, 6] | join(a) }}", "{{ 'a' | center(2000000000) }}")
    bodies += (long + "{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = ns.x + [a | list] %}{% endfor %}",)
    for body in bodies:
        with pytest.raises(PrerequisiteError, match=r"cannot take this conversation \(RuntimeError: .* more than "):
            asked(body, Rendering())
    body = "{% generation %}{{ messages[0].content.split('H')[1] }}{% endgeneration %}"
    body += "{% for m in messages %}{{ loop.length }}{% break %}{% endfor %}"
    assert asked(body + "{{ nothing }}{{ ('100% 99999999 ' ~ 1).strip() }}", Rendering()) == "ello?1100% 99999999 1"
