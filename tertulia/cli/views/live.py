"""The output of a run or a town while it goes on: its heading, every turn, and on demand all thoughts."""

from tertulia.cli.terminal.lines import meeting_heading, print_turn
from tertulia.cli.terminal.output import data, plain
from tertulia.cli.views.album import print_exchange
from tertulia.cli.views.cognition import print_thoughts
from tertulia.state.album import Population
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Case, RunRecord, Turn
from tertulia.state.store import Store
from tertulia.state.text import counted
from tertulia.state.town import Encounter, Simulation
from tertulia.views.reading.agreements import mark_of
from tertulia.views.reading.exchanges import read_exchanges
from tertulia.views.reading.rounds import read_round
from tertulia.views.reading.shared_turns import settings_of_turns
from tertulia.views.wording.phrases import REHEARSED, people_line, rehearsal_in_words, settings


def print_heading(start: Start, run: RunRecord) -> None:
    """Print participants, time and place, the settings, and the opening of a meeting."""
    console = data()
    if not isinstance(start, Case):
        console.print(meeting_heading(start))
        console.print(plain(people_line(start), "bold"))
    else:
        place = f", {start.place}" if start.place else ""
        console.print(plain(f"{people_line(start)}, {start.time:%A %d %B %Y, %H:%M}{place}", "bold"))
    console.print(plain(", ".join([*settings(run), *rehearsal_in_words(run)]), "dim"))
    console.print()
    if isinstance(start, Meeting) and start.opening_turn is not None:
        print_turn(console, start.opening_turn, start)


def print_turn_of(
    store: Store, run: str, turn: Turn, start: Start, silence_s: float, before: Turn | None, is_edited: bool = False
) -> None:
    """Print a turn; in an album chat its exchange, the first of a round under a heading."""
    if not isinstance(start, Population):
        print_turn(data(), turn, start, silence_s, before, is_edited)
        return
    if before is None or before.round != turn.round:
        data().print(plain(f"round {turn.round}", "bold cyan"))
    for exchange in read_exchanges(store, run, start, turn.turn, turn.turn):
        print_exchange(data(), exchange, start)


def print_round_thoughts(store: Store, run: RunRecord, round: int) -> None:
    """Print thoughts, mechanisms and the race of a round of a meeting."""
    start = store.start(run.run)
    if isinstance(start, Meeting):
        print_thoughts(data(), read_round(store, run, round, start), settings_of_turns(store, run)(round))


def print_town(simulation: Simulation) -> None:
    """Print town, days, schedule and settings of a simulation."""
    console = data()
    drawn = simulation.encounters_per_day
    schedule = "by its log" if drawn is None else f"{drawn} encounters a day"
    made_with = [f"λ = {simulation.parameters['removal_factor']:g}", simulation.model, f"seed {simulation.seed}"]
    console.print(plain(f"{simulation.town}: {counted(simulation.days, 'day')}, {schedule}", "bold"))
    console.print(plain(", ".join([*made_with, *([REHEARSED] if simulation.rehearsed else [])]), "dim"))
    console.print()


def print_encounter(encounter: Encounter, turns: int) -> None:
    """Print the pair, time and place of an encounter, the number of turns, and the run."""
    place = f", {encounter.place}" if encounter.place else ""
    line = f"day {encounter.day} {encounter.time:%H:%M} {' and '.join(encounter.pair)}{place}"
    line += f"{mark_of(encounter)}: {counted(turns, 'turn')}"
    data().print(plain(line), plain(f"({encounter.run})", "dim"))
