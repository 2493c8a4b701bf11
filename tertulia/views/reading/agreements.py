"""Agreements of the days of a town, and their outcomes."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from pydantic import Field

from tertulia.state.agreements import Agreement, Entry, Hindrance
from tertulia.state.records import Record
from tertulia.state.text import counted
from tertulia.state.town import Encounter, Simulation
from tertulia.storage.store import SqlStore

#: The outcome of an agreement to meet; a task is only remembered: nothing tells whether it is done.
Outcome = Literal["kept", "not kept", "to come", "to do"]

_WHY: dict[Hindrance, str] = {"asleep": "{} sleeps then", "engaged": "{} had agreed to meet somebody else then"}


class TownAgreement(Record):
    """An agreement of a town, and its outcome."""

    agreement: Agreement
    made: datetime = Field(description="when the conversation began in which it was made")
    run: str = Field(description="that conversation")
    place: str | None = Field(description="where they are to meet: a place of the town, or as it was said")
    outcome: Outcome
    why: str | None = Field(None, description="why it was not kept")
    met: str | None = Field(None, description="the conversation in which it was kept")


def town_agreements(store: SqlStore, simulation: Simulation) -> list[TownAgreement]:
    """Return the agreements of the days of a town, in order."""
    diary = store.simulations.diary(simulation.simulation)
    if not diary:
        return []
    town = store.simulations.town(simulation.simulation)
    kept = {
        (made.run, made.number): encounter.run
        for encounter in store.simulations.encounters(simulation.simulation)
        if (made := encounter.appointment) is not None
    }
    found = []
    for entry in (entry for entries in diary.values() for entry in entries):
        is_later = entry.meets_at is not None and town.day_of(entry.meets_at) > simulation.days
        met = kept.get((entry.run, entry.number))
        outcome, why = _outcome(entry, simulation, met, is_later)
        found.append(
            TownAgreement(
                agreement=entry.agreement,
                made=entry.made,
                run=entry.run,
                place=entry.place,
                outcome=outcome,
                why=why,
                met=met,
            )
        )
    return found


def _outcome(entry: Entry, simulation: Simulation, met: str | None, is_later: bool) -> tuple[Outcome, str | None]:
    if entry.agreement.kind == "task":
        return "to do", None
    if entry.hindrance is not None:
        return "not kept", _WHY[entry.hindrance].format(entry.hindered)
    if met is not None:
        return "kept", None
    if simulation.status == "finished":
        return "not kept", "the last day is over before" if is_later else "the day was over before"
    return "to come", None


def in_words(agreement: Agreement, place: str | None = None) -> str:
    """Return an agreement in a line: its people, time and place to meet or the one to act, and the words said."""
    first, second = agreement.people
    if agreement.kind == "task":
        return f"{first} and {second}: {agreement.doer} is to do it: {agreement.what}"
    place = place or agreement.place
    time = f"{agreement.time:%a %d %b %H:%M}" if agreement.time is not None else ""
    return f"{first} and {second} are to meet {time}{f', {place}' if place else ''}: {agreement.what}"


def outcome_in_words(agreement: TownAgreement) -> str:
    """Return the outcome of an agreement of a town."""
    behind = agreement.why or (f"in {agreement.met}" if agreement.met else "")
    return f"{agreement.outcome}{f': {behind}' if agreement.why else f' {behind}' if behind else ''}"


def counts_in_words(agreements: Iterable[TownAgreement]) -> str:
    """Return how many agreements were made and kept, in words."""
    outcomes = Counter(agreement.outcome for agreement in agreements)
    meetings = outcomes.total() - outcomes["to do"]
    of_meetings = [f"{outcomes[outcome]} {outcome}" for outcome in ("kept", "not kept", "to come") if outcomes[outcome]]
    said = f"{counted(meetings, 'agreement')} to meet" + (f" ({', '.join(of_meetings)})" if of_meetings else "")
    return said + (f", {outcomes['to do']} to do something" if outcomes["to do"] else "")


def mark_of(encounter: Encounter) -> str:
    """Return the words behind an encounter on which its people had agreed."""
    return ", as agreed" if encounter.appointment is not None else ""
