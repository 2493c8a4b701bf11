"""A run on the terminal while it is driven: `run`, `resume` and `fork` end here; what stops it, the way on is told."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from cli.environment import store_path
from cli.live import tell_heading, tell_round, tell_turn
from cli.output import data, plain, print_json, progress, progress_line
from cli.seat import Seat
from state.errors import LeftError, TertuliaError, UsageError
from state.records import Turn
from state.seat import Answer, Invitation
from storage.store import SqliteStore
from tertulia.events import Event, RunEnded, RunStarted, StepStarted, TurnFinished
from tertulia.starting import Conversation

_STEPS = {
    "prepare": "preparing",
    "perceive": "listening",
    "after_perceive": "thinking",
    "choose_mechanisms": "choosing how to think",
    "run_mechanisms": "thinking",
    "assess": "making up their minds",
    "after_assess": "making up their minds",
    "retrieve_memory": "remembering",
    "vary_prompt": "varying the prompt",
    "score": "scoring",
    "prune": "pruning",
    "generate": "speaking",
    "judge": "judging",
    "choose_revision": "choosing how to revise",
    "rewrite": "rewriting",
    "roll_back": "rolling back",
}


@contextmanager
def way_out() -> Iterator[None]:
    """Exit with 130 where what is driven inside is interrupted, or left by the person who had a seat."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, LeftError):
        raise typer.Exit(130) from None


def drive_shown(conversation: Conversation, as_json: bool, thoughts: bool) -> None:
    """Drive a run to its end, each turn printed as it comes.

    Raises:
        StorageError: Another process drives the run; nothing of it is touched.
        TertuliaError: The run failed.
        Exit: It was interrupted.
    """
    from tertulia.driver import drive_run

    store, run = conversation.store, conversation.run.run
    progress().print(f"run {run}")
    start = store.start(run)
    silence_s = float(str(conversation.run.parameters["silence_s"]))
    seat = Seat(start, tells_turns=not as_json and data().is_terminal)

    def tell(turn: Turn) -> None:
        tell_turn(turn, start, silence_s)
        if thoughts:
            tell_round(store, store.run(run), turn.round)

    with way_out(), progress_line() as (show, pause):

        async def ask(invitation: Invitation) -> Answer | None:
            with pause():
                return await seat.ask(invitation)

        def emit(event: Event) -> None:
            match event:
                case RunStarted() if not as_json:
                    with pause():
                        tell_heading(start, event.run)
                        for turn in event.turns:
                            tell(turn)
                case StepStarted() if event.step in _STEPS:
                    agent = f"{event.agent}: " if event.agent else ""
                    show(f"turn {event.turn}: {agent}{_STEPS[event.step]}")
                case TurnFinished() if not as_json:
                    with pause():
                        tell(event.turn)
                case RunEnded():
                    with pause():
                        _tell_end(store, event, as_json)
                case _:
                    pass

        drive_run(conversation, emit, ask)


def _tell_end(store: SqliteStore, end: RunEnded, as_json: bool) -> None:
    """Print the way on where a run did not finish, and how it ended where JSON is asked for."""
    if end.status != "finished":
        progress().print(plain(f"to go on: tertulia {_way_on(end)}{store_hint(store)}"))
    if as_json:
        print_json({"run": end.run, "status": end.status, "turns": end.turns})


def _way_on(end: RunEnded) -> str:
    """Return the command that goes on; to resume would fail again where the settings, or the prompt, are at fault."""
    if needs_other_settings(end.error):
        return f"fork {end.run} --at {end.turns + 1} --set KEY=VALUE"
    return f"resume {end.run}"


def needs_other_settings(error: TertuliaError | None) -> bool:
    """Return whether the same settings would fail in the same way."""
    from state.errors import ContextWindowError

    return isinstance(error, UsageError | ContextWindowError)


def store_hint(store: SqliteStore) -> str:
    """Return the option that names the store, where a command would not find it without."""
    return "" if store.path == store_path(None) else f" --store {shlex.quote(str(store.path))}"
