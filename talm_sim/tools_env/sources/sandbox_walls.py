"""The walls of the sandbox, as arguments of bubblewrap's `bwrap`: what the code sees, and which system calls it may make."""

from __future__ import annotations

import os
import re
import site
import ssl
import struct
import subprocess
import sys
import zoneinfo
from collections.abc import Collection, Iterable
from functools import lru_cache
from glob import glob
from importlib import metadata
from pathlib import Path

PROGRAM = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
SITES = [os.path.realpath(place) for place in site.getsitepackages() if os.path.isdir(place)]
"""Where packages lie, of which only those are seen that the code imports."""
_LIBRARY = os.path.dirname(os.path.realpath(os.__file__))
_WALLS = """--unshare-all --unshare-user --die-with-parent --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin
--setenv LANG C.UTF-8 --setenv PYTHONDONTWRITEBYTECODE 1 --setenv HOME /tmp --setenv TMPDIR /tmp
--dev-bind /dev/null /dev/null --dev-bind /dev/urandom /dev/urandom"""
_FOR_NETWORK = """/etc/resolv.conf /etc/hosts /etc/nsswitch.conf /etc/host.conf /etc/gai.conf /etc/services /etc/protocols
/etc/ssl/certs /etc/ssl/cert.pem /etc/ca-certificates/extracted /etc/pki/tls/certs /etc/pki/tls/cert.pem /etc/pki/ca-trust/extracted"""
"""Files of names, and where distributions keep the certificates of authorities; private keys are elsewhere."""
_OPENED_LATER = ("libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")
"""Libraries that the C library opens when it needs them, so that nothing is linked against them."""
_HIDDEN, _MARKS = {"site-packages", "dist-packages", "pip.conf", "npmrc"}, ("pyvenv.cfg", "conda-meta")
_OF_ENVIRONMENT = {*_HIDDEN, *_MARKS, "bin", "etc", "include", "lib", "lib64", "share"}
"""What is hidden, and that in an environment, which is known by one of the marks."""
_OF_USER = (*_MARKS, "run.db", "*/run.db")
NUMBERS = {
    "x86_64": (
        *(0xC000003E, 56, 41, 53, 72),
        "57 58 29 64 68 319 248 249 250 101 310 311 312 298 272 188 189 190 197 198 199 206 92 93 94 260",
        "90 91 268 280 235 132 261 73",
    ),
    "aarch64": (0xC00000B7, 220, 198, 199, 25, "194 190 186 279 217 218 219 117 270 271 272 241 97 5 6 7 14 15 16 0 54 55", "52 53 88 32"),
}
"""By processor: its number, and those of `clone`, `socket`, `socketpair` and `fcntl`; of what is refused besides (`fork`, `vfork`, memory and
queues of no process, keys, other processes, `unshare`, attributes, `io_setup`, owners); and of what is not made: changes of modes and times, as
root owns the devices, and locks by `flock`, which are of use to several processes only, and would lock the user's files."""
_REFUSED, _NOT_MADE, _CLONE3 = "425 426 427 438 447 463 466", "452", 435
"""The same on every architecture: rings, by which the filter could be passed, `pidfd_getfd`, `memfd_secret`, attributes; `fchmodat2`; and a
call whose flags no filter sees. A program that is told it does not exist uses `clone`."""
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _SOCK_STREAM, _SOCK_TYPE, _CLONE_THREAD, _F_SETLEASE = 1, 2, 10, 16, 1, 0xF, 0x10000, 1024


def wall_arguments(code: Path, modules: Collection[str], readable: Iterable[Path], *, network: bool) -> list[str]:
    """Return the arguments that put up the walls around the code in a file; all that is seen is read-only but `/tmp`.

    It sees its folder and the readable ones, without the user's own parts, and the packages that have the modules.
    """
    seen = {*_python(), *_packages(modules), *(network_files() if network else ())}
    shown: dict[str, tuple[str, ...]] = {place: ("--ro-bind-try", place, place) for place in seen}
    hidden = {place for place in (*SITES, f"{_LIBRARY}/site-packages", f"{_LIBRARY}/dist-packages") if os.path.isdir(place)}
    for place in map(str, (code.parent, *readable)):
        pieces = _pieces(place) if os.path.isdir(place) else [place]
        hidden |= {place} - {*pieces}
        for piece in pieces:
            is_link = piece != place and os.path.islink(piece)
            shown[piece] = ("--symlink", os.readlink(piece), piece) if is_link else ("--ro-bind-try", piece, piece)
    shown |= {place: ("--tmpfs", place) for place in hidden} | {"/tmp": ("--size", f"{64 << 20}", "--tmpfs", "/tmp")}
    known = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False).stdout
    found = [*_WALLS.split(), *["--share-net"] * network, *["--disable-userns"] * ("--disable-userns" in known)]
    # A folder comes before what lies in it: the interpreter may lie in the code's, and both of them below /tmp.
    found += [word for place in sorted(shown) for word in shown[place]]
    found += [word for place in (*hidden, "/") for word in ("--remount-ro", place)]
    return [*found, "--chdir", str(code.parent)]


def network_files() -> list[str]:
    """Return the files here by which names are resolved and certificates are checked: code with a network sees them."""
    paths = ssl.get_default_verify_paths()  # those that Python was built with may lead to the others
    return [place for place in (*_FOR_NETWORK.split(), paths.openssl_cafile, paths.openssl_capath) if os.path.exists(place)]


def missing_modules(modules: Collection[str]) -> set[str]:
    """Return those of the modules that no installed package has."""
    return set(modules).difference(*(_modules(entries) for _, entries, _ in _installed().values()))


@lru_cache(maxsize=1)
def _python() -> set[str]:
    """Return the interpreter, its standard library with the time zones that this reads, and the shared libraries of both."""
    linked = _linked(_LIBRARY, "lib-dynload")
    later = {f"{os.path.dirname(place)}/{name}" for place in linked for name in _OPENED_LATER}
    return {PROGRAM, _LIBRARY, "/etc/ld.so.cache", "/usr/lib/locale/C.utf8", *zoneinfo.TZPATH, *linked, *later}


@lru_cache
def _linked(folder: str, *entries: str) -> set[str]:
    """Return the shared libraries that the interpreter and entries of a folder are linked against; the loader lists them and runs nothing."""
    files = [file for entry in entries for file in (entry, *glob(f"{entry}/**/*.so*", root_dir=folder, recursive=True)) if ".so" in file]
    env = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_PRELOAD": ":".join(f"./{file}" for file in files)}
    listed = subprocess.run([PROGRAM], env=env, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return set(re.findall(r"(?:=> |^\t)(/.+) \(0x", listed.stdout, re.MULTILINE))


@lru_cache(maxsize=1)
def _installed() -> dict[str, tuple[str, list[str], set[str]]]:
    """Return, of each package, the folder that it lies in, its top-level entries there, and the packages that it requires."""
    found: dict[str, tuple[str, list[str], set[str]]] = {}
    for one in metadata.distributions(path=SITES):
        record = (one.read_text("RECORD") or "").splitlines()
        entries = {re.split("[,/]", line)[0] for line in record if line[:1] not in "./"} - {"__pycache__"}  # which has everybody's
        needs = {_name(need) for need in one.requires or () if not re.search(r";.*\bextra\b", need)}
        found.setdefault(_name(one.name or ""), (str(one.locate_file("")), sorted(entries), needs))
    return found


def _name(requirement: str) -> str:
    return re.sub("[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def _modules(entries: Iterable[str]) -> set[str]:
    return {entry.partition(".")[0] for entry in entries}


def _packages(modules: Collection[str]) -> set[str]:
    """Return the top-level entries of the packages that have modules, of those which they require, and what these are linked against."""
    wanted = [name for name, (_, entries, _) in _installed().items() if not _modules(entries).isdisjoint(modules)]
    shown = set[str]()
    for name in wanted:  # which grows
        top, entries, needs = _installed()[name]
        wanted += [need for need in needs if need in _installed() and need not in wanted]
        shown |= {f"{top}/{entry}" for entry in entries} | _linked(top, *entries)
    return shown


def _pieces(folder: str) -> list[str]:
    """Return what is shown of a folder: itself, or where something in it is hidden, the files and folders in it, each as large as possible."""
    is_environment = folder in (sys.prefix, sys.base_prefix) or any(os.path.lexists(f"{folder}/{mark}") for mark in _MARKS)
    unseen = _OF_ENVIRONMENT if is_environment else _HIDDEN
    entries, pieces = [*os.scandir(folder)], list[str]()
    for entry in entries:
        if entry.name.startswith(".") or entry.name in unseen:
            continue
        if entry.is_symlink() or entry.is_file():
            pieces.append(entry.path)
        elif entry.is_dir() and os.access(entry, os.R_OK) and not any(glob(mark, root_dir=entry.path) for mark in _OF_USER):
            pieces += _pieces(entry.path)
    return [folder] if pieces == [entry.path for entry in entries] else pieces


def system_call_filter() -> bytes:
    """Return the filter: nothing but threads is started, and nothing reaches other programs but by sockets of the network."""
    processor, clone, socket, socketpair, fcntl, refused, not_made = NUMBERS[os.uname().machine]
    load, equal, at_least, any_of, mask, end = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
    allow, kill, nothing, refuse, unknown = ((end, 0, 0, said) for said in (0x7FFF0000, 0x80000000, 0x00050000, 0x00050001, 0x00050026))
    first_argument, second_argument, third_argument = ((load, 0, 0, place) for place in (16, 24, 32))
    steps = [(load, 0, 0, 4), (equal, 1, 0, processor), kill, (load, 0, 0, 0)]
    steps += [(at_least, 0, 1, 0x40000000), kill, (equal, 0, 1, _CLONE3), unknown]
    for said, calls in ((refuse, f"{refused} {_REFUSED}"), (nothing, f"{not_made} {_NOT_MADE}")):
        steps += [step for call in calls.split() for step in ((equal, 0, 1, int(call)), said)]
    # A pair of datagram sockets could send to any program here that listens under an abstract name.
    steps += [(equal, 0, 7, socketpair), first_argument, (equal, 0, 4, _AF_UNIX)]
    steps += [second_argument, (mask, 0, 0, _SOCK_TYPE), (equal, 0, 1, _SOCK_STREAM), allow, refuse]
    steps += [(equal, 0, 4, fcntl), second_argument, (equal, 0, 1, _F_SETLEASE), refuse, allow]  # others would wait for who has a lease
    steps += [(equal, 0, 3, clone), first_argument, (any_of, 1, 0, _CLONE_THREAD), refuse]
    # By netlink, Python looks up the network's devices; other protocols of it tell more of this machine.
    steps += [(load, 0, 0, 0), (equal, 0, 7, socket), first_argument, (equal, 5, 0, _AF_INET), (equal, 4, 0, _AF_INET6)]
    steps += [(equal, 0, 2, _AF_NETLINK), third_argument, (equal, 1, 0, 0), refuse, allow]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
