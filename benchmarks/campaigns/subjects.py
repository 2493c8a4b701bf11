"""What is disturbed: for each kind of process, the command that begins it, and the one that goes on afterwards.

`READS` are the commands that change no run of a store: every other one stands in a subject, or in `AS_ANOTHER`.
"""

from dataclasses import dataclass
from pathlib import Path

from support.zygote import EMBEDDED, REHEARSED, REMOTE

Command = tuple[str, ...]

#: Commands that write no store and nothing that has to survive.
READS = frozenset(
    {
        *("view", "runs", "show", "timeline", "replay", "days", "search", "diff", "metrics", "stats", "score", "stop"),
        *("scenarios", "settings", "nodes list", "nodes check", "scores list", "scores add", "graph", "export"),
        *("people import", "people check", "people export", "backup", "restore"),
        *("trust", "doctor", "lab compare", "lab list", "lab stability", "lab check"),
    }
)

#: Commands that write as another one does, by the same code; which.
AS_ANOTHER = {
    "resume": "run",
    "ask": "inventory",
    "behaviour": "inventory",
    "outcomes": "inventory",
    "lab faithfulness": "inventory",
    "scores fit": "sweep",
    "runs label": "runs rm",
    "lab resume": "lab run",
}

#: A dialogue that nobody ends before its limit.
ENDLESS = ("--set", "ending=continuation", "--set", "ending_threshold=1")

#: A short conversation with a real model, in which everything still occurs that occurs in a long one.
_SHORT = tuple(
    argument
    for setting in ("max_utterance_tokens=16", "scoring_responses=1", "max_rollbacks=1", "judge_runs=1")
    for argument in ("--set", setting)
)
_HERE = Path(__file__).parent
_NEIGHBOURS, _EXPERIMENT = (str(_HERE / name) for name in ("two_neighbours.yaml", "two_rules.yaml"))
_SCENES = str(_HERE / "four_scenes.jsonl")

EXTENSION = ("--extension", str(_HERE / "user_extension.py"))

_REHEARSE = ("--rehearse",)


@dataclass(frozen=True)
class Subject:
    """A process that is disturbed.

    In commands, `{id}` is the run or simulation that the process began, `{turn}` a turn past a quarter of the last run
    in which somebody speaks, `{last}` the last run of the store before, `{store}` the store, `{other}` the store that
    `given` filled, `{server}` the model on the failing server, `{base}` a folder with a tiny model, `{out}` the folder
    for files.

    Attributes:
        kind: Its name in tables.
        begins: The command that begins it.
        goes_on: The command after a disturbance, once the process has begun a run or a simulation; `None`: the same
            command again.
        before: Commands that fill the store first, undisturbed.
        given: Commands that fill another store first, undisturbed.
        left_unfinished: A last command before, which is killed halfway.
        after: Commands at the end, undisturbed.
        imports: What the process that forks it imports.
        is_in_order: Whether rows are stored in the same order each time; a server and workers answer as they please.
        has_workers: Whether processes of its own do the work.
        changes_its_store: Whether what it does is about this very store, and means nothing in another.
        begins_late: Whether there is much to disturb before its run has begun.
        is_gone: Whether what it removes is not found when the command is given again.
        is_refused: Whether it ends with a refusal, exit code 2, once it has done what is disturbed.
        planned: How many disturbances are planned within one process; drawn.
    """

    kind: str
    begins: Command
    goes_on: Command | None = None
    before: tuple[Command, ...] = ()
    given: tuple[Command, ...] = ()
    left_unfinished: Command | None = None
    after: tuple[Command, ...] = ()
    imports: tuple[str, ...] = REHEARSED
    is_in_order: bool = True
    has_workers: bool = False
    changes_its_store: bool = False
    begins_late: bool = False
    is_gone: bool = False
    is_refused: bool = False
    planned: tuple[int, ...] = (1, 1, 2, 2, 3, 5)

    @property
    def command(self) -> str:
        """The command of the command line."""
        return " ".join(self.begins[: 2 if self.begins[0] == "lab" or self.begins[:2] == ("runs", "rm") else 1])

    @property
    def begins_at_once(self) -> bool:
        """Whether it begins a run or a simulation first, and is disturbed from then on."""
        return self.goes_on is not None and not self.begins_late

    @property
    def done(self) -> int:
        """The exit code of a process that nobody disturbs."""
        return 2 if self.is_refused else 0

    @property
    def asks_server(self) -> bool:
        """Whether a server speaks."""
        return "{server}" in self.begins


_RESUME = ("resume", "{id}")


def _meeting(scenario: str, rounds: int, *options: str, by: Command = _REHEARSE) -> Command:
    return ("run", scenario, *by, "--rounds", str(rounds), *options)


def _dialogue(turns: int, *options: str, by: Command = _REHEARSE) -> Command:
    return ("run", "tidewell", *by, *ENDLESS, "--rounds", str(turns), *options)


def _forked(parent: Command, *options: str) -> tuple[Command, tuple[Command, ...]]:
    return ("fork", "@last", "--at", "{turn}", *options), (parent,)


def subjects(length: int = 1, seed: int = 1) -> dict[str, tuple[Subject, ...]]:
    """Return what is disturbed, by kind.

    Args:
        length: How long the rehearsed conversations are; 1 is a handful of rounds, with every kind of moment in them.
        seed: Of the conversations.
    """
    seeded = ("--seed", str(seed))
    five, nine = _meeting("team_building", 4 * length, *seeded), _meeting("ferry_timetable", 3 * length, *seeded)
    dialogue = _dialogue(8 * length, *seeded)
    town = ("simulate", "tidewell", *_REHEARSE, "--encounters-per-day", "2", "--days", str(length), *seeded)
    album = (
        "run",
        "villagers",
        *_REHEARSE,
        "--set",
        "agents=7",
        "--rounds",
        str(3 * length),
        "--lambda",
        "0.4",
        *seeded,
    )
    extended = ("--set", "nodes.score=drawn_scores", *seeded, *EXTENSION)
    say, change = (
        _forked(five, "--say", "Let us begin with what we agree on."),
        _forked(dialogue, "--lambda", "0.9"),
    )
    middle = _forked(album, "--lambda", "0.9")
    words = _forked(dialogue, "--say", "I would rather talk about the ferry.")
    stored = (dialogue, town, _forked(dialogue, "--lambda", "0.2")[0])
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
        "gc": (_dropped(stored, five),),
        "runs rm": (
            Subject("runs rm", ("runs", "rm", "{last}", "--yes"), before=stored, changes_its_store=True, is_gone=True),
        ),
        "merge": (Subject("merge", ("merge", "{other}", "--into", "{store}"), before=(five,), given=(*stored, album)),),
        "annotations": (Subject("annotations", ("inventory", "{last}", *_REHEARSE), before=(five,)),),
        **_experiments(length, seeded),
        "tune": (_tuned(),),
        "embedded model": (_embedded(seeded),),
    }


def _remote(begins: Command, goes_on: Command | None = _RESUME) -> Subject:
    imports = (*REHEARSED, *REMOTE)
    kind = "remote model" if goes_on else "sweep by a server"
    return Subject(kind, (*begins, "--lambda", "0"), goes_on, imports=imports, is_in_order=False)


def _dropped(before: tuple[Command, ...], unfinished: Command) -> Subject:
    """Return `gc` of a store in which a run is unfinished; it is given again after a kill."""
    command = ("gc", "--yes")
    return Subject(
        "gc",
        command,
        before=before,
        left_unfinished=unfinished,
        after=(("resume", "@last"), command),
        changes_its_store=True,
    )


def _experiments(length: int, seeded: Command) -> dict[str, tuple[Subject, ...]]:
    made_by = (
        "cli.commands.sweep",
        "cli.commands.lab",
        *(f"lab.experiments.{name}" for name in ("running", "setpoint", "results")),
    )
    imports = (*REHEARSED, *(f"tertulia.{module}" for module in made_by))
    trials = ("--trials", "2", "--rounds", str(2 * length), *seeded)
    sweep = ("sweep", "tidewell:all", *_REHEARSE, "--lambda", "0.5", *trials)
    report = ("lab", "report", "table2", "--quick", *_REHEARSE, "tidewell", "--trials", "1", "--rounds", "2")
    asked = ("run", "tidewell", *_REHEARSE, "--diversity", "medium", "--pilot", "3", "--rounds", "3", *seeded)
    levels = ("--levels", "medium", "--trials", "3", "--pilot", "3", "--rounds", "3")

    def made(kind: str, begins: Command, is_refused: bool = False) -> tuple[Subject, ...]:
        return (Subject(kind, begins, imports=imports, is_in_order=False, begins_late=True, is_refused=is_refused),)

    by_server = ("sweep", "mothers_house", "--model", "{server}", "--trials", "2", "--rounds", "2")
    return {
        "sweep": made("sweep", (*sweep, "--workers", "1")),
        "sweep with workers": (
            Subject(
                "sweep with workers",
                (*sweep, "--workers", "2"),
                is_in_order=False,
                has_workers=True,
                planned=(2, 3, 5),  # workers take a while to begin
            ),
        ),
        "sweep by a server": (_remote(by_server, None),),
        "experiment": made("experiment", ("lab", "run", _EXPERIMENT, "--workers", "1")),
        "report": made("report", (*report, "--fluency-model", "none", "--out", "{out}")),
        "calibration": made("calibration", asked, is_refused=True),  # the rehearsal does not heed λ
        "setpoint": made("setpoint", ("lab", "setpoint", "tidewell", *_REHEARSE, *levels)),
    }


def _tuned() -> Subject:
    begins = ("tune", _SCENES, "--base", "{base}", "--out", "{out}", "--held-out", "0.5", "--batch", "1")
    imports = (*REHEARSED, *EMBEDDED)
    return Subject("tune", (*begins, "--epochs", "4", "--rank", "2"), imports=imports, changes_its_store=True)


def _embedded(seeded: Command) -> Subject:
    begins = ("run", _NEIGHBOURS, "--model", "smollm2", *ENDLESS, *_SHORT, "--rounds", "2", *seeded)
    imports = (*REHEARSED, *EMBEDDED)
    return Subject("embedded model", begins, _RESUME, imports=imports, planned=(5,))
