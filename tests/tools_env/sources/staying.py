"""What sandboxed code may do to stay, or to fill the memory of who hears it. It is run as a tool's `api.py`, inside."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import socket
import sys
import threading
import time

libc = ctypes.CDLL(None)


def keep_off_death_signal() -> None:
    libc.prctl(1, 0, 0, 0, 0)
    time.sleep(1000)


def close_all_files() -> None:
    libc.prctl(1, 0, 0, 0, 0)
    os.closerange(0, 3)
    os.closerange(4, 4096)
    time.sleep(1000)


def close_its_answer() -> None:
    os.closerange(0, 4096)
    time.sleep(1000)


def ignore_all_signals() -> None:
    for one in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(one, signal.SIG_IGN)
    time.sleep(1000)


def block_all_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(1000)


def stop_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def stop_the_watcher() -> None:
    os.kill(1, signal.SIGSTOP)
    time.sleep(1000)


def signal_the_watcher() -> None:
    for one in signal.valid_signals():
        os.kill(1, one)
    time.sleep(1000)


def kill_all() -> None:
    for target in (1, -1):
        with contextlib.suppress(OSError):
            os.kill(target, signal.SIGKILL)
    time.sleep(1000)


def kill_its_group() -> None:
    os.kill(0, signal.SIGKILL)


def threads() -> None:
    for _ in range(8):
        threading.Thread(target=time.sleep, args=(1000,)).start()
    time.sleep(1000)


def threads_that_stay() -> str:
    for _ in range(8):
        threading.Thread(target=time.sleep, args=(1000,)).start()
    return "answered"


def flood() -> None:
    while True:
        os.write(3, b"x" * 65536)


def flood_slowly() -> None:
    while True:
        os.write(3, b" ")
        time.sleep(0.001)


def flood_output() -> None:
    while True:
        os.write(1, b"x" * 65536)
        os.write(2, b"x" * 65536)


def flood_files() -> None:
    for number in range(1 << 30):
        os.close(os.open(f"/tmp/{number}", os.O_CREAT))
        os.write(3, b" " * (number % 1000 == 0))


def flood_threads() -> None:
    threading.stack_size(32 << 10)
    while True:
        threading.Thread(target=time.sleep, args=(1000,)).start()


def half_an_answer() -> None:
    os.write(3, b'{"value": ')
    time.sleep(1000)


def whole_answer_and_stay() -> None:
    os.write(3, b'{"value": "answered"}')
    time.sleep(1000)


def slow_the_watcher() -> None:
    os.setpriority(os.PRIO_PROCESS, 1, 19)
    os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))


def no_files_for_the_watcher() -> None:
    resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))
    time.sleep(1000)


def no_memory_for_the_watcher() -> None:
    resource.prlimit(1, resource.RLIMIT_AS, (0, 0))
    os.write(3, b"x" * 100_000)
    time.sleep(1000)


def no_time_for_the_watcher() -> None:
    resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))
    os.write(3, b"x" * 100_000)
    time.sleep(1000)


def another_program() -> None:
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(1000)"])


def a_program_with_the_answer() -> None:
    os.set_inheritable(3, True)
    os.execv("/bin/sleep", ["sleep", "1000"])


def fork_anyhow() -> None:
    for start in (os.fork, lambda: libc.syscall(56, 17, 0, 0, 0, 0), lambda: libc.syscall(220, 17, 0, 0, 0, 0), libc.vfork):
        with contextlib.suppress(OSError):
            start()
    time.sleep(1000)


def session() -> None:
    for move in (os.setsid, os.setpgrp, lambda: os.setpgid(0, 1)):
        with contextlib.suppress(OSError):
            move()
    time.sleep(1000)


def the_answer_in_a_socket() -> None:
    here, _there = socket.socketpair()
    socket.send_fds(here, [b"x"], [3])
    os.close(3)
    time.sleep(1000)


def poll() -> None:
    while True:
        select.select([], [], [], 0.001)


def exit_with_an_error() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)
