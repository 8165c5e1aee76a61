"""A Ray cluster of several nodes on this machine, for a test that drives it by standard input; the test's own process imports no Ray.

It prints the cluster's address. A line on standard input names a directory with shards: as soon as a node plays one of which some episodes are
finished, that node is killed with all its processes, as by a power cut, and the name of the shard is printed;
an empty line if there is none for minutes. The cluster ends with the input.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

from ray.cluster_utils import Cluster

MEMORY = 80_000_000
QUICK = {"health_check_period_ms": 500, "health_check_failure_threshold": 3, "health_check_initial_delay_ms": 500}
SOME = 10
PATIENCE_S = 180.0


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


def shard_of(pids: list[int], place: Path) -> str:
    """Return the shard that one of the processes has open, if some of its episodes are finished."""
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                found = re.search(rf"{re.escape(place.name)}/(shard-[^/]+)/run\.db", os.readlink(link))
                if found and int((place / f"{found[1]}.count").read_text()) >= SOME:
                    return found[1]
            except (OSError, ValueError):
                continue
    return ""


def main(nodes: int) -> None:
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": MEMORY, "include_dashboard": False, "_system_config": QUICK}
    )
    alive = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY) for _ in range(nodes)]
    print(cluster.address, flush=True)
    for line in sys.stdin:
        shard, until = "", time.monotonic() + PATIENCE_S
        while not shard and time.monotonic() < until:
            time.sleep(0.05)
            for node in alive:
                pids = family(node.all_processes["raylet"][0].process.pid)
                shard = shard_of(pids, Path(line.strip()))
                if shard:
                    for pid in pids:
                        os.kill(pid, signal.SIGKILL)
                    alive.remove(node)
                    break
        print(shard, flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
