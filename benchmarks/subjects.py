"""What is killed: for each kind of process, the command that begins it, and the one that goes on after a kill."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.zygote import EMBEDDED, REHEARSED, REMOTE

Command = tuple[str, ...]

#: A dialogue that nobody ends before its limit.
ENDLESS = ("--set", "ending=continuation", "--set", "ending_threshold=1")

#: A short conversation with a real model, in which everything still occurs that occurs in a long one.
_SHORT = tuple(
    argument
    for setting in ("max_utterance_tokens=16", "scoring_responses=1", "max_rollbacks=1", "judge_runs=1")
    for argument in ("--set", setting)
)
_NEIGHBOURS = str(Path(__file__).with_name("two_neighbours.yaml"))

EXTENSION = ("--extension", str(Path(__file__).with_name("user_extension.py")))

_REHEARSE = ("--rehearse",)


@dataclass(frozen=True)
class Subject:
    """A process that is killed.

    Attributes:
        kind: Its name in tables.
        begins: The command that begins it; `{turn}` is a turn past a quarter of the run before in which somebody
            speaks, `{server}` the model on the failing server.
        goes_on: The command after a kill; `{id}` is the id that the first printed on standard error.
        before: Commands that fill the store first, undisturbed.
        left_unfinished: A last command before, which is killed halfway.
        is_older: Whether the store is an older one when the process begins.
        after: Commands at the end, undisturbed.
        imports: What the process that forks it imports.
        is_in_order: Whether calls are stored in the same order each time; a server answers as it pleases.
        kills_per_run: How many kills are planned within one run; drawn.
    """

    kind: str
    begins: Command
    goes_on: Command
    before: tuple[Command, ...] = ()
    left_unfinished: Command | None = None
    is_older: bool = False
    after: tuple[Command, ...] = ()
    imports: tuple[str, ...] = REHEARSED
    is_in_order: bool = True
    kills_per_run: tuple[int, ...] = (1, 1, 2, 2, 3, 5)

    @property
    def prints_id(self) -> bool:
        """Whether the process prints an id, from which on it can be gone on with."""
        return "{id}" in self.goes_on


_RESUME = ("resume", "{id}")


def _meeting(scenario: str, rounds: int, *options: str, by: Command = _REHEARSE) -> Command:
    return ("run", scenario, *by, "--rounds", str(rounds), *options)


def _dialogue(turns: int, *options: str, by: Command = _REHEARSE) -> Command:
    return ("run", "tidewell", *by, *ENDLESS, "--rounds", str(turns), *options)


def _forked(parent: Command, *options: str) -> tuple[Command, tuple[Command, ...]]:
    return ("fork", "@last", "--at", "{turn}", *options), (parent,)


def subjects(length: int = 1, seed: int = 1) -> dict[str, tuple[Subject, ...]]:
    """Return what is killed, by kind.

    Args:
        length: How long the rehearsed conversations are; 1 is a handful of rounds, with every kind of moment in them.
        seed: Of the conversations.
    """
    seeded = ("--seed", str(seed))
    five, nine = _meeting("team_building", 4 * length, *seeded), _meeting("ferry_timetable", 3 * length, *seeded)
    dialogue = _dialogue(8 * length, *seeded)
    town = ("simulate", "tidewell", *_REHEARSE, "--encounters-per-day", "2", "--days", str(length), *seeded)
    album = ("run", "villagers", *_REHEARSE, "--agents", "7", "--rounds", str(3 * length), "--lambda", "0.4", *seeded)
    extended = ("--set", "nodes.score=drawn_scores", *seeded, *EXTENSION)
    say, change = (
        _forked(five, "--say", "Let us begin with what we agree on."),
        _forked(dialogue, "--lambda", "0.9"),
    )
    middle = _forked(album, "--lambda", "0.9")
    words = _forked(dialogue, "--say", "I would rather talk about the ferry.")
    older = (dialogue, town, _forked(dialogue, "--lambda", "0.2")[0])
    return {
        "meeting of five": (Subject("meeting of five", five, _RESUME),),
        "meeting of nine": (Subject("meeting of nine", nine, _RESUME),),
        "dialogue": (Subject("dialogue", dialogue, _RESUME),),
        "fork": tuple(Subject("fork", fork, _RESUME, before) for fork, before in (say, change, words)),
        "town": (Subject("town", town, ("simulate", "--resume", "{id}")),),
        "album chat": (
            Subject("album chat", album, _RESUME),
            Subject("album chat", middle[0], _RESUME, middle[1]),
        ),
        "extension": (
            Subject("extension", _meeting("team_building", 3 * length, *extended), (*_RESUME, *EXTENSION)),
            Subject("extension", _dialogue(6 * length, *extended), (*_RESUME, *EXTENSION)),
        ),
        "remote model": (_remote(_meeting("mothers_house", 2 * length, *seeded, by=("--model", "{server}"))),),
        "migration": (_whole_store(("runs",), older, five, is_older=True),),
        "gc": (_whole_store(("gc", "--yes"), older, five),),
        "embedded model": (_embedded(seeded),),
    }


def _remote(begins: Command) -> Subject:
    imports = (*REHEARSED, *REMOTE)
    return Subject("remote model", (*begins, "--lambda", "0"), _RESUME, imports=imports, is_in_order=False)


def _whole_store(command: Command, before: tuple[Command, ...], unfinished: Command, is_older: bool = False) -> Subject:
    """Return a command that changes a whole store, in which a run is unfinished; it is given again after a kill."""
    kind = "migration" if is_older else "gc"
    after = (("resume", "@last"), command)
    return Subject(kind, command, command, before, left_unfinished=unfinished, is_older=is_older, after=after)


def _embedded(seeded: Command) -> Subject:
    begins = ("run", _NEIGHBOURS, "--model", "smollm2", *ENDLESS, *_SHORT, "--rounds", "2", *seeded)
    imports = (*REHEARSED, *EMBEDDED)
    return Subject("embedded model", begins, _RESUME, imports=imports, kills_per_run=(5,))
