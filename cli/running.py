"""`run` and `resume`: drive a conversation to its end, and say how to go on when that fails."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.driving import drive_run, open_engines, reopen_engines
from cli.environment import store_path
from cli.estimating import tell_estimate
from cli.options import ExtensionOption, JsonOption, SeatOption, SettingsOption, StoreOption, ThoughtsOption
from cli.seat import check_seat, with_seat
from cli.settings import read_seed, read_settings
from cli.terminal.output import plain, print_json, progress
from state.errors import UsageError
from state.meeting import Meeting
from state.parameters import Parameters
from state.records import RunRecord
from storage.store import SqliteStore


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(run)
    app.command()(resume)


def run(
    scenario: Annotated[
        str, typer.Argument(help="A shipped scenario (see `tertulia scenarios`), a YAML file, or ga:FOLDER[:CASE].")
    ],
    removal_factor: Annotated[
        float | None, typer.Option("--lambda", help="λ in [0, 1]: how much of the attended information to remove.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 1,
    rounds: Annotated[int | None, typer.Option(help="At most so many rounds (utterances, in a dialogue).")] = None,
    order: Annotated[
        str | None,
        typer.Option(help="Who speaks next in a group: self_driven, rule_based, centralised, random or designated."),
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="At most so many simulated minutes.")] = None,
    model: Annotated[
        str,
        typer.Option(help="smollm2 (embedded), a folder, a Hugging Face id, openai:NAME, or http://SERVER/v1#NAME."),
    ] = "smollm2",
    precision: Annotated[str | None, typer.Option(help="auto, float32, bfloat16 or float16.")] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Use a stand-in without weights.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls and tokens it would take; nothing is stored.")
    ] = False,
    seat: SeatOption = None,
    settings: SettingsOption = None,
    extension: ExtensionOption = None,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a conversation.

    Example: tertulia run tidewell --lambda 0.5 --rounds 6
    """
    from nodes.machinery.extensions import load
    from prompts.renaming import check_names
    from worlds.catalog import extensions_of, resolve, settings_of
    from worlds.meeting_file import check_weights
    from worlds.scenario_parts import extension_source

    chosen = read_settings(
        settings,
        removal_factor=removal_factor,
        max_turns=rounds,
        max_minutes=minutes,
        order=order,
        precision=precision,
    )
    seed = read_seed(chosen, seed)
    registry = load([*extensions_of(scenario), *(extension_source(one, Path.cwd()) for one in extension or [])])
    known = tuple(registry.mechanisms)
    parameters = Parameters().with_settings({**settings_of(scenario, known), **chosen})
    start = resolve(scenario, known)
    parameters = with_seat(parameters, seat, start)
    registry.functions(parameters, start.kind)
    check_names(start.names, parameters)
    if isinstance(start, Meeting):
        check_weights(start, parameters.willingness_threshold)
    elif order is not None:
        raise UsageError(f"{scenario} is a dialogue of two, who speak in turn; --order {order} is for meetings")
    if dry_run:
        tell_estimate(start, parameters, seed, "rehearsal" if rehearse else model, registry, as_json)
        return
    with SqliteStore.open(store_path(store), create=True) as opened:
        engines = open_engines("rehearsal" if rehearse else model, start, parameters)
        record = RunRecord.model_validate(
            {
                "run": opened.new_run_id(),
                "status": "running",
                "kind": start.kind,
                "scenario": start.scenario,
                "seed": seed,
                "created": datetime.now(UTC),
                "extensions": registry.extensions,
                **engines.resolved(parameters),
            }
        )
        opened.create_run(record, start)
        drive_run(opened, record, engines, registry, as_json, thoughts)


def resume(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    seat: SeatOption = None,
    extension: ExtensionOption = None,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that was interrupted or failed.

    Example: tertulia resume @last
    """
    from nodes.machinery.extensions import load_again
    from worlds.scenario_parts import extension_source

    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        check_seat(seat, record)
        if record.status == "finished":
            progress().print(
                plain(f"run {record.run} is finished; to go on from a turn, fork it: tertulia fork --help")
            )
            if as_json:
                print_json({"run": record.run, "status": record.status, "turns": record.turns})
        else:
            accepted = [extension_source(one, Path.cwd()) for one in extension or []]
            registry = load_again(record.extensions, accepted)
            opened.set_extensions(record.run, registry.extensions)
            drive_run(opened, record, reopen_engines(record), registry, as_json, thoughts)
