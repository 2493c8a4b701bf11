"""Drive a stored run to its end; whatever stops it, its turns are kept and its ending is stored."""

from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tertulia.runs.driving.collecting import seldom_collecting
from tertulia.runs.driving.events import Emit, RunEnded, RunStarted
from tertulia.runs.driving.interrupting import interruptible, run_or_abandon
from tertulia.runs.driving.limits import Limits
from tertulia.state.errors import (
    BudgetError,
    LeftError,
    ModelError,
    StoppedError,
    StorageError,
    TertuliaError,
    failure_text,
)
from tertulia.state.records import EndedBy, RunStatus
from tertulia.state.seat import Ask

if TYPE_CHECKING:
    from tertulia.state.context import Context
    from tertulia.storage.store import SqlStore


def drive_run(
    store: "SqlStore", context: "Context", emit: Emit, ask: Ask | None = None, limits: Limits | None = None
) -> None:
    """Drive a run to its end in this thread, in an event loop of its own.

    Args:
        context: From `tertulia.runs.planning.starting.begin` or `reopen`.
        emit: Receives the events, `RunStarted` first and `RunEnded` last.
        ask: Asks the person in the seat, if the run has one.
        limits: Its budget; without them nothing is limited.

    Raises:
        StorageError: Another process drives the run; nothing of it is touched.
        StoppedError: Its budget is spent, or a stop was requested; it is interrupted.
        TertuliaError: The run failed.
        KeyboardInterrupt: It was interrupted.
        LeftError: The person in the seat has left.
    """
    run, limits = context.run, limits or Limits()

    def report_end(ended: Ending) -> None:
        emit(RunEnded(run, ended.status, store.run(run).turns, ended.error, ended.by))

    recorded = recorded_ending(store, partial(store.set_status, run), report_end, limits.why)
    with store.drive_lock(run), interruptible(), recorded as ending, limits.stopping(), seldom_collecting():
        emit(RunStarted(run, store.run(run), context.start, tuple(store.turns(run))))
        context.broker.use(limits)
        ending.by = run_or_abandon(_drive(context, store, emit, ask, limits))


async def _drive(context: "Context", store: "SqlStore", emit: Emit, ask: Ask | None, limits: Limits) -> EndedBy | None:
    from tertulia.runs.driving.conversation import drive
    from tertulia.storage.checkpointing import checkpoints_of
    from tertulia.storage.stop_requests import StopRequests

    requests = StopRequests(store, "run", context.run)
    async with checkpoints_of(store) as checkpointer, limits.watching(requests.look_if_possible):
        return await drive(context, checkpointer, emit, ask)


@dataclass
class Ending:
    """How a run or a simulation ended: its status, the error of a failure or a stop, and why it ended."""

    status: RunStatus = "failed"
    error: TertuliaError | None = None
    by: EndedBy | None = None


@contextmanager
def recorded_ending(
    store: "SqlStore",
    set_status: Callable[..., None],
    report_end: Callable[[Ending], None],
    why_stopped: Callable[[], StoppedError | None] = lambda: None,
) -> Iterator[Ending]:
    """Store the status of the run inside: running, then how it ended, whatever stops it.

    The code inside sets why it finished (`Ending.by`).

    Args:
        store: Reopened before an error is stored, which it may itself have caused.
        set_status: Stores a status, the error of a failure, and why it ended.
        report_end: Receives the ending, once it is stored.
        why_stopped: Returns the cause of an interrupt, if it is no signal.

    Raises:
        TertuliaError: It failed; foreign errors become a one-line `ModelError`.
        KeyboardInterrupt: It was interrupted.
        StoppedError: A budget is spent, or a stop was requested.
        LeftError: The person in the seat has left.
    """
    ending = Ending()

    def save_status_if_possible() -> None:
        with suppress(StorageError):
            store.reopen()  # a signal may have come in the middle of a transaction, or of a query
            set_status(ending.status, None if ending.error is None else str(ending.error), ending.by)

    try:
        set_status("running")
        yield ending
        set_status("finished", None, ending.by)
        ending.status = "finished"
    except (KeyboardInterrupt, SystemExit, CancelledError, GeneratorExit, LeftError, StoppedError) as stop:
        # A coroutine with no time left to tidy up after an interrupt is closed at its await: a GeneratorExit.
        ending.status, ending.error = "interrupted", why_stopped()
        is_left, is_spent = isinstance(stop, LeftError), isinstance(ending.error, BudgetError)
        ending.by = "left by a person" if is_left else "budget" if is_spent else "stopped"
        save_status_if_possible()
        raise
    except Exception as error:
        ending.error = error if isinstance(error, TertuliaError) else ModelError(failure_text(error))
        ending.by = None
        save_status_if_possible()
        raise ending.error from error
    finally:
        # A store that can't be read any more can't say how far the run came; the error that ended it says why.
        with suppress(StorageError) if ending.status == "failed" else nullcontext():
            report_end(ending)
