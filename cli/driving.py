"""Driving a run, shown on the terminal, for `run`, `resume` and `fork`; if it stops, how to go on is printed."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tertulia.access.engines import ModelAccess
from tertulia.cli.environment import model_access, store_path
from tertulia.cli.opening import loading_for_good
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.seat import Seat
from tertulia.cli.terminal.status_line import StatusLine, status_line
from tertulia.cli.views.live import print_heading, print_round_thoughts, print_turn_of
from tertulia.driving.events import STEP_PHRASES, Event, Noted, RunEnded, RunStarted, StepStarted, TurnFinished
from tertulia.state.errors import LeftError
from tertulia.state.records import Turn
from tertulia.state.seat import Answer, Invitation
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.state.context import Context


@contextmanager
def exit_when_interrupted() -> Iterator[None]:
    """Exit with 130 where what is driven inside is interrupted, or left by the person who had a seat."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, LeftError):
        raise typer.Exit(130) from None


def drive_shown(
    store: SqlStore,
    model: str,
    opened: Callable[[ModelAccess], "Context"],
    as_json: bool,
    thoughts: bool,
    with_code: Sequence[str] | None = None,
) -> None:
    """Open the models of a run and drive it to its end, each turn printed as it comes.

    Args:
        opened: Opens the models and returns the run's context.
        as_json: Whether only how it ended is printed, as JSON.
        thoughts: Whether what each agent thought, and the race, is printed under each turn.

    Raises:
        StorageError: Another process drives the run; nothing of it is touched.
        TertuliaError: The run failed.
        typer.Exit: It was interrupted.
    """
    from tertulia.driving.driver import drive_run

    with exit_when_interrupted(), status_line(f"loading {model}") as line:
        with loading_for_good():
            context = opened(model_access(line, with_code=with_code))
        with line.pause():
            progress().print(f"run {context.run}")
        show = LiveRun(store, context, line, as_json, thoughts)
        drive_run(store, context, show.event, show.ask)


class LiveRun:
    """Prints a run while it is driven."""

    def __init__(self, store: SqlStore, context: "Context", line: StatusLine, as_json: bool, thoughts: bool) -> None:
        """Note what is printed, and how (see `drive_shown`)."""
        self._store, self._line, self._as_json, self._thoughts = store, line, as_json, thoughts
        self._before: Turn | None = None  # the turn that was printed last
        self._start, self._silence_s = context.start, context.parameters.silence_s
        self._seat = Seat(self._start, turns_are_shown=not as_json and data().is_terminal)

    async def ask(self, invitation: Invitation) -> Answer | None:
        """Return what the person who has the seat answers."""
        with self._line.pause():
            return await self._seat.ask(invitation)

    def event(self, event: Event) -> None:
        """Print what has happened."""
        match event:
            case RunStarted() if not self._as_json:
                self._line.write(lambda: self._print_start(event))
            case StepStarted() if event.step in STEP_PHRASES:
                agent = f"{event.agent}: " if event.agent else ""
                self._line.show(f"turn {event.turn}: {agent}{STEP_PHRASES[event.step]}")
            case TurnFinished() if not self._as_json:
                self._line.write(lambda: self._print_turn(event.run, event.turn))
            case Noted():
                self._line.write(lambda: progress().print(plain(f"note: {event.text}", "yellow")))
            case RunEnded():
                self._line.write(lambda: _print_end(self._store, event, self._as_json))
            case _:
                pass

    def _print_start(self, started: RunStarted) -> None:
        print_heading(self._start, started.run)
        for turn in started.turns:
            self._print_turn(started.run.run, turn)

    def _print_turn(self, run: str, turn: Turn) -> None:
        print_turn_of(self._store, run, turn, self._start, self._silence_s, self._before)
        self._before = turn
        if self._thoughts:
            print_round_thoughts(self._store, self._store.run(run), turn.round)


def _print_end(store: SqlStore, end: RunEnded, as_json: bool) -> None:
    """Print the command that goes on where a run did not finish, and how it ended where JSON is asked for."""
    if end.status != "finished":
        progress().print(plain(f"to go on: tertulia {end.way_on}{store_hint(store)}"))
    if as_json:
        print_json({"run": end.run, "status": end.status, "turns": end.turns})


def store_hint(store: SqlStore) -> str:
    """Return the option that names the store, where a command would not find it without."""
    return "" if store.path == store_path(None) else f" --store {shlex.quote(str(store.path))}"
