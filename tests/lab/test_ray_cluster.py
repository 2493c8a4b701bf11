"""Trials on a Ray cluster of two nodes: the same conversations, also where a worker or a node is lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.experiment_case import Spoken, a_grid, conversations, drive_here
from support.stored import a_case, a_run

from tertulia.lab.executors.cluster_worker import Installed, saved_messages
from tertulia.lab.executors.ray_cluster import RayExecutor, refusal
from tertulia.lab.experiments.reached import Progress
from tertulia.lab.experiments.running import run_experiment
from tertulia.lab.experiments.shards import ShardFolder
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit, Event, Noted, TurnFinished, ignore
from tertulia.runs.driving.limits import Limits
from tertulia.runs.files.shard_files import put_shard
from tertulia.state.budget import Budget
from tertulia.state.errors import BudgetError, ModelError
from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.full

#: Of each node: few objects, and no work but one worker.
_OPTIONS: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80_000_000}


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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a cluster of two nodes on this machine's loopback, with a processor each."""
    pytest.importorskip("ray", reason="Ray is not installed; install it with: pip install 'tertulia[ray]'")
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(initialize_head=True, head_node_args={**_OPTIONS, "include_dashboard": False})
    try:
        cluster.add_node(**_OPTIONS)
        yield cluster.address
    finally:
        cluster.shutdown()


def run(store: SqlStore, address: str, emit: Emit = ignore, shards: str | None = None) -> Progress:
    executor = RayExecutor(store, ModelAccess(), address=address, shards=shards)
    return run_experiment(store, a_grid(cohort_size=1), executor, emit)


def test_a_cluster_holds_the_same_conversations_also_where_a_worker_is_killed(
    store: SqlStore, address: str, expected: Spoken, capfd: pytest.CaptureFixture[str]
) -> None:
    notes: list[str] = []
    killed: list[bool] = []

    def kill_one(event: Event) -> None:
        if isinstance(event, TurnFinished) and not killed:
            killed.append(kill_a_worker())
        if isinstance(event, Noted):
            notes.append(event.text)

    assert run(store, address, kill_one).missing == 0
    assert killed == [True]
    assert conversations(store) == expected
    assert notes
    assert all("goes on with another one" in note for note in notes)
    assert capfd.readouterr() == ("", "")
    assert not list(Path(store.path).parent.glob("*.shards"))


def test_what_was_interrupted_there_goes_on_here_and_shards_lie_at_an_address_meanwhile(
    store: SqlStore, address: str, expected: Spoken, tmp_path: Path
) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, TurnFinished):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store, address, interrupt, f"file://{tmp_path}/shards")
    assert not list(tmp_path.glob("shards/*/*"))
    assert {record.status for record in store.runs()} <= {"interrupted", "finished"}
    assert sum(record.turns for record in store.runs()) >= 1
    assert drive_here(store, a_grid(cohort_size=1)).missing == 0
    assert conversations(store) == expected
    assert len(store.runs()) == 4


def test_a_shard_that_can_not_be_put_to_its_address_is_sent(tmp_path: Path) -> None:
    with SqlStore.open(tmp_path / "shard.db", create=True):
        pass
    (tmp_path / "file").touch()
    (saved,) = saved_messages(tmp_path / "shard.db", f"file://{tmp_path}/file/shards")
    assert saved.shard.startswith(b"SQLite format 3")
    assert "can't be" in saved.problem


def test_a_newer_shard_is_not_replaced_by_one_that_lies_at_an_address(tmp_path: Path) -> None:
    place = tmp_path / "place"
    folder = ShardFolder(tmp_path / "shards", f"file://{place}")
    folder.make()
    with SqlStore.open(tmp_path / "old.db", create=True):
        pass
    put_shard(tmp_path / "old.db", folder.address or "", "abcdef")
    with SqlStore.open(folder.path / "abcdef.db", create=True) as here:
        here.create_run(a_run(), a_case())
    folder.fetch()
    with SqlStore.open(folder.path / "abcdef.db") as here:
        assert len(here.runs()) == 1
    assert not list(place.iterdir())


def test_a_node_with_another_version_is_refused(store: SqlStore, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Installed, "here", classmethod(lambda cls: cls("0.9", 99, "3.99")))
    with pytest.raises(ModelError, match=r"its node has Tertulia .* instead of 0\.9.*install the same on all nodes"):
        run(store, address)
    given_up_at = time.monotonic() + 30
    while workers() and time.monotonic() < given_up_at:  # Ray ends them after the answer
        time.sleep(0.1)
    assert not workers()


def test_a_cluster_without_room_is_not_waited_for_without_end(
    store: SqlStore, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    class Hog:
        def is_there(self) -> bool:
            return True

    monkeypatch.setattr("tertulia.lab.executors.ray_cluster._PATIENCE_S", 0.5)
    ray.init(address=address, log_to_driver=False)
    try:
        hogs = [ray.remote(Hog).options(num_cpus=1).remote() for _ in range(2)]
        assert ray.get([hog.is_there.remote() for hog in hogs]) == [True, True]
        with pytest.raises(ModelError, match="no room for a worker: 0 of 2 CPUs are free"):
            run(store, address)
    finally:
        ray.shutdown()


def test_without_ray_the_command_that_installs_it_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    cli("sweep", "tidewell", "--trials", "1", "--rehearse", "--on", "ray").complains(2, "pip install", "[ray]")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "ray://127.0.0.1:1", "127.0.0.1:x"])
def test_where_no_cluster_is_the_ways_to_one_are_named(cli: Cli, address: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; install it with: pip install 'tertulia[ray]'")
    refused = cli("sweep", "tidewell", "--trials", "1", "--rehearse", "--on", f"ray:{address}")
    refused.complains(2, f"the Ray cluster {address} can't be reached", "ray start --head")


def test_another_version_of_ray_is_named() -> None:
    error = RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.11")
    message = refusal("10.0.0.5:6379", error, "2.60.0")
    assert "\n" not in message
    assert all(word in message for word in ("10.0.0.5:6379", "Ray: 2.9.0", "Ray 2.60.0", "install the same"))


def test_workers_of_all_nodes_spend_of_one_budget(store: SqlStore, address: str, expected: Spoken) -> None:
    executor = RayExecutor(store, ModelAccess(), address=address, limits=Limits(Budget(max_calls=15)))
    with pytest.raises(BudgetError, match=r"^stopped by its budget of 15 calls"):
        run_experiment(store, a_grid(cohort_size=1), executor, ignore)
    assert 0 < sum(len(store.calls(found.run)) for found in store.runs()) <= 15
    assert {found.status for found in store.runs()} <= {"interrupted", "finished"}
    assert run(store, address).missing == 0
    assert conversations(store) == expected
