"""The store: records come back as they went in, once, and runs are found by what a user types."""

from contextlib import nullcontext
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.postgres_server import NewStore
from support.stored import NOW, a_candidate, a_case, a_prompt, a_run, a_turn_record, stored_rows, write_turn
from support.strategies import (
    candidates,
    cases,
    few,
    meetings,
    prompts,
    runs,
    turn_records,
)

from tertulia.state.cognition import Call
from tertulia.state.errors import NotFoundError, StorageError, UsageError
from tertulia.state.meeting import Start
from tertulia.state.records import (
    Candidate,
    Prompt,
    RunRecord,
    TurnRecord,
    Unit,
)
from tertulia.state.store import Store
from tertulia.storage.dialects import SQLITE
from tertulia.storage.parts import runs as runs_module
from tertulia.storage.parts.contents import content_hash
from tertulia.storage.store import SqlStore


@pytest.fixture
def store_with_run(store: SqlStore) -> SqlStore:
    """A store with the run k3f9, in which nothing was said yet."""
    store.create_run(a_run(), a_case())
    return store


# --- round trips ----------------------------------------------------------------------------------------------------


@few
@given(prompt=prompts)
def test_prompts_come_back(new_store: NewStore, prompt: Prompt) -> None:
    with new_store() as store:
        assert store.prompt(store.save_prompt(prompt)) == prompt


@settings(few, suppress_health_check=[HealthCheck.too_slow])
@given(run=runs, start=cases | meetings)
def test_runs_and_what_they_start_from_come_back(new_store: NewStore, run: RunRecord, start: Start) -> None:
    with new_store() as store:
        if run.parent is not None:
            assume(run.parent[0] != run.run)
            store.create_run(a_run(run.parent[0]), a_case())
        store.create_run(run, start)
        assert store.runs()[0] == run == store.run(run.run)
        assert store.start(run.run) == start
        assert type(store.start(run.run)) is type(start)
        # Equality does not tell an aware time from the same moment elsewhere; the offset is kept too.
        assert store.runs()[0].created.utcoffset() == run.created.utcoffset()


@few
@given(drawn=st.lists(candidates, max_size=3, unique_by=lambda candidate: candidate.attempt))
def test_candidates_come_back_by_attempt(new_store: NewStore, drawn: list[Candidate]) -> None:
    with new_store() as store:
        store.create_run(a_run(), a_case())
        for candidate in drawn:
            store.save_candidate("k3f9", 1, candidate)
        assert store.candidates("k3f9", 1) == sorted(drawn, key=lambda candidate: candidate.attempt)
        assert store.candidates("k3f9", 2) == []


@pytest.mark.parametrize("turn", ["'x'", "1.5", "9"])
def test_a_turn_that_is_lost_between_others_is_told_of_a_few_turns_too(file_store: SqlStore, turn: str) -> None:
    file_store.create_run(a_run(), a_case())
    for number in (1, 2, 3):
        file_store.save_turn("k3f9", a_turn_record(number))
    file_store.file.write(f"UPDATE turns SET turn = {turn} WHERE turn = 2")
    for last in (2, 3):
        with pytest.raises(StorageError, match=r"has a gap in its turns|turn of turns holds"):
            file_store.turns("k3f9", 2, last)
    assert [found.turn for found in file_store.turns("k3f9", 1, 1)] == [1]


@few
@given(record=turn_records)
def test_turn_records_come_back(new_store: NewStore, record: TurnRecord) -> None:
    with new_store() as store:
        store.create_run(a_run(), a_case())
        store.save_turn("k3f9", record)
        assert store.turn_record("k3f9", 1) == record
        assert store.turns("k3f9") == [record.turn]


def test_a_zero_with_a_sign_is_a_zero(store_with_run: SqlStore) -> None:
    """SQLite drops the sign: the checksum must not depend on it."""
    store_with_run.save_candidate("k3f9", 1, a_candidate(0, inconsistency=-0.0))
    store_with_run.save_turn("k3f9", a_turn_record(1, scores={"m1": -0.0}))
    assert store_with_run.candidates("k3f9", 1)[0].inconsistency == 0
    assert store_with_run.turn_record("k3f9", 1).scores == {"m1": 0}


# --- keys -----------------------------------------------------------------------------------------------------------


def test_everything_written_twice_changes_nothing(store: SqlStore) -> None:
    store.create_run(a_run(), a_case())
    write_turn(store, "k3f9", 1)
    before = stored_rows(store)
    store.create_run(a_run(status="finished"), a_case())
    write_turn(store, "k3f9", 1)
    store.save_turn("k3f9", a_turn_record(1, scores={"other": 1.0}, scored_by="another"))
    assert stored_rows(store) == before


def test_a_text_is_stored_once_wherever_it_stands(store: SqlStore) -> None:
    first, second = a_prompt(1), a_prompt(2)
    content = store.save_text(first.units[0].text)
    store.save_prompt(first)
    store.save_prompt(second)
    stored = [row["text"] for row in store.file.rows("SELECT text FROM contents")]
    assert len(stored) == len(set(stored)) == 45 + 10 + 10
    assert store.file.rows("SELECT count(*) AS n FROM units") == [{"n": 65}]
    assert content == content_hash(first.units[0].text)
    assert store.save_prompt(first) != store.save_prompt(second)


def test_prompts_that_differ_in_any_field_have_different_hashes(store: Store) -> None:
    unit = Unit(id="m1", block="memory", kind="item", text="x")
    changes = {"id": "m2", "block": "b", "kind": "text", "text": "y", "removable": True, "speaker": "Bo"}
    units = [unit, *(unit.model_copy(update={name: value}) for name, value in changes.items())]
    made = [Prompt(units=(unit,), speaker="Ana", layout="l") for unit in units]
    made += [Prompt(units=(unit,), speaker="Bo", layout="l"), Prompt(units=(unit,), speaker="Ana", layout="k")]
    assert len({store.save_prompt(prompt) for prompt in made}) == len(made)
    assert [store.prompt(store.save_prompt(prompt)) for prompt in made] == made


def test_a_judgement_is_added_to_its_attempt(store_with_run: SqlStore) -> None:
    store_with_run.save_candidate("k3f9", 1, a_candidate(1))
    store_with_run.save_candidate("k3f9", 1, a_candidate(0))
    judged = a_candidate(1, inconsistency=9.0, inconsistency_runs=(9.0, 9.0, 9.0), comment="He said the contrary.")
    store_with_run.save_candidate("k3f9", 1, judged)
    assert store_with_run.candidates("k3f9", 1) == [a_candidate(0), judged]


def test_unit_scores_stand_in_prompt_order_and_read_in_plain_sql(store_with_run: SqlStore) -> None:
    prompt = a_prompt()
    scores = {unit.id: float(i) for i, unit in enumerate(prompt.units)}
    backwards = dict(reversed(scores.items()))
    hash = store_with_run.save_prompt(prompt)
    record = a_turn_record(prompt=hash, scores=backwards, removed=("memory.m9", "memory.m2"))
    store_with_run.save_turn("k3f9", record)
    rows = store_with_run.file.rows("SELECT * FROM unit_scores WHERE run = 'k3f9' AND turn = 1 ORDER BY position")
    assert [row["unit"] for row in rows] == list(scores)
    assert {row["unit"]: row["removed"] for row in rows if row["removed"]} == {"memory.m9": 1, "memory.m2": 2}
    assert store_with_run.turn_record("k3f9", 1) == record


def test_a_turn_is_stored_whole_or_not_at_all(store_with_run: SqlStore) -> None:
    # On the server every test is inside a transaction that is undone; a turn is whole within one that stands alone.
    alone = nullcontext() if store_with_run.file.dialect is SQLITE else store_with_run.file.transaction()
    with pytest.raises(ValueError, match="NaN"), alone:
        store_with_run.save_turn("k3f9", a_turn_record(scores={"m1": 1.0, "m2": float("nan")}))
    assert store_with_run.turns("k3f9") == []
    assert store_with_run.file.rows("SELECT * FROM unit_scores") == []
    store_with_run.save_turn("k3f9", a_turn_record(scores={"m1": 1.0}))
    assert len(store_with_run.turns("k3f9")) == 1


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("tokens", [1576.5, 1576.0, 2**63, "1576"])
def test_what_a_reader_would_call_damage_is_not_stored(store_with_run: SqlStore, tokens: object) -> None:
    call = Call(round=1, agent="Ana", node="generate", model="m", prompt="0" * 32)
    with pytest.raises(StorageError, match=r"can't hold prompt_tokens=.* in calls; nothing of it was stored"):
        store_with_run.save_calls("k3f9", [call, call.model_copy(update={"attempt": 1, "prompt_tokens": tokens})])
    assert store_with_run.calls("k3f9") == []


def test_turns_are_counted_and_read_by_range(store_with_run: SqlStore) -> None:
    with pytest.raises(NotFoundError, match="run k3f9 has no turn 1; it has no turns yet"):
        store_with_run.turn_record("k3f9", 1)
    for turn in (1, 2, 3, 4):
        store_with_run.save_turn("k3f9", a_turn_record(turn))
    assert store_with_run.run("k3f9").turns == 4
    assert [turn.turn for turn in store_with_run.turns("k3f9", 2, 3)] == [2, 3]
    assert [turn.turn for turn in store_with_run.turns("k3f9", 3)] == [3, 4]
    assert store_with_run.turns("k3f9", 1, 0) == []
    with pytest.raises(NotFoundError, match="run k3f9 has no turn 9; it has turns 1 to 4"):
        store_with_run.turn_record("k3f9", 9)
    with pytest.raises(NotFoundError, match="no run 'none'"):
        store_with_run.turn_record("none", 1)


# --- runs by name ---------------------------------------------------------------------------------------------------


def test_runs_are_found_by_id_beginning_and_latest(store: Store) -> None:
    for run in ("k3f9", "k3g2", "k3f9x", "m2aa"):
        store.create_run(a_run(run), a_case())
    assert [run.run for run in store.runs()] == ["m2aa", "k3f9x", "k3g2", "k3f9"]
    assert store.run("@last").run == "m2aa"
    assert store.run("m").run == "m2aa"
    assert store.run("k3f9").run == "k3f9"
    with pytest.raises(UsageError, match=r"'k3f' is ambiguous in .*; it may be k3f9x, k3f9"):
        store.run("k3f")
    with pytest.raises(NotFoundError, match=r"no run 'k3f8' in .* \(did you mean 'k3f9"):
        store.run("k3f8")
    for unknown in ("", "%", "____"):
        with pytest.raises(NotFoundError):
            store.run(unknown)


def test_a_status_is_noted(store: Store) -> None:
    store.create_run(a_run(), a_case())
    store.set_status("k3f9", "failed", "the model went away")
    assert (store.run("k3f9").status, store.run("k3f9").error) == ("failed", "the model went away")
    store.set_status("k3f9", "finished")
    assert (store.run("k3f9").status, store.run("k3f9").error) == ("finished", None)
    for unknown in (lambda: store.set_status("zzzz", "failed"), lambda: store.start("zzzz")):
        with pytest.raises(NotFoundError, match="no run 'zzzz'"):
            unknown()


def test_new_ids_are_free_and_grow_when_few_are_left(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(store.new_run_id()) == 4
    store.create_run(a_run("aaaa"), a_case())
    monkeypatch.setattr(runs_module.secrets, "choice", lambda letters: letters[0])
    assert store.new_run_id() == "aaaaa"


def test_an_id_taken_meanwhile_is_refused(store: Store) -> None:
    store.create_run(a_run(), a_case())
    with pytest.raises(StorageError, match="just taken the id k3f9"):
        store.create_run(a_run(created=NOW + timedelta(seconds=1)), a_case())
