"""Model templates: the facts of each style, the tokenizer's own chat template, what `auto` picks, and one line for every mistake."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jinja2.exceptions import TemplateRuntimeError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.formats import read_calls
from talm_sim.tasks.templates import load_template, pick
from talm_sim.types import Behaviour, JsonObject, ModelTurn, Option

STYLES = ("default", "functionary", "hermes", "llama3.2", "nemotron", "qwen2.5", "xlam")
TEMPLATES = {name: load_template(name, None) for name in STYLES}
WEATHER = (
    '{"name": "weather.now", "description": "Wetter f\\u00fcr <Ort>", '
    '"parameters": {"type": "dict", "required": ["city"], "properties": {"city": {"type": "string"}, "days": {"type": "float"}}}}'
)
CLOCK = '{"name":"clock","description":"","parameters":{"type":"dict","properties":{}}}'
QUESTION = "How warm is it in Zürich?"
CALL = {"name": "weather.now", "arguments": {"city": 'Zürich "Oerlikon"', "days": 2, "now": True, "in": ["a", None]}}
CALL_TEXT = json.dumps(CALL)
LLAMA_END = f"<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{QUESTION}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
CHATML_END = f"<|im_end|>\n<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"


def option(text: str = CALL_TEXT, behaviour: Behaviour = Behaviour.TOOL_CALL) -> Option:
    return Option(behaviour=behaviour, text=text)


@dataclass
class FakeModel:
    """A tokenizer's chat template, rendered as transformers does; nothing behind it."""

    chat_template: str = ""
    name: str = "hf/fake"

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        raise NotImplementedError

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        raise NotImplementedError

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        def raise_exception(message: str) -> str:
            raise TemplateRuntimeError(message)

        room = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        room.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        room.globals["raise_exception"] = raise_exception
        try:
            return room.from_string(self.chat_template).render(messages=messages, tools=list(tools) or None, add_generation_prompt=True)
        except TemplateRuntimeError as err:
            raise PrerequisiteError(f"{self.name}: {err}.") from None


PLAIN_CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' }}"
CALLS = "{% for call in m.tool_calls or [] %}<tool_call>\n{{ call | tojson }}\n</tool_call>{% endfor %}"
QWEN_LIKE = (
    "<|im_start|>system\nHello.{% if tools %}{{ '\n\n' }}# Tools\n\nThey stand in <tools></tools>:\n<tools>"
    "{% for tool in tools %}{{ '\n' }}{{ tool | tojson }}{% endfor %}{{ '\n' }}</tools>"
    "\n\nCalls stand in <tool_call></tool_call>:\n<tool_call>\n{}\n</tool_call>{% endif %}<|im_end|>\n"
    + PLAIN_CHATML.replace("{{ m.content }}", "{{ m.content }}" + CALLS)
)
HERMES_LIKE = (
    "<|im_start|>system\nThey stand in <tools></tools>: <tools> {% for tool in tools %}{{ tool | tojson }} {% endfor %}</tools> "
    'Schema: {"title": "FunctionCall"} in <tool_call></tool_call>\n<tool_call>\n{}\n</tool_call><|im_end|>\n' + PLAIN_CHATML
)
LLAMA_LIKE = (
    "<|start_header_id|>system<|end_header_id|>\n\n{% if tools is not none %}Environment: ipython {{ tools | tojson }}"
    ' Write {"name": function name, "parameters": its arguments}.{% endif %}<|eot_id|>'
)


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


HEADS_TOOLS_ENDS = {
    "default": (
        "You assist",
        f'{{"name": "tool_name", "arguments": {{"parameter": "value"}}}}\n\n<tool>{WEATHER}</tool>\n\n<tool>{CLOCK}</tool>\n\n',
        f"{QUESTION}\n\nAssistant:\n",
    ),
    "functionary": ("<|start_header_id|>system<|end_header_id|>\n\nEnvironment: ipython\n", f"<Ort>\n{WEATHER}\n\n", LLAMA_END),
    "hermes": ("<|im_start|>system\n", f"<tools> {WEATHER} {CLOCK} </tools>", "</tool_call>" + CHATML_END),
    "llama3.2": ("<|start_header_id|>system<|end_header_id|>\n\n", f"\n[{WEATHER}, {CLOCK}]<|eot_id|>", LLAMA_END),
    "nemotron": (
        "<extra_id_0>System\n",
        f"\n\n<tool>{WEATHER}</tool>\n\n<tool>{CLOCK}</tool>\n\n",
        f"\n\n<extra_id_1>User\n{QUESTION}\n<extra_id_1>Assistant\n",
    ),
    "qwen2.5": ("<|im_start|>system\n", "\n\n# Tools\n\nThe", "</tool_call>" + CHATML_END),
    "xlam": (
        "[BEGIN OF TASK INSTRUCTION]\n",
        f"\n[END OF TASK INSTRUCTION]\n\n[BEGIN OF AVAILABLE TOOLS]\n[{WEATHER}, {CLOCK}]\n[END OF AVAILABLE TOOLS]\n\n"
        "[BEGIN OF FORMAT INSTRUCTION]\n",
        f"\n[END OF FORMAT INSTRUCTION]\n\n[BEGIN OF QUERY]\n{QUESTION}\n[END OF QUERY]\n\n",
    ),
}


def test_a_prompt_has_the_tokens_and_tags_of_its_format(style: str) -> None:
    head, tools, end = HEADS_TOOLS_ENDS[style]
    text = TEMPLATES[style].prompt(QUESTION, [WEATHER, CLOCK])
    assert text.startswith(head)
    assert tools in text
    assert text.endswith(end)
    assert text.count(QUESTION) == 1
    assert WEATHER in text and CLOCK in text


MARKERS = re.compile(r"<\|im_start\|>\w+|<\|im_end\|>|</?tools>|# Tools|\n?</?tool_call>\n?|\"FunctionCall\"|TOOL \d|QUESTION")


@pytest.mark.parametrize(("name", "source"), [("qwen2.5", QWEN_LIKE), ("hermes", HERMES_LIKE)])
def test_the_markers_stand_in_the_order_of_the_models_own_chat_template(name: str, source: str) -> None:
    model = FakeModel(source)
    tools = [json.dumps({"name": f"TOOL {n}", "description": "d", "parameters": {"type": "object", "properties": {}}}) for n in (1, 2)]
    ours, own = (MARKERS.findall(load_template(kind, model).prompt("QUESTION", tools)) for kind in (name, "chat"))
    assert [mark.strip() for mark in ours] == [mark.strip() for mark in own]
    assert {"TOOL 1", "TOOL 2", "QUESTION"} <= set(ours)


OPTION_TEXTS = {
    "default": CALL_TEXT,
    "functionary": '<function=weather.now>{"city": "Zürich \\"Oerlikon\\"", "days": 2, "now": true, "in": ["a", null]}</function>',
    "hermes": f"<tool_call>{CALL_TEXT}\n</tool_call>",
    "llama3.2": '[weather.now(city="Zürich \\"Oerlikon\\"", days=2, now=True, in=[\'a\', None])]',
    "nemotron": f"<toolcall> {CALL_TEXT} </toolcall>",
    "qwen2.5": CALL_TEXT,
    "xlam": f'{{\n\t"tool_calls": [\n\t{CALL_TEXT}\n\t]\n}}',
}


def test_a_tool_call_is_written_in_the_models_form_and_text_as_it_is(style: str) -> None:
    template = TEMPLATES[style]
    assert template.option(option()) == OPTION_TEXTS[style]
    text = ' {"name": "not", "arguments": {}} \n'
    for behaviour in set(Behaviour) - {Behaviour.TOOL_CALL}:
        assert template.option(option(text, behaviour)) == text


def test_the_data_may_say_parameters(style: str) -> None:
    text = TEMPLATES[style].option(option('{"name": "f", "parameters": {"a": "x"}}'))
    assert read_back(text) == {"name": "f", "arguments": {"a": "x"}}


def read_back(text: str) -> Any:
    """The one call of a text, as an agent and a judge read it."""
    written = read_calls(text)
    assert (written.text, written.unparsable) == ("", ())
    (call,) = written.calls
    return {"name": call.name, "arguments": call.arguments}


odd_text = st.text() | st.text(alphabet="{}%#<>|\"'\\ \n\r\t\x00é🙂ab", max_size=30) | st.sampled_from(["{{ 7 }}", "{% raw %}", "<|im_end|>"])
names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False) | odd_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text, inner, max_size=3),
    max_leaves=6,
)
tool_texts = st.builds(
    lambda name, description, ascii_only: json.dumps({"name": name, "description": description, "parameters": {}}, ensure_ascii=ascii_only),
    odd_text,
    odd_text,
    st.booleans(),
)


@given(name=names, arguments=st.dictionaries(names, values, max_size=4), ascii_only=st.booleans(), which=st.sampled_from(STYLES))
def test_an_option_can_be_read_back(name: str, arguments: dict[str, Any], ascii_only: bool, which: str) -> None:
    call = {"name": name, "arguments": arguments}
    text = TEMPLATES[which].option(option(json.dumps(call, ensure_ascii=ascii_only)))
    assert read_back(text) == call


@given(question=odd_text, tools=st.lists(tool_texts, max_size=3), which=st.sampled_from(STYLES))
def test_tools_and_question_stand_to_the_letter(question: str, tools: list[str], which: str) -> None:
    text = TEMPLATES[which].prompt(question, tools)
    start = 0
    for tool in tools:
        assert tool in text[start:]
        start = text.index(tool, start) + len(tool)
    assert question in text[start:]
    # Nothing but the values differs between two prompts: what they hold is never read as Jinja.
    marked = TEMPLATES[which].prompt("QUESTION", ['{"name": "T"}'] * len(tools))
    if which != "functionary":  # it also names a tool and says what it does
        assert len(text) - len(question) - sum(map(len, tools)) == len(marked) - len("QUESTION") - len('{"name": "T"}') * len(tools)


@pytest.mark.parametrize("attack", ["{{ 7 * 7 }}", "{{ cycler.__init__.__globals__ }}", "{% endmacro %}{{ undefined_name }}", "{# gone #}"])
def test_jinja_in_the_data_is_text(style: str, attack: str) -> None:
    template = TEMPLATES[style]
    tool = json.dumps({"name": attack, "description": attack, "parameters": {}})
    text = template.prompt(attack, [tool])
    assert text.count(attack) >= 3
    assert "49" not in text
    assert attack in template.option(option(json.dumps({"name": attack, "arguments": {"a": attack}})))


def test_half_a_surrogate_pair_stays_an_escape() -> None:
    call = '{"name": "f", "arguments": {"a": "\\ud800"}}'
    for which in ("functionary", "llama3.2"):
        text = TEMPLATES[which].option(option(call))
        assert "\\ud800" in text
        assert text.encode()


def test_a_users_file_adds_a_style(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(
        "{% macro prompt(tools, question) %}{% for tool in tools %}{{ tool.name }}|{{ tool.description }}|{{ tool.parameters | tojson }}|"
        "{{ tool.returns }}|{{ tool }}\n{% endfor %}{{ question }}\n{% endmacro %}\n"
        "{% macro tool_call(name, arguments) %}{{ name }} {{ arguments | tojson }} {{ arguments.city | python }}{% endmacro %}\n",
        encoding="utf-8",
    )
    template = load_template(str(file), None)
    tool = '{"type": "function", "function": {"name": "f", "description": "<é>", "parameters": {"a": "\\u00e9"}}, "returns": 1}'
    assert template.name == str(file)
    assert template.prompt("Q", [tool]) == f'f|<é>|{{"a": "é"}}|1|{tool}\nQ\n'
    assert template.option(option('{"name": "f", "arguments": {"city": "<é>"}}')) == 'f {"city": "<é>"} "<é>"'


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("", "default"),
        (PLAIN_CHATML, "default"),
        (PLAIN_CHATML + "the word tools, and {{ messages[0].tools }} {{ 'tools' }}", "default"),
        (QWEN_LIKE, "chat"),
        ("[BEGIN OF TASK INSTRUCTION]{{ enable_thinking }}", "default"),
        ("[AVAILABLE_TOOLS]{% if tools is not none %}{{ tools }}{% endif %}", "chat"),
        ("{% generation %}{% if tools %}{% break %}", "chat"),
        ("{{ 'broken", "default"),
    ],
)
def test_auto_picks_by_the_chat_template(source: str, name: str) -> None:
    assert pick(source) == name


@pytest.mark.parametrize(("source", "name"), [(QWEN_LIKE, "chat"), (PLAIN_CHATML, "default")])
def test_the_name_says_what_auto_picked(source: str, name: str) -> None:
    assert load_template("auto", FakeModel(source)).name == name


def test_auto_without_a_local_model_is_the_default() -> None:
    assert load_template("auto", None).name == "default"


def test_chat_hands_the_tools_to_the_tokenizer() -> None:
    template = load_template("chat", FakeModel(QWEN_LIKE))
    text = template.prompt("{{ 7 * 7 }}", [WEATHER, CLOCK])
    shown = re.findall(r"^\{.+\}$", text, re.MULTILINE)
    assert [json.loads(one) for one in shown[:2]] == [
        {
            "name": "weather.now",
            "description": "Wetter für <Ort>",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "number"}}, "required": ["city"]},
        },
        {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}},
    ]
    assert '"parameters": {"type": "object", "required": ["city"], "properties"' in text, "the keys keep their order"
    assert text.endswith("<|im_start|>user\n{{ 7 * 7 }}<|im_end|>\n<|im_start|>assistant\n")
    assert "<tools>" not in template.prompt("Q", [])


def test_chat_without_a_place_for_tools_puts_them_into_the_system_message() -> None:
    text = load_template("chat", FakeModel(PLAIN_CHATML)).prompt(QUESTION, [WEATHER])
    system = load_template("default", None).prompt(QUESTION, [WEATHER]).partition("\n\nUser:")[0]
    assert text == f"<|im_start|>system\n{system}{CHATML_END}"
    assert system.endswith(f"<tool>{WEATHER}</tool>")


@pytest.mark.parametrize(
    "refusal", ["{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}", "{% set messages = messages[-1:] %}"]
)
def test_chat_without_system_messages_puts_the_tools_before_the_question(refusal: str) -> None:
    text = load_template("chat", FakeModel(refusal + PLAIN_CHATML)).prompt(QUESTION, [WEATHER])
    assert text.startswith("<|im_start|>user\nYou assist")
    assert text.endswith(f"<tool>{WEATHER}</tool>\n\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n")


def test_chat_needs_a_chat_template() -> None:
    with pytest.raises(PrerequisiteError, match="template 'chat': the tokenizer of hf/fake has no chat template"):
        load_template("chat", FakeModel())
    with pytest.raises(PrerequisiteError, match="chat template of hf/fake does not show the user's message; give another --template"):
        load_template("chat", FakeModel("{% for m in messages %}{% for part in m.parts or [] %}{{ part }}{% endfor %}{% endfor %}User:"))


SMALL = '{"name": "f", "arguments": {"a": "x", "n": 1}}'


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (PLAIN_CHATML, SMALL),
        (QWEN_LIKE, f"<tool_call>\n{SMALL}\n</tool_call>"),
        (LLAMA_LIKE, '{"name": "f", "parameters": {"a": "x", "n": 1}}'),
        ("<function=f>", '<function=f>{"a": "x", "n": 1}</function>'),
        ("<|tool_call_start|>[{{ calls }}]", '<|tool_call_start|>[f(a="x", n=1)]<|tool_call_end|>'),
        ("[TOOL_CALLS] [", f"[TOOL_CALLS] [{SMALL}]"),
        ("[TOOL_CALLS]", f"[TOOL_CALLS][{SMALL}]"),
        ("Write [func_name1(params_name1=params_value1)]", '[f(a="x", n=1)]'),
        ('[{"name": "tool_call_name", ', f"[{SMALL}]"),
    ],
)
def test_chat_writes_a_call_as_the_chat_template_does(source: str, text: str) -> None:
    template = load_template("chat", FakeModel(source + "{{ messages[-1].content }}"))
    assert template.option(option(SMALL)) == text
    assert template.option(option("I cannot.", Behaviour.CANNOT_ANSWER)) == "I cannot."


def test_chat_bare_gives_the_same_prompt_and_writes_a_call_without_tags(caplog: pytest.LogCaptureFixture) -> None:
    chat, bare = (load_template(name, FakeModel(QWEN_LIKE)) for name in ("chat", "chat-bare"))
    assert (bare.name, bare.source) == ("chat-bare", chat.source)
    assert bare.prompt(QUESTION, [WEATHER]) == chat.prompt(QUESTION, [WEATHER])
    assert (bare.option(option(SMALL)), chat.option(option(SMALL))) == (SMALL, f"<tool_call>\n{SMALL}\n</tool_call>")
    load_template("chat-bare", FakeModel("{{ tools }}{{ messages[-1].content }}"))
    assert not caplog.records, "nothing is told of a form that was not asked for"


def test_the_default_style_says_nothing_on_when_to_ask_or_decline() -> None:
    prompt = load_template("default", None).prompt("QUESTION", [])
    assert not re.search(r"\b(?:ask|decline|unable|cannot|missing|required|not given|no tool)\b", prompt)


def test_xlam_writes_the_users_message_of_a_chat() -> None:
    bare = load_template("xlam", None).prompt(QUESTION, [WEATHER])
    assert load_template("xlam", FakeModel()).prompt(QUESTION, [WEATHER]) == bare
    assert load_template("xlam", FakeModel(PLAIN_CHATML)).prompt(QUESTION, [WEATHER]) == (
        f"<|im_start|>user\n{bare}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert load_template("default", FakeModel(PLAIN_CHATML)).prompt(QUESTION, []) == load_template("default", None).prompt(QUESTION, [])


BESIDE_SYSTEM = "{% if messages[0].role == 'system' and tools %}{{ tools | tojson }}{% endif %}" + PLAIN_CHATML
BARE_ONLY = "{% for tool in tools or [] if tool.tool %}{{ tool.tool }}{% endfor %}" + PLAIN_CHATML


@pytest.mark.parametrize("source", [BESIDE_SYSTEM, BARE_ONLY])
@pytest.mark.parametrize("name", ["chat", "auto"])
def test_a_chat_template_that_takes_tools_and_shows_none_is_refused(source: str, name: str) -> None:
    template = load_template(name, FakeModel(source))
    with pytest.raises(PrerequisiteError, match=r"^template 'chat': the chat template of hf/fake shows the model no tool 'clock'; give"):
        template.prompt("Ask the clock, with the tool clock.", [CLOCK])
    assert "clock" in load_template("chat", FakeModel(QWEN_LIKE)).prompt("Ask the clock.", [CLOCK])


def test_a_file_that_shows_no_tool_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{% macro prompt(tools, question) %}{{ question }}{% endmacro %}{% macro tool_call(text) %}{{ text }}{% endmacro %}")
    with pytest.raises(PrerequisiteError, match=r"mine\.jinja shows the model no tool 'clock'; write {{ tool }}"):
        load_template(str(file), None).prompt("What says the clock?", [CLOCK])
