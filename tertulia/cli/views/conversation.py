"""A conversation from its heading to its last turn, and how a meeting opened."""

from rich.console import Console

from tertulia.cli.terminal.lines import meeting_heading, print_turn
from tertulia.cli.terminal.output import plain
from tertulia.cli.views.album import print_exchanges
from tertulia.cli.views.cognition import print_calls, print_character
from tertulia.state.album import Population
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Case, RunRecord, status_in_words
from tertulia.state.store import Store
from tertulia.views.reading.actions import shown_turns
from tertulia.views.reading.exchanges import read_exchanges
from tertulia.views.reading.rewritten import rewritten_turns
from tertulia.views.reading.rounds import calls_of, read_characters
from tertulia.views.reading.shared_turns import settings_of_turns
from tertulia.views.reading.timeline import turns_with_opening
from tertulia.views.reading.unsent import unsent_in_words
from tertulia.views.wording.phrases import grouped, made_with, people_line


def print_run(console: Console, store: Store, run: RunRecord, start: Start) -> None:
    """Print a run: its heading, its status, and every turn."""
    if not isinstance(start, Case):
        console.print(plain(f"{run.run} · {run.scenario}", "bold"))
        console.print(meeting_heading(start))
        console.print(plain(people_line(start)))
    else:
        place = f" · {start.place}" if start.place else ""
        console.print(plain(f"{run.run} · {run.scenario} · {start.time:%Y-%m-%d %H:%M}{place}", "bold"))
    console.print(plain(" · ".join([status_in_words(run.status, run.ended_by), *made_with(run)]), "dim"))
    for note in unsent_in_words(store, run):
        console.print(plain(note, "dim"))
    if run.error:
        console.print(plain(f"stopped by: {run.error}" if run.status == "failed" else run.error, "red"))
    for note in grouped(start.withheld, start.names):
        console.print(plain(f"left out: {note}", "dim"))
    console.print()
    if isinstance(start, Population):
        print_exchanges(console, read_exchanges(store, run.run, start), start)
        return
    settings_of = settings_of_turns(store, run)
    turns = turns_with_opening(store, run.run, start)
    edited = rewritten_turns(store, run.run, turns)
    for before, turn in zip([None, *turns], shown_turns(store, run, turns), strict=False):
        print_turn(console, turn, start, settings_of(turn.turn).silence_s, before, turn.turn in edited)


def print_opening(console: Console, store: Store, run: RunRecord, meeting: Meeting, agent: str | None) -> None:
    """Print how a meeting opened, and everybody, or one agent with their calls of models, as they came to it."""
    console.print(meeting_heading(meeting))
    console.print(plain(meeting.description))
    if meeting.opening_turn is not None:
        print_turn(console, meeting.opening_turn, meeting)
    console.print()
    for name, character in read_characters(store, run.run).items():
        if agent in (None, name):
            print_character(console, name, character)
    if agent is not None:
        print_calls(console, calls_of(store, run.run, 0, agent), store)
