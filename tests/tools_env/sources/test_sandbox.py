"""Code that came with data runs into the kernel's walls, each with a line the model and the user see."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tasks.talm.published import read_tools
from talm_sim.tools_env.routes import NOT_EXECUTABLE, fault_of
from talm_sim.tools_env.sources import sandbox
from talm_sim.tools_env.sources.fail_talms import ToolFolder, open_fail_talms
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, check_sandbox, explain_no_sandbox, network_files
from tests.tools_env.sources.worlds import folder_request, write_folder

walled = pytest.mark.skipif(bool(explain_no_sandbox()), reason="this system has no namespaces")

CODE = """
import os
import socket
import subprocess
import threading

def endless():
    while True:
        pass

def greedy():
    return len(bytearray(10 << 30))

def greedy_by_many():
    held = []
    for _ in range(20):
        if os.fork() == 0:
            held.append(bytearray(900 << 20))
    return len(held)

def greedy_in_files():
    return os.memfd_create("x")

def start():
    subprocess.run(["/bin/true"])

def thread():
    said = []
    one = threading.Thread(target=said.append, args=("heard",))
    one.start()
    one.join()
    return said

def environment():
    return dict(os.environ)

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

def break_out():
    os.mkdir("/tmp/inner")
    os.chroot("/tmp/inner")

def end():
    os._exit(0)

def long():
    return "x" * (5 << 20)
"""


async def _called(folder: Path, function: str, *, network: bool = False, **arguments: Any) -> Any:
    (folder / "api.py").write_text(CODE, encoding="utf-8")
    seconds = 0.5 if function == "endless" else 100
    response = await call_in_sandbox(folder / "api.py", function, arguments, seconds=seconds, network=network)
    said = json.loads(response.body)
    return said if response.status == 200 else said["detail"]


@walled
@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("endless", "it was stopped: it ran longer than 0.5 s"),
        ("greedy", "MemoryError: it wanted more than 1,024 MiB"),
        ("greedy_by_many", "PermissionError: [Errno 1] Operation not permitted"),
        ("greedy_in_files", "PermissionError: [Errno 1] Operation not permitted"),
        ("start", "PermissionError: [Errno 1] Operation not permitted"),
        ("thread", ["heard"]),
        ("end", "it was stopped: it ran into a limit of memory, time or processes, or ended itself"),
        ("long", "it was stopped: its answer is longer than 1,024 KiB"),
        ("break_out", "PermissionError: [Errno 1] Operation not permitted: '/tmp/inner'"),
        ("nothing", "KeyError: 'nothing'"),
    ],
)
async def test_what_the_walls_stop_is_said_in_a_line(function: str, said: Any, tmp_path: Path) -> None:
    assert await _called(tmp_path, function) == said


@walled
async def test_it_sees_no_secret_and_writes_nowhere_but_to_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "key-of-the-shop-1")
    folder = tmp_path / "tools"
    folder.mkdir()
    (tmp_path / "private").write_text("x", encoding="utf-8")
    environment = await _called(folder, "environment")
    assert set(environment) == {"PATH", "LANG", "PYTHONDONTWRITEBYTECODE", "HOME", "TMPDIR"}
    assert (environment["HOME"], environment["TMPDIR"]) == ("/tmp", "/tmp")
    assert await _called(folder, "write", place="/tmp/inside") == "written"
    assert "No such file" in await _called(folder, "read", place="/tmp/inside"), "each call has a /tmp of its own"
    for place in ("inside", folder / "inside", tmp_path / "outside", "/usr/outside", "/outside"):
        assert "Read-only file system" in await _called(folder, "write", place=str(place))
    for place in (tmp_path / "private", "/etc/passwd", "/proc/self/environ", "/proc/1/environ"):
        assert "No such file" in await _called(folder, "read", place=str(place))


@walled
async def test_it_reads_its_own_folder_and_no_other_of_the_tools(tmp_path: Path) -> None:
    (tmp_path / "own" / "data").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for place in ("numbers.json", "own/helper.py", "own/data/rows.csv", "own/.hidden", "other/api.py"):
        (tmp_path / place).write_text("7", encoding="utf-8")
    own = tmp_path / "own"
    assert await _called(own, "read", place="data/rows.csv") == "7", "it is the working directory"
    assert await _called(own, "seen", place=".") == ["api.py", "data", "helper.py"]
    assert await _called(own, "seen", place="..") == ["own"]


@walled
async def test_the_folder_and_the_python_may_lie_below_tmp() -> None:
    """A virtual environment in the folder, which runs the code, is seen; another is not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made).resolve()
        for name in (".venv", "other"):
            (folder / name / "bin").mkdir(parents=True)
            (folder / name / "bin" / "python").symlink_to(Path(sys.executable).resolve())
            (folder / name / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n", encoding="utf-8")
        site = folder / ".venv" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        site.mkdir(parents=True)
        (site / "installed.py").write_text("WORD = 'found'\n", encoding="utf-8")
        (folder / "api.py").write_text(f"{CODE}\ndef word():\n    import installed\n    return installed.WORD\n", encoding="utf-8")
        calls = [("word", {}), ("seen", {"place": str(folder)}), ("write", {"place": str(site / "x.pth")}), ("write", {"place": "/tmp/x"})]
        called = (
            "import asyncio, json, pathlib, sys; sys.path.append(sys.argv[1]); from talm_sim.tools_env.sources.sandbox import call_in_sandbox\n"
            "for name, given in json.loads(sys.argv[3]):\n"
            "    print(asyncio.run(call_in_sandbox(pathlib.Path(sys.argv[2], 'api.py'), name, given)).body.decode())\n"
        )
        paths = os.pathsep.join(place for place in (str(Path(__file__).parents[3]), sysconfig.get_path("purelib")))
        done = subprocess.run(
            [folder / ".venv" / "bin" / "python", "-c", called, "", str(folder), json.dumps(calls)],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        word, seen, refused, written = [json.loads(line) for line in done.stdout.splitlines()]
        assert (word, seen, written) == ("found", [".venv", "api.py"], "written"), done.stderr
        assert "Read-only file system" in refused["detail"]


@walled
async def test_a_sandbox_that_cannot_be_started_is_no_failure_of_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "unshare"
    program.write_text("#!/bin/sh\necho 'unshare: unshare failed: No space left on device' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ProviderError, match=r"^The sandbox could not be started: unshare: unshare failed: No space left on device$"):
        await _called(tmp_path, "environment")
    monkeypatch.setattr(sandbox, "_command", lambda **_: [str(tmp_path / "absent")])
    with pytest.raises(ProviderError, match=r"^The sandbox could not be started: No such file or directory$"):
        await _called(tmp_path, "environment")


@pytest.mark.parametrize("place", ["/", "/tmp"])
def test_code_that_cannot_be_shown_by_itself_is_refused(place: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"^its code is in {place} itself and cannot be sandboxed there; move the tools to a folder"):
        check_sandbox([Path(place)])


@walled
async def test_many_calls_at_once_are_all_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    said = [one for _ in range(12) for one in await asyncio.gather(*(_called(tmp_path, "environment") for _ in range(3)))]
    assert all("PATH" in one for one in said)
    assert not caplog.records, "a process that somebody else waited for is told by asyncio"


@walled
async def test_it_reaches_a_network_only_where_the_user_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "Network is unreachable" in await _called(tmp_path, "reach", port=port)
        assert await _called(tmp_path, "reach", network=True, port=port) == "reached"


@walled
@pytest.mark.parametrize("network", [False, True])
async def test_no_pair_of_sockets_reaches_another_program_by_its_abstract_name(network: bool, tmp_path: Path) -> None:
    """Such names belong to the network. A datagram socket could send to any of them, also where it is one of a pair."""
    assert await _called(tmp_path, "pair", network=network, kind=socket.SOCK_STREAM) == "heard"
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK):
        assert await _called(tmp_path, "pair", network=network, kind=kind) == "PermissionError: [Errno 1] Operation not permitted"


@walled
async def test_with_a_network_it_sees_what_resolves_names_and_checks_certificates(tmp_path: Path) -> None:
    there = network_files()
    assert "/etc/hosts" in there
    for place in there:
        if not Path(place).is_dir():
            assert await _called(tmp_path, "read", network=True, place=place) == Path(place).read_text(encoding="utf-8")
        else:
            assert await _called(tmp_path, "seen", network=True, place=place) == sorted(os.listdir(place))
        assert "No such file" in await _called(tmp_path, "read", place=place)
    assert await _called(tmp_path, "resolve", network=True, name="localhost") == socket.gethostbyname("localhost")
    assert "name resolution" in await _called(tmp_path, "resolve", name="localhost")


@walled
async def test_a_network_takes_no_other_wall_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "key-of-the-shop-1")
    folder = tmp_path / "tools"
    folder.mkdir()
    (tmp_path / "private").write_text("x", encoding="utf-8")
    assert set(await _called(folder, "environment", network=True)) == {"PATH", "LANG", "PYTHONDONTWRITEBYTECODE", "HOME", "TMPDIR"}
    for place in (tmp_path / "private", "/etc/passwd", "/proc/self/environ", "/etc/ssl/private", Path.home() / ".netrc"):
        assert "No such file" in await _called(folder, "read", network=True, place=str(place))
    for place in ("inside", "/etc/hosts", "/outside"):
        assert "Read-only file system" in await _called(folder, "write", network=True, place=place)
    for function, said in {
        "endless": "it was stopped: it ran longer than 0.5 s",
        "greedy": "MemoryError: it wanted more than 1,024 MiB",
        "start": "PermissionError: [Errno 1] Operation not permitted",
        "long": "it was stopped: its answer is longer than 1,024 KiB",
    }.items():
        assert await _called(folder, function, network=True) == said


async def test_code_runs_only_where_it_is_trusted_and_shut_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = folder_request(write_folder(tmp_path))
    with pytest.raises(PrerequisiteError, match=r"^contains code \(api\.py\); add --trust to run it in a sandbox"):
        await open_fail_talms(request)
    explain_no_sandbox.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        with pytest.raises(PrerequisiteError, match=r"^its code cannot be sandboxed here \(it needs Linux .*\) and is not run"):
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
    assert re.search(r"its code cannot be sandboxed here \(unshare: .*No space left on device\) and is not run without a sandbox", line)
    assert not (tmp_path / "ran").exists()


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


def test_what_code_changes_is_not_kept_so_its_tools_only_read(tmp_path: Path) -> None:
    assert ToolFolder("numbers", write_folder(tmp_path)).reading == {"double"}


def test_a_folder_without_tools_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"^contains no tool file"):
        ToolFolder("x", tmp_path)


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
