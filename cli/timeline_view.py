"""A conversation along the simulated clock, with thoughts beside what was said. Source: ChatAgents Fig. 4."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.lines import clock, order_of, people_line, said, settings
from cli.output import SCHEMA_VERSION, clean, plain
from state.cognition import Assessment, Bid
from state.meeting import Meeting, Start
from state.parameters import Parameters
from state.records import RunRecord, Turn
from state.store import Store


@dataclass(frozen=True)
class Thought:
    """A thought beside a turn; `willing` and `won` are of the race for it."""

    agent: str
    text: str
    willing: bool
    won: bool


@dataclass(frozen=True)
class Moment:
    """A turn with the thoughts behind it."""

    turn: Turn
    thoughts: tuple[Thought, ...]


@dataclass(frozen=True)
class Passage:
    """Somebody who came or left while the meeting went on."""

    agent: str
    sim_time_s: float
    joined: bool
    reason: str | None


def read_timeline(store: Store, run: str, start: Start, agents: Sequence[str] = ()) -> list[Moment]:
    """Return every turn, how a meeting opened among them, with thoughts.

    Args:
        store: Where the run lies.
        run: Its id.
        start: What it started from.
        agents: Whose thoughts are returned, whether they wanted to speak or not; none named: those of who spoke, and
            of who was willing.
    """
    turns = store.turns(run)
    if not isinstance(start, Meeting):
        return [Moment(turn, ()) for turn in turns]
    thoughts: dict[int, list[Thought]] = {}
    bids = store.steps(run, "bid", Bid)
    assessments = store.steps(run, "assess", Assessment)
    for round in {turn.round for turn in turns}:
        for name in start.names:
            assessment, bid = assessments.get((round, name)), bids.get((round, name))
            if assessment is None or bid is None:
                continue
            if name in agents if agents else bid.willing or bid.won:
                thoughts.setdefault(round, []).append(Thought(name, assessment.thought, bid.willing, bid.won))
    opening = [start.opening_turn] if start.opening_turn is not None else []
    return [
        Moment(turn, tuple(sorted(thoughts.get(turn.round, ()), key=lambda thought: not thought.won)))
        for turn in [*opening, *turns]
    ]


def passages(meeting: Meeting, until_s: float) -> list[Passage]:
    """Return who came after the start and who left, up to a moment in seconds from the start, in order."""
    found = []
    for one in meeting.participants:
        name = one.persona.name
        joins_s, leaves_s = meeting.offset_s(one.joins, 0.0), meeting.offset_s(one.leaves, float("inf"))
        if 0 < joins_s <= until_s:
            found.append(Passage(name, joins_s, joined=True, reason=None))
        if leaves_s <= until_s:
            found.append(Passage(name, leaves_s, joined=False, reason=one.leaves_for))
    return sorted(found, key=lambda passage: passage.sim_time_s)


def _passages_of(start: Start, moments: Sequence[Moment]) -> list[Passage]:
    return passages(start, moments[-1].turn.sim_time_s) if isinstance(start, Meeting) and moments else []


def timeline_json(run: RunRecord, start: Start, moments: Sequence[Moment]) -> dict[str, Any]:
    """Return the timeline as JSON."""
    coming_and_going = _passages_of(start, moments)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "scenario": run.scenario,
        "order": order_of(run),
        "turns": [
            {
                **moment.turn.model_dump(mode="json"),
                "time": (start.time + timedelta(seconds=moment.turn.sim_time_s)).isoformat(timespec="seconds"),
                "thoughts": [
                    {"agent": one.agent, "thought": one.text, "willing": one.willing, "won": one.won}
                    for one in moment.thoughts
                ],
            }
            for moment in moments
        ],
        "joined": [_passage_json(one) for one in coming_and_going if one.joined],
        "left": [_passage_json(one) for one in coming_and_going if not one.joined],
    }


def _passage_json(passage: Passage) -> dict[str, Any]:
    return {"agent": passage.agent, "sim_time_s": passage.sim_time_s, "reason": passage.reason}


def print_timeline(console: Console, run: RunRecord, start: Start, moments: Sequence[Moment]) -> None:
    """Print the timeline: clock, what was said, and the thoughts behind it; silences are gaps."""
    console.print(plain(f"{run.run} · {run.scenario} · {people_line(start)}", "bold"))
    console.print(plain(" · ".join([run.status, *settings(run)]), "dim"))
    console.print()
    has_thoughts = isinstance(start, Meeting)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0))
    table.add_column("clock", style="dim", no_wrap=True)
    table.add_column("said", ratio=1)
    if has_thoughts:
        table.add_column("thought (→ got the floor, · wanted it)", ratio=1)
    coming_and_going = _passages_of(start, moments)
    silence_s = Parameters.model_validate(run.parameters).silence_s
    waiting = list(coming_and_going)
    for moment in moments:
        while waiting and waiting[0].sim_time_s <= moment.turn.sim_time_s:
            table.add_row(*_passage_row(waiting.pop(0), start))
        cells = [Text(clock(moment.turn.sim_time_s, start)), said(moment.turn, silence_s)]
        table.add_row(*cells, *([_thoughts(moment.thoughts)] if has_thoughts else []))
    console.print(table)
    for joined, what in ((True, "joined"), (False, "left")):
        who = [_told(one, start) for one in coming_and_going if one.joined is joined]
        if has_thoughts:
            console.print(plain(f"{what} meanwhile: {', '.join(who) or '–'}", "dim"))


def _thoughts(thoughts: Sequence[Thought]) -> Text:
    marks = [("→ ", "green") if one.won else ("· " if one.willing else "  ", "yellow") for one in thoughts]
    lines = [
        Text.assemble(mark, plain(f"{one.agent}:", "bold"), " ", (clean(one.text) or "–", "italic"))
        for mark, one in zip(marks, thoughts, strict=True)
    ]
    return Text("\n").join(lines)


def _passage_row(passage: Passage, start: Start) -> tuple[Text, Text]:
    what = "joins" if passage.joined else "leaves"
    reason = f": {clean(passage.reason)}" if passage.reason else ""
    return Text(clock(passage.sim_time_s, start)), Text(f"{clean(passage.agent)} {what}{reason}", "magenta")


def _told(passage: Passage, start: Start) -> str:
    reason = f", {passage.reason}" if passage.reason else ""
    return f"{passage.agent} ({start.time + timedelta(seconds=passage.sim_time_s):%H:%M}{reason})"
