"""Whatever a stranger's code gives back, or writes where its answer goes, is an answer or one failed call."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, explain_no_sandbox

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="this system has no namespaces")

CODE = """
import json, os, sys, threading, time

def nested(depth, kind=list):
    found = kind()
    for _ in range(depth):
        found = [found] if kind is list else {"a": found}
    return found

def itself():
    found = []
    found.append(found)
    return found

def generated():
    yield 1

class Evil(Exception):
    def __str__(self):
        raise ValueError("no text")

class Odd(dict):
    def items(self):
        raise KeyError("no items")

class Metaclass(type):
    def __getattribute__(cls, name):
        raise SystemExit(name)

class Worse(Exception, metaclass=Metaclass):
    pass

def raised(err):
    raise err

def raw(*parts):
    for part in parts:
        os.write(3, part)
    os._exit(0)

def value(text):
    return eval(text)
"""
STOPPED = "it was stopped: it ran into a limit of memory, time or processes, or ended itself"
UNREADABLE = "its answer cannot be read"
TOO_LONG = "it was stopped: its answer is longer than 1,024 KiB"
VALUES = {
    "None": None,
    "True": True,
    "''": "",
    "0.1": 0.1,
    "-0.0": -0.0,
    "2 ** 62": 2**62,
    "10 ** 400": 10**400,
    "'\\x00\\x1b[31m'": "\x00\x1b[31m",
    "{1: 2, None: 3}": {"1": 2, "null": 3},
    "(1, 2)": [1, 2],
    "nested(100)": ...,
    "nested(100, dict)": ...,
    "'x' * 1_000_000": "x" * 1_000_000,
}
FAILURES = {
    "float('nan')": "ValueError: its result holds NaN, which is no JSON value",
    "[{'a': float('inf')}]": "ValueError: its result holds Infinity, which is no JSON value",
    "-float('inf')": "ValueError: its result holds -Infinity, which is no JSON value",
    "'\\ud83d'": "PydanticSerializationError: .*surrogates not allowed",
    "{'\\udcff': 1}": "PydanticSerializationError: .*|UnicodeEncodeError: .*",
    "['x', '\\udfff' * 9]": "PydanticSerializationError: .*surrogates not allowed",
    "nested(400)": "PydanticSerializationError: .*depth exceeded",
    "nested(400, dict)": "PydanticSerializationError: .*depth exceeded",
    "nested(50_000)": "RecursionError: .*",
    "itself()": "ValueError: Circular reference detected",
    "generated()": "TypeError: Object of type generator is not JSON serializable",
    "{1, 2}": "TypeError: Object of type set is not JSON serializable",
    "b'x'": "TypeError: Object of type bytes is not JSON serializable",
    "Odd(a=1)": "KeyError: 'no items'",
    "10 ** 5_000": "ValueError: Exceeds the limit .*",
    "{(1, 2): 3}": "TypeError: keys must be .*",
    "'x' * 1_048_576": TOO_LONG,
    "'x' * 30_000_000": TOO_LONG,
    "raised(Evil())": "Evil: its text cannot be had",
    "raised(Worse())": STOPPED,
    "raised(ValueError('\\ud83d'))": r"ValueError: \\ud83d",
    "raised(ValueError('x' * 10 ** 6))": "ValueError: x{400}",
    "raised(ValueError('\\x00 \\n\\n b'))": "ValueError: \x00 b",
    "raised(SystemExit(3))": "SystemExit: 3",
    "raised(KeyboardInterrupt())": "KeyboardInterrupt: ",
    "raised(GeneratorExit())": "GeneratorExit: ",
    "sys.exit()": "SystemExit: ",
    "os._exit(9)": STOPPED,
    "os.abort()": STOPPED,
    "os.close(3)": STOPPED,
    "print('{\"value\": 1}') or os._exit(0)": STOPPED,
    "os.write(2, b'out') and os._exit(0)": STOPPED,
    "raised(MemoryError())": "MemoryError: it wanted more than 1,024 MiB",
    "(lambda f: f(f))(lambda f: f(f))": "RecursionError: .*",
    "threading.Thread(target=os._exit, args=(0,)).start() or time.sleep(9)": STOPPED,
    "raw(b'')": STOPPED,
    "raw(b'5')": UNREADABLE,
    "raw(b'{}')": UNREADABLE,
    "raw(b'[]')": UNREADABLE,
    "raw(b'null')": UNREADABLE,
    "raw(b'\"value\"')": UNREADABLE,
    "raw(b'\"walls\"')": UNREADABLE,
    'raw(b\'{"walls": "no namespaces"}\')': UNREADABLE,
    "raw(b'no namespaces')": UNREADABLE,
    "raw(b'\\x00')": UNREADABLE,
    "raw(b'\\x00{\"value\": 1}')": UNREADABLE,
    'raw(b\'{"value": 1}{"value": 2}\')': UNREADABLE,
    "raw(b'{\"value\": 1')": UNREADABLE,
    "raw(b'\\xff\\xfe\\xfd')": UNREADABLE,
    "raw(b'[' * 200_000)": UNREADABLE,
    "raw(b'{\"value\":' * 100_000)": UNREADABLE,
    "raw(b'{\"value\": ', b'[' * 900, b']' * 900, b'}')": "PydanticSerializationError: .*depth exceeded|" + UNREADABLE,
    "raw(b'{\"value\": ', b'9' * 5_000, b'}')": UNREADABLE,
    "raw(b'{\"value\": 1e999}')": "ValueError: its result holds Infinity.*",
    "raw(b'{\"value\": NaN}')": "ValueError: its result holds NaN.*",
    'raw(b\'{"value": "\\\\ud800"}\')': "PydanticSerializationError: .*surrogates not allowed",
    'raw(b\'{"error": "\\\\ud800"}\')': r"\\ud800",
    "raw(b'{\"error\": 5}')": UNREADABLE,
    "raw(b'{\"error\": [[[]]]}')": UNREADABLE,
    "raw(b'{\"error\": \"', b'x' * 900_000, b'\"}')": "x{500}",
    "raw(b'x' * 1_048_577)": TOO_LONG,
    "raw(*[b'{\"value\": 1}'] * 200_000)": TOO_LONG,
    "raw(b'[' + b'[],' * 340_000 + b'[]]')": UNREADABLE,
}


async def _called(text: str, folder: Path) -> Outcome:
    (folder / "api.py").write_text(CODE, encoding="utf-8")
    return Outcome.of(await call_in_sandbox(folder / "api.py", "value", {"text": text}, seconds=60))


@pytest.mark.parametrize("text", VALUES)
async def test_a_value_comes_back_as_it_is(text: str, tmp_path: Path) -> None:
    found = await _called(text, tmp_path)
    assert found.status == 200
    assert VALUES[text] is ... or json.loads(found.body) == VALUES[text]


@pytest.mark.parametrize("text", FAILURES)
async def test_anything_else_is_one_failed_call(text: str, tmp_path: Path) -> None:
    found = await _called(text, tmp_path)
    said = json.loads(found.body.decode())["detail"]
    assert found.status == 500 and re.fullmatch(FAILURES[text], said, re.DOTALL), said
