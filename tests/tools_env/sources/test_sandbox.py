"""Code that came with data runs into walls, each with a line that the model sees; what it answers is an answer or one failed call."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tasks.talm.published import read_tools
from talm_sim.tools_env.routes import NOT_EXECUTABLE, fault_of
from talm_sim.tools_env.sources.fail_talms import ToolFolder, open_fail_talms
from talm_sim.tools_env.sources.sandbox import SandboxSession, call_in_sandbox, check_sandbox, explain_no_sandbox
from talm_sim.tools_env.sources.sandbox_walls import network_files
from talm_sim.tools_env.sources.tool_code import imported_anywhere, read_code
from tests.tools_env.sources.worlds import folder_request, write_folder

walled = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")

CODE = """
import json, os, socket, subprocess, sys, threading, time

def nested(depth, kind=list):
    found = kind()
    for _ in range(depth):
        found = [found] if kind is list else {"a": found}
    return found

def itself():
    found = []
    found.append(found)
    return found

class Evil(Exception):
    def __str__(self):
        raise ValueError("no text")

class Odd(dict):
    def items(self):
        raise KeyError("no items")

def raised(err):
    raise err

def raw(*parts):
    for part in parts:
        os.write(3, part)
    os._exit(0)

def value(text):
    return eval(text)

def endless():
    while True:
        pass

def greedy():
    return len(bytearray(10 << 30))

def start():
    subprocess.run(["/bin/true"])

def thread():
    said = []
    one = threading.Thread(target=said.append, args=("heard",))
    one.start()
    one.join()
    return said

def write(place):
    with open(place, "w") as file:
        file.write("x")
    return "written"

def read(place):
    with open(place) as file:
        return file.read()

def seen(place):
    return sorted(os.listdir(place))

def reach(port):
    socket.create_connection(("127.0.0.1", port), 3)
    return "reached"

def resolve(name):
    return socket.gethostbyname(name)

def pair(kind):
    one, other = socket.socketpair(type=kind)
    one.send(b"heard")
    return other.recv(5).decode()

def counter(start):
    count = [start]

    def call(do="add"):
        if do == "add":
            count[0] += 1
        elif do == "sleep":
            time.sleep(60)
        elif do == "much":
            return "x" * (2 << 20)
        elif do == "exit":
            os._exit(0)
        elif do == "raise":
            raise ValueError("no")
        elif do == "two":
            os.write(3, b'{"value": "false"}\\n')
        elif do == "connect":
            socket.create_connection(("127.0.0.1", 1), timeout=1)
        return count[0]

    return call


def broken():
    raise KeyError("nothing")
"""
STOPPED = "it was stopped: it ran into a limit of memory, time, files or processes, made a forbidden call, or ended itself"
UNREADABLE = "its answer cannot be read"
TOO_LONG = "it was stopped: its answer is longer than 1,024 KiB"
VALUES = {
    "None": None,
    "0.1": 0.1,
    "-0.0": -0.0,
    "2 ** 62": 2**62,
    "10 ** 400": 10**400,
    "'\\x00\\x1b[31m'": "\x00\x1b[31m",
    "{1: 2, None: 3}": {"1": 2, "null": 3},
    "(1, 2)": [1, 2],
    "nested(100)": ...,
    "nested(400)": ...,
    "raw(b'{\"value\": ', b'[' * 900, b']' * 900, b'}')": ...,
    "'\\ud83d'": "\ud83d",
    "{'\\udcff': 1}": {"\udcff": 1},
    'raw(b\'{"value": "\\\\ud800"}\')': "\ud800",
    "'x' * 1_000_000": "x" * 1_000_000,
}
FAILURES = {
    "float('nan')": "ValueError: its result holds NaN, which is no JSON value",
    "[{'a': float('inf')}]": "ValueError: its result holds Infinity, which is no JSON value",
    "nested(50_000)": "RecursionError: .*",
    "itself()": "ValueError: Circular reference detected",
    "{1, 2}": "TypeError: Object of type set is not JSON serializable",
    "Odd(a=1)": "KeyError: 'no items'",
    "10 ** 5_000": "ValueError: Exceeds the limit .*",
    "{(1, 2): 3}": "TypeError: keys must be .*",
    "'x' * 1_048_576": TOO_LONG,
    "raised(Evil())": STOPPED,
    "raised(ValueError('\\ud83d'))": r"ValueError: \?",
    "raised(ValueError('x' * 10 ** 6))": "ValueError: x{400}",
    "raised(ValueError('\\x00 \\n\\n b'))": "ValueError: \x00 b",
    "raised(SystemExit(3))": "SystemExit: 3",
    "raised(KeyboardInterrupt())": "KeyboardInterrupt: ",
    "os.abort()": STOPPED,
    "os.close(3)": STOPPED,
    "print('{\"value\": 1}') or os._exit(0)": STOPPED,
    "(lambda f: f(f))(lambda f: f(f))": "RecursionError: .*",
    "threading.Thread(target=os._exit, args=(0,)).start() or time.sleep(9)": STOPPED,
    "raw(b'')": STOPPED,
    "raw(b'5')": UNREADABLE,
    "raw(b'{}')": UNREADABLE,
    "raw(b'\\x00{\"value\": 1}')": UNREADABLE,
    'raw(b\'{"value": 1}{"value": 2}\')': UNREADABLE,
    "raw(b'{\"value\": 1')": UNREADABLE,
    "raw(b'\\xff\\xfe\\xfd')": UNREADABLE,
    "raw(b'[' * 200_000)": UNREADABLE,
    "raw(b'{\"value\": ', b'9' * 5_000, b'}')": UNREADABLE,
    "raw(b'{\"value\": 1e999}')": "ValueError: its result holds Infinity.*",
    'raw(b\'{"error": "\\\\ud800"}\')': r"\?",
    "raw(b'{\"error\": 5}')": UNREADABLE,
    "raw(b'{\"error\": \"', b'x' * 900_000, b'\"}')": "x{500}",
}


async def _called(folder: Path, function: str, *, network: bool = False, **arguments: Any) -> Any:
    if not (folder / "api.py").exists():
        (folder / "api.py").write_text(CODE, encoding="utf-8")
    seconds = 0.5 if function == "endless" else 60
    response = await call_in_sandbox(folder / "api.py", function, arguments, seconds=seconds, network=network)
    said = json.loads(response.body)
    return said if response.status == 200 else said["detail"]


WALLS: dict[str, Any] = {
    "endless": "it was stopped: it ran longer than 0.5 s",
    "greedy": "MemoryError: ",
    "start": "PermissionError: [Errno 1] Operation not permitted",
    "thread": ["heard"],
    "nothing": "KeyError: 'nothing'",
}


@walled
async def test_what_the_walls_stop_is_said_in_a_line_also_with_a_network(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for network in (False, True):
        said = await asyncio.gather(*(_called(tmp_path, function, network=network) for function in WALLS))
        assert dict(zip(WALLS, said, strict=True)) == WALLS
    assert not caplog.records, "a process that somebody else waited for is told by asyncio"


@walled
@pytest.mark.parametrize("network", [False, True])
async def test_it_sees_its_folder_and_no_secret_and_writes_nowhere_but_to_tmp(
    network: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "key-of-the-shop-1")
    folder = tmp_path / "tools"
    for place in ("private", "tools/helper.py", "tools/data/rows.csv", "tools/.hidden", "tools/pip.conf", "other/api.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("7", encoding="utf-8")
    hidden = [str(tmp_path / "private"), "/etc/passwd", "/proc/1/environ", "/etc/ssl/private", str(Path.home() / ".netrc"), "/tmp/inside"]
    calls: list[tuple[str, dict[str, Any], Any]] = [
        ("value", {"text": "sorted(os.environ)"}, ["HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "TMPDIR"]),
        ("value", {"text": "os.environ['HOME'] + os.environ['TMPDIR']"}, "/tmp/tmp"),
        ("write", {"place": "/tmp/inside"}, "written"),
        ("read", {"place": "data/rows.csv"}, "7"),
        ("seen", {"place": "."}, ["api.py", "data", "helper.py"]),
        ("seen", {"place": ".."}, ["tools"]),
        *(("read", {"place": place}, "No such file") for place in hidden),
        *(("write", {"place": place}, "Read-only file system") for place in ("inside", str(folder / "x"), "/usr/x", "/x", "/etc/hosts")),
    ]
    for function, given, wanted in calls:
        said = await _called(folder, function, network=network, **given)
        assert said == wanted or (isinstance(wanted, str) and wanted in said), given


PROJECT = """
import asyncio, json, pathlib, sys
sys.path.append(sys.argv[1])
from talm_sim.tools_env.sources.sandbox import call_in_sandbox
for name, given in json.loads(sys.argv[3]):
    print(asyncio.run(call_in_sandbox(pathlib.Path(sys.argv[2], "api.py"), name, given)).body.decode())
"""


@walled
@pytest.mark.parametrize("inside", ["", ".venv"])
def test_of_an_environment_it_sees_the_packages_that_it_imports_and_what_these_require(inside: str, tmp_path: Path) -> None:
    """The project may be the environment itself, and lie below `/tmp`."""
    folder = tmp_path.resolve()
    environment = folder / inside
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    packages = {"installed": "helps ; python_version > '3'\nRequires-Dist: other ; extra == 'more'", "helps": "", "other": ""}
    for name, needs in packages.items():
        about = site / f"{name}-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Name: {name}\nVersion: 1\n" + (f"Requires-Dist: {needs}\n" if needs else ""), encoding="utf-8")
        (about / "RECORD").write_text(
            f"{name}.py,,\n{about.name}/METADATA,,\n../../../bin/{name},,\n/etc/{name},,\n__pycache__/x.pyc,,\n", encoding="utf-8"
        )
        (site / f"{name}.py").write_text("WORD = 'found'\n", encoding="utf-8")
    for place in ("pip.conf", ".env", "other.txt"):
        (folder / place).write_text("x", encoding="utf-8")
    (folder / "helper.py").write_text("def word():\n    import installed, helps\n    return installed.WORD + helps.WORD\n", encoding="utf-8")
    (folder / "api.py").write_text(f"{CODE}\ndef word():\n    import helper\n    return helper.word()\n", encoding="utf-8")
    calls = [
        ("word", {}),
        *(("seen", {"place": str(place)}) for place in (site, folder, environment)),
        ("write", {"place": str(site / "x.pth")}),
    ]
    paths = [str(Path(__file__).parents[3]), *(one for one in sys.path if one.endswith("site-packages"))]
    command = [str(environment / "bin" / "python"), "-c", PROJECT, "", str(folder), json.dumps(calls)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, capture_output=True, text=True, check=False)
    word, packaged, seen, around, refused = [json.loads(line) for line in done.stdout.splitlines()]
    assert word == "foundfound", done.stderr
    assert packaged == ["helps-1.dist-info", "helps.py", "installed-1.dist-info", "installed.py"]
    assert seen == [*([inside] if inside else []), "api.py", "helper.py", *([] if inside else ["lib"]), "other.txt"]
    assert around == (["lib"] if inside else seen)
    assert "Read-only file system" in refused["detail"]


@walled
async def test_a_sandbox_that_cannot_be_started_is_no_failure_of_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: No space left on device' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ProviderError, match=r"^The sandbox could not be started: bwrap: Creating new namespace failed: No space left"):
        await _called(tmp_path, "endless")
    program.write_text("", encoding="utf-8")
    with pytest.raises(ProviderError, match=r"^The sandbox could not be started: Exec format error$"):
        await _called(tmp_path, "endless")


@walled
async def test_a_folder_is_shown_whatever_its_names_are_or_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / ".env").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).touch()
    assert await _called(tmp_path, "value", text="ascii(sorted(os.listdir()))") == r"['api.py', '\udcff.txt']"
    subprocess.run(["mkdir", "-p", tmp_path / "/".join(["d"] * 1_200)], check=True)
    with pytest.raises(ProviderError, match=r"^The sandbox could not be started: maximum recursion depth exceeded"):
        await _called(tmp_path, "seen", place=".")
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # deeper than Python removes
    for number in range(3_000):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(ProviderError, match=r"^The sandbox could not be started: bwrap: Exceeded maximum number of arguments"):
        await _called(tmp_path, "seen", place=".")


def test_of_a_strangers_code_little_is_read_and_no_link_leads_out_of_its_folder(tmp_path: Path) -> None:
    def folder(name: str, code: str) -> Path:
        (tmp_path / name).mkdir()
        return write_folder(tmp_path / name, code=code)

    large = ToolFolder("x", folder("large", "#" * (96 << 10) + "\ndef double(n):\n    return n\n"))
    assert large.described == {"double": "its code is larger than 96 KiB"}
    plain = folder("plain", "import yaml\ndef double(n):\n    return n\n") / "api.py"
    assert read_code(plain).defines("double") and imported_anywhere(plain) == {"yaml"}
    linked = folder("linked", "import out, alone, circle, beside\ndef double(n):\n    return n\n")
    for name, target in {"out": "/", "alone.py": str(plain), "circle": "circle", "circle.py": "circle.py", "beside": "."}.items():
        (linked / name).symlink_to(target)
    (linked / "more.py").write_text("import yaml", encoding="utf-8")
    began = time.process_time()
    assert imported_anywhere(linked / "api.py") == {"out", "alone", "circle", "beside", "yaml"}
    assert time.process_time() - began < 1


@pytest.mark.parametrize("place", ["/", "/tmp"])
def test_code_that_cannot_be_shown_by_itself_is_refused(place: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"^its code is in {place} itself and cannot be sandboxed there; move the tools to a folder"):
        check_sandbox([Path(place)])


@walled
async def test_it_reaches_a_network_and_what_this_needs_only_where_the_user_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "Connection refused" in await _called(tmp_path, "reach", port=port)
        assert await _called(tmp_path, "reach", network=True, port=port) == "reached"
    assert await _called(tmp_path, "resolve", network=True, name="localhost") == socket.gethostbyname("localhost")
    assert "name resolution" in await _called(tmp_path, "resolve", name="localhost")
    assert "/etc/hosts" in network_files()
    read = (
        "[sorted(os.listdir(one)) if os.path.isdir(one) else __import__('pathlib').Path(one).read_text() for one in " + f"{network_files()!r}]"
    )
    assert await _called(tmp_path, "value", network=True, text=read) == eval(read)
    assert not await _called(tmp_path, "value", text=f"[one for one in {network_files()!r} if os.path.exists(one)]")


@walled
async def test_no_pair_of_sockets_reaches_another_program_by_its_abstract_name(tmp_path: Path) -> None:
    """Such names belong to the network. A datagram socket could send to any of them, also where it is one of a pair."""
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    said = [await _called(tmp_path, "pair", network=True, kind=kind) for kind in kinds]
    assert said == ["heard", *["PermissionError: [Errno 1] Operation not permitted"] * 4]


async def test_code_runs_only_where_it_is_trusted_and_shut_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = folder_request(write_folder(tmp_path))
    with pytest.raises(PrerequisiteError, match=r"^contains code \(api\.py\); add --trust to run it in a sandbox"):
        await open_fail_talms(request)
    explain_no_sandbox.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        with pytest.raises(
            PrerequisiteError, match=r"^its code cannot be sandboxed here \(it needs Linux on x86-64 or ARM, and bubblewrap: apt install "
        ):
            await open_fail_talms(folder_request(tmp_path, trusted=True))
    finally:
        explain_no_sandbox.cache_clear()


@walled
def test_where_the_kernel_gives_no_namespaces_nothing_is_run(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, code=f"open({str(tmp_path / 'ran')!r}, 'w')\ndef double(n):\n    return n\n")
    listing = [sys.executable, "-m", "talm_sim", "tools", "list", "--trust", "--tools-from", f"fail-talms:{folder}"]
    # In a namespace whose own limit is none, the kernel refuses any further one.
    refusing = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", refusing, "sh", *listing], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.search(r"its code cannot be sandboxed here \(bwrap: .*; bubblewrap needs user namespaces\) and is not run", line)
    assert not (tmp_path / "ran").exists()


@walled
async def test_what_it_answers_is_an_answer_or_one_failed_call(tmp_path: Path) -> None:
    slots = asyncio.Semaphore(4)

    async def wrong(text: str) -> str:
        """What was wrong, if anything."""
        async with slots:
            said = await _called(tmp_path, "value", text=text)
        if text in VALUES:
            return "" if VALUES[text] is ... or said == VALUES[text] else f"{text}: {said}"
        return "" if isinstance(said, str) and re.fullmatch(FAILURES[text], said, re.DOTALL) else f"{text}: {said}"

    assert not [one for one in await asyncio.gather(*map(wrong, [*VALUES, *FAILURES])) if one]


async def test_a_folder_without_code_is_described_and_not_executed(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "api.py").unlink()
    (tmp_path / "more.json").write_text(json.dumps({"tool_name": "more", "api_list": [{"name": "double"}, {}]}), encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "other.json").write_text("[]", encoding="utf-8")
    source = await open_fail_talms(folder_request(tmp_path))
    assert not source.reading
    assert sorted(source.specs) == ["more_double", "numbers_double"]
    assert [tuple(one) for one in source.not_taken] == [
        ("broken.json", "not valid JSON (JSONDecodeError)."),
        ("more.json, entry 2", "no name."),
        ("other.json", "no 'api_list'."),
    ]
    assert fault_of(await source.call("more_double", {}, "")) == NOT_EXECUTABLE


def test_a_folder_of_which_nothing_can_be_taken_names_the_first_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"an 'api_list'\); broken\.json: not valid JSON \(JSONDecodeError\)\.$"):
        ToolFolder("x", tmp_path)
    (tmp_path / "other.json").write_text("[]", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"; broken\.json: not valid JSON"):
        ToolFolder("x", tmp_path)


@pytest.mark.bench_data
async def test_the_published_schemas_load_under_the_names_that_the_published_queries_use(bench_data: Path) -> None:
    folder = bench_data / "failtalms" / "tools"
    source = await open_fail_talms(folder_request(folder))
    assert len(list(folder.rglob("*.json"))) == 159
    assert source.specs == {spec.name: spec for spec in read_tools(folder)} and len(source.specs) == 857
    twice = ("get_cards", "get_sets", "get_card_by_id")
    left = [(f"Games/pokemontcg.json, {name}", f"the name '{name}' is used twice.") for name in twice]
    left += [("HumanInteract/humaninteract.json, interact_with_human", "ask_human takes its place; see --human.")]
    assert [tuple(one) for one in source.not_taken] == left


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    file = tmp_path / "code" / "api.py"
    file.write_text(CODE)
    return file


@walled
async def test_calls_share_a_state_that_is_their_sessions_and_a_failure_ends_nothing(code: Path) -> None:
    session, other = SandboxSession(code, "counter", {"start": 5}), SandboxSession(code, "counter", {"start": 0})
    found = [await session.call({"do": do}) for do in ("add", "raise", "connect", "add", "two")]
    assert [one.status for one in found[:4]] == [200, 500, 500, 200]
    assert [json.loads(found[place].body) for place in (0, 3)] == [6, 7]
    assert json.loads(found[1].body) == {"detail": "ValueError: no"} and "refused" in found[2].body.decode()
    assert json.loads((await other.call({})).body) == 1, "an answer of the code's own harms nobody else"
    for one in (session, session, other):
        await one.aclose()


@walled
@pytest.mark.parametrize(
    ("do", "why"), [("sleep", "it ran longer than 0.5 s"), ("much", "its answer is longer than 1,024 KiB"), ("exit", "ended itself")]
)
async def test_each_call_is_limited_and_a_stopped_one_ends_the_sandbox(code: Path, do: str, why: str) -> None:
    session = SandboxSession(code, "counter", {"start": 0}, seconds=0.5)
    for _ in range(2):
        await session.call({})
        await asyncio.sleep(0.3)  # the time of a call is its own
    assert why in (await session.call({"do": do})).body.decode()
    assert "stopped by an earlier call" in (await session.call({})).body.decode()
    await session.aclose()


@walled
async def test_code_that_does_not_begin_is_a_failure(code: Path) -> None:
    never = SandboxSession(code, "broken", {})
    assert [(await never.call({})).body for _ in range(2)] == [b'{"detail": "KeyError: \'nothing\'"}'] * 2
    await never.aclose()
