"""How often the rules of `nodes/agreements/` are right, on short exchanges whose agreements are labelled.

`agreement_lines.jsonl` has an exchange a line: when it begins (`now`), its lines, and what is agreed in them, with the
time (a date where no time of day was said) and the place, if there is one. They were written for this, before the rules
and by the same writer; of the half that is held out, only counts were seen while the rules were made.
A second writer, who had seen three exchanges and no rule, wrote and labelled a hundred afterwards; then 196 of varied
registers (`varied`) were written, by which the rules were made that there are now.

Then it lets weeks of Tidewell pass in which people say what `PROPOSED` and `REPLIED` have, drawn, and counts how many
of the agreements to meet are kept, and why the others are not. All else is rehearsed: this measures the town, no model.

Example: python -m benchmarks.agreements
"""

import json
import random
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.nodes.agreements.agreed import agreements_in
from tertulia.runs.access.engines import Engines, ModelAccess
from tertulia.runs.driving.towns import drive_simulation
from tertulia.runs.planning.simulations import begin_simulation, plan_simulation
from tertulia.state.agreements import Agreement
from tertulia.state.language_model import RenderedPrompt, ReplyField
from tertulia.state.records import Turn
from tertulia.storage.store import SqlStore
from tertulia.views.reading.agreements import town_agreements

#: What who speaks first may propose, and what the other may reply: some of it is no proposal, and no assent.
PROPOSED = (
    "Shall we meet tomorrow at nine at the slip?",
    "Let's have soup at the inn tonight at half past seven.",
    "I'll bring you the letter this evening.",
    "Come to the bakery tomorrow at seven.",
    "Can you come to my place on Monday at four?",
    "Let's meet the day after tomorrow at noon at the market place.",
    "Meet me at the school in an hour.",
    "I'll come by tomorrow afternoon.",
    "How about a walk along the quay at five?",
    "Will you help me with the nets tomorrow at six in the morning?",
    "See you on Wednesday at ten at the harbour office.",
    "Let's look at the stars tonight at eleven.",
    "The ferry leaves tomorrow at nine.",
    "I have not slept well.",
)
REPLIED = ("Yes, I'll be there.", "Good.", "With pleasure.", "All right, see you then.", "I can't, I am busy.", "Why?")

LINES = Path(__file__).with_name("agreement_lines.jsonl")


def exchanges(part: str) -> list[dict[str, Any]]:
    """Return the exchanges of a part, as they are in the file."""
    everything = map(json.loads, LINES.read_text(encoding="utf-8").splitlines())
    return [exchange for exchange in everything if exchange["part"] == part]


def found_in(exchange: Mapping[str, Any]) -> tuple[Agreement, ...]:
    """Return what the rules find in an exchange."""
    turns = [
        Turn(turn=turn, round=turn, speaker=speaker, text=text, sim_time_s=0.0, ended=False)
        for turn, (speaker, text) in enumerate(exchange["lines"], start=1)
    ]
    return agreements_in(turns, datetime.fromisoformat(exchange["now"]))


def is_right(found: Agreement, labelled: Mapping[str, str | None]) -> bool:
    """Return whether kind, time and place are those of the label."""
    time, place = labelled["time"], labelled["place"]
    is_time = time is None or (found.time is not None and found.time.isoformat().startswith(time))
    is_place = (place or "").casefold() in (found.place or "").casefold() and bool(place) == bool(found.place)
    return found.kind == labelled["kind"] and is_time and (is_place or labelled["kind"] == "task")


def counts(part: str) -> Counter[str]:
    """Return how many agreements are labelled and found, and how many of those are there, and right in every part."""
    counted: Counter[str] = Counter()
    for exchange in exchanges(part):
        found, labelled = found_in(exchange), exchange["agreements"]
        counted["exchanges"] += 1
        counted["labelled"] += len(labelled)
        counted["found"] += len(found)
        counted["there"] += min(len(found), len(labelled))
        counted["right"] += sum(any(is_right(agreement, label) for agreement in found) for label in labelled)
    return counted


class _ProposingModel(RehearsalModel):
    """Proposes, or replies, with what is drawn; all else is rehearsed."""

    def _value(
        self, field: ReplyField, prompt: RenderedPrompt, generator: random.Random, several: bool
    ) -> str | bool | int:
        if field.kind != "speech":
            return super()._value(field, prompt, generator, several)
        units = prompt.source.units if prompt.source is not None else ()
        before = sum(unit.block == "current_dialogue" and unit.kind == "item" for unit in units)
        return generator.choice(REPLIED if before % 2 else PROPOSED)


def outcomes(seed: int, days: int = 7) -> Counter[str]:
    """Return what becomes of the agreements to meet in days of Tidewell, by outcome and why."""
    settings = {"max_turns": 2, "ending": "off", "redraws": 0, "drafts": 1, "case_seed": seed}
    plan = plan_simulation("tidewell", settings, days=days, model="rehearsal", seed=seed)
    with SqlStore.open(":memory:") as store:
        simulation, _ = begin_simulation(store, plan, ModelAccess())
        engines = Engines(_ProposingModel("rehearsal"), {}, RehearsalEmbedder())
        drive_simulation(store, simulation, engines, lambda event: None)
        simulation = store.simulations.get(simulation.simulation)
        found = town_agreements(store, simulation)
    names = [resident.persona.name for resident in plan.town.town.residents]
    causes: Counter[str] = Counter()
    for agreement in found:
        why = agreement.why or ""
        for name in names:
            why = why.removeprefix(f"{name} ")
        causes[f"{agreement.outcome}{f' ({why})' if why else ''}"] += agreement.agreement.kind == "meet"
    return +causes


def main() -> None:
    """Print precision and recall on each part, and what becomes of agreements in three weeks."""
    for name in ("seen", "varied", "held out", "second writer"):
        of = counts(name)
        print(
            f"{name}: {of['exchanges']} exchanges, {of['labelled']} agreements; an agreement is there: precision"
            f" {of['there']}/{of['found']}, recall {of['there']}/{of['labelled']}; kind, time and place right:"
            f" {of['right']}/{of['labelled']}"
        )
    causes = sum((outcomes(seed) for seed in (1, 2, 3)), Counter[str]())
    print(f"three weeks of Tidewell: {causes.total()} agreements to meet: ", end="")
    print(", ".join(f"{count} {cause}" for cause, count in causes.most_common()))


if __name__ == "__main__":
    main()
