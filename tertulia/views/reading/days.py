"""The days of a simulated town: diversity, encounters, memories and costs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from tertulia.state.case_seed import resolve_case_seed
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, UsageError, nearest_hint
from tertulia.state.language_model import Embedder
from tertulia.state.names import composed
from tertulia.state.parameters import Parameters
from tertulia.state.records import Remembered
from tertulia.state.text import number
from tertulia.state.town import FORMED, Encounter, Simulation
from tertulia.storage.store import SqlStore
from tertulia.views.reading.agreements import TownAgreement

if TYPE_CHECKING:
    from tertulia.metrics.diversity import Dialogue

_NO_COST = {"calls": 0, "prompt_tokens": 0, "reply_tokens": 0, "seconds": 0.0}


#: Figures of a day's variety that do not follow from how much was said on it.
_COMPARABLE = {"dist1_equal", "dist2_equal", "dist3_equal", "repeated_lines", "repeated_4grams"}

#: The columns of a table of simulations.
HEADINGS = ("simulation", "status", "town", "λ", "seed", "days", "model", "ended_by")

#: Figures of diversity by heading: their names, and the digits that are shown. Those of days are at equal counts.
_FIGURES = {
    "sim": ("sim", 3),
    **{f"dist-{n}": (f"dist{n}", 3) for n in (1, 2, 3)},
    "flagged\nby rules": ("without_sense", 3),
    "len": ("len", 1),
}
_OF_DAYS = _FIGURES | {f"dist-{n}": (f"dist{n}_equal", 3) for n in (1, 2, 3)}
#: Columns of the table of days before and after the figures of diversity, by heading.
_BEFORE = {"day": "day", "date": "date", "met": "encounters", "turns": "turns"}
_BEHIND = {"memories": "memories", "reflected": "reflections", "calls": "calls"}

#: The headings of a table, and its cells row by row.
Table = tuple[Sequence[str], Sequence[Sequence[str]]]


# --- all simulations ------------------------------------------------------------------------------------------------


def simulation_cells(simulation: Simulation) -> tuple[str, ...]:
    """Return a row of a table of simulations, in the order of `HEADINGS`."""
    return (
        simulation.simulation,
        simulation.status,
        simulation.town,
        f"{simulation.parameters['removal_factor']:g}",
        str(simulation.seed),
        str(simulation.days),
        simulation.model,
        simulation.ended_by or "",
    )


def simulations_document(simulations: Sequence[Simulation]) -> Document:
    """Return simulations as JSON."""
    rows = [simulation.model_dump(mode="json", exclude={"parameters", "created"}) for simulation in simulations]
    return {"schema_version": SCHEMA_VERSION, "simulations": rows}


# --- the days of one ------------------------------------------------------------------------------------------------


def day_rows(store: SqlStore, simulation: Simulation, embedder: Embedder | None) -> list[Document]:
    """Return a row for each day that has begun: encounters, turns, diversity, memories and costs.

    Without an embedder similarity is not measured. Dist-N is of all that was said on a day (`dist1`), and of as many
    n-grams of each day as the one with the fewest has (`dist1_equal`): only these tell days of different length apart.
    """
    from tertulia.metrics.diversity import metrics_of_cases
    from tertulia.metrics.legibility import unread_cases, without_vectors
    from tertulia.metrics.variety import variety_of_cases

    simulations, name = store.simulations, simulation.simulation
    days: dict[int, list[Encounter]] = {}
    all_met = simulations.encounters(name)
    for encounter in all_met:
        days.setdefault(encounter.day, []).append(encounter)
    dialogues: dict[str, list[Dialogue]] = {
        str(day): [dialogue for encounter in encounters if (dialogue := _dialogue(store, encounter))]
        for day, encounters in days.items()
    }
    unread = unread_cases(dialogues, embedder)
    figures = metrics_of_cases(dialogues, embedder)
    figures |= {day: without_vectors(figures[day]) for day in unread}
    variety = variety_of_cases(dialogues, None)
    costs, kept = simulations.costs(name), simulations.memory_counts(simulation, all_met)
    begins = simulations.town(name).begins
    rows = []
    for day, encounters in days.items():
        memories, reflections = kept.get(day, (0, 0))
        rows.append(
            {
                "day": day,
                "date": (begins + timedelta(days=day - 1)).date().isoformat(),
                "encounters": len(encounters),
                "turns": sum(map(len, dialogues[str(day)])),
                **figures[str(day)].model_dump(),
                "unread": unread.get(str(day)),
                **variety[str(day)].model_dump(include=_COMPARABLE),
                "without_sense": _sense(store, [encounter.run for encounter in encounters]),
                "memories": memories,
                "reflections": reflections,
                **costs.get(day, _NO_COST),
                "runs": [encounter.run for encounter in encounters],
            }
        )
    return rows


def table_of_days(rows: Sequence[Document]) -> Table:
    """Return rows of `day_rows` as a table."""
    cells = [
        [
            *(str(row[name]) for name in _BEFORE.values()),
            *_figures(row, _OF_DAYS),
            *(str(row[name]) for name in _BEHIND.values()),
        ]
        for row in rows
    ]
    return (*_BEFORE, *_OF_DAYS, *_BEHIND), cells


def table_of_trials(rows: Sequence[Document]) -> Table:
    """Return rows of `trial_rows` as a table."""
    cells = [[str(row["day"]), str(row["encounters"]), *_figures(row, _FIGURES)] for row in rows]
    return ("day", "met", *_FIGURES), cells


def _figures(row: Document, figures: Mapping[str, tuple[str, int]]) -> list[str]:
    return [number(row[name], digits) for name, digits in figures.values()]


def notes_on_days(rows: Sequence[Document]) -> tuple[str, str]:
    """Return the totals of days, and how to read their figures, a line each."""
    read, written, seconds = (sum(row[name] for row in rows) for name in ("prompt_tokens", "reply_tokens", "seconds"))
    return (
        f"{read} tokens read, {written} written, {seconds:.0f} s in the model",
        "sim and len are of all conversations of a day together; dist-n is of as many words of each day as the day with"
        " the fewest has; flagged by rules is the share of lines that repeat or otherwise make no sense: the rules find"
        " one such fault in eight",
    )


def notes_on_unread(rows: Sequence[Document], embedder: str) -> Iterator[str]:
    """Yield why similarity is not measured, if the embedder can't read what was said on a day."""
    from tertulia.metrics.legibility import why_unread

    unread = [row["unread"] for row in rows if row["unread"] is not None]
    if unread:
        yield f"sim is not measured, {why_unread(embedder, max(unread))}"


def days_document(
    simulation: Simulation, rows: Sequence[Document], agreements: Sequence[TownAgreement] = ()
) -> Document:
    """Return the days of a simulation as JSON (rows: see `day_rows`), with the agreements made in them."""
    document = simulation.model_dump(mode="json", exclude={"days", "created"})
    return {
        "schema_version": SCHEMA_VERSION,
        **document,
        "days": list(rows),
        "agreements": agreement_rows(agreements),
    }


def agreement_rows(agreements: Sequence[TownAgreement]) -> list[Document]:
    """Return the agreements of a town as JSON."""
    return [
        {
            **agreement.agreement.model_dump(mode="json", exclude={"place"}),
            "said_place": agreement.agreement.place,
            **agreement.model_dump(mode="json", exclude={"agreement"}),
        }
        for agreement in agreements
    ]


def _dialogue(store: SqlStore, encounter: Encounter) -> "Dialogue":
    from tertulia.metrics.diversity import dialogue_of

    return dialogue_of(store.turns(encounter.run))


# --- several beside each other --------------------------------------------------------------------------------------


def trial_rows(store: SqlStore, simulations: Sequence[Simulation], embedder: Embedder) -> list[Document]:
    """Return for each day how conversations at the same encounter differ between simulations.

    Args:
        simulations: Two or more.

    Raises:
        UsageError: Their encounters are others, or none of them was in all.

    Source: APP §2 (diversity over trials of a case, averaged over cases) and Fig. 2.
    """
    from tertulia.metrics.diversity import mean, mean_over_cases, metrics_of_cases
    from tertulia.metrics.legibility import unread_cases, without_vectors

    trials = _shared_encounters(store, simulations)
    dialogues = {key: [dialogue for dialogue, _ in held] for key, held in trials.items()}
    cases = {f"{day} {at}": of_case for (day, at, *_), of_case in dialogues.items()}
    figures = metrics_of_cases(cases, embedder)
    unread = unread_cases(cases, embedder)
    figures |= {case: without_vectors(figures[case]) for case in unread}
    rows = []
    for day in dict.fromkeys(day for day, *_ in trials):
        of_day = [figure for case, figure in figures.items() if case.partition(" ")[0] == str(day)]
        blind = [likeness for case, likeness in unread.items() if case.partition(" ")[0] == str(day)]
        sense = [_sense(store, [run for _, run in held]) for key, held in trials.items() if key[0] == day]
        means = {
            **mean_over_cases(of_day).model_dump(),
            "without_sense": mean(sense),
            "unread": max(blind, default=None),
        }
        rows.append({"day": day, "encounters": len(of_day), **means})
    return rows


def _sense(store: SqlStore, runs: Sequence[str]) -> float | None:
    """Return the share of lines of these runs that make no sense in their dialogue; prompts are not read."""
    from tertulia.views.reading.faults import found_in_run, sense_of

    return sense_of(found_in_run(store, store.run(run)) for run in runs).without_sense


def _shared_encounters(
    store: SqlStore, simulations: Sequence[Simulation]
) -> dict[tuple[int, int, str, str], "list[tuple[Dialogue, str]]"]:
    """Return by day, number and pair the dialogues of the encounters that all simulations have, each with its run."""
    _check_meetings_alike(store, simulations)
    trials: dict[tuple[int, int, str, str], list[tuple[Dialogue, str]]] = {}
    for simulation in simulations:
        drawn = (met for met in store.simulations.encounters(simulation.simulation) if met.is_drawn)
        numbers: Counter[int] = Counter()  # without agreements, which differ with the words said
        for encounter in drawn:
            numbers[encounter.day] += 1
            if dialogue := _dialogue(store, encounter):
                trials.setdefault((encounter.day, numbers[encounter.day], *encounter.pair), []).append(
                    (dialogue, encounter.run)
                )
    shared = {key: held for key, held in trials.items() if len(held) == len(simulations)}
    if not shared:
        raise UsageError("no encounter has taken place in all of these simulations; let them pass further")
    return shared


def _check_meetings_alike(store: SqlStore, simulations: Sequence[Simulation]) -> None:
    """Raise `UsageError` for simulations in which others meet, or at other times, before anybody has spoken."""
    causes: dict[str, list[object]] = {"--encounters-per-day": [], "town": [], "case_seed": []}
    for simulation in simulations:
        town, drawn = store.simulations.town(simulation.simulation), simulation.encounters_per_day
        chosen = Parameters.model_validate(simulation.parameters).case_seed
        causes["town"].append(f"{town.name} from {town.begins:%Y-%m-%d} on")
        causes["--encounters-per-day"].append("--from-log" if drawn is None else drawn)
        causes["case_seed"].append(None if drawn is None else resolve_case_seed(chosen, simulation.seed, town))
    for name, values in causes.items():
        if len(found := dict.fromkeys(values)) > 1:
            raise UsageError(
                f"others meet in these simulations, as their {name} differs ({', '.join(map(str, found))}); "
                "begin them with the same"
            )


def trials_document(simulations: Sequence[Simulation], rows: Sequence[Document]) -> Document:
    """Return the comparison of several simulations as JSON (rows: see `trial_rows`)."""
    names = [simulation.simulation for simulation in simulations]
    return {"schema_version": SCHEMA_VERSION, "simulations": names, "days": list(rows)}


# --- encounters and memories ----------------------------------------------------------------------------------------


def read_encounters(store: SqlStore, simulation: Simulation) -> Iterator[tuple[Encounter, int]]:
    """Yield the encounters of a simulation, each with the turns of its conversation."""
    turns = {run.run: run.turns for run in store.runs()}
    for encounter in store.simulations.encounters(simulation.simulation):
        yield encounter, turns[encounter.run]


def encounters_document(store: SqlStore, simulation: Simulation) -> Document:
    """Return the encounters of a simulation as JSON."""
    rows = [
        {**encounter.model_dump(mode="json"), "turns": turns} for encounter, turns in read_encounters(store, simulation)
    ]
    return {"schema_version": SCHEMA_VERSION, "simulation": simulation.simulation, "encounters": rows}


@dataclass(frozen=True)
class Memories:
    """The memory stream of a resident."""

    agent: str
    stream: Sequence[Remembered]

    @property
    def formed(self) -> list[Remembered]:
        """The memories of the simulated days."""
        return [memory for memory in self.stream if memory.id.startswith(FORMED)]

    @property
    def before(self) -> int:
        """The number of memories from before the simulation."""
        return len(self.stream) - len(self.formed)

    def evidence_of(self, memory: Remembered) -> list[str]:
        """Return the texts of the memories that an insight was drawn from."""
        texts = {entry.id: entry.text for entry in self.stream}
        return [texts.get(id, id) for id in memory.evidence]


def read_memories(store: SqlStore, simulation: Simulation, agent: str) -> Memories:
    """Return the memories of a resident, found by a beginning of their name.

    Raises:
        NotFoundError: No resident, or several, have such a name.
    """
    names = [resident.persona.name for resident in store.simulations.town(simulation.simulation).residents]
    matching = [name for name in names if composed(name).casefold().startswith(composed(agent).casefold())]
    if len(matching) > 1:
        raise NotFoundError(
            f"several people in {simulation.town} have names that begin with {agent!r} ({', '.join(matching)}); "
            "write more of one"
        )
    if not matching:
        raise NotFoundError(f"nobody named {agent!r} lives in {simulation.town}{nearest_hint(agent, names)}")
    return Memories(matching[0], store.simulations.memories_of(simulation, matching[0]))


def memories_document(simulation: Simulation, memories: Memories) -> Document:
    """Return the memories of a resident from the simulated days as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "simulation": simulation.simulation,
        "agent": memories.agent,
        "before": memories.before,
        "memories": [memory.model_dump(mode="json") for memory in memories.formed],
    }
