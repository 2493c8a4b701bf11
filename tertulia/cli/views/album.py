"""Album chats: exchanges, how one came about, a diary, the journey of a picture, and each person's figures."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.cli.views.turn import print_making
from tertulia.state.album import CALLS, PARTS, Population
from tertulia.state.records import RunRecord
from tertulia.state.text import counted
from tertulia.views.reading.exchanges import AgentTotals, Journey, RecordedExchange, by_round
from tertulia.views.reading.turns import TurnDetails
from tertulia.views.reading.why import why_said
from tertulia.views.wording.album_phrases import (
    diary_heading,
    diary_lines,
    exchange_lines,
    found_phrase,
    journey_lines,
    outcome_phrases,
    pair_phrase,
    seen_phrase,
    shown_rounds,
)
from tertulia.views.wording.phrases import clock, picture_phrase

#: Pictures that a table shows, those that were seen by most.
_PICTURES = 60


def print_exchanges(console: Console, exchanges: Sequence[RecordedExchange], population: Population) -> None:
    """Print exchanges, each round under a heading."""
    for round, of_round in by_round(exchanges):
        console.print(plain(f"round {round}", "bold cyan"))
        for recorded in of_round:
            print_exchange(console, recorded, population)


def print_exchange(console: Console, recorded: RecordedExchange, population: Population) -> None:
    """Print the pair, the picture and the lines of an exchange."""
    _print_heading(console, recorded, population)
    _print_lines(console, exchange_lines(recorded, population))


def print_exchange_making(console: Console, details: TurnDetails, population: Population) -> None:
    """Print an exchange, and the making of each of its utterances."""
    recorded = details.exchange
    if recorded is None:
        return
    _print_heading(console, recorded, population)
    outcome = [("", phrase) for phrase in outcome_phrases(recorded, population)]
    _print_lines(console, [("picture", found_phrase(recorded)), *outcome])
    for call in CALLS if details.agent is None else ():
        made = details.parts[PARTS[call]] if PARTS[call] else details
        console.print()
        console.print(plain(f"{call}, by {made.record.turn.speaker}", "bold magenta"))
        console.print(plain(made.record.turn.text))
        console.print(plain(why_said(made), "bold"))
        print_making(console, made)


def print_diary(
    console: Console, run: RunRecord, agent: str, exchanges: Sequence[RecordedExchange], population: Population
) -> None:
    """Print the exchanges of an agent."""
    villager = population.participant(agent)
    properties = "; ".join(f"{name}: {value}" for name, value in villager.properties)
    console.print(plain(f"{run.run} · {agent}", "bold"), plain(f"· {properties}", "dim"))
    for recorded in exchanges:
        console.print(plain(diary_heading(agent, recorded), "bold"))
        _print_lines(console, diary_lines(agent, recorded, population))


def print_journey(console: Console, run: RunRecord, journey: Journey) -> None:
    """Print the journey of a picture, and how many have seen it."""
    console.print(plain(f"{run.run} · {journey.picture.id}", "bold"), plain(picture_phrase(journey.picture)))
    _print_lines(console, journey_lines(journey))
    console.print(plain(f"seen by, after each round: {seen_phrase(journey)}", "dim"))


def print_album_stats(console: Console, totals: Sequence[AgentTotals], journeys: Sequence[Journey]) -> None:
    """Print the figures of everybody, and how many have seen which picture by the end of a round."""
    headings = ("", "asked", "answered", "words", "pictures\nshown", "pictures\nreceived", "partners\nmet")
    rows = [
        Row((plain(name, "bold"), *map(str, figures))) for name, *figures in (vars(agent).values() for agent in totals)
    ]
    print_table(console, headings, rows, right=headings[1:])
    console.print()
    rounds = shown_rounds(journeys)
    columns = ("before", *(f"round {round}" for round in rounds[1:]), "asked\nabout", "passed\non", "has it\nnow")
    rows = [
        Row(
            (
                plain(journey.picture.described, "bold"),
                *(str(journey.seen_by[round]) for round in rounds),
                *map(str, (len(journey.exchanges), journey.passed, len(journey.holders))),
            )
        )
        for journey in journeys[:_PICTURES]
    ]
    print_table(console, ("seen by", *columns), rows, right=columns)
    if len(journeys) > _PICTURES:
        console.print(plain(f"and {counted(len(journeys) - _PICTURES, 'picture')} that fewer saw: --json", "dim"))


def _print_heading(console: Console, recorded: RecordedExchange, population: Population) -> None:
    turn = recorded.turn
    when = Text(f"{turn.turn:>3}  {clock(turn.sim_time_s, population)}  ", "dim")
    picture = plain(picture_phrase(recorded.picture, recorded.exchange.sight), "cyan")
    console.print(Text.assemble(when, plain(pair_phrase(recorded), "bold"), "  ", picture))


def _print_lines(console: Console, lines: Sequence[tuple[str, str]]) -> None:
    """Print pairs of subject and text; a terminal breaks long texts."""
    for who, text in lines:
        lead, words = plain(f"{who}:" if who else "→", "" if who else "dim"), plain(text)
        if not console.is_terminal:
            console.print("     ", lead, " ", words, sep="")
            continue
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(lead, words)
        console.print(Padding(grid, (0, 0, 0, 5)))
