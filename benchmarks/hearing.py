"""Whether minds hear: parts of willingness against labels of what a line touches (`python -m benchmarks.hearing`).

`hearing_lines.jsonl` has lines said in the shipped meetings, and in four situations beside it, each with whom of those
there it concerns, whose goal it touches, for or against, and whom it moves; the speaker is left out. Coefficients were
chosen on the half `develop`, by the writer of both halves, with the figures of the other in view. `fresh` lines, and
their situations `hearing_clinic` and `hearing_choir`, are another writer's, who saw no rule; they came last.

AUC is the share of pairs of somebody whom a line touches and somebody whom one does not in which the first has the
higher part, over all lines and people. Every line stands alone; nobody is asked, and nobody has waited. `sd` is over
lines and people.

Example: python -m benchmarks.hearing --embedder minilm
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.perception import Probe, a_context, a_view
from tertulia.models.loading import open_embedder
from tertulia.nodes.meeting.bid import computed_parts
from tertulia.nodes.meeting.touch import touch_of
from tertulia.state.cognition import Character, SubGoal
from tertulia.state.context import Context
from tertulia.state.language_model import Embedder
from tertulia.state.meeting import Attendee, Meeting
from tertulia.state.records import Turn, TurnRecord
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve

LINES = Path(__file__).with_name("hearing_lines.jsonl")
#: By part of willingness, the label that it should follow.
LABELS = {"topic": "concerns", "goal": "goal", "emotion": "moves"}


@dataclass(frozen=True)
class Heard:
    """A part of somebody's willingness after a line.

    Attributes:
        is_touched: By part, whether they are labelled as touched.
        before, now: Parts with `willingness=computed`, and with `heard`.
    """

    meeting: str
    half: str
    agent: str
    is_touched: dict[str, bool]
    before: dict[str, float]
    now: dict[str, float]


def labelled() -> list[dict[str, object]]:
    """Return the labelled lines."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]


def heard(embedder: Embedder) -> Iterator[Heard]:
    """Yield how every line is heard by everybody but its speaker."""
    rows = labelled()
    for name in dict.fromkeys(str(row["meeting"]) for row in rows):
        file = LINES.with_name(f"{name}.yaml")
        meeting = resolve(str(file) if file.exists() else name)
        assert isinstance(meeting, Meeting)
        with SqlStore.open(":memory:", create=True) as store:
            context = prepared(meeting, embedder, store)
            for number, row in enumerate((row for row in rows if row["meeting"] == name), start=1):
                yield from _heard_by_all(context, number, row)


def prepared(meeting: Meeting, embedder: Embedder, store: SqlStore) -> Context:
    """Return the context of a run in which everybody has a plan: the steps of the scenario, else the goal itself."""
    context = a_context(Probe(meeting.title, meeting, (), ()), embedder, store)
    for agent in meeting.participants:
        character = Character(big_five=agent.big_five, descriptions=agent.descriptions, plan=_plan(agent))
        store.save_step(context.run, 0, agent.persona.name, "prepare", character)
    return context


def _plan(agent: Attendee) -> tuple[SubGoal, ...]:
    steps = [(index, text) for index, goal in enumerate(agent.goals) for text in goal.sub_goals or (goal.text,)]
    return tuple(SubGoal(goal=index, text=text, share=1 / len(steps)) for index, text in steps)


def _heard_by_all(context: Context, number: int, row: dict[str, object]) -> Iterator[Heard]:
    meeting, speaker = context.meeting, str(row["speaker"])
    all_there_s = max(meeting.offset_s(agent.joins, 0.0) for agent in meeting.participants)
    turn = Turn(turn=number, round=number, speaker=speaker, text=str(row["text"]), sim_time_s=all_there_s, ended=False)
    context.store.save_turn(context.run, TurnRecord(turn=turn))
    for name in meeting.names:
        if name == speaker:
            continue
        view = replace(a_view(context, name, number + 1, [number]), sim_time_s=all_there_s)
        yield Heard(
            meeting=meeting.scenario if Path(meeting.scenario).suffix == "" else Path(meeting.scenario).stem,
            half=str(row["half"]),
            agent=name,
            is_touched={part: name in row[label] for part, label in LABELS.items()},  # type: ignore[operator]
            before={**computed_parts(view, 0.0, 0.0)},  # type: ignore[dict-item]
            now={**computed_parts(view, 0.0, 0.0, touch_of(view))},  # type: ignore[dict-item]
        )


def auc(touched: Sequence[float], untouched: Sequence[float]) -> float:
    """Return the share of pairs in which who is touched has the higher part; half of a pair that is even."""
    higher = np.array(touched)[:, None] - np.array(untouched)
    return float(np.mean((higher > 0) + (higher == 0) / 2))


def row_of(part: str, found: Sequence[Heard]) -> str:
    """Return the figures of a part: how many are touched and not, AUC and sd before, AUC and sd now."""
    cells = []
    for of in ("before", "now"):
        touched, untouched = ([getattr(person, of)[part] for person in found if person.is_touched[part] is is_touched]
                              for is_touched in (True, False))  # fmt: skip
        cells.append(f"{auc(touched, untouched):.2f}, {np.std(touched + untouched):.3f}")
    return f"{len(touched)}, {len(untouched)} | {' | '.join(cells)}"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", default="minilm")
    found = list(heard(open_embedder(parser.parse_args().embedder)))
    print("lines | part | touched, not | AUC and sd before | now")
    for half in ("develop", "held_out", "fresh"):
        for part in LABELS:
            print(f"{half} | {part} | {row_of(part, [person for person in found if person.half == half])}")
    for meeting in dict.fromkeys(person.meeting for person in found):
        for part in LABELS:
            print(f"{meeting} | {part} | {row_of(part, [person for person in found if person.meeting == meeting])}")


if __name__ == "__main__":
    main()
