"""A Ray cluster of several nodes on this machine, for a test that drives it by standard input; the tests' own process imports no Ray.

It prints the cluster's address. `kill N` on standard input kills the N-th node with all its processes, as a power cut does, and prints the names of
its processes; the end of standard input ends the cluster.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from ray.cluster_utils import Cluster

MEMORY = 80_000_000
QUICK = {"health_check_period_ms": 500, "health_check_failure_threshold": 3, "health_check_initial_delay_ms": 500}


def family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:60]
    except OSError:
        return ""


def main(nodes: int) -> None:
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": MEMORY, "include_dashboard": False, "_system_config": QUICK},
    )
    started = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY) for _ in range(nodes)]
    print(cluster.address, flush=True)
    for line in sys.stdin:
        number = int(line.split()[1])
        pids = family(started[number].all_processes["raylet"][0].process.pid)
        names = [name for pid in pids if (name := name_of(pid))]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        print(" | ".join(names), flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
