"""A Ray cluster of two nodes on this machine's loopback, for as long as a test needs it."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Of each node: few objects, and no work but one worker.
_OPTIONS: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80_000_000}


@contextmanager
def two_nodes() -> Iterator[str]:
    """Start two nodes with a processor each, and give the address of their cluster."""
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(initialize_head=True, head_node_args={**_OPTIONS, "include_dashboard": False})
    try:
        cluster.add_node(**_OPTIONS)
        yield cluster.address
    finally:
        cluster.shutdown()


def workers() -> list[int]:
    """Return the processes of this machine that are workers of Tertulia on Ray."""
    found = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in found.splitlines() if "ray::ClusterWorker" in line]


def kill_a_worker() -> bool:
    """Kill a worker, and return whether there was one."""
    found = workers()
    for worker in found[:1]:
        os.kill(worker, signal.SIGKILL)
    return bool(found)
