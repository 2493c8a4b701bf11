"""`replay`: a recorded conversation played back as it was shown live; no model is opened, nothing is drawn again."""

import math
import sys
import time
from collections.abc import Container, Iterator, Sequence
from typing import Annotated

import typer

from tertulia.cli.driving import store_hint
from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, RunArgument, StoreOption, ThoughtsOption
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.views.live import print_heading, print_round_thoughts, print_turn_of
from tertulia.runs.driving.stopping import way_on_of_run
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Start
from tertulia.state.records import RunRecord, Turn
from tertulia.state.store import Store
from tertulia.views.reading.actions import shown_turns
from tertulia.views.reading.replaying import recording_document, select_turns
from tertulia.views.reading.rewritten import rewritten_turns
from tertulia.views.reading.shared_turns import settings_of_turns

#: Without --speed: so many times as fast as the simulated clock, and no pause longer than this.
_PLEASANT_SPEED = 4.0
_LONGEST_PAUSE_S = 3.0

_SLOWEST = 0.01


def replay(
    run: RunArgument,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Times as fast as the simulated clock; 0: no pauses. In a pipe there are none anyway."
        ),
    ] = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for a key before each turn; q stops.")] = False,
    first: Annotated[int | None, typer.Option("--from", metavar="N", help="The first turn played back.")] = None,
    last: Annotated[int | None, typer.Option("--to", metavar="N", help="The last turn played back.")] = None,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a recorded conversation back as it was shown live; no model is asked.

    Example: tertulia replay @last --speed 10 --from 3
    """
    if speed is not None and not (speed == 0 or _SLOWEST <= speed < math.inf):
        raise UsageError(
            f"--speed {speed:g}: give how many times as fast as the simulated clock, from {_SLOWEST}; 0: no pauses"
        )
    if step and speed is not None:
        raise UsageError("--step waits for a key and --speed for the clock; give one of them")
    if step and (as_json or not (sys.stdin.isatty() and data().is_terminal)):
        raise UsageError("--step waits for a key, and there is no terminal; leave it out")
    with open_existing(store) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        turns = select_turns(opened.turns(record.run), first, last, record.run)
        if as_json:
            print_json(recording_document(opened, record, start, turns, thoughts))
            return
        try:
            edited = rewritten_turns(opened, record.run, turns)
            _play(opened, record, start, _stepwise(turns) if step else _timed(turns, speed), thoughts, edited)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        if not turns:
            way_on = way_on_of_run(opened, record)
            hint = store_hint(opened) if way_on.startswith("tertulia ") else ""
            progress().print(plain(f"run {record.run} has no turns yet; to go on: {way_on}{hint}"))


def _play(
    store: Store, run: RunRecord, start: Start, turns: Iterator[Turn], thoughts: bool, edited: Container[int]
) -> None:
    settings_of = settings_of_turns(store, run)
    print_heading(start, run)
    before: Turn | None = None
    for turn in turns:
        (shown,) = shown_turns(store, run, [turn])
        print_turn_of(store, run.run, shown, start, settings_of(turn.turn).silence_s, before, turn.turn in edited)
        before = turn
        if thoughts:
            print_round_thoughts(store, run, turn.round)


def _timed(turns: Sequence[Turn], speed: float | None) -> Iterator[Turn]:
    """Yield each turn when its time has come; without a terminal at once."""
    is_waiting = data().is_terminal and speed != 0
    before_s = turns[0].sim_time_s if turns else 0.0
    for turn in turns:
        if is_waiting:
            pause_s = (turn.sim_time_s - before_s) / (speed or _PLEASANT_SPEED)
            time.sleep(max(0.0, pause_s if speed else min(pause_s, _LONGEST_PAUSE_S)))
        before_s = turn.sim_time_s
        yield turn


def _stepwise(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yield each turn when a key is pressed, until it is `q`, or the end of input."""
    progress().print(plain("any key: the next turn; q: stop", "dim"))
    for turn in turns:
        try:
            if typer.getchar() in ("q", "Q"):
                return
        except EOFError:
            return
        yield turn
