"""`days`: the course of a town: how varied its days are, its encounters, its memories, and its cost."""

from collections.abc import Sequence
from typing import Annotated

import typer

from tertulia.cli.opening import open_embedding_model, open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.terminal.tables import Row, print_columns, print_table
from tertulia.cli.views.live import print_encounter, print_town
from tertulia.state.errors import UsageError
from tertulia.state.town import Simulation
from tertulia.storage.store import SqlStore
from tertulia.views.reading.agreements import (
    TownAgreement,
    counts_in_words,
    in_words,
    outcome_in_words,
    town_agreements,
)
from tertulia.views.reading.days import (
    HEADINGS,
    Memories,
    day_rows,
    days_document,
    encounters_document,
    memories_document,
    notes_on_days,
    notes_on_unread,
    read_encounters,
    read_memories,
    simulation_cells,
    simulations_document,
    table_of_days,
    table_of_trials,
    trial_rows,
    trials_document,
)

#: How many agreements are listed.
_LISTED = 20


def days(
    simulation: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SIM",
            help="The id of a simulation, or @last. Several: how their conversations at the same encounter differ. "
            "None: all are listed.",
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="What one resident remembers of these days, and why.")
    ] = None,
    encounters: Annotated[
        bool, typer.Option("--encounters", help="Who met, when and where, and the run that is their conversation.")
    ] = False,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="ID", help="What similarity is measured with; the simulation's own if it is not given."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the days of a town: how varied its conversations are, its memories, and its cost.

    Example: tertulia days @last --json
    """
    if agent is not None and encounters:
        raise UsageError(
            "--agent is about what a resident remembers, --encounters about who met; leave out one of them"
        )
    about_one = "--agent" if agent is not None else "--encounters" if encounters else None
    if about_one and len(simulation or ()) != 1:
        raise UsageError(f"{about_one} is about one simulation; name one, or @last")
    with open_existing(store) as opened:
        chosen = list({known.simulation: known for known in map(opened.simulations.get, simulation or ())}.values())
        if not chosen:
            _list(opened.simulations.all(), as_json)
        elif len(chosen) > 1:
            _show_trials(opened, chosen, embedder, as_json)
        elif agent is not None:
            _show_memories(chosen[0], read_memories(opened, chosen[0], agent), as_json)
        elif encounters:
            _show_encounters(opened, chosen[0], as_json)
        else:
            _show_days(opened, chosen[0], embedder, as_json)


def _list(simulations: Sequence[Simulation], as_json: bool) -> None:
    if as_json:
        print_json(simulations_document(simulations))
        return
    if not simulations:
        data().print(plain("no simulations; begin with: tertulia simulate tidewell --rehearse"))
        return
    rows = [list(simulation_cells(simulation)) for simulation in simulations]
    print_columns(HEADINGS, rows, right=("λ", "seed", "days"), drop=("seed", "model", "λ", "ended_by", "days"))


def _show_days(store: SqlStore, simulation: Simulation, embedder: str | None, as_json: bool) -> None:
    opened = open_embedding_model(embedder or simulation.embedder)
    with status_line("comparing conversations"):
        rows = day_rows(store, simulation, opened)
    agreements = town_agreements(store, simulation)
    if as_json:
        print_json(days_document(simulation, rows, agreements))
        return
    print_town(simulation)
    console = data()
    if simulation.status != "finished":
        stopped = f"{simulation.status}: {simulation.error}" if simulation.error else simulation.status
        console.print(plain(f"{stopped}; to go on: tertulia simulate --resume {simulation.simulation}"))
        console.print()
    if not rows:
        console.print(plain("nobody has met yet"))
        return
    headings, cells = table_of_days(rows)
    right = [heading for heading in headings if heading != "date"]
    print_table(console, headings, [Row(row) for row in cells], right=right)
    _print_agreements(agreements)
    console.print()
    for note in (*notes_on_days(rows), *notes_on_unread(rows, opened.id)):
        console.print(plain(note, "dim"))


def _print_agreements(agreements: Sequence[TownAgreement]) -> None:
    if agreements:
        data().print()
        data().print(plain(counts_in_words(agreements)))
    for agreement in agreements[:_LISTED]:
        line = in_words(agreement.agreement, agreement.place)
        data().print(plain(f"  {line}", "dim"), plain(f"({outcome_in_words(agreement)})"))
    if len(agreements) > _LISTED:
        data().print(plain(f"  {len(agreements) - _LISTED} more: --json has all of them", "dim"))


def _show_trials(store: SqlStore, simulations: Sequence[Simulation], embedder: str | None, as_json: bool) -> None:
    opened = open_embedding_model(embedder or simulations[0].embedder)
    with status_line("comparing conversations"):
        rows = trial_rows(store, simulations, opened)
    if as_json:
        print_json(trials_document(simulations, rows))
        return
    names = [simulation.simulation for simulation in simulations]
    console = data()
    console.print(plain(f"{len(names)} simulations, encounters that all of them have: {', '.join(names)}", "bold"))
    console.print()
    headings, cells = table_of_trials(rows)
    print_table(console, headings, [Row(row) for row in cells], right=headings)
    console.print()
    note = "each figure is over the conversations of one encounter, averaged over a day's encounters"
    for text in (note, *notes_on_unread(rows, opened.id)):
        console.print(plain(text, "dim"))


def _show_encounters(store: SqlStore, simulation: Simulation, as_json: bool) -> None:
    if as_json:
        print_json(encounters_document(store, simulation))
        return
    for encounter, turns in read_encounters(store, simulation):
        print_encounter(encounter, turns)


def _show_memories(simulation: Simulation, memories: Memories, as_json: bool) -> None:
    if as_json:
        print_json(memories_document(simulation, memories))
        return
    console = data()
    heading = f"{memories.agent}: {len(memories.formed)} memories beside {memories.before} from before"
    console.print(plain(heading, "bold"))
    for memory in memories.formed:
        console.print()
        console.print(plain(f"{memory.created:%d %b %H:%M}  {memory.kind}, importance {memory.importance:g}", "dim"))
        console.print(plain(memory.text))
        for text in memories.evidence_of(memory):
            console.print("  ", plain(f"rests on: {text}", "dim"), sep="")
