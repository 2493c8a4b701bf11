"""What a store is asked, and what it answers: every reading command, a merge that is read, the page's documents.

A question is the words of a command; `document PATH` and `similarity RUNS` are asked of the page. `merged` stands
before what is asked of a new store that this one was merged into. `{out}` is a folder for files.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from support.in_process import CommandResult, check_terminal, command, complaint

from benchmarks.campaigns.subjects import Command

#: The store that is asked: in the current folder, under the name that commands expect.
STORE = "tertulia.db"

_MERGED = "merged.db"
_SECONDS = re.compile(r'"seconds": [^,}]*')
_EXPERIMENT = str(Path(__file__).with_name("two_rules.yaml"))
_ALBUM = ("run", "villagers", "--set", "agents=4", "--rounds", "2", "--rehearse", "--label")

#: A calibration by which a run is steered; a pilot of the rehearsal, which does not heed λ, gives none.
_CALIBRATED = json.dumps(
    {
        **{"metric": "dist3", "trials": 4, "rounds": 3, "window": 3, "removal_factors": [0, 1]},
        "evidence": {"p": 0.001, "level": 0.04, "permutations": 1999, "is_exact": False},
        **{"diversity": [0.5, 0.8], "low": [0.48, 0.78], "high": [0.52, 0.82]},
        **{"running": [{"at_zero": 0.8, "slope": 0.1}], "gains": [0.5]},
    }
)

#: What fills the whole store. Later ones find the run of an earlier one as `@last`.
MAKING: tuple[Command, ...] = (
    (*_ALBUM, "low"),
    (*_ALBUM, "high", "--set", "setting=high"),
    ("run", "tidewell", "--rehearse", "--rounds", "4"),
    ("behaviour", "@last", "--embedder", "rehearsal"),
    ("fork", "@last", "--at", "2", "--lambda", "0.9"),
    ("runs", "label", "@last", "a fork"),
    ("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1"),
    ("lab", "setpoint", "tidewell", "--rehearse", "--levels", "medium", "--pilot", "3", "--rounds", "3"),
    ("run", "tidewell", "--rehearse", "--rounds", "3", "--set", "diversity=0.6", "--set", f"setpoint={_CALIBRATED}"),
    ("lab", "run", _EXPERIMENT, "--workers", "1"),
    ("run", "team_building", "--rehearse", "--rounds", "3", "--lambda", "0.4"),
    ("inventory", "@last", "--rehearse"),
)

#: Reading commands that read no store; and `view`, whose documents are asked.
NOT_ASKED = frozenset(
    {
        *("view", "score", "scenarios", "settings", "nodes list", "nodes check", "scores list", "scores add", "graph"),
        *("people import", "people check", "people export", "backup", "restore"),
        *("trust", "doctor", "lab check", "stop"),
    }
)

#: What those commands import, beside what a rehearsed conversation and the other reading commands do.
IMPORTS = (
    *(f"tertulia.cli.{name}" for name in ("commands.lab", "commands.sweep", "commands.merge", "lab.reports")),
    *(f"tertulia.lab.experiments.{name}" for name in ("running", "results", "setpoint", "listing")),
    *(f"tertulia.lab.{name}" for name in ("albums.album_comparison", "stability", "reports.report")),
    *(f"tertulia.lab.{name}" for name in ("reports.report_making", "annotations.behaviour_report")),
    *("tertulia.lab.annotations.outcomes", "tertulia.viewer.documents.by_path", "tertulia.viewer.server"),
    "benchmarks.campaigns.damage",
)


def questions(store: Path) -> list[list[Command]]:
    """Return what a store is asked, in groups of questions that differ in the run, or another name, alone.

    Args:
        store: The whole store.
    """
    with closing(sqlite3.connect(store)) as connection:
        runs = _one_of_each(connection)
        (experiment,) = connection.execute("SELECT experiment FROM experiments WHERE experiment LIKE 'two%'").fetchone()
        (town,) = connection.execute("SELECT simulation FROM simulations").fetchone()
        people = [row[0] for row in connection.execute("SELECT DISTINCT agent FROM memories ORDER BY agent LIMIT 3")]
    low, high = runs["low"], runs["high"]
    asked = [[question] for question in _of_the_store(experiment, town, (low, high), (runs["dialogue"], runs["fork"]))]
    asked += [[("days", town, "--agent", name) for name in people]]
    asked += [[("document", f"towns/{town}/people/{name.replace(' ', '%20')}") for name in people]]
    conversations = [run for kind, run in runs.items() if kind not in ("low", "high")]
    asked += [[*group] for group in zip(*map(_of_a_run, runs.values()), strict=True)]
    asked += [[*group] for group in zip(*map(_of_a_conversation, conversations), strict=True)]
    asked += [[*group] for group in zip(*(_of_an_album(run) for run in (low, high)), strict=True)]
    asked += [[*group] for group in zip(*(_of_what_was_scored(run) for run in conversations[:2]), strict=True)]
    asked += [[*group] for group in zip(*(_of_a_meeting(run) for run in [runs["meeting"]]), strict=True)]
    merged = (("runs", "--json"), ("lab", "list", "--json"), ("days", town, "--encounters"), ("search", "the"))
    asked += [[("merged", *question) for question in merged]]
    for group in zip(*map(_merged_of_a_run, runs.values()), strict=True):
        asked.append([("merged", *question) for question in group])
    return asked


def _one_of_each(connection: sqlite3.Connection) -> dict[str, str]:
    """Return a run of each kind: the album chats of both settings, a dialogue, a fork, a meeting, a town's, a trial."""
    chosen = {
        "dialogue": "kind = 'dialogue' AND label IS NULL AND experiment IS NULL AND run NOT LIKE '%-%'",
        "fork": "label = 'a fork'",
        "meeting": "scenario = 'team_building'",
        "town": "run IN (SELECT run FROM encounters)",
        "trial": "experiment LIKE 'two%'",
        "calibrated": "parameters LIKE '%\"setpoint\":{%' AND experiment IS NULL",
        "low": "label = 'low'",
        "high": "label = 'high'",
    }
    return {
        kind: connection.execute(f"SELECT run FROM runs WHERE {which} ORDER BY id LIMIT 1").fetchone()[0]
        for kind, which in chosen.items()
    }


def _of_the_store(experiment: str, town: str, albums: Sequence[str], related: Sequence[str]) -> Iterator[Command]:
    a, b = related
    yield from (("runs",), ("runs", "--json"), ("search", "the"), ("search", "the", "--run", b, "--json"), ("gc",))
    yield from (("runs", "--status", "finished", "--limit", "5"), ("runs", "--label", "a fork"))
    yield from (("days",), ("days", town), ("days", town, "--encounters", "--json"))
    yield from (("diff", a, b), ("diff", a, b, "--turn", "2", "--json"), ("lab", "list"), ("lab", "list", "--json"))
    yield ("metrics", *related, "--embedder", "rehearsal", "--json")
    yield ("lab", "report", "album", *albums, "--embedder", "rehearsal", "--json")
    yield ("lab", "report", "population", *albums, town, "--embedder", "rehearsal", "--json")
    yield ("export", *related, "--format", "dialogues", "--out", "-")
    compared = ("--metric", "dist3", "--metric", "removed_words", "--fluency-model", "none", "--out", "{out}", "--json")
    yield ("lab", "compare", experiment, *compared)
    yield from (("document", path) for path in ("store", "runs", f"towns/{town}", f"diff/{a}/{b}"))
    yield ("similarity", f"{a},{b}")


def _of_a_run(run: str) -> Iterator[Command]:
    yield from (("stats", run), ("timeline", run), ("replay", run, "--speed", "0"))
    yield from (("show", run), ("show", run, "--json"), ("show", run, "--turn", "1"), ("show", run, "--cost"))
    yield from (("show", run, "--turn", "2", "--json"), ("show", run, "--node", "all"))
    yield ("show", run, "--node", "all", "--turn", "2", "--json")
    yield from (("export", run, "--jsonl", "-"), ("export", run, "--markdown", "-"), ("export", run, "--html", "-"))
    pages = ("", "/turns", "/turns?after=1", "/turns/1", "/turns/2", "/turns/2/states", "/turns/2/cost", "/cost")
    yield from (("document", f"runs/{run}{page}") for page in (*pages, "/figures", "/actions"))


def _of_a_conversation(run: str) -> Iterator[Command]:
    yield ("show", run, "--turn", "2", "--lambda", "0.8")
    yield ("export", run, "--format", "messages", "--out", "-")


def _of_an_album(run: str) -> Iterator[Command]:
    yield from (("stats", run, "--json"), ("document", f"runs/{run}/album"))


def _of_what_was_scored(run: str) -> Iterator[Command]:
    yield from (("lab", "stability", run, "--draws", "2"), ("behaviour", run, "--embedder", "rehearsal", "--json"))


def _of_a_meeting(run: str) -> Iterator[Command]:
    yield from (("inventory", run, "--rehearse", "--json"), ("timeline", run, "--json"), ("stats", run, "--paper"))
    yield ("lab", "report", "population", run, "--rehearse", "--embedder", "rehearsal", "--json")
    yield ("ask", run, "Bob", "What now?", "--at", "0", "--rehearse", "--json")
    yield ("outcomes", run, "--judge", "rehearsal", "--json")
    yield from (("document", f"runs/{run}/{page}") for page in ("thoughts", "opening"))


def _merged_of_a_run(run: str) -> Iterator[Command]:
    yield from (("show", run, "--json"), ("show", run, "--node", "all", "--json"), ("export", run, "--jsonl", "-"))


def answer(question: Command, folder: Path) -> str:
    """Return what the store in the current folder answers: the output, or a line that begins with `error: `.

    Args:
        question: The question.
        folder: For the files that commands write.

    Raises:
        Exception: What is neither an answer nor a line.
    """
    if question[0] == "merged":
        told = _merge(folder)
        said = answer((*question[1:], "--store", str(folder / _MERGED)), folder)
        return said if told is None or _is_of_a_run(question) else told
    if question[0] in ("document", "similarity"):
        return _document(*question)
    result = command(*(word.format(out=folder) for word in question))
    check_terminal(result)
    # What was lost of annotations is asked anew, and takes its own time.
    out = _SECONDS.sub("", result.out) if question[0] in ("inventory", "behaviour") else result.out
    return complaint(result) or out


def _is_of_a_run(question: Command) -> bool:
    return question[1] in ("show", "export")


def _merge(folder: Path) -> str | None:
    """Merge the store into a new one, if that was not done; return what was refused, in a line, if anything was."""
    told, merged = folder / "told.json", folder / _MERGED
    if not told.exists():
        result = command("merge", STORE, "--into", merged)
        check_terminal(result)
        assert "Traceback" not in result.err, result
        told.write_text(json.dumps(_refusal(result)))
    refused: str | None = json.loads(told.read_text())
    return refused


def _refusal(result: CommandResult) -> str | None:
    if result.code == 0:
        return None
    refused = [line.strip() for line in result.err.splitlines() if line.strip().startswith(("refused: ", "error: "))]
    assert refused, result
    return f"error: {refused[0]}"


def _document(kind: str, name: str) -> str:
    """Return a document of the page, or the line that it is refused with."""
    from tertulia.models.loading import open_embedder
    from tertulia.state.errors import TertuliaError
    from tertulia.storage.store import SqlStore
    from tertulia.viewer.documents.by_path import document_at
    from tertulia.viewer.documents.figures import similarity_page
    from tertulia.viewer.server import json_text

    path, _, query = name.partition("?")
    try:
        with SqlStore.open(Path(STORE)) as store:
            if kind == "similarity":
                return json_text(similarity_page(store, name.split(","), open_embedder))
            return json_text(document_at(store, path, dict([query.split("=")] if query else [])))
    except TertuliaError as error:
        return f"error: {error}"
