"""What runs inside the sandbox, as the first process of its namespaces: it shuts itself in, then makes one call of a tool's code.

It is run as a script and imports nothing of this package. The walls are the kernel's: a root of its own that holds the interpreter, read-only,
and the tool's folder; no network; no other process in sight, and none to be started; limits; no capability left. Only when they stand is the
code read.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import struct
import sys
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2
_MOUNT_SETATTR = 442
"""Number of the system call, on every architecture."""
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_CAPABILITY_V3 = 0x20080522
_PR_SET_SECCOMP, _SECCOMP_FILTER, _CLONE_THREAD = 22, 2, 0x10000
_EPERM, _ENOSYS = 1, 38
_SYSTEM_CALLS = {
    "x86_64": (0xC000003E, 56, (57, 58, 29, 319)),
    "aarch64": (0xC00000B7, 220, (194, 279)),
}
"""By processor: its number, that of `clone`, and those of `fork`, `vfork`, `shmget` and `memfd_create`, where it has them."""
_CLONE3 = 435
"""Its flags lie in memory, where no filter can look; who is told that it does not exist uses `clone`."""


def main() -> None:
    """Shut in, call, and write what came of it to the file descriptor that standard output was."""
    order = json.load(sys.stdin)
    answers = os.dup(1)
    # What the code prints is no answer.
    os.dup2(2, 1)
    try:
        _shut_in(order)
    except OSError as err:
        _tell(answers, {"walls": f"{err.strerror} ({err.filename or 'system call'})"})
        return
    try:
        found = {"value": _called(order)}
        json.dumps(found)
    except MemoryError:
        found = {"error": f"MemoryError: it wanted more than {order['memory'] >> 20:,} MiB"}
    except BaseException as err:  # code of anybody's, which may also exit
        found = {"error": f"{type(err).__name__}: {' '.join(str(err).split())[:400]}"}
    _tell(answers, found)


def _shut_in(order: dict[str, Any]) -> None:
    root, folder = order["root"], order["folder"]
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m")
    for place in [*order["readable"], folder]:
        inside = root + place
        if os.path.islink(place):
            os.makedirs(os.path.dirname(inside), exist_ok=True)
            os.symlink(os.readlink(place), inside)
            continue
        if os.path.isdir(place):
            os.makedirs(inside, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(inside), exist_ok=True)
            open(inside, "a").close()
        _mount(place, inside, "", _MS_BIND | _MS_REC)
    _set_attributes(root, add=_ATTR_RDONLY | _ATTR_NOSUID, flags=_AT_RECURSIVE)
    _set_attributes(root + folder, remove=_ATTR_RDONLY)
    os.chroot(root)
    os.chdir(folder)
    for limit, most in ((resource.RLIMIT_AS, "memory"), (resource.RLIMIT_CPU, "seconds"), (resource.RLIMIT_FSIZE, "file")):
        resource.setrlimit(limit, (order[most], order[most]))
    resource.setrlimit(resource.RLIMIT_NPROC, (order["processes"], order["processes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _drop_capabilities()
    _stay_one_process()


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    _check(_LIBC.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()), target)


def _set_attributes(target: str, *, add: int = 0, remove: int = 0, flags: int = 0) -> None:
    attributes = struct.pack("QQQQ", add, remove, 0, 0)
    _check(_LIBC.syscall(_MOUNT_SETATTR, _AT_FDCWD, target.encode(), flags, attributes, ctypes.c_size_t(len(attributes))), target)


def _drop_capabilities() -> None:
    _check(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "")
    for capability in range(64):
        if _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            break  # there are no more
    _check(_LIBC.capset(struct.pack("Ii", _CAPABILITY_V3, 0), struct.pack("6I", *[0] * 6)), "")


def _stay_one_process() -> None:
    """Allow threads and nothing else to be started, and no memory that belongs to no process: limits hold for one process each."""
    if os.uname().machine not in _SYSTEM_CALLS:
        raise OSError(_ENOSYS, f"no filter of system calls is known for {os.uname().machine}")
    processor, clone, others = _SYSTEM_CALLS[os.uname().machine]
    load, equal, at_least, any_of, end = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse, unknown = 0x7FFF0000, 0x80000000, 0x00050000 | _EPERM, 0x00050000 | _ENOSYS
    steps = [(load, 0, 0, 4), (equal, 1, 0, processor), (end, 0, 0, kill), (load, 0, 0, 0)]
    steps += [(at_least, 0, 1, 0x40000000), (end, 0, 0, kill), (equal, 0, 1, _CLONE3), (end, 0, 0, unknown)]
    for call in others:
        steps += [(equal, 0, 1, call), (end, 0, 0, refuse)]
    steps += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_of, 1, 0, _CLONE_THREAD), (end, 0, 0, refuse), (end, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    _check(_LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, program, 0, 0), "filter of system calls")


def _check(result: int, place: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), place)


def _called(order: dict[str, Any]) -> Any:
    names: dict[str, Any] = {"__name__": "api", "__file__": order["code"]}
    sys.path.insert(0, os.path.dirname(order["code"]))
    with open(order["code"], encoding="utf-8") as file:
        exec(compile(file.read(), order["code"], "exec"), names)
    return names[order["function"]](**order["arguments"])


def _tell(answers: int, found: dict[str, Any]) -> None:
    os.write(answers, json.dumps(found).encode())
    # Whatever threads the code started, the first process's end is theirs.
    os._exit(0)


if __name__ == "__main__":
    main()
