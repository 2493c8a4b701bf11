"""A value of another type in any column of any table is met where its row is read, and keeps no sound store away."""

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest
from support import in_process
from support.merged import copied
from support.stored import a_case, a_run, write_turns

from benchmarks.campaigns.sql_damage import ONE_OF_EACH_TYPE, Value, alter_type, tables_of
from tertulia.runs.files.merging import merge_stores
from tertulia.state.annotation import Annotation
from tertulia.state.errors import StorageError
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.run_list import RunListing
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

#: A table and a column of it.
Column = tuple[str, str]

#: A merge may change the order of rows, so no checksum covers it; and a candidate that was not chosen, once it is named
#: after another run, turn or part, is a lost row: nothing counts them.
_UNTOLD = {("runs", "id"), ("calls", "id"), *(("candidates", column) for column in ("run", "turn", "part"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with rows in every table that a rehearsal fills, and LangGraph's checkpoints of one run."""
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    begun = (("run", "tidewell", "--rounds", "2", "--rehearse"), ("fork", "@last", "--at", "2"))
    town = ("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=2")
    for given in (*begun, ("run", "team_building", "--rounds", "2", "--rehearse"), town):
        made = in_process.command(*given, "--store", path)
        assert made.code == 0, made
    with SqlStore.open(path) as store:
        first = store.runs()[-1].run
        counted = {"first": 1, "last": 1, "part": 1, "prompt_tokens": 1, "reply_tokens": 1, "seconds": 0.5}
        about = {"instrument": "outcomes", "model": "m", "agent": "", "answers": {"a": 1}}
        prompt = store.turn_record(first, 1).prompt
        Annotations(store.file).save(first, [Annotation.model_validate({**counted, **about, "prompt": prompt})])
        store.experiments.save("two", {"cases": []})
        store.experiments.save_calibration("digest", "sim", {"points": [1]})
    return path


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "sound.db"
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run("s0nd"), a_case())
        write_turns(store, "s0nd", 1, 2)
    return path


def columns_of(store: Path) -> Iterator[Column]:
    with closing(sqlite3.connect(store)) as connection:
        for table in tables_of(connection):
            if table.count():
                yield from ((table.name, column) for column in table.columns if (table.name, column) not in _UNTOLD)


def retyped(store: Path, name: str, column: str, value: Value) -> bool:
    """Write a value into a column of a row; return whether the table takes it, and it is another."""
    with closing(sqlite3.connect(store)) as connection, connection, suppress(sqlite3.IntegrityError):
        (table,) = (table for table in tables_of(connection) if table.name == name)
        return alter_type(table, random.Random(f"{name} {column}"), column, value) is not None
    return False


def read_all(path: Path, runs: Sequence[str]) -> Iterator[object]:
    """Read all that commands and pages show, each part by itself."""
    with SqlStore.open(path) as store:
        yield lambda: RunListing(store).rows()
        yield lambda: document_at(store, "runs", {})
        yield lambda: [store.simulations.encounters(town.simulation) for town in store.simulations.all()]
        yield lambda: store.experiments.all()
        for run in runs:
            # A command asks for its run first.
            yield lambda run=run: [store.turn_record(store.run(run).run, turn.turn) for turn in store.turns(run)]
            yield lambda run=run: [store.candidates(store.run(run).run, turn.turn) for turn in store.turns(run)]
            yield lambda run=run: store.calls(store.run(run).run)
            yield lambda run=run: [*store.turn_rows(store.run(run).run, 0, 99).utterances()]
            yield lambda run=run: document_at(store, f"runs/{run}/turns", {})


def answers(path: Path, runs: Sequence[str]) -> list[object]:
    """Return every answer, or the line with which it is refused."""
    found: list[object] = []
    try:
        for read in read_all(path, runs):
            try:
                found.append(read())  # type: ignore[operator]
            except StorageError as error:
                found.append(error)
    except StorageError as error:  # the store does not open
        return [error]
    return found


def check(whole: Path, sound: Path, folder: Path, types: Callable[[int], Sequence[Value]]) -> None:
    """Assert that answers are the right ones or one line, and that a merge has all of the sound store.

    Args:
        types: By the place of a column, the values that are written into it, one after another.
    """
    with SqlStore.open(whole) as store:
        runs = [run.run for run in store.runs() if run.parent or run.scenario == "team_building"]
    expected = answers(whole, runs)
    for at, (name, column) in enumerate(columns_of(whole)):
        for value in types(at):
            altered = copied(whole, folder / "altered.db")
            if retyped(altered, name, column, value):
                _check(altered, sound, runs, expected, f"{name}.{column} := {value!r}")


def _check(store: Path, sound: Path, runs: Sequence[str], expected: list[object], change: str) -> None:
    for said, right in zip(answers(store, runs), expected, strict=False):
        if isinstance(said, StorageError):
            assert "\n" not in str(said)
        else:
            assert said == right, change
    into = store.with_name("into.db")
    _, of_sound = merge_stores([str(store), str(sound)], into)
    assert of_sound.is_whole, (change, of_sound)
    with SqlStore.open(into) as merged:
        assert "s0nd" in {record.run for record in merged.runs()}
    for made in (store, into):
        made.unlink()


def test_a_value_of_another_type_is_told_and_keeps_no_sound_store_away(
    whole: Path, sound: Path, tmp_path: Path
) -> None:
    check(whole, sound, tmp_path, lambda at: [ONE_OF_EACH_TYPE[at % len(ONE_OF_EACH_TYPE)]])


@pytest.mark.full
def test_every_type_in_every_column_is_told(whole: Path, sound: Path, tmp_path: Path) -> None:
    check(whole, sound, tmp_path, lambda at: ONE_OF_EACH_TYPE)


def test_a_checkpoint_of_another_type_refuses_its_run_alone(whole: Path, sound: Path, tmp_path: Path) -> None:
    store = copied(whole, tmp_path / "altered.db")
    with closing(sqlite3.connect(store)) as connection, connection:
        ((meeting,),) = connection.execute("SELECT run FROM runs WHERE scenario = 'team_building'").fetchall()
        connection.execute("UPDATE checkpoints SET checkpoint = 7 WHERE thread_id = ?", (meeting,))
    altered, of_sound = merge_stores([str(store), str(sound)], tmp_path / "into.db")
    assert of_sound.is_whole
    assert altered.merged.refused.keys() == {meeting}
    assert "checkpoint of checkpoints holds 7 in the row thread_id=" in altered.merged.refused[meeting]


def test_a_record_of_another_type_refuses_its_run_and_its_forks_alone(whole: Path, sound: Path, tmp_path: Path) -> None:
    store = copied(whole, tmp_path / "altered.db")
    with closing(sqlite3.connect(store)) as connection, connection:
        of_fork = "runs WHERE parent_run IS NOT NULL"
        ((fork,),) = connection.execute(f"SELECT run FROM {of_fork}").fetchall()
        connection.execute("UPDATE runs SET parent_turn = 'x' WHERE run = ?", (fork,))
    altered, _ = merge_stores([str(store), str(sound)], tmp_path / "into.db")
    assert altered.merged.refused.keys() == {fork}
    assert f"parent_turn of runs holds 'x' in the row run='{fork}'" in altered.merged.refused[fork]
