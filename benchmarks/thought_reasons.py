"""What thoughts lean on, as a check names it, beside every unit left out: `python -m benchmarks.thought_reasons STORE`.

The thoughts are those of whoever got the floor in the meetings of a store, of runs of one model with weights on this
machine: of each run the first round, then of each the second. Each is checked as `tertulia show RUN --turn N --check`
does, which keeps that in the store, and then read without every other unit that can be named.
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tertulia.cli.environment import cache_folder
from tertulia.lab.annotations.checked_line import CheckedLine, thought_to_check
from tertulia.lab.annotations.leave_one_out import check_turn, value_behind
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.cognition import Bid
from tertulia.state.language_model import LanguageModel
from tertulia.state.line_scores import LEAST_LOSS
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.leaning import reasons
from tertulia.views.reading.turns import read_turn


@dataclass(frozen=True)
class Read:
    """A thought that was read.

    Attributes:
        losses: By unit, in nats a token, each left out by itself.
    """

    line: CheckedLine
    losses: Mapping[str, float]

    @property
    def ranked(self) -> list[str]:
        """The units by what the thought loses without them, the highest first."""
        return sorted(self.losses, key=lambda unit: -self.losses[unit])

    @property
    def by_score(self) -> list[str]:
        """The units by their scores, the highest first."""
        scores = self.line.details.record.line_scores or {}
        return sorted(scores, key=lambda unit: -scores[unit])

    @property
    def named(self) -> list[str]:
        """The units that a check names."""
        return [reason.unit.id for reason in reasons(self.line.details) or []]

    @property
    def leans(self) -> bool:
        """Whether a unit makes it likelier by enough to be named."""
        return self.losses[self.ranked[0]] >= LEAST_LOSS


def main() -> None:
    """Read thoughts, and print how often a check names what they depend on most."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("store", type=Path)
    options.add_argument("--model", default="smollm2", help="the model that thought them, and reads them")
    options.add_argument("--thoughts", type=int, default=18)
    chosen = options.parse_args()
    console, found = Console(width=200, highlight=False), list[Read]()
    model = ModelAccess(cache_folder()).naming([chosen.model]).language_model(chosen.model, Parameters())
    with SqlStore.open(chosen.store) as store:
        for run, turn, agent in islice(winners(store, chosen.model), chosen.thoughts):
            if (read := read_thought_of(store, run, turn, agent, model)) is None:
                continue
            found.append(read)
            console.print(f"{len(found)}: {agent} in turn {turn} of {run.run}: {read.line.details.record.turn.text}")
            named = {unit: f"{read.losses[unit]:.2f}" for unit in read.named}
            console.print(f"   named {named}; {[(unit, round(read.losses[unit], 2)) for unit in read.ranked[:3]]}")
    console.print(table_of(found))


def winners(store: SqlStore, model: str) -> Iterator[tuple[RunRecord, int, str]]:
    """Yield who got the floor: of each meeting in its first round, then in its second."""
    runs = [run for run in reversed(store.runs()) if run.model == model and run.kind == "group_chat"]
    for turn in range(1, max((run.turns for run in runs), default=0) + 1):
        for run in runs:
            bids = store.steps(run.run, "bid", Bid, turn, turn)
            yield from ((run, turn, agent) for (_, agent), bid in bids.items() if bid.won)


def read_thought_of(store: SqlStore, run: RunRecord, turn: int, agent: str, model: LanguageModel) -> Read | None:
    """Return a thought, checked, with the loss without each unit; `None` where no model's call has it."""
    start = store.start(run.run)
    assert isinstance(start, Meeting)

    async def losses(line: CheckedLine) -> dict[str, float]:
        words = [line.ablated.full, *map(line.ablated.without, range(len(line.ablated.units)))]
        values = {word: (await value_behind(store, word, line, model))[0] for word in sorted(words, reverse=True)}
        return line.losses(values)

    asyncio.run(check_turn(store, run, start, turn, lambda _: model, agent=agent))
    line = thought_to_check(store, read_turn(store, run, start, turn), start, agent)
    return None if line is None else Read(line, asyncio.run(losses(line)))


def table_of(found: list[Read]) -> Table:
    """Return how often the highest unit by score, and by a check, is the one that the thought loses most without."""
    table = Table("", "of", "first is leave-one-out's first", "in its first 3")
    leaning = [read for read in found if read.leans]
    for title, firsts in {
        "highest score": {id(read): read.by_score[0] for read in leaning},
        "named first by a check": {id(read): read.named[0] for read in leaning if read.named},
    }.items():
        of = [read for read in leaning if id(read) in firsts]
        first = sum(firsts[id(read)] == read.ranked[0] for read in of)
        in_three = sum(firsts[id(read)] in read.ranked[:3] for read in of)
        table.add_row(title, str(len(of)), str(first), str(in_three))
    silent = [read for read in found if not read.named]
    right = sum(not read.leans for read in silent)
    table.add_row(f"nothing in particular, of {len(found)}", str(len(silent)), f"right in {right}", "")
    return table


if __name__ == "__main__":
    main()
