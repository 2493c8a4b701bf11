"""Stores that are merged: every row of a run arrives once, in whatever order, and what differs is refused by name."""

from pathlib import Path

import pytest
from support.merged import assert_same, copied, execute, forged, merged
from support.stored import a_case, a_run, a_turn_record, write_turns
from support.town_stored import write_town

from tertulia.api.running import run
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.towns import drive_simulation
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.simulations import begin_simulation, plan_simulation
from tertulia.state.annotation import Annotation
from tertulia.state.errors import StorageError
from tertulia.storage.merging.carrying import SourceError
from tertulia.storage.merging.stores import Merged, merge
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores with dialogues and forks, one that goes on from the first; a town, a meeting, an album chat."""
    folder = tmp_path_factory.mktemp("stores")
    paths = {name: folder / f"{name}.db" for name in ("mine", "hers", "town", "meeting", "album")}

    def rehearse(name: str, scenario: str, rounds: int, **more: object) -> str:
        return run(scenario, rehearse=True, rounds=rounds, store=paths[name], progress=False, **more).id  # type: ignore[arg-type]

    first = run("tidewell", rehearse=True, rounds=3, seed=1, label="pilot", store=paths["mine"], progress=False)
    rehearse("mine", "tidewell", 1, seed=2)
    fork = first.fork(at=3, removal_factor=0.3)
    copied(paths["mine"], paths["hers"])
    rehearse("hers", "tidewell", 1, seed=3)
    from tertulia import open_store

    open_store(paths["hers"]).run(fork.id).fork(at=2, seed=9)
    rehearse("meeting", "mothers_house", 3)
    rehearse("album", "villagers", 1, settings={"agents": 4})
    with SqlStore.open(paths["town"], create=True) as store:
        access = ModelAccess()
        plan = plan_simulation("tidewell", RunRequest(model="rehearsal"), days=1, encounters_per_day=2)
        drive_simulation(store, *begin_simulation(store, plan, access), lambda event: None)
        store.experiments.save_calibration("digest", "sim", {"points": [1]})
    return paths


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "into.db"


def write_run(path: Path, run: str = "k3f9", turns: int = 3, **changes: object) -> Path:
    """Store a run of some turns."""
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(run, **changes), a_case())
        write_turns(store, run, int(str(changes.get("parent", (0, 1))[1])), turns)  # type: ignore[index]
    return path


# --- whole stores ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hers", "town", "meeting", "album"])
def test_a_merged_store_holds_what_its_source_held(stores: dict[str, Path], name: str, into: Path) -> None:
    (found,) = merged(into, stores[name])
    assert_same(stores[name], into)
    assert found.added
    assert not found.refused
    (again,) = merged(into, stores[name])
    assert again == Merged(unchanged=found.added)
    assert_same(stores[name], into)


def test_the_order_of_sources_does_not_matter(stores: dict[str, Path], tmp_path: Path) -> None:
    sources = [stores[name] for name in ("mine", "hers", "town", "meeting")]
    first = tmp_path / "first.db"
    merged(first, *sources)
    second = tmp_path / "second.db"
    merged(second, *sources[::-1], sources[-1])
    assert_same(first, second)


def test_a_store_in_memory_is_merged_into_row_by_row(stores: dict[str, Path], into: Path) -> None:
    """As where the source can't be read over the target's connection."""
    with SqlStore.open(stores["meeting"]) as source, SqlStore.open(":memory:") as between:
        found = merge(source, between)
        with SqlStore.open(into, create=True) as target:
            assert merge(between, target) == found
    assert_same(stores["meeting"], into)


def test_halves_of_surrogate_pairs_arrive_as_they_were(tmp_path: Path, into: Path) -> None:
    source = forged(write_run(tmp_path / "source.db"), "candidates", "WHERE attempt = 0", comment="half \ud83d of it")
    forged(source, "unit_scores", "WHERE position = 0", unit="memory.\ud83d")
    merged(into, source)
    assert_same(source, into)
    (found,) = merged(into, source)
    assert found == Merged(unchanged=("k3f9",))


# --- runs that went on ----------------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(stores: dict[str, Path], tmp_path: Path) -> tuple[str, Path]:
    """The longest run of a store, and a copy of that in which it was interrupted after its second turn."""
    path = copied(stores["meeting"], tmp_path / "interrupted.db")
    with SqlStore.open(path) as store:
        name = store.runs()[0].run
        store.set_status(name, "interrupted")
    tables = {"turns": "turn", "parts": "turn", "unit_scores": "turn", "candidates": "turn", "traces": "turn"}
    for table, number in {**tables, "passages": "turn", "steps": "round"}.items():
        execute(path, (f"DELETE FROM {table} WHERE run = ? AND {number} > 2", (name,)))
    half = "(SELECT max(id) FROM (SELECT id FROM calls WHERE round = 3 ORDER BY id LIMIT 3))"
    execute(path, (f"DELETE FROM calls WHERE round > 3 OR (round = 3 AND id > {half})", ()))
    newest = "(SELECT checkpoint_id FROM checkpoints ORDER BY checkpoint_id DESC LIMIT 1)"
    execute(path, (f"DELETE FROM checkpoints WHERE checkpoint_id = {newest}", ()))
    return name, path


def test_the_longer_of_two_copies_of_a_run_is_taken(
    stores: dict[str, Path], interrupted: tuple[str, Path], into: Path, tmp_path: Path
) -> None:
    name, path = interrupted
    assert [found.continued for found in merged(into, path, stores["meeting"])] == [(), (name,)]
    assert_same(stores["meeting"], into)
    assert merged(into, path) == [Merged(unchanged=(name,))]
    other = tmp_path / "other.db"
    assert [found.unchanged for found in merged(other, stores["meeting"], path)] == [(), (name,)]
    assert_same(into, other)


def test_a_copy_that_went_on_otherwise_is_refused(tmp_path: Path) -> None:
    first, second = (write_run(tmp_path / f"{name}.db", turns=2) for name in ("first", "second"))
    copied(first, second)
    for path, words in ((first, "Yes."), (second, "No.")):
        with SqlStore.open(path) as store:
            record = a_turn_record(3)
            store.save_turn("k3f9", record.model_copy(update={"turn": record.turn.model_copy(update={"text": words})}))
    before = copied(first, tmp_path / "before.db")
    (found,) = merged(first, second)
    assert found.refused == {"k3f9": "both runs of this id went on differently: they differ in turn 3 (turns)"}
    assert_same(before, first)


def test_a_run_that_is_driven_is_not_continued(interrupted: tuple[str, Path], stores: dict[str, Path]) -> None:
    name, path = interrupted
    before = SqlStore.open(path)
    with before, before.drive_lock(name):
        (found,) = merged(path, stores["meeting"])
        assert "is being driven" in found.refused[name]
        assert before.run(name).status == "interrupted"


def test_what_was_annotated_and_labelled_stays_when_a_run_goes_on(
    interrupted: tuple[str, Path], stores: dict[str, Path]
) -> None:
    name, path = interrupted
    with SqlStore.open(path) as store:
        store.set_label(name, "mine")
        prompt = store.file.rows("SELECT hash FROM prompts LIMIT 1")[0]["hash"]
        Annotations(store.file).save(name, [an_annotation(prompt)])
    merged(path, stores["meeting"])
    with SqlStore.open(path) as store:
        assert store.run(name).label == "mine"
        assert Annotations(store.file).of(name) == [an_annotation(prompt)]


# --- refusals -------------------------------------------------------------------------------------------------------


def test_another_run_of_the_same_id_is_refused_with_its_forks(tmp_path: Path, into: Path) -> None:
    mine = write_run(tmp_path / "mine.db")
    hers = write_run(tmp_path / "hers.db", seed=8)
    write_run(hers, "fork", parent=("k3f9", 2))
    write_run(hers, "free")
    _, found = merged(into, mine, hers)
    assert found.added == ("free",)
    assert "another seed: 7 there, 8 here" in found.refused["k3f9"]
    assert found.refused["fork"] == "it was forked from k3f9, which was refused"
    with SqlStore.open(into) as store:
        assert {record.run for record in store.runs()} == {"k3f9", "free"}
        assert store.run("k3f9").seed == 7


PROMPT = "(SELECT prompt FROM turns WHERE run = 'bad2' AND turn = 2)"


@pytest.mark.parametrize(
    ("statement", "cause"),
    [
        ("UPDATE contents SET text = 'Other words.' WHERE text = 'Line 2.'", "does not match its hash"),
        ("UPDATE turns SET sim_time_s = 9 WHERE run = 'bad2' AND turn = 2", "does not match its checksum"),
        ("DELETE FROM turns WHERE run = 'bad2' AND turn = 2", "has a gap in its turns"),
        (f"DELETE FROM prompts WHERE hash = {PROMPT}", "prompt is miss"),
        ("UPDATE units SET block = 'secret' WHERE unit LIKE 'current%'", "does not match its hash"),
        (f"UPDATE prompts SET unit_ids = '[' WHERE hash = {PROMPT}", ""),
        ("DELETE FROM contents WHERE text = 'Line 2.'", "a text is missing"),
    ],
)
def test_a_damaged_run_is_refused_and_the_rest_goes_on(tmp_path: Path, into: Path, statement: str, cause: str) -> None:
    source = write_run(tmp_path / "source.db", "bad2")
    with SqlStore.open(source) as store:
        store.create_run(a_run("good"), a_case())
    execute(source, (statement, ()))
    (found,) = merged(into, source)
    assert found.added == ("good",)
    assert cause in found.refused["bad2"]
    with SqlStore.open(into) as store:
        assert [record.run for record in store.runs()] == ["good"]
        assert not store.file.rows("SELECT * FROM turns UNION ALL SELECT * FROM turns")


# --- what a stranger could send -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "which", "changes"),
    [
        ("runs", "", {"parameters": "{}"}),
        ("runs", "", {"created": "yesterday"}),
        ("candidates", " AND turn = 1", {"reply": "{"}),
        ("turns", " AND turn = 3", {"turn": 7}),
        ("passages", " AND turn = 1", {"text": "a\0b"}),
        ("runs", "", {"parent_run": "k3f9", "parent_turn": 1}),
        ("runs", "", {"parent_run": "gone", "parent_turn": 1}),
        ("runs", "", {"parent_run": "ella", "parent_turn": 9}),
    ],
)
def test_rows_that_would_break_a_store_stay_out_of_it(
    tmp_path: Path, into: Path, table: str, which: str, changes: dict[str, object]
) -> None:
    source = write_run(tmp_path / "source.db")
    write_run(source, "ella")
    (found,) = merged(into, forged(source, table, f"WHERE run = 'k3f9'{which}", **changes))
    assert found.refused.keys() == {"k3f9"}
    with SqlStore.open(into) as store:
        assert [record.run for record in store.runs()] == ["ella"]
        store.remove_run("ella")


def test_ids_of_runs_and_simulations_are_kept_apart(tmp_path: Path) -> None:
    town, source = tmp_path / "town.db", tmp_path / "source.db"
    with SqlStore.open(town, create=True) as store:
        write_town(store)
    with SqlStore.open(source, create=True) as store:
        for name in ("t0wn", "t0wn-9-9", f"t0wn-1-{'9' * 20}"):
            store.create_run(a_run(name, status="finished"), a_case())
    before = copied(town, tmp_path / "before.db")
    (found,) = merged(town, source)
    assert found.refused == {
        "t0wn": "a simulation has this id",
        "t0wn-9-9": "simulation t0wn has no such conversation",
        f"t0wn-1-{'9' * 20}": "simulation t0wn has no such conversation",
    }
    assert_same(before, town)
    (found,) = merged(source, town)
    assert found.refused["simulation t0wn"] == "a run has this id"
    assert not found.added


# --- towns ----------------------------------------------------------------------------------------------------------


def test_a_town_is_merged_whole_or_not_at_all(tmp_path: Path, into: Path) -> None:
    source = tmp_path / "source.db"
    with SqlStore.open(source, create=True) as store:
        write_town(store)
        store.create_run(a_run("free"), a_case())
    execute(source, ("UPDATE turns SET sim_time_s = 77 WHERE run = 't0wn-1-2' AND turn = 1", ()))
    (found,) = merged(into, source)
    assert found.added == ("free",)
    assert found.refused.keys() == {"simulation t0wn", "t0wn-1-1", "t0wn-1-2", "t0wn-2-1"}
    with SqlStore.open(into) as store:
        assert not store.simulations.all()
        assert not store.file.rows("SELECT * FROM memories")


def test_a_town_goes_on_where_it_was_interrupted(stores: dict[str, Path], into: Path) -> None:
    copied(stores["town"], into)
    with SqlStore.open(into) as store:
        (simulation,) = store.simulations.all()
        *kept, last = store.simulations.encounters(simulation.simulation)
        store.simulations.set_status(simulation.simulation, "interrupted")
        store.file.write("DELETE FROM encounters WHERE run = ?", last.run)
        store.file.write(f"DELETE FROM memories WHERE memory LIKE '{last.memory_id('')}%'")
        store.remove_run(last.run)
    (found,) = merged(into, stores["town"])
    assert (found.added, found.unchanged) == ((last.run,), tuple(encounter.run for encounter in kept))
    with SqlStore.open(into) as store, SqlStore.open(stores["town"]) as source:
        assert store.simulations.all() == source.simulations.all()
        assert store.simulations.encounters(simulation.simulation) == [*kept, last]


@pytest.mark.parametrize(
    ("table", "which", "changes", "told"),
    [
        (
            "simulations",
            "WHERE simulation = 't0wn'",
            {"seed": "4"},
            "another simulation has this id, with another seed",
        ),
        (
            "encounters",
            "WHERE simulation = 't0wn' AND number = 1",
            {"place": "the far mill"},
            "both simulations of this id went on differently (encounters)",
        ),
    ],
)
def test_two_towns_of_one_id_are_refused(
    tmp_path: Path, into: Path, table: str, which: str, changes: dict[str, str], told: str
) -> None:
    source = tmp_path / "source.db"
    for path in (source, into):
        with SqlStore.open(path, create=True) as store:
            write_town(store)
    forged(source, table, which, **changes)
    (found,) = merged(into, source)
    assert found.refused["simulation t0wn"] == told


# --- what is no run -------------------------------------------------------------------------------------------------


def test_experiments_of_one_name_are_the_same_joined_or_refused(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.db" for name in ("mine", "hers")]
    trial = {"experiment": "e", "setting": "s", "case": "c", "cohort": 1}
    for number, path in enumerate(paths, start=1):
        write_run(path, f"run{number}", trial={**trial, "trial": number})
        with SqlStore.open(path) as store:
            store.experiments.save("e", {"trials": number})
    mine, hers = paths
    with SqlStore.open(hers) as source, SqlStore.open(mine) as target:
        found = merge(source, target)
        assert found.refused.keys() == {"experiment e", "run2"}
        assert target.experiments.get("e").definition == {"trials": 1}

        def joined(older: dict[str, int], later: dict[str, int]) -> dict[str, int]:
            return {"trials": max(older["trials"], later["trials"])}

        assert merge(source, target, joined=joined).added == ("run2",)
        assert target.experiments.get("e").definition == {"trials": 2}
        assert merge(source, target, joined=joined) == Merged(unchanged=("run2",))


def an_annotation(prompt: str, answer: str = "calm") -> Annotation:
    return Annotation(
        instrument="inventory", model="m", agent="", first=1, last=2, part=0, prompt=prompt, answers={"mood": answer},
        prompt_tokens=3, reply_tokens=1, seconds=0.5,
    )  # fmt: skip


def test_annotations_are_merged_and_other_answers_refused(tmp_path: Path, into: Path) -> None:
    source = write_run(tmp_path / "source.db")
    copied(source, into)
    with SqlStore.open(source) as store:
        prompt = store.file.rows("SELECT hash FROM prompts LIMIT 1")[0]["hash"]
        Annotations(store.file).save("k3f9", [an_annotation(prompt)])
    assert merged(into, source) == [Merged(unchanged=("k3f9",))]
    assert_same(source, into)
    with SqlStore.open(into) as store:
        Annotations(store.file).save("k3f9", [an_annotation(prompt, "angry")])
    (found,) = merged(into, source)
    assert found.refused.keys() == {"annotation inventory of k3f9"}


def test_a_merge_into_what_can_not_be_written_is_no_fault_of_the_source(tmp_path: Path, into: Path) -> None:
    source = write_run(tmp_path / "source.db")
    write_run(into, "m2aa")
    execute(into, ("UPDATE contents SET text = 1", ()), ("DELETE FROM lineage", ()))
    execute(into, ("UPDATE runs SET seed = '9'", ()))
    write_run(source, "m2aa")
    with pytest.raises(StorageError) as error:
        merged(into, source)
    assert not isinstance(error.value, SourceError)
