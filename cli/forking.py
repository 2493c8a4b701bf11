"""`fork`: a run that has its parent's turns up to a point, and goes on with something changed."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.driving import drive_run, open_engines
from cli.environment import store_path
from cli.options import ExtensionOption, JsonOption, SeatOption, SettingsOption, StoreOption, ThoughtsOption
from cli.seat import check_is_there, with_seat
from cli.settings import read_pair, read_seed, read_settings
from state.cognition import Trace
from state.errors import NotFoundError, UsageError
from state.meeting import Meeting, Start
from state.parameters import Parameters
from state.records import RunRecord
from state.seat import in_one_line
from state.store import Store
from storage.store import SqliteStore

if TYPE_CHECKING:
    from nodes.machinery.registry import Registry

#: What follows the model where a scenario does not say otherwise: chosen anew for another model.
_SUITS_THE_MODEL = ("layout", "judge", "inconsistency_threshold", "no_repeat_ngram", "ending", "ending_threshold")

#: Thresholds that belong to a choice: without one of their own they are chosen anew with it.
_THRESHOLDS = {"judge": "inconsistency_threshold", "ending": "ending_threshold"}

#: What follows who judges.
_SUITS_THE_JUDGE = {"judge", "inconsistency_threshold"}


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(fork)


def fork(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    at: Annotated[int, typer.Option("--at", metavar="N", help="Keep turns 1 to N-1, and go on from there.")],
    settings: SettingsOption = None,
    removal_factor: Annotated[float | None, typer.Option("--lambda", help="λ in [0, 1] from here on.")] = None,
    rounds: Annotated[int | None, typer.Option(help="At most so many rounds in all.")] = None,
    order: Annotated[str | None, typer.Option(help="Another speaking order.")] = None,
    model: Annotated[str | None, typer.Option(help="Another model.")] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person",
            metavar="NAME.FIELD=VALUE",
            help="Change a field of somebody, under its name in scenario files; may be repeated.",
        ),
    ] = None,
    remember: Annotated[
        list[str] | None, typer.Option("--remember", metavar="NAME=TEXT", help="Give somebody a memory.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", metavar="NAME=ID", help="Take a memory from somebody.")
    ] = None,
    mechanisms: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="What agents of a group may switch on from here on.")
    ] = None,
    say: Annotated[
        str | None, typer.Option("--say", metavar="TEXT", help="Let the speaker of turn N say this, then go on.")
    ] = None,
    seat: SeatOption = None,
    extension: ExtensionOption = None,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on from a turn of a run as a run of its own, with something changed or nothing.

    The parent stays as it is; its turns before N are shared, not copied.

    Example: tertulia fork @last --at 3 --lambda 0.8
    """
    from nodes.machinery.extensions import load_again
    from nodes.seat import write_by_hand
    from prompts.renaming import check_names
    from worlds.meeting_file import check_weights
    from worlds.scenario_parts import extension_source

    chosen = read_settings(settings, removal_factor=removal_factor, max_turns=rounds, order=order)
    with SqliteStore.open(store_path(store), create=False) as opened:
        parent = opened.run(run)
        trace = _trace_before(opened, parent, at, say)
        registry = load_again(parent.extensions, [extension_source(one, Path.cwd()) for one in extension or []])
        seed = read_seed(chosen, parent.seed)
        start = _changed_start(opened, opened.start(parent.run), person, remember, forget, mechanisms, registry)
        parameters = with_seat(_changed_parameters(parent, chosen, model), seat, start)
        if seat is not None and parameters.seat is not None and trace is not None:
            check_is_there(parameters.seat, start, float(trace.after["sim_time_s"]))
        registry.functions(parameters, parent.kind)
        if chosen.keys() & {"names", "names_put_back"}:
            check_names(start.names, parameters)
        _check_limits(parent, parameters, trace, at, say is not None)
        if isinstance(start, Meeting):
            check_weights(start, parameters.willingness_threshold)
        elif "order" in chosen:
            raise UsageError(f"run {parent.run} is a dialogue of two, who speak in turn; leave order out")
        engines = open_engines(model or parent.model, start, parameters)
        record = RunRecord.model_validate(
            {
                "run": opened.new_run_id(),
                "status": "running",
                "kind": parent.kind,
                "scenario": parent.scenario,
                "seed": seed,
                "created": datetime.now(UTC),
                "extensions": registry.extensions,
                "parent": (parent.run, at),
                "rewritten": say is not None,
                **engines.resolved(parameters),
            }
        )
        opened.create_run(record, start)
        if say is not None:
            write_by_hand(opened, record.run, at, opened.turns(parent.run, at, at)[0].speaker or "", in_one_line(say))
        drive_run(opened, record, engines, registry, as_json, thoughts)


def _trace_before(store: Store, parent: RunRecord, at: int, say: str | None) -> Trace | None:
    """Return how things stood where the fork begins; `None` at the first turn.

    Raises:
        NotFoundError: The run has not come so far, or it is not known how it stood there.
        UsageError: Nobody speaks in the turn that is to be rewritten.
    """
    if at < 1:
        raise UsageError(f"--at {at}: turns count from 1")
    last = parent.turns if say is not None else parent.turns + 1
    if at > last:
        going = "; it is still running" if parent.status == "running" else ""
        has = f"it has {parent.turns} turns" if parent.turns else "it has no turns yet"
        raise NotFoundError(f"run {parent.run} can't be forked at turn {at}: {has}{going}; give --at 1 to {last}")
    if say is not None:
        if not in_one_line(say):
            raise UsageError("--say '': nothing is said; give the words")
        if store.turns(parent.run, at, at)[0].speaker is None:
            raise UsageError(f"turn {at} of run {parent.run} is a silence: there are no words to rewrite")
    needed = at if say is not None else at - 1
    trace = store.trace(parent.run, needed) if needed else None
    if needed and trace is None:
        raise NotFoundError(
            f"it is not known how run {parent.run} stood at turn {at}: a Tertulia that did not note it wrote the turn "
            "before; fork at turn 1, or run the scenario again"
        )
    return trace


def _changed_start(
    store: Store,
    start: Start,
    person: Iterable[str] | None,
    remember: Iterable[str] | None,
    forget: Iterable[str] | None,
    mechanisms: str | None,
    registry: "Registry",
) -> Start:
    from worlds.changes import with_mechanisms, with_memory, with_person, without_memory

    for given in person or []:
        start = with_person(start, *read_pair("--person", given, "'NAME.emotion=annoyed'"))
    for given in forget or []:
        start = without_memory(start, *read_pair("--forget", given, "NAME=memory_3"), store.remembered)
    for given in remember or []:
        start = with_memory(start, *read_pair("--remember", given, "'NAME=The key is under the mat.'"))
    if mechanisms is not None:
        names: Sequence[str] = [name.strip() for name in mechanisms.split(",") if name.strip()]
        start = with_mechanisms(start, names, tuple(registry.mechanisms))
    return start


def _changed_parameters(parent: RunRecord, chosen: dict[str, Any], model: str | None) -> Parameters:
    """Return the parameters of a fork; what followed from the parent's model or judge is left open to follow anew."""
    before, defaults = Parameters.model_validate(parent.parameters), Parameters()
    reopened = set(_SUITS_THE_MODEL) if model is not None and model != parent.model else set()
    if before.ending == "off":
        reopened -= {"ending"}
    if "judge_model" in chosen:
        reopened |= _SUITS_THE_JUDGE
    reopened |= {threshold for choice, threshold in _THRESHOLDS.items() if choice in chosen}
    return before.model_copy(update={name: getattr(defaults, name) for name in reopened}).with_settings(chosen)


def _check_limits(parent: RunRecord, parameters: Parameters, trace: Trace | None, at: int, rewritten: bool) -> None:
    """Refuse a fork whose limits have come before it begins."""
    if parameters.max_turns < at - (not rewritten) + 1:
        raise UsageError(
            f"max_turns={parameters.max_turns}: a fork at turn {at} has {at - 1} turns already; "
            "set max_turns higher, or fork earlier"
        )
    now_s = 0.0 if trace is None else float(trace.after["sim_time_s"])
    if not rewritten and parameters.max_minutes is not None and now_s >= 60 * parameters.max_minutes:
        raise UsageError(
            f"max_minutes={parameters.max_minutes:g}: at turn {at} of run {parent.run} {now_s / 60:.1f} minutes are "
            "over; set max_minutes higher, or fork earlier"
        )
