"""What runs inside the sandbox: it shuts itself in, then makes one call of a tool's code, or several, under the eyes of the first process.

It is run as a script and imports nothing of this package. The walls are the kernel's: a root of its own that holds the interpreter and the
code's folder, read-only, and a small `/tmp` that ends with the call; no network, unless the user allowed one; no other process in sight but
the one that watches, and none to be started; limits; no capability left. Only when they stand is the code read.

What is written to standard output: what kept the walls from standing; or a zero byte, once they stand, and then the answer. The code holds a
pipe to the watching process, not this output, so it can write neither.

An order with `stays` is for several calls: the function that it names returns another one, which each further line of the input calls with
its arguments. Each answer is then a line, and the time and length of each are limited; the limits of memory and processor are those of all.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it takes a tenth of a call
    from typing import Any, NoReturn

_LIBC = ctypes.CDLL(None, use_errno=True)
_ROOT = "/proc"
"""A folder that always exists, on which the root is mounted: it is seen only in here, so nothing is left behind outside."""
_TMP = "/tmp"
_ORDER, _OUTPUT, _ANSWER = 0, 1, 3
"""File descriptors: where the order comes from, whose other end the caller holds as long as it lives; the output; the code's answer."""
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2
_MOUNT_SETATTR = 442
"""Number of the system call, on every architecture."""
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
_CAPABILITY_V3 = 0x20080522
_PR_SET_SECCOMP, _SECCOMP_FILTER, _CLONE_THREAD = 22, 2, 0x10000
_EPERM, _ENOSYS = 1, 38
_NEW_SESSION_KEYRING = 1
_FAMILIES = (2, 10, 16)
"""Sockets may be of IPv4, IPv6 and netlink, by which Python looks up the network's devices."""
_SYSTEM_CALLS = {
    "x86_64": (0xC000003E, 56, 41, 53, 250, (57, 58, 29, 319, 248, 249)),
    "aarch64": (0xC00000B7, 220, 198, 199, 219, (194, 279, 217, 218)),
}
"""By processor: its number, those of `clone`, `socket`, `socketpair`, `keyctl`, and of what is refused besides: `fork`, `vfork`, `shmget`,
`memfd_create`, `add_key`, `request_key`, where it has them."""
_SOCK_STREAM, _SOCK_TYPE = 1, 0xF
_IO_URING = (425, 426, 427)
"""Numbers on every architecture; what is asked for through a ring bypasses the filter."""
_CLONE3 = 435
"""Its flags are in memory, where no filter can look; a program that is told it does not exist uses `clone`."""
_TO_WRITE_S = 10


def main() -> None:
    """Shut this process in, and stay behind as the first process, which watches the other one make the call."""
    order = json.loads(_line())
    try:
        _build_root(order)
        # Not to be traced or read by the code, which runs as the same user.
        _check(_LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the kernel delivers no signal without a handler to the first process
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        answers, answering = os.pipe()
        hearing, telling = os.pipe()
        code = os.fork()
    except OSError as err:
        _fail(err)
    if code == 0:
        os.close(telling)
        _run_order(order, answering, hearing)
    os.close(answering)
    os.close(hearing)
    said = _watch_answers(answers, order)
    while order["stays"] and said.endswith(b"\n"):
        _write(said)
        line = _line()
        try:
            while line:
                line = line[os.write(telling, line) :]
        except BrokenPipeError:
            pass  # it has ended, as the end of its answers will tell
        said = _watch_answers(answers, order)
    os.kill(code, signal.SIGKILL)
    _write(said)
    os._exit(0)


def _line() -> bytes:
    read = b""
    while not read.endswith(b"\n"):
        more = os.read(_ORDER, 1 << 20)
        if not more:
            os._exit(1)
        read += more
    return read


def _fail(err: OSError) -> NoReturn:
    os.write(_OUTPUT, f"{err.strerror} ({err.filename or 'system call'})".encode())
    os._exit(1)


def _watch_answers(answers: int, order: dict[str, Any]) -> bytes:
    """Return what the code answers, in time and not too long: all of it, or a line if more calls follow.

    Nobody waits for it any more when the caller is gone.
    """
    ends = time.monotonic() + order["seconds"]
    poll = select.poll()
    for descriptor in (answers, _ORDER):
        poll.register(descriptor, select.POLLIN)
    said = b""
    while len(said) <= order["answer"]:
        left = ends - time.monotonic()
        ready = [descriptor for descriptor, _ in poll.poll(left * 1e3)] if left > 0 else []
        if _ORDER in ready:
            os._exit(1)
        if not ready:
            return json.dumps({"error": f"it was stopped: it ran longer than {order['seconds']:g} s"}).encode()
        more = os.read(answers, 1 << 16)
        said += more
        if not more or (order["stays"] and said.endswith(b"\n")):
            return said
    return json.dumps({"error": f"it was stopped: its answer is longer than {order['answer'] >> 10:,} KiB"}).encode()


def _write(said: bytes) -> None:
    os.set_blocking(_OUTPUT, False)
    poll = select.poll()
    poll.register(_OUTPUT, select.POLLOUT)
    while said and poll.poll(_TO_WRITE_S * 1e3):
        said = said[os.write(_OUTPUT, said) :]


def _build_root(order: dict[str, Any]) -> None:
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", _ROOT, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    folder = order["folder"]
    for place in order["followed"]:
        _bind(place, _ROOT + place)
    # A folder comes before what lies in it: the interpreter may lie in the code's folder, and both of them below /tmp.
    for place in sorted({*order["readable"], folder, _TMP}):
        inside = _ROOT + place
        if place == folder:
            _show(place, inside)
        elif place == _TMP:
            os.makedirs(inside, exist_ok=True)
            _mount("tmpfs", inside, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={order['room']},nr_inodes={order['files']},mode=1777")
        elif os.path.islink(place):
            os.makedirs(os.path.dirname(inside), exist_ok=True)
            os.symlink(os.readlink(place), inside)
        else:
            _bind(place, inside)
    _set_attributes(_ROOT, add=_ATTR_RDONLY | _ATTR_NOSUID, flags=_AT_RECURSIVE)
    _set_attributes(_ROOT + _TMP, remove=_ATTR_RDONLY)


def _bind(place: str, inside: str) -> None:
    if os.path.isdir(place):
        os.makedirs(inside, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        open(inside, "a").close()
    _mount(place, inside, "", _MS_BIND | _MS_REC)


def _show(folder: str, inside: str) -> None:
    """Make a folder visible without the user's parts of it: piece by piece if there are any, as nothing can be taken out of a whole."""
    pieces = _shown_parts(folder)
    if pieces is None:
        _bind(folder, inside)
        return
    os.makedirs(inside, exist_ok=True)
    _mount("tmpfs", inside, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for piece in pieces:
        place = inside + piece.removeprefix(folder)
        if os.path.islink(piece):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(os.readlink(piece), place)
        else:
            _bind(piece, place)


def _shown_parts(folder: str) -> list[str] | None:
    """Return what is shown of a folder, each piece as large as possible; None for all of it."""
    whole, pieces = True, []
    for entry in os.scandir(folder):
        shown = [] if entry.name.startswith(".") else _shown_parts_of(entry)
        whole = whole and shown is None
        pieces += [entry.path] if shown is None else shown
    return None if whole else pieces


def _shown_parts_of(entry: os.DirEntry[str]) -> list[str] | None:
    """Return the same for a folder's content: no virtual environment, no run, no folder of runs, and only folders and files."""
    if entry.is_symlink() or entry.is_file():
        return None
    try:
        folders = [entry.path, *(one.path for one in os.scandir(entry.path) if one.is_dir(follow_symlinks=False))]
        if os.path.lexists(f"{entry.path}/pyvenv.cfg") or any(os.path.lexists(f"{folder}/run.db") for folder in folders):
            return []
        return _shown_parts(entry.path)
    except (NotADirectoryError, PermissionError):
        return []


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    _check(_LIBC.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode()), target)


def _set_attributes(target: str, *, add: int = 0, remove: int = 0, flags: int = 0) -> None:
    attributes = struct.pack("QQQQ", add, remove, 0, 0)
    _check(_LIBC.syscall(_MOUNT_SETATTR, _AT_FDCWD, target.encode(), flags, attributes, ctypes.c_size_t(len(attributes))), target)


def _run_order(order: dict[str, Any], answering: int, hearing: int) -> NoReturn:
    """Put up the walls that are this process's own, and make the call."""
    try:
        os.setsid()
        os.dup2(hearing if order["stays"] else os.open("/dev/null", os.O_RDONLY), _ORDER)
        os.dup2(answering, _ANSWER)
        os.chroot(_ROOT)
        os.chdir(order["folder"])
        _limit(order)
        if os.uname().machine not in _SYSTEM_CALLS:
            raise OSError(_ENOSYS, f"no system call filter is known for {os.uname().machine}")
        _leave_keyring()
        _drop_capabilities()
        _filter_system_calls()
        os.write(_OUTPUT, b"\0")
    except OSError as err:
        _fail(err)
    # From here on it is the code's.
    os.dup2(2, _OUTPUT)
    os.closerange(_ANSWER + 1, os.sysconf("SC_OPEN_MAX"))
    if order["stays"]:
        _answer_lines(order)
    os.write(_ANSWER, _answer(lambda: _call_code(order), order).encode())
    os._exit(0)  # and with it any threads that the code started


def _answer_lines(order: dict[str, Any]) -> None:
    """Call the function that the code returns once for each line, and answer each with a line; one that it does not return answers nothing."""
    stays: list[Any] = []
    said = _answer(lambda: stays.append(_call_code(order)), order)
    while stays:
        _write_line(said)
        arguments = json.loads(_line())
        said = _answer(lambda arguments=arguments: stays[0](**arguments), order)
    _write_line(said)
    os._exit(0)


def _write_line(text: str) -> None:
    said = text.encode() + b"\n"
    while said:
        said = said[os.write(_ANSWER, said) :]


def _answer(call: Any, order: dict[str, Any]) -> str:
    try:
        return json.dumps({"value": call()})
    except MemoryError:
        return json.dumps({"error": f"MemoryError: it wanted more than {order['memory'] >> 20:,} MiB"})
    except BaseException as err:  # anybody's code, which may also exit
        return json.dumps({"error": f"{type(err).__name__}: {_text_of(err)}"})


def _text_of(err: BaseException) -> str:
    try:
        return " ".join(str(err).split())[:400]
    except BaseException:  # the code's own
        return "its text cannot be had"


def _limit(order: dict[str, Any]) -> None:
    most = {"AS": order["memory"], "CPU": order["processor"], "FSIZE": order["room"], "NPROC": order["processes"], "CORE": 0}
    for name, wanted in most.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        allowed = resource.getrlimit(kind)[1]
        value = wanted if allowed == resource.RLIM_INFINITY else min(wanted, allowed)
        resource.setrlimit(kind, (value, value))


def _leave_keyring() -> None:
    keyctl = _SYSTEM_CALLS[os.uname().machine][4]
    if _LIBC.syscall(keyctl, _NEW_SESSION_KEYRING, None) < 0 and ctypes.get_errno() != _ENOSYS:  # a kernel may have no keyrings
        _check(-1, "session keyring")


def _drop_capabilities() -> None:
    _check(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "")
    for capability in range(64):
        if _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            break  # there are no more
    _check(_LIBC.capset(struct.pack("Ii", _CAPABILITY_V3, 0), struct.pack("6I", *[0] * 6)), "")


def _filter_system_calls() -> None:
    """Refuse to start anything but threads, memory that belongs to no process, keys, rings, and sockets that reach other programs here."""
    processor, clone, socket, socketpair, keyctl, others = _SYSTEM_CALLS[os.uname().machine]
    load, equal, at_least, any_of, mask, end = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
    allow, kill, refuse, unknown = 0x7FFF0000, 0x80000000, 0x00050000 | _EPERM, 0x00050000 | _ENOSYS
    first_argument, second_argument = (load, 0, 0, 16), (load, 0, 0, 24)
    steps = [(load, 0, 0, 4), (equal, 1, 0, processor), (end, 0, 0, kill), (load, 0, 0, 0)]
    steps += [(at_least, 0, 1, 0x40000000), (end, 0, 0, kill), (equal, 0, 1, _CLONE3), (end, 0, 0, unknown)]
    for call in (*others, keyctl, *_IO_URING):
        steps += [(equal, 0, 1, call), (end, 0, 0, refuse)]
    # A pair of datagram sockets could send to any program here that listens under an abstract name.
    steps += [(equal, 0, 5, socketpair), second_argument, (mask, 0, 0, _SOCK_TYPE)]
    steps += [(equal, 0, 1, _SOCK_STREAM), (end, 0, 0, allow), (end, 0, 0, refuse)]
    steps += [(equal, 0, 3, clone), first_argument, (any_of, 1, 0, _CLONE_THREAD), (end, 0, 0, refuse)]
    families = [(equal, len(_FAMILIES) - number, 0, family) for number, family in enumerate(_FAMILIES)]
    steps += [(load, 0, 0, 0), (equal, 0, len(families) + 2, socket), first_argument, *families, (end, 0, 0, refuse), (end, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    _check(_LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, program, 0, 0), "filter of system calls")


def _check(result: int, place: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), place)


def _call_code(order: dict[str, Any]) -> Any:
    module = sys.modules["api"] = type(sys)("api")  # it can be found again by name, as `dataclass` and `pickle` do
    module.__file__ = order["code"]
    sys.path.insert(0, os.path.dirname(order["code"]))
    with open(order["code"], encoding="utf-8") as file:
        exec(compile(file.read(), order["code"], "exec", dont_inherit=True), vars(module))
    return vars(module)[order["function"]](**order["arguments"])


def missing_modules(names: list[str]) -> list[str]:
    """Is called, by its name, to see which modules code in here could not import; nothing is imported."""
    from importlib.machinery import PathFinder

    places = sys.path[1:]  # the first one is this file's own folder
    return [name for name in names if PathFinder.find_spec(name, places) is None]


def works() -> bool:
    """Do nothing; it is called to see whether the walls can be put up."""
    return True


if __name__ == "__main__":
    main()
