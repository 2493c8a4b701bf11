"""A worker on a cluster: it drives cohorts on its own disk, and sends back its shard, while it drives and at the end.

This module does not know Ray; `lab.executors.ray_cluster` makes an actor of the class.
"""

import queue
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tertulia.lab.executors.messages import Assignment, Driven, Happened, Message, Ready, Saved, Setup, Unable
from tertulia.lab.executors.worker import Worker
from tertulia.runs.driving.events import Event
from tertulia.runs.driving.interrupting import interrupt_thread
from tertulia.runs.files.shard_files import put_shard
from tertulia.state.errors import ModelError, TertuliaError, failure_text
from tertulia.storage.schema import SCHEMA_VERSION
from tertulia.storage.sqlite.snapshot import snapshot_of

#: Seconds between two looks at the driving.
_LOOK_S = 0.3

#: A shard is sent back while it is driven, so that a node that is lost costs little: not more often than so many
#: seconds, and for not more than a share of the time.
_SAVED_EVERY_S, _SHARE = 5.0, 0.05


@dataclass(frozen=True)
class Installed:
    """The versions on a machine, which must be the same wherever workers are; of Python without the last number."""

    tertulia: str
    schema: int
    python: str

    @classmethod
    def here(cls) -> "Installed":
        """Return the versions on this machine."""
        try:
            tertulia = version("tertulia")
        except PackageNotFoundError:
            tertulia = "a checkout that is not installed"
        return cls(tertulia, SCHEMA_VERSION, f"{sys.version_info.major}.{sys.version_info.minor}")

    def differences(self, other: "Installed") -> str:
        """Return the differences in words; empty if there are none."""
        found = [
            f"{name} {getattr(self, field)} instead of {getattr(other, field)}"
            for field, name in (("tertulia", "Tertulia"), ("schema", "schema version"), ("python", "Python"))
            if getattr(self, field) != getattr(other, field)
        ]
        return ", ".join(found)


class ClusterWorker:
    """Drives cohorts for a command on another node; used by one thread, and stopped by another."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._driving: threading.Thread | None = None
        self._is_stopped = False

    def installed(self) -> Installed:
        """Return the versions on this machine."""
        return Installed.here()

    def prepare(self, setup: Setup) -> Message:
        """Open the models."""
        try:
            self._worker = Worker(setup)
        except TertuliaError as error:
            return Unable(error)
        return Ready()

    def drive(self, assignment: Assignment, seed: bytes | None, address: str | None) -> Iterator[tuple[Message, ...]]:
        """Drive a cohort, and yield its messages.

        Args:
            seed: The shard as another worker left it, or with runs that were begun before.
            address: The address to put the shard to; `None`: it is sent.
        """
        with tempfile.TemporaryDirectory(prefix="tertulia-") as folder:
            shard = Path(folder) / Path(assignment.shard).name
            if seed is not None:
                shard.write_bytes(seed)
            yield from self._messages(replace(assignment, shard=str(shard)), shard, address)

    def _messages(self, assignment: Assignment, shard: Path, address: str | None) -> Iterator[tuple[Message, ...]]:
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        ends: list[Driven] = []
        self._driving = thread = threading.Thread(target=self._drive, args=(assignment, events, ends), daemon=True)
        thread.start()
        due_at = time.monotonic() + _SAVED_EVERY_S
        while thread.is_alive():
            thread.join(_LOOK_S)
            happened = tuple(_taken(events))
            began = time.monotonic()
            if began >= due_at and thread.is_alive() and shard.exists():
                yield tuple(saved_messages(shard, address))
                due_at = time.monotonic() + max(_SAVED_EVERY_S, (time.monotonic() - began) / _SHARE)
            if happened:
                yield (Happened(happened),)
        saved = saved_messages(shard, address) if shard.exists() else ()
        yield (Happened(tuple(_taken(events))), *saved, *ends)

    def _drive(self, assignment: Assignment, events: "queue.SimpleQueue[Event]", ends: list[Driven]) -> None:
        assert self._worker is not None
        try:
            if not self._is_stopped:
                self._worker.drive(assignment, events.put)
            ends.append(Driven())
        except TertuliaError as error:
            ends.append(Driven(error))
        except KeyboardInterrupt:
            ends.append(Driven())
        except Exception as error:
            ends.append(Driven(ModelError(failure_text(error))))

    def stop(self) -> None:
        """Interrupt the driving."""
        self._is_stopped = True
        if self._driving is not None:
            interrupt_thread(self._driving)


def saved_messages(shard: Path, address: str | None) -> Iterator[Saved]:
    """Put a shard as it is now to an address; yield it if there is none, or if it can't be put there."""
    content = snapshot_of(shard)
    if address is None:
        yield Saved(content)
        return
    copy = shard.with_suffix(".copy")
    copy.write_bytes(content)
    try:
        put_shard(copy, address, shard.stem)
    except TertuliaError as error:
        yield Saved(content, str(error))


def _taken(events: "queue.SimpleQueue[Event]") -> Iterator[Event]:
    while not events.empty():
        yield events.get()
