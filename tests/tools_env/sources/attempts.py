"""What sandboxed code may try: each attempt returns something true only where it got out. It is run as a tool's `api.py`, inside."""

# mypy: disable-error-code="func-returns-value"
from __future__ import annotations

import ctypes
import fcntl
import glob
import mmap
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {"add_key": 248, "request_key": 249, "keyctl": 250, "ptrace": 101, "pivot_root": 155, "memfd_create": 319, "shmget": 29,
               "bpf": 321, "kexec_load": 246, "init_module": 175, "reboot": 169, "swapon": 167, "acct": 163, "syslog": 103,
               "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "perf_event_open": 298, "setns": 308, "clone": 56,
               "open_by_handle_at": 304, "fanotify_init": 300, "userfaultfd": 323, "iopl": 172, "clock_settime": 227, "io_setup": 206,
               "timer_create": 222},
    "aarch64": {"add_key": 217, "request_key": 218, "keyctl": 219, "ptrace": 117, "pivot_root": 41, "memfd_create": 279, "shmget": 194,
                "bpf": 280, "kexec_load": 104, "init_module": 105, "reboot": 142, "swapon": 224, "acct": 89, "syslog": 116,
                "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "perf_event_open": 241, "setns": 268, "clone": 220,
                "open_by_handle_at": 265, "fanotify_init": 262, "userfaultfd": 282, "iopl": -1, "clock_settime": 112, "io_setup": 0,
                "timer_create": 107},
}[os.uname().machine] | {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
                         "fsopen": 430, "clone3": 435, "pidfd_open": 434, "pidfd_getfd": 438, "mount_setattr": 442,
                         "memfd_secret": 447}  # fmt: skip
SESSION_KEYRING = -3
NEW_USER, NEW_MOUNT, NEW_NET, NEW_PID = 0x10000000, 0x20000, 0x40000000, 0x20000000
SIGCHLD = 17
ACCESS_LIST = struct.pack("<I" + "HHI" * 3, 2, 1, 7, 0xFFFFFFFF, 4, 0, 0xFFFFFFFF, 0x20, 0, 0xFFFFFFFF)
given: dict[str, Any] = {}
"""What there is outside: places, ports, numbers of processes."""


def system(name: str, *arguments: Any) -> int:
    """Make a system call; one that fails raises."""
    done: int = LIBC.syscall(NUMBERS[name], *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), name)
    return done


def libc(name: str, *arguments: Any) -> bool:
    if getattr(LIBC, name)(*arguments):
        raise OSError(ctypes.get_errno(), name)
    return True


def libc_number(name: str, *arguments: Any) -> int:
    done: int = getattr(LIBC, name)(*arguments)
    return done


def read(place: str) -> str:
    with open(place, errors="replace") as file:
        return file.read(1000) or "it is there, and empty"


def write(place: str, text: str = "import os; os.system('touch /tmp/PWNED')") -> str:
    with open(place, "w") as file:
        file.write(text)
    return place


def in_folder(*names: str) -> str:
    return os.path.join(given["folder"], *names)


def change(place: str) -> str:
    with open(place, "r+") as file:
        file.write("#")
    return place


def changed(place: str | int, how: Callable[[Any], object]) -> bool:
    before = os.stat(place)
    how(place)
    return os.stat(place) != before


def by_link(target: str) -> str:
    link = f"/tmp/link{len(os.listdir('/tmp'))}"
    os.symlink(target, link)
    return read(link)


def descriptors() -> list[int]:
    """Open files beside those of every program, and the answer's."""
    found = []
    for number in range(4, 4096):
        try:
            os.fstat(number)
            found.append(number)
        except OSError:
            pass
    return found


def standard_files() -> list[str]:
    """What of 0, 1, 2 is no `/dev/null`, and what of 3 can be read."""
    none = os.stat("/dev/null").st_rdev
    wrong = [str(number) for number in range(3) if os.fstat(number).st_rdev != none]
    try:
        os.read(3, 1)
        wrong.append("3")
    except OSError:
        pass
    return wrong


def signalled(number: int, *signals: int) -> str:
    """Whether a process is gone after that."""
    for one in signals:
        os.kill(number, one)
    os.kill(number, 0)
    return ""


def group() -> bool:
    """Whether it shares its group or session with the first process."""
    return os.getpgid(0) != os.getpid() or os.getsid(0) != os.getpid() or os.getpid() == 1


def memory_of_first(name: str) -> bool:
    room = ctypes.create_string_buffer(64)
    vector = (ctypes.c_ulong * 2)(ctypes.addressof(room), 64)
    there = (ctypes.c_ulong * 2)(ctypes.addressof(room), 64)  # forked from it: the same addresses
    return system(name, 1, ctypes.byref(vector), 1, ctypes.byref(there), 1, 0) > 0


def perf_of_first() -> bool:
    asked = ctypes.create_string_buffer(128)
    asked[4] = b"\x80"
    return system("perf_event_open", asked, 1, -1, -1, 0) >= 0


def remount_writable() -> bool:
    return system("mount_setattr", -100, given["folder"].encode(), 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), ctypes.c_size_t(32)) == 0


def keyring() -> str:
    room = ctypes.create_string_buffer(100)
    size = system("keyctl", 11, given["key"], room, 100)
    return room.raw[:size].decode()


def reach(family: int, kind: int, address: Any) -> bool:
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)
        one.send(b"out")
        one.send(b"out")  # the second datagram fails where nobody heard the first
    return True


def made(family: int, kind: int = socket.SOCK_STREAM) -> str:
    with socket.socket(family, kind) as one:
        return f"a socket of family {one.family}"


def lease() -> bool:
    """Whether it makes others wait who open a file; as each takes one for itself, one of its own does as well."""
    with open("/tmp/leased", "w") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    return True


def locked(place: str) -> bool:
    """Whether a lock of it keeps others from locking."""
    with open(place) as one, open(place) as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def timers() -> bool:
    """More than a few, of which a user has a limited number."""
    for _ in range(1_000):
        system("timer_create", 1, None, ctypes.byref(ctypes.c_int()))
    return True


def fill() -> str:
    with open("/tmp/large", "wb") as file:
        while file.tell() < 60 << 20:
            file.write(bytes(1 << 20))
    with open("/tmp/larger", "wb") as file:
        for _ in range(8):
            file.write(bytes(1 << 20))
            file.flush()
    return "more than 64 MiB"


def larger_limit(kind: int) -> bool:
    now, most = resource.getrlimit(kind)
    resource.setrlimit(kind, (now * 2, most * 2))
    return True


def set_id_program() -> bool:
    shutil.copy("/bin/true", "/tmp/true")
    os.chmod("/tmp/true", 0o6755)
    return not os.statvfs("/tmp").f_flag & os.ST_NOSUID


def in_thread(work: Callable[[], object]) -> object:
    """What a thread of its own can do no more than the first one."""
    found: list[object] = []
    one = threading.Thread(target=lambda: found.append(work()))
    threading.excepthook = lambda _: None
    one.start()
    one.join()
    return found and found[0]


def started(name: str, *arguments: Any) -> str:
    """A process; it ends at once where it is one."""
    process = system(name, *arguments)
    if process == 0:
        os._exit(0)
    return f"process {process}"


ATTEMPTS: Mapping[str, Callable[[], object]] = {
    # files
    "read /etc/passwd": lambda: read("/etc/passwd"),
    "read /etc/shadow": lambda: read("/etc/shadow"),
    "read a file beside the folder": lambda: read(given["secret"]),
    "read a file by ..": lambda: read(f"../{os.path.basename(given['secret'])}"),
    "read above the root": lambda: os.chdir("/" + "../" * 20) or read("etc/passwd"),
    "read the home": lambda: set(os.listdir(given["home"])) & set(given["in_home"]),
    "read all homes": lambda: [one for one in glob.glob("/home/*/.[a-z]*")],
    "read .env": lambda: read(in_folder(".env")),
    "read .git": lambda: read(in_folder(".git", "config")),
    "read .venv": lambda: read(in_folder(".venv", "pyvenv.cfg")),
    "read a virtual environment": lambda: read(in_folder("venv", "pyvenv.cfg")),
    "read one further down": lambda: read(in_folder("parts", "env", "pyvenv.cfg")),
    "read .env further down": lambda: read(in_folder("parts", ".env")),
    "read a run": lambda: read(in_folder("old-run", "run.db")),
    "read the runs": lambda: os.listdir(in_folder("runs")),
    "see any of these": lambda: set(os.listdir(given["folder"])) & {".env", ".git", ".venv", "venv", "runs", "old-run", "pipe"},
    "open a pipe in the folder": lambda: os.open(in_folder("pipe"), os.O_RDWR | os.O_NONBLOCK),
    "read /tmp": lambda: set(os.listdir("/tmp")) & set(given["in_tmp"]),
    "read by a link there is": lambda: read(in_folder("leads-out")),
    "read by a link made": lambda: by_link(given["secret"]),
    "read by a link to /proc": lambda: by_link("/proc/1/root/etc/passwd"),
    "read by a hard link": lambda: os.link(given["secret"], "/tmp/hard") or read("/tmp/hard"),
    "read /run": lambda: os.listdir("/run"),
    "read /var": lambda: os.listdir("/var"),
    "read /sys": lambda: os.listdir("/sys"),
    "read a disk": lambda: read("/dev/vda") or read("/dev/sda"),
    "read a disk made": lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, given["disk"]) or read("/tmp/disk"),
    "read memory": lambda: read("/dev/mem"),
    "read the kernel's log": lambda: read("/dev/kmsg"),
    "other devices": lambda: set(os.listdir("/dev")) - {"null", "urandom"} - {given["folder"].split("/")[2]},
    # /proc
    "/proc": lambda: os.listdir("/proc"),
    "/proc/self/environ": lambda: read("/proc/self/environ"),
    "/proc/1/environ": lambda: read("/proc/1/environ"),
    "/proc/1/mem": lambda: read("/proc/1/mem"),
    "/proc/1/fd": lambda: os.listdir("/proc/1/fd"),
    "/proc/1/root": lambda: os.listdir("/proc/1/root"),
    "/proc/self/fd": lambda: os.listdir("/proc/self/fd"),
    "/proc/keys": lambda: read("/proc/keys"),
    "/proc/sysrq-trigger": lambda: write("/proc/sysrq-trigger", "h"),
    # writing
    "write into the folder": lambda: write(in_folder("new")),
    "change api.py": lambda: change(in_folder("api.py")),
    "take away api.py": lambda: os.unlink(in_folder("api.py")) or "gone",
    "rename api.py": lambda: os.rename(in_folder("api.py"), "/tmp/api.py") or "gone",
    "another mode of api.py": lambda: changed(in_folder("api.py"), lambda place: os.chmod(place, 0o777)),
    "another time of api.py": lambda: changed(in_folder("api.py"), lambda place: os.utime(place, (0, 0))),
    "another mode of a device": lambda: changed("/dev/null", lambda place: os.chmod(place, 0o600)),
    "another time of a device": lambda: changed("/dev/null", lambda place: os.utime(place, (0, 0))),
    "another owner of a device": lambda: os.chown("/dev/null", os.getuid(), os.getgid()) or "changed",
    "an access list of a device": lambda: os.setxattr("/dev/null", "system.posix_acl_access", ACCESS_LIST) or "changed",
    "no access list of a device": lambda: os.removexattr("/dev/null", "system.posix_acl_access") or "changed",
    "another mode of a standard file": lambda: changed(1, lambda place: os.fchmod(place, 0)),
    "an attribute of api.py": lambda: os.setxattr(in_folder("api.py"), "user.x", b"1") or "changed",
    "a lease": lease,
    "a lock of api.py": lambda: locked(in_folder("api.py")),
    "a folder of its own": lambda: os.mkdir(in_folder("mine")) or "made",
    "a pipe": lambda: os.mkfifo(in_folder("f.json")) or "made",
    "a link to /dev/zero": lambda: os.symlink("/dev/zero", in_folder("x.json")) or "made",
    "sitecustomize.py": lambda: write(in_folder("sitecustomize.py")),
    "conftest.py": lambda: write(in_folder("conftest.py")),
    "orjson.py": lambda: write(in_folder("orjson.py")),
    "a .pth of the folder's environment": lambda: write(in_folder(".venv", "lib", "x.pth")),
    "a .pth of the other environment": lambda: write(in_folder("venv", "lib", "x.pth")),
    "a .pth of this Python": lambda: write(os.path.join(sysconfig.get_path("purelib"), "talm-sim-attempt.pth")),
    "sitecustomize of this Python": lambda: write(os.path.join(sysconfig.get_path("stdlib"), "sitecustomize.py")),
    "this Python": lambda: change(os.path.realpath(sys.executable)),
    "a git hook": lambda: write(in_folder(".git", "hooks", "pre-commit")),
    "git's configuration": lambda: write(in_folder(".git", "config")),
    "~/.bashrc": lambda: write(os.path.join(given["home"], ".bashrc")),
    "~/.profile": lambda: write(os.path.join(given["home"], ".profile")),
    "/etc/profile": lambda: write("/etc/profile.d/x.sh"),
    "/usr/bin": lambda: write("/usr/bin/talm-sim-attempt"),
    "/usr/lib": lambda: write("/usr/lib/talm-sim-attempt.so"),
    "/etc/ld.so.cache": lambda: change("/etc/ld.so.cache"),
    "/": lambda: write("/new"),
    "/dev": lambda: write("/dev/new"),
    "beside the folder": lambda: write(given["secret"]) and "",
    "a run": lambda: write(in_folder("runs", "r1", "run.db")),
    "/var/tmp": lambda: write("/var/tmp/talm-sim-attempt"),
    "/dev/shm": lambda: write("/dev/shm/talm-sim-attempt"),
    "a program that sets its user": set_id_program,
    # descriptors
    "files left open": descriptors,
    "standard files": standard_files,
    # signals and groups
    "a signal to the parent": lambda: signalled(1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM),
    "SIGKILL to the parent": lambda: signalled(1, signal.SIGKILL, signal.SIGSTOP),
    "a signal to a process outside": lambda: os.kill(given["victim"], signal.SIGKILL) or "sent",
    "a signal to talm-sim": lambda: os.kill(given["caller"], signal.SIGKILL) or "sent",
    "a signal to all": lambda: os.kill(-1, signal.SIGKILL) or "sent",
    "a signal to the parent's group": lambda: os.killpg(1, signal.SIGKILL) or "sent",
    "the parent's group": group,
    "into the parent's group": lambda: os.setpgid(0, 1) or True,
    # namespaces and mounts
    "unshare user": lambda: libc("unshare", NEW_USER),
    "unshare mount": lambda: libc("unshare", NEW_MOUNT),
    "unshare net": lambda: libc("unshare", NEW_NET),
    "unshare pid": lambda: libc("unshare", NEW_PID),
    "clone into a user namespace": lambda: started("clone", NEW_USER | SIGCHLD, 0, 0, 0, 0),
    "setns by pidfd": lambda: system("setns", system("pidfd_open", 1, 0), NEW_MOUNT) == 0,
    "chroot": lambda: os.mkdir("/tmp/inner") or os.chroot("/tmp/inner") or "done",
    "pivot_root": lambda: system("pivot_root", b"/tmp", b"/tmp") == 0,
    "mount proc": lambda: os.mkdir("/tmp/proc") or libc("mount", b"proc", b"/tmp/proc", b"proc", 0, None),
    "mount over the folder": lambda: libc("mount", b"/tmp", given["folder"].encode(), b"", 4096, None),
    "unmount the folder": lambda: libc("umount2", given["folder"].encode(), 2),
    "unmount /tmp": lambda: libc("umount2", b"/tmp", 2),
    "make the folder writable": remount_writable,
    "open_tree": lambda: system("open_tree", -100, b"/", 1) >= 0,
    "fsopen": lambda: system("fsopen", b"proc", 0) >= 0,
    "open_by_handle_at": lambda: system("open_by_handle_at", os.open("/usr", os.O_RDONLY), ctypes.create_string_buffer(64), 0) >= 0,
    # tracing
    "trace the parent": lambda: system("ptrace", 16, 1, 0, 0) == 0,
    "seize the parent": lambda: system("ptrace", 0x4206, 1, 0, 0) == 0,
    "read the parent's memory": lambda: memory_of_first("process_vm_readv"),
    "write the parent's memory": lambda: memory_of_first("process_vm_writev"),
    "the parent's output": lambda: system("pidfd_getfd", system("pidfd_open", 1, 0), 1, 0) >= 0,
    "compare with the parent": lambda: system("kcmp", os.getpid(), 1, 0, 0, 0) >= 0,
    "watch the parent": perf_of_first,
    # keys
    "read a key": keyring,
    "the session's keyring": lambda: system("keyctl", 0, SESSION_KEYRING, 0) > 0,
    "search for a key": lambda: system("keyctl", 10, SESSION_KEYRING, b"user", b"talm-sim-attempt", 0) > 0,
    "request a key": lambda: system("request_key", b"user", b"talm-sim-attempt", None, SESSION_KEYRING) > 0,
    "add a key": lambda: system("add_key", b"user", b"talm-sim-new", b"x", ctypes.c_size_t(1), SESSION_KEYRING) > 0,
    "another session keyring": lambda: system("keyctl", 1, None) > 0,
    # sockets
    "connect to a port": lambda: reach(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", given["port"])),
    "connect over IPv6": lambda: reach(socket.AF_INET6, socket.SOCK_STREAM, ("::1", given["port"])),
    "connect to the world": lambda: reach(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53)),
    "send a datagram": lambda: reach(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", given["port"])),
    "look up a name": lambda: socket.getaddrinfo("example.org", 80),
    "a raw socket": lambda: made(socket.AF_INET, socket.SOCK_RAW),
    "a packet socket": lambda: made(17, socket.SOCK_RAW),
    "a unix socket": lambda: made(socket.AF_UNIX),
    "an abstract socket outside": lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{given['abstract']}"),
    "a datagram to it by a pair": lambda: (
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"out", f"\0{given['abstract']}-datagram") > 0
    ),
    "a pair of another family": lambda: socket.socketpair(socket.AF_INET, socket.SOCK_STREAM),
    "netlink that lists sockets": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4).fileno() > 0,
    "a vsock": lambda: made(40),
    "a crypto socket": lambda: made(38, socket.SOCK_SEQPACKET),
    "a bluetooth socket": lambda: made(31, socket.SOCK_RAW),
    "a socket of family 30": lambda: made(30, socket.SOCK_RDM),
    "a ring": lambda: system("io_uring_setup", 1, ctypes.create_string_buffer(120)) >= 0,
    "requests of the kernel's": lambda: system("io_setup", 128, ctypes.byref(ctypes.c_ulong())) == 0,
    "timers": timers,
    "a ring's work": lambda: system("io_uring_enter", 3, 0, 0, 0, 0, 0) >= 0,
    "a ring's files": lambda: system("io_uring_register", -1, 0, 0, 0) >= 0,
    # memory
    "10 GB": lambda: len(bytearray(10 << 30)),
    "much shared memory": lambda: [mmap.mmap(-1, 300 << 20) for _ in range(5)],
    "memory of no process": lambda: system("memfd_create", b"x", 0) >= 0,
    "secret memory": lambda: system("memfd_secret", 0) >= 0,
    "queues of System V": lambda: libc_number("msgget", 0, 0o1600) >= 0,
    "semaphores of System V": lambda: libc_number("semget", 0, 32000, 0o1600) >= 0,
    "a queue": lambda: libc_number("mq_open", b"/talm-sim-attempt", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0,
    "memory of System V": lambda: system("shmget", 0, 1 << 20, 0o1600) >= 0,
    "more than 64 MiB in /tmp": fill,
    "a larger limit of memory": lambda: larger_limit(resource.RLIMIT_AS),
    "a larger limit of time": lambda: larger_limit(resource.RLIMIT_CPU),
    "no limit by prlimit": lambda: resource.prlimit(0, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)) or True,
    # processes
    "fork": lambda: os.fork() or os._exit(0),
    "vfork": lambda: started("clone", 0x4000 | 0x100 | SIGCHLD, 0, 0, 0, 0) if os.uname().machine == "x86_64" else os.fork() or os._exit(0),
    "clone": lambda: started("clone", SIGCHLD, 0, 0, 0, 0),
    "clone3": lambda: started("clone3", (ctypes.c_uint64 * 11)(0, 0, 0, 0, SIGCHLD), ctypes.c_size_t(88)),
    "a program": lambda: subprocess.run(["/bin/true"], check=False).returncode == 0,
    "a shell": lambda: os.system("true") == 0,
    "posix_spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "multiprocessing": lambda: multiprocessing.get_context("fork").Process(target=print).start() or True,
    "fork in a thread": lambda: in_thread(lambda: os.fork() or os._exit(0)),
    "double fork": lambda: os.fork() or os.fork() or os._exit(0),
    # privileges and the machine
    "capabilities": lambda: libc("capset", (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)),
    "another user": lambda: os.setuid(7) or "done",
    "another group": lambda: os.setgroups([0]) or "changed",
    "the host's name": lambda: socket.sethostname("attempt") or "changed",
    "the clock": lambda: system("clock_settime", 0, (ctypes.c_long * 2)(0, 0)) == 0,
    "bpf": lambda: system("bpf", 0, ctypes.create_string_buffer(b"\1\0\0\0\4\0\0\0\4\0\0\0\4", 120), 120) >= 0,
    "kexec": lambda: system("kexec_load", 0, 0, None, 0) == 0,
    "a module": lambda: system("init_module", b"x", 1, b"") == 0,
    "reboot": lambda: system("reboot", 0xFEE1DEAD, 672274793, 0) == 0,
    "swapon": lambda: system("swapon", b"/tmp/x", 0) == 0,
    "accounting": lambda: system("acct", b"/tmp/x") == 0,
    "the kernel's messages": lambda: system("syslog", 3, ctypes.create_string_buffer(9), 9) > 0,
    "fanotify": lambda: system("fanotify_init", 0, 0) >= 0 and os.listdir(given["home"]),
    "ports of the processor": lambda: system("iopl", 3) == 0,
    "priority": lambda: os.nice(-5) < 0,
    "pip's settings": lambda: [one for one in (sys.prefix, sys.base_prefix, "/etc") if os.path.exists(f"{one}/pip.conf")],
    "packages that are not imported": lambda: [one for one in sys.path if one.endswith("-packages") and os.listdir(one)],
    "all of /usr": lambda: (
        set(os.listdir("/usr")) & {"sbin", "games", "src"} or set(glob.glob("/usr/bin/*")) - {os.path.realpath(sys.executable)}
    ),
    "the environment": lambda: set(os.environ) - {"PATH", "LANG", "PYTHONDONTWRITEBYTECODE", "HOME", "TMPDIR", "LC_CTYPE"},
}


def try_all(**known: Any) -> dict[str, str]:
    """Make every attempt; what got out, by name, in a few words."""
    given.update(known)
    found = {}
    for name, attempt in ATTEMPTS.items():
        try:
            if out := attempt():
                found[name] = f"got out: {str(out)[:60]}"
            else:
                found[name] = "nothing"
        except BaseException as err:
            found[name] = f"{type(err).__name__}: {err}"[:100]
    return found
