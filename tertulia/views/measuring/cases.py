"""The dialogues that `tertulia metrics` measures, by case: those of stored runs, of files, and of logs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.state.case_seed import case_key
from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.files import NOT_FOLLOWED, links_noted
from tertulia.state.parameters import ALIASES, Parameters
from tertulia.state.records import Case, RunRecord
from tertulia.state.store import Store
from tertulia.views.measuring.dialogues import LOGGED, dialogue_of_run, is_log, logged_dialogues

if TYPE_CHECKING:
    from tertulia.metrics.diversity import Dialogue
    from tertulia.nodes.shared.line_faults import Fault
    from tertulia.views.measuring.dialogue_formats import ExportedRun
    from tertulia.views.reading.faults import Faults

#: The keys that stored runs can be grouped by, besides any parameter.
_RUN_FIELDS = ("scenario", "model", "seed")

#: The most dialogues that are measured together: their vectors take 2.5 GB.
MOST_DIALOGUES = 100_000


@dataclass(frozen=True)
class Cases:
    """Dialogues by case, and the stored runs among them.

    Attributes:
        runs: The stored runs by case.
        repeated: Stored or exported runs that were given more than once; each counts once.
        rehearsed: Whether a stand-in without weights spoke in any run, stored or exported.
        faults: The faults of lines that exported runs name, of each dialogue of a file; empty if they name none.
        logged: The case of each logged dialogue, by the name that it has among these cases.
    """

    dialogues: Mapping[str, Sequence["Dialogue"]]
    runs: Mapping[str, Sequence[RunRecord]]
    repeated: Sequence[str]
    rehearsed: bool
    faults: "Mapping[str, Sequence[Sequence[tuple[Fault, ...]]]]" = field(default_factory=dict)
    logged: Mapping[str, Case] = field(default_factory=dict)

    def found(self, store: Store | None) -> "dict[str, list[Faults]]":
        """Return the faults of the lines of each dialogue, by case: of stored runs, in their own context."""
        return {case: [*self._found_in_files(case), *self._found_in_runs(case, store)] for case in self.dialogues}

    def _found_in_files(self, case: str) -> "Iterator[Faults]":
        from tertulia.views.reading.faults import faults_in

        stored = len(self.runs.get(case, ()))
        from_files = self.dialogues[case][: len(self.dialogues[case]) - stored]  # those of stored runs stand behind
        for dialogue, exported in zip_longest(from_files, self.faults.get(case, ()), fillvalue=()):
            yield exported or faults_in(dialogue)

    def _found_in_runs(self, case: str, store: Store | None) -> "Iterator[Faults]":
        from tertulia.views.reading.faults import found_in_run

        if store is not None:
            yield from (found_in_run(store, run) for run in self.runs.get(case, ()))


def is_dialogue_file(given: str) -> bool:
    """Return whether an argument names a file or a folder of dialogues."""
    return not is_log(given) and (Path(given).exists() or "." in given or "/" in given)


def is_stored_run(given: str) -> bool:
    """Return whether an argument names a stored run."""
    return not is_log(given) and not is_dialogue_file(given)


def dialogue_files(path: Path) -> list[Path]:
    """Return a file itself, or the files of a folder that end in `.json[l]` and are no links.

    Raises:
        UsageError: It is a folder without such a file.
    """
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix in (".json", ".jsonl") and file.is_file())
    files = [file for file in found if not file.is_symlink()]
    if not files:
        links = f" ({NOT_FOLLOWED})" if found else ""
        raise UsageError(f"{path} is a directory without a .json or .jsonl file{links}; give files of dialogues")
    return files


def linked_dialogues(given: Sequence[str]) -> list[str]:
    """Return a note for each given folder in which links were passed over."""
    folders = [Path(name) for name in given if is_dialogue_file(name) and Path(name).is_dir()]
    named = {folder: sorted(file.name for file in folder.glob("*.json*") if file.is_symlink()) for folder in folders}
    return [note for folder, links in named.items() for note in links_noted(links, folder)]


def collect(given: Sequence[str], store: Store | None, by: str | None = None) -> Cases:
    """Return the dialogues of runs, files, folders and logs, by case (see `collect_cases`).

    The dialogues of logs (`ga:FOLDER`, `tidewell:3`) are cases of their own, `SCENARIO, logged`.

    Raises:
        NotFoundError: There is no such file, run or case.
        ScenarioError: A log can't be read.
        UsageError: As for `collect_cases`.
    """
    logs = [name for name in given if is_log(name)]
    files = [file for name in given if is_dialogue_file(name) for file in dialogue_files(Path(name))]
    runs = [name for name in given if is_stored_run(name)]
    cases = collect_cases(files, runs, store, by if files or runs or not logs else None)
    found = {f"{scenario}{LOGGED}": of_case for log in logs for scenario, of_case in logged_dialogues(log).items()}
    return replace(
        cases,
        dialogues={**cases.dialogues, **{name: [dialogue] for name, (dialogue, _) in found.items()}},
        logged={name: case for name, (_, case) in found.items()},
    )


def collect_cases(files: Sequence[Path], runs: Sequence[str], store: Store | None, by: str | None = None) -> Cases:
    """Return the dialogues of files and stored runs by case; a run is one dialogue of its scenario's case.

    A run that is given more than once counts once, as stored if it is in the store.

    Args:
        files: Files of dialogues, which name their cases, and of exported runs.
        runs: Ids of stored runs, or `@last`.
        by: The key that distinguishes runs of a scenario: `lambda`, `model`, `scenario`, `seed` or any parameter.

    Raises:
        NotFoundError: There is no such file or run.
        UsageError: A file can't be read as dialogues, nobody speaks in a run, there is nothing to group by, or there
            are more than `MOST_DIALOGUES`.
    """
    from tertulia.views.measuring.dialogue_file import read_dialogues

    stored = [] if store is None else [store.run(run) for run in runs]
    entries = [*islice((entry for file in files for entry in read_dialogues(file)), MOST_DIALOGUES + 1)]
    if len(entries) + len(stored) > MOST_DIALOGUES:
        raise UsageError(
            f"these are more than {MOST_DIALOGUES:,} dialogues, the most that is measured; give it in parts"
        )
    given = Counter(_identity(run) for run in (*stored, *(entry.run for entry in entries)) if run is not None)
    if by is not None and not given:
        raise UsageError(f"--by {by} groups runs; name some, or files that export wrote (other files name their cases)")
    counted = {_identity(run) for run in stored}
    dialogues: dict[str, list[Dialogue]] = {}
    faults: dict[str, list[Sequence[tuple[Fault, ...]]]] = {}
    rehearsed = False
    for entry in entries:
        if entry.run is not None:
            if _identity(entry.run) in counted:
                continue
            counted.add(_identity(entry.run))
        case = _case(entry.case, entry.run, by)
        dialogues.setdefault(case, []).append(entry.dialogue)
        faults.setdefault(case, []).append(entry.faults)
        rehearsed |= entry.rehearsed
    grouped: dict[str, list[RunRecord]] = {}
    if store is not None:
        names = _Names(store)
        for run in {run.run: run for run in stored}.values():
            case = _case(names.of(run), run, by)
            dialogues.setdefault(case, []).append(dialogue_of_run(store, run))
            grouped.setdefault(case, []).append(run)
            rehearsed |= run.rehearsed
    return Cases(dialogues, grouped, [run for (run, _), times in given.items() if times > 1], rehearsed, faults)


class _Names:
    """Names the cases of stored runs: a case keeps its first name, whatever its file is called or has become."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[tuple[int, tuple[str, ...]], str] = {}

    def of(self, run: RunRecord) -> str:
        """Return the name of a run's case; a fork's is that of the run that it comes from."""
        first = run
        while first.parent is not None:
            first = self._store.run(first.parent[0])
        start = self._store.start(first.run)
        taken = self._names.values()
        name = run.scenario if run.scenario not in taken else f"{run.scenario} (as in run {first.run})"
        return self._names.setdefault(case_key(start), name)


def _identity(run: "RunRecord | ExportedRun") -> tuple[str, datetime]:
    """Return the key that all copies of a run share; another store may have another run of the same id."""
    return run.run, run.created


def _case(name: str, run: "RunRecord | ExportedRun | None", by: str | None) -> str:
    return name if run is None or by in (None, "scenario") else f"{name}, {by} {_value(run, by)}"


def _value(run: "RunRecord | ExportedRun", by: str) -> str:
    """Return the value by which a run is grouped, or raise `UsageError` if runs have no such value."""
    name = ALIASES.get(by, by)
    if name in _RUN_FIELDS:
        return str(getattr(run, name))
    place, _, setting = name.partition(".")
    parameters = Parameters().model_dump() | run.parameters  # a file may not have every one
    if setting:
        values: Any = parameters["nodes"] if place == "nodes" else _entry(parameters["node_settings"], place)
        return _shown(_entry(values, setting))
    if name not in parameters:
        fields = ("lambda", *_RUN_FIELDS)
        others = f" (known: {', '.join(fields)}, and what `tertulia settings` lists)"
        raise UsageError(f"--by {by}: unknown{nearest_hint(by, (*fields, *parameters), otherwise=others)}")
    return _shown(parameters[name])


def _entry(values: object, name: str) -> Any:
    """Return an entry of a mapping; `None` if it has none, or is no mapping."""
    return values.get(name) if isinstance(values, Mapping) else None


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)
