"""Trials on a Ray cluster: an actor is a worker, its events come as a stream, and its shard as bytes.

A shard that comes back lies in the folder of the experiment's shards, also the latest state of one that is still
driven: so a node that is lost, and a command that was killed, cost seconds.
"""

import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tertulia.lab.executors.cluster_worker import ClusterWorker, Installed
from tertulia.lab.executors.dispatch import Dispatcher
from tertulia.lab.executors.local import cohorts_of
from tertulia.lab.executors.messages import Assignment, Died, Driven, Happened, Message, Saved, Setup, Unable
from tertulia.lab.experiments.reached import CohortTask
from tertulia.lab.experiments.shards import ShardFolder
from tertulia.models.ray_scoring import cause_of
from tertulia.models.served.chat_names import is_chat_name
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit, Noted
from tertulia.runs.driving.limits import Limits, OwnPurse
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.state.budget import Spent
from tertulia.state.errors import MissingPackageError, ModelError, TertuliaError, UsageError, extra_hint
from tertulia.state.language_model import REHEARSAL
from tertulia.state.text import first_line
from tertulia.storage.store import SqlStore

#: How long a cluster without room for a single worker is waited for.
_PATIENCE_S = 60.0

#: How long a port has to answer.
_KNOCK_S = 5.0

#: How long workers have to send their shards, once they are to stop.
_TIDYING_S = 15.0


@dataclass(frozen=True)
class RayExecutor:
    """Drives cohorts on a Ray cluster, each worker with models of its own.

    Attributes:
        workers: The most workers; `None` for as many as the cluster has room for.
        address: Of the cluster, `HOST:PORT`; `None` for a known one, or else for this machine as one.
        shards: The folder for shards, or the address to which workers put them; `None` for a folder beside the store.
        limits: The most that all trials together may spend.
    """

    store: SqlStore
    access: ModelAccess
    additions: Additions = NOTHING_ADDED
    workers: int | None = None
    address: str | None = None
    shards: str | None = None
    limits: Limits = field(default_factory=Limits)

    def folder(self, experiment: str) -> ShardFolder:
        """Return the folder of an experiment's shards."""
        return ShardFolder.of(self.store, experiment, self.access.cache, self.shards)

    def drive(self, tasks: Sequence[CohortTask], emit: Emit) -> None:
        """Drive cohorts to their ends (see `lab.experiments.running.Executor` and `Dispatcher.drive`).

        Raises:
            UsageError: Ray is not installed, or there is no cluster that this version of it can use.
        """
        if not tasks:
            return
        experiment = tasks[0].experiment
        with connected(self.address) as ray:
            resources = ray.cluster_resources()
            has_weights = experiment.model != REHEARSAL and not is_chat_name(experiment.model)
            gpus = int(resources.get("GPU", 0)) if has_weights else 0
            room = gpus or max(1, int(resources.get("CPU", 0)) // (1 + self.access.scorers))
            folder = self.folder(experiment.name)
            crew = RayCrew(ray, {"num_cpus": 1, "num_gpus": 1 if gpus else 0}, folder)
            budget = self.limits.budget
            purse = None if budget.is_none else ActorPurse.begin(ray, budget.max_calls)
            dispatcher = Dispatcher(self.store, folder, self.access, self.additions, emit, self.limits, purse)
            dispatcher.drive(tasks, crew, min(self.workers or room, cohorts_of(experiment)))


@dataclass(frozen=True)
class ActorPurse:
    """The spending of a cluster's workers from one budget, counted by an actor; implements `state.budget.Purse`."""

    actor: Any

    @classmethod
    def begin(cls, ray: Any, max_calls: int | None) -> "ActorPurse":
        """Start the actor with nothing spent; it ends with the command."""
        return cls(ray.remote(OwnPurse).options(num_cpus=0).remote(max_calls))

    def reserve(self, calls: int) -> int | None:
        """Reserve calls of the rest; if there are fewer, return how many were made or reserved before."""
        before: int | None = self._answer(self.actor.reserve.remote(calls))
        return before

    def settle(self, reserved: int, made: Spent) -> Spent:
        """Give a reservation back, add the calls made of it, and return all that was spent so far."""
        spent: Spent = self._answer(self.actor.settle.remote(reserved, made))
        return spent

    def _answer(self, reference: Any) -> Any:
        import ray

        return ray.get(reference)


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Connect this process with a cluster while inside, and give Ray's module.

    Raises:
        UsageError: Ray is not installed, no cluster is there, or it is of another version.
    """
    try:
        import ray
        from ray._common.usage.usage_lib import set_usage_stats_enabled_via_env_var
    except ModuleNotFoundError:
        raise MissingPackageError(f"--on ray needs Ray, which is not installed: {extra_hint('ray')}") from None
    if ray.is_initialized():  # by the program that uses this one
        yield ray
        return
    _quieten()
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    set_usage_stats_enabled_via_env_var(False)  # a cluster of this machine's own would report to Ray's makers
    try:
        if address is not None:
            _knock(address)
        try:
            ray.init(address=address or "auto", **options)
        except ConnectionError:
            if address is not None:
                raise
            ray.init(address="local", include_dashboard=False, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise UsageError(refusal(address, error, ray.__version__)) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _quieten() -> None:
    """Keep the nodes' own messages off standard output, which is for data; Ray has no option for it.

    The loss of a node is reported as the death of its workers.
    """
    from ray._private import worker

    worker.print_to_stdstream = _print_nothing


def _print_nothing(data: Any, ignore_prefix: bool) -> None:
    """Stand in for Ray's own function of this signature."""


def _knock(address: str) -> None:
    """Connect to a cluster's port for a moment: Ray itself waits for minutes for a port without a listener.

    Raises:
        OSError: Nobody is there.
        ValueError: It is no address.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise ValueError("an address is HOST:PORT")
    socket.create_connection((host.strip("[]"), int(port)), _KNOCK_S).close()


def refusal(address: str | None, error: Exception, version: str) -> str:
    """Return in a line why there is no connection, and the remedy."""
    where = f"the Ray cluster {address}" if address else "Ray on this machine"
    if "ersion mismatch" in str(error):
        return (
            f"{where} has another version than what is installed here (Ray {version}): "
            f"{' '.join(str(error).split())}; install the same on all nodes"
        )
    return (
        f"{where} can't be reached ({type(error).__name__}: {first_line(error)}); start it with `ray start --head`, "
        "let this machine join it with `ray start --address=HOST:PORT`, and name that address: --on ray:HOST:PORT"
    )


class RayCrew:
    """Actors of a cluster; see `lab.executors.dispatch.Crew`."""

    def __init__(self, ray: Any, resources: dict[str, float], folder: ShardFolder) -> None:
        """Note each worker's needs, and the addresses of shards."""
        self._ray, self._folder = ray, folder
        # One thread drives, another one can stop it.
        self._actor = ray.remote(ClusterWorker).options(
            **resources, max_concurrency=2, max_restarts=0, scheduling_strategy="SPREAD"
        )
        self._actors: dict[int, Any] = {}
        self._setups: dict[int, Setup] = {}
        self._awaited: dict[int, Any] = {}  # by worker, the reference or the stream that it answers with
        self._shards: dict[int, Path] = {}
        self._hired, self._answered_at = 0, time.monotonic()
        self._is_told = False  # that shards can't be put to their address

    def hire(self, setup: Setup) -> int:
        """Ask for an actor and return its number; it begins when the cluster has room."""
        self._hired += 1
        actor = self._actors[self._hired] = self._actor.remote()
        self._setups[self._hired] = setup
        self._awaited[self._hired] = actor.installed.remote()
        return self._hired

    def give(self, worker: int, assignment: Assignment) -> None:
        """Send an actor a cohort, with its shard so far."""
        shard = self._shards[worker] = Path(assignment.shard)
        seed = shard.read_bytes() if shard.exists() else None
        method = self._actors[worker].drive.options(num_returns="streaming")
        self._awaited[worker] = method.remote(assignment, seed, self._folder.address)

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Wait until actors have something to say, and yield that."""
        by_awaited = {id(awaited): worker for worker, awaited in self._awaited.items()}
        ready, _ = self._ray.wait(list(self._awaited.values()), num_returns=1, timeout=1.0)
        if not ready and self._setups.keys() == self._actors.keys():
            self._refuse_to_wait()
        for awaited in ready:
            self._answered_at = time.monotonic()
            worker = by_awaited[id(awaited)]
            for message in self._answers(worker, awaited):
                if isinstance(message, Saved):
                    _save(self._shards[worker], message.shard)
                    if message.problem and not self._is_told:
                        self._is_told = True
                        text = f"{message.problem}; what can't be put there is sent through Ray"
                        yield worker, Happened((Noted("", text),))
                    continue
                if isinstance(message, Driven) and worker in self._shards:
                    self._folder.fetch(self._shards[worker].stem)
                yield worker, message

    def _refuse_to_wait(self) -> None:
        """Stop waiting for a cluster that has had no room for any worker for a while.

        Raises:
            ModelError: It has had none.
        """
        if time.monotonic() - self._answered_at > _PATIENCE_S:
            total, free = (
                found.get("CPU", 0.0) for found in (self._ray.cluster_resources(), self._ray.available_resources())
            )
            raise ModelError(
                f"the cluster has no room for a worker: {free:g} of {total:g} CPUs are free; add nodes, or wait until "
                "others have ended, then run the command again: it goes on"
            )

    def _answers(self, worker: int, awaited: Any) -> Iterator[Message]:
        errors = self._ray.exceptions
        try:
            if worker in self._shards:
                yield from self._ray.get(next(awaited))
                return
            found = self._ray.get(awaited)
        except StopIteration:
            del self._awaited[worker], self._shards[worker]
            return
        except (errors.ActorDiedError, errors.ActorUnavailableError, errors.ObjectLostError) as error:
            is_silent = isinstance(error, errors.ActorUnavailableError)  # it says no more than numbers
            yield from self._lost(worker, Died("its node does not answer" if is_silent else first_line(error)))
            return
        except errors.RayError as error:
            if worker in self._shards:  # its shard can't be written there, or put to its address
                del self._awaited[worker], self._shards[worker]
                cause = getattr(error, "cause", None)
                yield Driven(cause if isinstance(cause, TertuliaError) else ModelError(cause_of(error)))
                return
            yield from self._lost(worker, Unable(ModelError(f"its node can't run it: {cause_of(error)}")))
            return
        del self._awaited[worker]
        if isinstance(found, Installed):
            yield from self._prepared(worker, found)
        elif isinstance(found, Unable):
            yield from self._lost(worker, found)
        else:
            yield found

    def _prepared(self, worker: int, there: Installed) -> Iterator[Message]:
        setup = self._setups.pop(worker)
        if difference := there.differences(Installed.here()):
            unable = Unable(ModelError(f"its node has {difference}; install the same on all nodes"))
            yield from self._lost(worker, unable)
        else:
            self._awaited[worker] = self._actors[worker].prepare.remote(setup)

    def _lost(self, worker: int, message: Message) -> Iterator[Message]:
        if worker in self._shards:
            self._folder.fetch(self._shards[worker].stem)
        for known in (self._actors, self._setups, self._awaited, self._shards):
            known.pop(worker, None)
        yield message

    def dismiss(self) -> None:
        """Stop all actors, once they have sent their shards."""
        for worker in self._shards:
            self._actors[worker].stop.remote()
        given_up_at = time.monotonic() + _TIDYING_S
        while self._shards and time.monotonic() < given_up_at:
            self._setups.clear()
            self._awaited = {worker: self._awaited[worker] for worker in self._shards}
            for _ in self.messages():
                pass
        for actor in self._actors.values():
            self._ray.kill(actor)


def _save(shard: Path, content: bytes) -> None:
    """Write a shard so that a half-written one is never found under its name."""
    descriptor, made = tempfile.mkstemp(dir=shard.parent, prefix=".")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.replace(made, shard)
