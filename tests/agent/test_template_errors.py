"""Model templates that cannot be used: one line that names the file, the line or the text, and the fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.local import template_sandbox as sandbox
from talm_sim.tasks.templates import load_template
from talm_sim.types import Behaviour, Option

GOOD_CALL = "{% macro tool_call(name, arguments) %}{{ name }}{% endmacro %}"
GOOD_PROMPT = "{% macro prompt(tools, question) %}{{ question }}{% endmacro %}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{% macro prompt(", "FILE:2: not valid Jinja: "),
        ("{{ 1 | nosuchfilter }}", "FILE:1: not valid Jinja: No filter named 'nosuchfilter'."),
        (GOOD_PROMPT, "FILE: no macro 'tool_call'; a template needs prompt(tools, question) and tool_call(name, arguments, text)."),
        (GOOD_CALL + "{% set prompt = 1 %}", "FILE: no macro 'prompt'; a template needs"),
        ("\n{{ nothing }}", "FILE:2: cannot be used: 'nothing' is undefined."),
        ("{% include 'other' %}", "FILE:1: cannot be used: no loader for this environment specified."),
    ],
)
def test_a_broken_file_is_told_when_it_is_loaded(tmp_path: Path, source: str, message: str) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(source, encoding="utf-8")
    with pytest.raises(PrerequisiteError) as caught:
        load_template(str(file), None)
    assert str(caught.value).startswith(message.replace("FILE", str(file)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("\n\n{{ questoin }}", "FILE:3: macro 'prompt' failed: 'questoin' is undefined."),
        ("{{ tools[0].nosuch }}", "FILE:1: macro 'prompt' failed: "),
        ("\n{{ question.__class__.__mro__ }}", "FILE:2: macro 'prompt' failed: access to attribute '__class__'"),
        ("{{ tools[0].data.update({}) }}", "FILE:1: macro 'prompt' failed: "),
        ("{{ 1 / 0 }}", "FILE:1: macro 'prompt' failed: division by zero."),
        ("{{ range(999999999) | list }}", "FILE:1: macro 'prompt' failed: "),
        (" \n", "FILE: macro 'prompt' writes no text"),
    ],
)
def test_a_macro_that_fails_is_told_with_its_line(tmp_path: Path, body: str, message: str) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(f"{{% macro prompt(tools, question) %}}{body}{{% endmacro %}}{GOOD_CALL}", encoding="utf-8")
    template = load_template(str(file), None)
    with pytest.raises(PrerequisiteError) as caught:
        template.prompt("Q", ['{"name": "f"}'])
    assert str(caught.value).startswith(message.replace("FILE", str(file)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("qwen25", "unknown template 'qwen25': give a built-in name or a Jinja file. Did you mean 'qwen2.5'?"),
        ("zzzz", "unknown template 'zzzz': give a built-in name or a Jinja file. Known: auto, chat, chat-bare, default, functionary"),
        ("mine.jinja", "mine.jinja: cannot be read (No such file or directory); --template needs a Jinja file or a built-in name."),
        ("no/such", "no/such: cannot be read (No such file or directory); --template needs a Jinja file or a built-in name."),
        ("a\0b", "unknown template"),
        ("chat", "template 'chat': needs a local model's tokenizer"),
    ],
)
def test_a_name_that_is_none(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PrerequisiteError) as caught:
        load_template(name, None)
    assert str(caught.value).startswith(message)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_bytes(b"\xff\xfe{")
    with pytest.raises(PrerequisiteError, match="is not UTF-8 text; --template needs a Jinja file"):
        load_template(str(file), None)
    with pytest.raises(PrerequisiteError, match="cannot be read"):
        load_template(f"{tmp_path}/", None)


@pytest.mark.parametrize(
    "text",
    ["get_weather(city='x')", "[]", '{"name": "f"}', '{"name": "f", "arguments": "{}"}', '{"name": 1, "arguments": {}}', "[" * 100_000],
)
def test_an_option_that_is_no_call(text: str) -> None:
    with pytest.raises(PrerequisiteError, match=r'^tool-call option .{1,70}: is not JSON like \{"name": \.\.\., "arguments": \{\.\.\.\}\}'):
        load_template("default", None).option(Option(behaviour=Behaviour.TOOL_CALL, text=text))


@pytest.mark.parametrize("text", ["weather", "", "[1]", '{"description": "no name"}', '{"name": 3}', '{"name": "f"', "{" * 100_000])
def test_a_tool_that_is_no_json(text: str) -> None:
    template = load_template("default", None)
    with pytest.raises(PrerequisiteError, match=r"^tool .{2,70}: is not a JSON object with a name"):
        template.prompt("Q", ['{"name": "f"}', text])


_NESTED = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (_NESTED, "its loops and calls take more than 200,000 turns"),
        ("{% for a in range(99999) %}{% set _ = range(99999) | list %}{% endfor %}", "its loops and calls take more than"),
        ("{% for a in range(99999) %}{{ question * 100 }}{% endfor %}", "it writes more than 4,194,304 characters"),
        ("{{ question * 99999999999 }}", "'*' gives more than 4,194,304 characters"),
        ("{{ 9 ** 99999999 }}", "'**' gives more than 4,194,304 characters"),
        ("{{ '%1500000000d' % 1 }}", "'%' gives more than 4,194,304 characters"),
        ("{{ '%*d' % (1500000000, 1) }}", "'%' gives more than 4,194,304 characters"),
        ("{{ '{:1500000000}'.format(1) }}", "'format' gives more than 4,194,304 characters"),
        ("{{ question.center(1500000000) }}", "'center' gives more than 4,194,304 characters"),
        ("{{ lipsum(n=1000000) }}", "'lipsum' is undefined"),
    ],
)
def test_a_template_without_end_is_stopped(tmp_path: Path, body: str, why: str) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(f"{{% macro prompt(tools, question) %}}{body}{{% endmacro %}}{GOOD_CALL}", encoding="utf-8")
    template = load_template(str(file), None)
    with pytest.raises(PrerequisiteError, match=f"^{re.escape(f'{file}:1: macro ')}'prompt' failed: {re.escape(why)}.*$"):
        template.prompt("Q" * 1000, [])


@pytest.mark.parametrize(
    "body",
    [
        "{% macro deep(n) %}{% if n %}{{ deep(n - 1) }}{{ deep(n - 1) }}{% endif %}{% endmacro %}{{ deep(30) }}",
        "{% for a in [1, 2] recursive %}{% if loop.depth < 30 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}",
        "{% for a in range(99999) %}{% set _ = (question * 4000) | upper %}{% endfor %}",
    ],
)
def test_a_template_that_takes_its_time_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr(sandbox, "_MOST_SECONDS", 0.2)
    file = tmp_path / "mine.jinja"
    file.write_text(f"{{% macro prompt(tools, question) %}}{body}{{% endmacro %}}{GOOD_CALL}", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r":1: macro 'prompt' failed: it takes more than 0\.2 s\.$"):
        load_template(str(file), None).prompt("Q" * 1000, [])


def test_a_file_without_end_is_stopped_when_it_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(GOOD_PROMPT + GOOD_CALL + _NESTED, encoding="utf-8")
    with pytest.raises(PrerequisiteError, match="cannot be used: its loops and calls take more than"):
        load_template(str(file), None)


def test_loops_know_where_they_are(tmp_path: Path) -> None:
    body = (
        "{% for a in range(3) %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}{{ loop.nextitem | default('-') }} {% else %}none{% endfor %}"
    )
    file = tmp_path / "mine.jinja"
    file.write_text(f"{{% macro prompt(tools, question) %}}{body}{{% endmacro %}}{GOOD_CALL}", encoding="utf-8")
    assert load_template(str(file), None).prompt("Q", []) == "1/3False1 2/3False2 3/3True- "
