"""`days`: what becomes of a town: how varied its days are, who met, what is remembered, and what it took."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.environment import store_path
from cli.live import tell_encounter, tell_town
from cli.opening import open_embedding_model
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, data, number, plain, print_columns, print_json, waiting
from state.errors import NotFoundError, UsageError, nearest_hint
from state.town import FORMED, Encounter, Simulation
from storage.store import SqliteStore

if TYPE_CHECKING:
    from metrics.diversity import Dialogue, DiversityFigures

#: Figures of diversity by heading: their names, and the places that are shown.
_FIGURES = {
    "sim": ("sim", 3),
    "dist-1": ("dist1", 3),
    "dist-2": ("dist2", 3),
    "dist-3": ("dist3", 3),
    "len": ("len", 1),
}


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(days)


def days(
    simulation: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIM...]",
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
        str | None, typer.Option(help="What similarity is measured with; the simulation's own if it is not given.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the days of a town: how varied its conversations are, what was remembered, and what it took.

    Example: tertulia days @last --json
    """
    if agent is not None and encounters:
        raise UsageError("--agent tells what one remembers, --encounters who met; leave out one of them")
    about_one = "--agent" if agent is not None else "--encounters" if encounters else None
    if about_one and len(simulation or ()) != 1:
        raise UsageError(f"{about_one} is about one simulation; name one, or @last")
    with SqliteStore.open(store_path(store), create=False) as opened:
        chosen = list({one.simulation: one for one in map(opened.simulations.get, simulation or ())}.values())
        if not chosen:
            _list(opened.simulations.known(), as_json)
        elif len(chosen) > 1:
            _show_trials(opened, chosen, embedder, as_json)
        elif agent is not None:
            _show_memories(opened, chosen[0], agent, as_json)
        elif encounters:
            _show_encounters(opened, chosen[0], as_json)
        else:
            _show_days(opened, chosen[0], embedder, as_json)


def _show_days(store: SqliteStore, simulation: Simulation, embedder: str | None, as_json: bool) -> None:
    rows = _rows(store, simulation, embedder)
    if as_json:
        document = simulation.model_dump(mode="json", exclude={"days", "created"})
        print_json({"schema_version": SCHEMA_VERSION, **document, "days": rows})
        return
    tell_town(simulation)
    console = data()
    if simulation.status != "finished":
        stopped = f"{simulation.status}: {simulation.error}" if simulation.error else simulation.status
        console.print(plain(f"{stopped}; to go on: tertulia simulate --resume {simulation.simulation}"))
        console.print()
    if not rows:
        console.print(plain("nobody has met yet"))
        return
    before = {"day": "day", "date": "date", "met": "encounters", "turns": "turns"}
    behind = {"memories": "memories", "reflected": "reflections", "calls": "calls"}
    cells = [
        [*(str(row[name]) for name in before.values()), *_figures(row), *(str(row[name]) for name in behind.values())]
        for row in rows
    ]
    headings = (*before, *_FIGURES, *behind)
    print_columns(headings, cells, right=[heading for heading in headings if heading != "date"])
    tokens = sum(row["prompt_tokens"] for row in rows), sum(row["reply_tokens"] for row in rows)
    seconds = sum(row["seconds"] for row in rows)
    console.print()
    console.print(plain(f"{tokens[0]} tokens read, {tokens[1]} written, {seconds:.0f} s in the model", "dim"))
    note = "sim, dist-n and len are of all conversations of a day together; compare days with as many of them"
    console.print(plain(note, "dim"))


def _list(known: Sequence[Simulation], as_json: bool) -> None:
    if as_json:
        rows = [one.model_dump(mode="json", exclude={"parameters", "created"}) for one in known]
        print_json({"schema_version": SCHEMA_VERSION, "simulations": rows})
    elif not known:
        data().print(plain("no simulations; begin with: tertulia simulate tidewell --rehearse"))
    else:
        cells = [
            (
                one.simulation,
                one.status,
                one.town,
                f"{one.parameters['removal_factor']:g}",
                str(one.seed),
                str(one.days),
                one.model,
            )
            for one in known
        ]
        print_columns(
            ("simulation", "status", "town", "λ", "seed", "days", "model"), cells, right=("λ", "seed", "days")
        )


def _rows(store: SqliteStore, simulation: Simulation, embedder: str | None) -> list[dict[str, Any]]:
    """Return what is told of each day that has begun."""
    from metrics.diversity import metrics_of_cases

    simulations, name = store.simulations, simulation.simulation
    held: dict[int, list[Encounter]] = {}
    for one in simulations.encounters(name):
        held.setdefault(one.day, []).append(one)
    dialogues: dict[str, list[Dialogue]] = {}
    for day, encounters in held.items():
        spoken = [_lines(store, one) for one in encounters]
        dialogues[str(day)] = [lines for lines in spoken if lines]
    compared = open_embedding_model(embedder or simulation.embedder)
    with waiting("comparing conversations"):
        figures: dict[str, DiversityFigures] = metrics_of_cases(dialogues, compared)
    costs, kept, begins = simulations.costs(name), simulations.kept(name), simulations.town(name).begins
    nothing = {"calls": 0, "prompt_tokens": 0, "reply_tokens": 0, "seconds": 0.0}
    rows = []
    for day, encounters in held.items():
        date = (begins + timedelta(days=day - 1)).date()
        memories, reflections = kept.get(day, (0, 0))
        rows.append(
            {
                "day": day,
                "date": date.isoformat(),
                "encounters": len(encounters),
                "turns": sum(len(lines) for lines in dialogues[str(day)]),
                **figures[str(day)].model_dump(),
                "memories": memories,
                "reflections": reflections,
                **costs.get(day, nothing),
                "runs": [one.run for one in encounters],
            }
        )
    return rows


def _lines(store: SqliteStore, encounter: Encounter) -> "Dialogue":
    return [(turn.speaker, turn.text) for turn in store.turns(encounter.run) if turn.speaker is not None]


def _show_trials(store: SqliteStore, simulations: Sequence[Simulation], embedder: str | None, as_json: bool) -> None:
    """Tell for each day how conversations at the same encounter differ between simulations.

    Source: APP §2 (diversity over trials of a case, averaged over cases) and Fig. 2.

    Raises:
        UsageError: They have no encounter in common.
    """
    from metrics.diversity import mean_over_cases, metrics_of_cases

    held: dict[tuple[int, int, str, str], list[Dialogue]] = {}
    for simulation in simulations:
        for one in store.simulations.encounters(simulation.simulation):
            if lines := _lines(store, one):
                held.setdefault((one.day, one.number, *one.pair), []).append(lines)
    trials = {key: many for key, many in held.items() if len(many) == len(simulations)}
    if not trials:
        raise UsageError("these simulations have no encounter in common; begin them with --from-log, or the same seed")
    compared = open_embedding_model(embedder or simulations[0].embedder)
    with waiting("comparing conversations"):
        figures = metrics_of_cases({f"{day} {at}": many for (day, at, *_), many in trials.items()}, compared)
    rows = []
    for day in dict.fromkeys(day for day, *_ in trials):
        of_day = [one for case, one in figures.items() if case.partition(" ")[0] == str(day)]
        rows.append({"day": day, "encounters": len(of_day), **mean_over_cases(of_day).model_dump()})
    names = [one.simulation for one in simulations]
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "simulations": names, "days": rows})
        return
    console = data()
    console.print(plain(f"{len(names)} simulations, encounters that all of them have: {', '.join(names)}", "bold"))
    console.print()
    headings = ("day", "met", *_FIGURES)
    cells = [[str(row["day"]), str(row["encounters"]), *_figures(row)] for row in rows]
    print_columns(headings, cells, right=headings)
    console.print()
    console.print(
        plain("each figure is over the conversations of one encounter, averaged over a day's encounters", "dim")
    )


def _figures(row: dict[str, Any]) -> list[str]:
    return [number(row[name], places) for name, places in _FIGURES.values()]


def _show_encounters(store: SqliteStore, simulation: Simulation, as_json: bool) -> None:
    turns = {one.run: one.turns for one in store.runs()}
    held = store.simulations.encounters(simulation.simulation)
    if as_json:
        rows = [{**one.model_dump(mode="json"), "turns": turns[one.run]} for one in held]
        print_json({"schema_version": SCHEMA_VERSION, "simulation": simulation.simulation, "encounters": rows})
        return
    for one in held:
        tell_encounter(one, turns[one.run])


def _show_memories(store: SqliteStore, simulation: Simulation, agent: str, as_json: bool) -> None:
    town = store.simulations.town(simulation.simulation)
    names = [one.persona.name for one in town.residents]
    matching = [name for name in names if name.casefold().startswith(agent.casefold())]
    if len(matching) != 1:
        raise NotFoundError(f"nobody named {agent!r} lives in {simulation.town}{nearest_hint(agent, names)}")
    stream = store.simulations.stream(simulation, matching[0])
    known = store.remembered(stream)
    texts = {one.id: one.text for one in known}
    formed = [one for one in known if one.id.startswith(FORMED)]
    if as_json:
        document = {"simulation": simulation.simulation, "agent": matching[0], "before": len(known) - len(formed)}
        memories = [one.model_dump(mode="json") for one in formed]
        print_json({"schema_version": SCHEMA_VERSION, **document, "memories": memories})
        return
    console = data()
    console.print(plain(f"{matching[0]}: {len(formed)} memories beside {len(known) - len(formed)} from before", "bold"))
    for one in formed:
        console.print()
        console.print(plain(f"{one.created:%d %b %H:%M}  {one.kind}, importance {one.importance:g}", "dim"))
        console.print(plain(one.text))
        for id in one.evidence:
            console.print("  ", plain(f"rests on: {texts.get(id, id)}", "dim"), sep="")
