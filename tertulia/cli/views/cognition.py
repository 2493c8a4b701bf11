"""A round of group chat: the cognition of each agent, and the race for the floor."""

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tertulia.cli.terminal.output import bar, plain
from tertulia.state.cognition import Call, Character
from tertulia.state.parameters import Parameters
from tertulia.state.store import Store
from tertulia.state.text import clean, in_words, number
from tertulia.views.reading.bids import bid_in_words
from tertulia.views.reading.rounds import AgentRound, Round
from tertulia.views.reading.turns import TurnDetails
from tertulia.views.reading.why_leaning import THOUGHT_MOST, leaned
from tertulia.views.wording.round_phrases import (
    floor_phrase,
    perception_phrase,
    race_phrase,
    typed_phrase,
    weighing_phrase,
)

_BAR = 24


def print_round(console: Console, details: TurnDetails, round: Round, parameters: Parameters) -> None:
    """Print the cognition of each agent (or of the requested agent) in the round of a turn, then the race."""
    for present in round.agents:
        if details.agent in (None, present.agent):
            _print_agent(console, present, parameters, details)
    _print_race(console, round, parameters)


def print_thoughts(console: Console, round: Round, parameters: Parameters) -> None:
    """Print a round in short: the race, with each agent's thought and the mechanisms that were on."""
    table = _plain_table("left", "left", "right", "right", "left")
    for agent, start in _race_rows(round):
        thought = Text(clean(agent.assessment.thought) if agent.assessment else "–", "italic")
        if agent.typed is not None:
            thought = plain(typed_phrase(agent.typed))
        if agent.active:
            thought.append(f"  [{', '.join(in_words(name) for name in agent.active)}]", "dim not italic")
        willingness = f"willing {number(agent.bid.willingness, 2)}" if agent.bid else "–"
        table.add_row(*start, willingness, thought)
    console.print(_indented(table, 5))
    console.print(_indented(plain(floor_phrase(round, parameters), "dim"), 5))
    console.print()


def _print_agent(console: Console, agent: AgentRound, parameters: Parameters, details: TurnDetails) -> None:
    """Print the cognition of an agent; of the only one wanted, with the reasons against mechanisms that were off."""
    console.print(Text.assemble(plain(agent.agent, "bold cyan"), ("  → speaks", "green") if agent.won else ""))
    table = _plain_table()
    table.add_column(style="dim", width=9)
    table.add_row("noticed", plain(perception_phrase(agent, parameters)))
    for row in _mechanism_rows(agent, details.agent is not None):
        table.add_row(*row)
    if assessment := agent.assessment:
        table.add_row("situation", plain(assessment.situation or "–"))
        table.add_row("thought", plain(assessment.thought or "–", "italic"))
        if (thought := details.thoughts.get(agent.agent)) is not None:
            table.add_row("", plain(f"· {leaned(thought, THOUGHT_MOST)}"))
        table.add_row("feels", plain(f"{assessment.emotion}, {assessment.emotion_strength:.1f}"))
    if agent.typed is not None:
        table.add_row("typed", plain(agent.typed or "–"))
    if agent.bid is not None and (agent.bid.parts is not None or parameters.order == "self_driven"):
        mark = ("yes", "green") if agent.bid.willing else ("no", "yellow")
        table.add_row("willing", Text.assemble(mark, ": ", plain(weighing_phrase(agent, agent.bid, parameters))))
        if told := bid_in_words(agent, parameters):
            table.add_row("", plain(f"· {told}"))
    console.print(_indented(table))
    console.print()


def _mechanism_rows(agent: AgentRound, whole: bool) -> Iterator[tuple[str | Text, Text]]:
    """Yield the needs of an agent, and the mechanisms that were on, with their findings, or off."""
    need = agent.need
    if need is None:
        return
    thoughts = {"before": need.situation_summary, "needs": need.key_information}
    thoughts |= {"character": need.character_analysis, "decides": need.decision_reason}
    yield from ((label, plain(text)) for label, text in thoughts.items() if text)
    for name in agent.active:
        reason = plain(f": {need.mechanisms[name].reason or '–'}")
        yield Text("on", "green"), Text.assemble((in_words(name), "bold"), reason)
        if finding := agent.findings.get(name):
            for line in finding.lines:
                yield "", plain(f"· {line}")
            if finding.problem:
                yield "", plain(f"went without: {finding.problem}", "red")
    off = {name: choice.reason for name, choice in need.mechanisms.items() if not choice.active}
    if whole:
        for name, why in off.items():
            yield "off", plain(f"{in_words(name)}: {why or '–'}", "dim")
    elif off:
        yield "off", plain(", ".join(map(in_words, off)), "dim")


def _print_race(console: Console, round: Round, parameters: Parameters) -> None:
    console.print(plain("the floor", "bold cyan"))
    table = _plain_table("left", "left", "right", "left")
    for agent, start in _race_rows(round):
        table.add_row(*start, Text(race_phrase(agent, parameters, round.floor), "dim"))
    console.print(_indented(table))
    console.print(_indented(plain(floor_phrase(round, parameters))))
    console.print()


def _race_rows(round: Round) -> Sequence[tuple[AgentRound, tuple[Text, Text, str]]]:
    """Return the agents, the fastest first, with name, bar and latency; those that did not race come last."""
    longest = max((agent.latency_s or 0.0 for agent in round.agents), default=0.0) or 1.0
    rows = []
    for agent in round.fastest_first:
        name = Text.assemble(("→ " if agent.won else "  ", "green"), plain(agent.agent, "bold" if agent.won else ""))
        chart = Text(bar((agent.latency_s or 0.0) / longest, _BAR), "green" if agent.won else "cyan")
        rows.append((agent, (name, chart, "–" if agent.latency_s is None else f"{agent.latency_s:.2f} s")))
    return rows


def print_character(console: Console, name: str, character: Character) -> None:
    """Print the prepared character of a participant."""
    console.print(plain(name, "bold cyan"))
    table = _plain_table()
    table.add_column(style="dim", width=9)
    table.add_row("traits", plain(", ".join(character.big_five)))
    for index, text in enumerate(character.descriptions):
        table.add_row("is" if index == 0 else "", plain(text))
    for index, step in enumerate(character.plan):
        table.add_row("plans" if index == 0 else "", plain(f"{step.text} ({step.share:.0%})"))
    console.print(_indented(table))
    console.print()


def print_calls(console: Console, calls: Sequence[Call], store: Store) -> None:
    """Print calls of models: each unit of the prompt, then the replies."""
    for call in calls:
        again = f", call {call.attempt + 1}" if call.attempt else ""
        console.print(plain(f"{in_words(call.node)}: a call of {call.model}{again}", "bold cyan"))
        block = None
        for unit in store.prompt(call.prompt).units:
            if unit.block != block:
                block = unit.block
                console.print(_indented(plain(in_words(block), "dim")))
            console.print(_indented(plain(unit.text, "" if unit.kind == "item" else "italic"), 4))
        for reply in call.replies:
            if reply.thought:
                console.print(_indented(plain(f"it thought, and did not say: {reply.thought}", "dim italic")))
            console.print(Text.assemble(("  → ", "green"), plain(reply.text)))
        console.print()


def _plain_table(*columns: Literal["left", "right"]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for justify in columns:
        table.add_column(justify=justify)
    return table


def _indented(what: Table | Text, columns: int = 2) -> Padding:
    return Padding(what, (0, 0, 0, columns), expand=False)
