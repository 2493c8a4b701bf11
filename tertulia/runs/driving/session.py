"""Drive a run in a thread of its own, beside a script, a notebook, or an event loop.

The thread has its own connection to the store and its own event loop; only events come out of it.
"""

import asyncio
import contextvars
import logging
import queue
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import suppress
from typing import Final, TypeVar

from tertulia.runs.driving.events import Emit, Event
from tertulia.runs.driving.interrupting import interrupt_thread
from tertulia.state.errors import TertuliaError

Result = TypeVar("Result")

#: Drives a run to its end in the calling thread, and emits its events.
Drive = Callable[[Emit], None]

_logger = logging.getLogger("tertulia")


class _End:
    """Follows the last event."""


_END: Final = _End()


class _Interruption:
    """A wish from another thread that whoever reads the events of a run stops reading, as Ctrl-C would make them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_wanted = False
        self._reading: set[queue.SimpleQueue[Event | _End | None]] = set()

    def request(self) -> None:
        """Interrupt the reading of events, now and from now on."""
        with self._lock:
            self._is_wanted = True
            for events in self._reading:
                events.put(None)

    def begin(self, events: "queue.SimpleQueue[Event | _End | None]") -> None:
        """Note that events are read; `None` among them is an interrupt."""
        with self._lock:
            self._reading.add(events)
            if self._is_wanted:
                events.put(None)

    def end(self, events: "queue.SimpleQueue[Event | _End | None]") -> None:
        """Note that they are read no more."""
        with self._lock:
            self._reading.discard(events)


#: Interrupts the events that are read in this context.
_interruption = contextvars.ContextVar[_Interruption]("interruption")


class LoopClosedError(TertuliaError):
    """The event loop that took a run's events was closed while the run was driven."""


def events_of(drive: Drive) -> Generator[Event]:
    """Yield the events of a run while it is driven; the run is interrupted if this is, or is not read to its end.

    Raises:
        TertuliaError: The run failed.
        KeyboardInterrupt: It was interrupted.
    """
    events: queue.SimpleQueue[Event | _End | None] = queue.SimpleQueue()
    driver, interruption = _Driver(drive, events.put), _interruption.get(_Interruption())
    interruption.begin(events)
    try:
        driver.start()
        while not isinstance(event := events.get(), _End):
            if event is None:
                raise KeyboardInterrupt
            yield event
    except BaseException:
        driver.stop()
        raise
    finally:
        interruption.end(events)
    driver.finish()


async def awaited(function: Callable[[], Result]) -> Result:
    """Return the result of a function that drives runs (`events_of`), called in a thread of its own.

    If the task that awaits it is cancelled, the run is interrupted as by Ctrl-C, and the task ends when that is done.

    Raises:
        BaseException: Whatever the function raises.
    """
    loop, interruption = asyncio.get_running_loop(), _Interruption()
    ended: asyncio.Future[tuple[Result | None, BaseException | None]] = loop.create_future()

    def call() -> None:
        _interruption.set(interruption)
        try:
            outcome: tuple[Result | None, BaseException | None] = function(), None
        except BaseException as error:
            outcome = None, error
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(ended.set_result, outcome)

    threading.Thread(target=contextvars.copy_context().run, args=(call,), name="tertulia call", daemon=True).start()
    try:
        result, error = await asyncio.shield(ended)
    except asyncio.CancelledError:
        interruption.request()
        while not ended.done():
            with suppress(asyncio.CancelledError):  # a second one would leave a run that nobody drives
                await asyncio.shield(ended)
        raise
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


async def stream_of(drive: Drive) -> AsyncIterator[Event]:
    """Yield the events of a run while it is driven, without blocking the event loop (see `events_of`)."""
    loop, events = asyncio.get_running_loop(), asyncio.Queue[Event | _End]()

    def put(event: Event | _End) -> None:
        try:
            loop.call_soon_threadsafe(events.put_nowait, event)
        except RuntimeError:  # nobody is there to be told, but the log
            raise LoopClosedError("the event loop was closed while a run was driven; the run can be resumed") from None

    driver = _Driver(drive, put)
    try:
        driver.start()
        while not isinstance(event := await events.get(), _End):
            yield event
    except BaseException:
        await asyncio.shield(asyncio.to_thread(driver.stop))
        raise
    driver.finish()


class _Driver(threading.Thread):
    """The thread; a daemon, so that an ending program does not wait for it."""

    def __init__(self, drive: Drive, put: Callable[[Event | _End], None]) -> None:
        super().__init__(name="tertulia run", daemon=True)
        self._drive, self._put = drive, put
        self._is_unwanted = False
        self._error: BaseException | None = None

    def run(self) -> None:
        """Drive the run; an error that stops it is kept for `finish`."""
        if self._is_unwanted:
            return
        try:
            self._drive(self._put)
        except LoopClosedError as error:
            _logger.warning("%s", error)
            return
        except BaseException as error:
            self._error = error
        try:
            self._put(_END)
        except LoopClosedError as error:
            _logger.warning("%s", error)

    def stop(self) -> None:
        """Interrupt the run and wait for the thread, also if the interrupt came while it was being started."""
        self._is_unwanted = True
        if self.is_alive():
            interrupt_thread(self)
            self.join()

    def finish(self) -> None:
        """Wait for the thread, and raise the error that stopped the run."""
        self.join()
        if self._error is not None:
            raise self._error
