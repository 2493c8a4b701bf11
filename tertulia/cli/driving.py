"""Drive a run for `run`, `resume` and `fork`, print it, and print how to go on if it stops."""

import asyncio
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tertulia.cli.environment import model_access, print_note, store_path
from tertulia.cli.opening import loading_for_good
from tertulia.cli.option_groups import DriveOptions
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.seat import Seat
from tertulia.cli.terminal.status_line import StatusLine, status_line
from tertulia.cli.views.live import print_heading, print_round_thoughts, print_turn_of
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import (
    STEP_PHRASES,
    Event,
    Noted,
    RunEnded,
    RunStarted,
    SimulationEnded,
    StepStarted,
    TurnFinished,
)
from tertulia.state.errors import LeftError, StoppedError
from tertulia.state.records import Turn
from tertulia.state.seat import Answer, Invitation
from tertulia.state.text import counted
from tertulia.storage.store import SqlStore
from tertulia.views.reading.actions import shown_turns
from tertulia.views.reading.documents import line_documents
from tertulia.views.reading.rewritten import rewritten_turns
from tertulia.views.wording.phrases import ENDINGS

if TYPE_CHECKING:
    from tertulia.runs.driving.limits import Limits
    from tertulia.state.context import Context


@contextmanager
def exit_when_interrupted(text: str = "") -> Iterator[None]:
    """Exit with 130, and a text, if the code inside is interrupted or stopped, or the person in the seat leaves."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, LeftError, StoppedError):
        if text:
            progress().print(plain(text))
        raise typer.Exit(130) from None


def drive_shown(
    store: SqlStore,
    models: Sequence[str],
    opened: Callable[[ModelAccess], "Context"],
    driving: DriveOptions,
    limits: "Limits",
    in_page: bool = False,
) -> None:
    """Open the models of a run and drive it to its end; print each turn as it comes.

    Args:
        models: The names of all its models.
        opened: Opens the models and returns the run's context.
        limits: The budget of the run.
        in_page: Whether people with a seat are asked in the page, not here.

    Raises:
        StorageError: Another process drives the run; nothing of it is touched.
        SettingError: Money is limited, and a model has no price; likewise.
        TertuliaError: The run failed.
        typer.Exit: It was interrupted.
    """
    from tertulia.runs.driving.driver import drive_run
    from tertulia.runs.driving.page_seat import asking_in_page

    limits.budget.check_prices(models)
    with exit_when_interrupted(), status_line(f"loading {models[0]}") as line:
        with loading_for_good():
            context = opened(model_access(line, with_code=driving.trust_remote_code))
        with line.pause():
            progress().print(f"run {context.run}")
        show = LiveRun(store, context, line, driving.as_json, driving.thoughts)
        drive_run(store, context, show.event, asking_in_page(context) if in_page else show.ask, limits)


class LiveRun:
    """Prints a run while it is driven."""

    def __init__(self, store: SqlStore, context: "Context", line: StatusLine, as_json: bool, thoughts: bool) -> None:
        self._store, self._line, self._as_json, self._thoughts = store, line, as_json, thoughts
        self._before: Turn | None = None  # the turn that was printed last
        self._start, self._silence_s = context.start, context.parameters.silence_s
        self._sets_apart = context.parameters.actions == "apart"
        self._asking = asyncio.Lock()
        self._seat = Seat(self._start, turns_are_shown=not as_json and data().is_terminal)

    async def ask(self, invitation: Invitation) -> Answer | None:
        """Return the answer of a person in a seat; several are asked one after the other."""
        async with self._asking:
            with self._line.pause():
                return await self._seat.ask(invitation)

    def event(self, event: Event) -> None:
        """Print an event."""
        match event:
            case RunStarted() if not self._as_json:
                self._line.write(lambda: self._print_start(event))
            case StepStarted() if event.step in STEP_PHRASES:
                agent = f"{event.agent}: " if event.agent else ""
                self._line.show(f"turn {event.turn}: {agent}{STEP_PHRASES[event.step]}")
            case TurnFinished() if not self._as_json:
                self._line.write(lambda: self._print_turn(event.run, event.turn, event.is_edited))
            case Noted():
                self._line.write(lambda: print_note(event.text))
            case RunEnded():
                self._line.write(lambda: print_end(self._store, event, self._as_json))

    def _print_start(self, started: RunStarted) -> None:
        print_heading(self._start, started.record)
        edited = rewritten_turns(self._store, started.run, started.turns)
        for turn in started.turns:
            self._print_turn(started.run, turn, turn.turn in edited)

    def _print_turn(self, run: str, turn: Turn, is_edited: bool) -> None:
        if self._sets_apart:
            (turn,) = shown_turns(self._store, self._store.run(run), [turn])
        print_turn_of(self._store, run, turn, self._start, self._silence_s, self._before, is_edited)
        self._before = turn
        if self._thoughts:
            print_round_thoughts(self._store, self._store.run(run), turn.round)


def print_end(store: SqlStore, end: RunEnded | SimulationEnded, as_json: bool) -> None:
    """Print why it ended, the command that goes on if it did not finish, and its ending if JSON is asked for."""
    if isinstance(end.error, StoppedError):
        progress().print(plain(str(end.error)))
    elif end.ended_by not in (None, "stopped") and not as_json:
        progress().print(plain(f"{end.status} after {counted(end.turns, 'turn')}: {ENDINGS[end.ended_by]}"))
    if end.status != "finished":
        progress().print(plain(f"to go on: tertulia {end.way_on}{store_hint(store)}"))
    if as_json:
        document = {name: value for name, value in vars(end).items() if name != "error"}
        lines = {"lines": line_documents(store, end.run)} if isinstance(end, RunEnded) else {}
        print_json(document | lines)


def store_hint(store: SqlStore) -> str:
    """Return the option that names the store, if a command needs it to find the store."""
    return "" if store.path == store_path(None) else f" --store {shlex.quote(str(store.path))}"
