"""The store of a run that is driven: it reads as the plain one does, and asks and writes less often."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.group_stored import a_group_run, a_meeting
from support.in_process import command
from support.stored import a_candidate, a_case, a_prompt, a_run, a_turn_record

from tertulia.state.cognition import Assessment, Call
from tertulia.state.errors import ModelError, StorageError
from tertulia.state.records import Candidate
from tertulia.storage.driven import DrivenStore
from tertulia.storage.sqlite.checkpoints import Checkpoints
from tertulia.storage.sqlite.database import StoreFile
from tertulia.storage.store import SqlStore

RUN = "k3f9"


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path / "tertulia.db", create=True) as store:
        store.create_run(a_run(RUN), a_case())
        yield store


def rows(store: SqlStore, table: str) -> int:
    return int(store.file.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"])


def said(attempt: int, text: str) -> Candidate:
    return a_candidate(attempt, text).model_copy(update={"text": text})


def a_call(store: SqlStore) -> Call:
    return Call(round=1, agent="Ann", node="generate", model="m", prompt=store.save_prompt(a_prompt()))


# --- what waits -----------------------------------------------------------------------------------------------------


def test_what_can_wait_is_stored_with_the_next_call(plain: SqlStore) -> None:
    driven = DrivenStore(plain, RUN)
    with driven.deferring():
        content = driven.save_prompt(a_prompt())
        driven.save_candidate(RUN, 1, said(0, "Hello."))
        assert (rows(plain, "prompts"), rows(plain, "candidates")) == (0, 0)
        assert [found.text for found in driven.candidates(RUN, 1)] == ["Hello."]
        assert driven.prompt(content) == a_prompt()
        driven.save_calls(RUN, [a_call(driven)])
        assert (rows(plain, "prompts"), rows(plain, "candidates"), rows(plain, "calls")) == (1, 1, 1)
    assert plain.prompt(content) == a_prompt()
    assert plain.candidates(RUN, 1) == driven.candidates(RUN, 1)


def test_what_waits_is_stored_with_the_turn_and_where_the_model_fails(plain: SqlStore) -> None:
    driven = DrivenStore(plain, RUN)
    with pytest.raises(ModelError), driven.deferring():  # noqa: PT012
        driven.save_candidate(RUN, 1, said(0, "Hello."))
        driven.save_turn(RUN, a_turn_record(1))
        assert rows(plain, "candidates") == 1
        driven.save_candidate(RUN, 2, said(0, "Good day."))
        raise ModelError("no answer")
    assert [found.text for found in plain.candidates(RUN, 2)] == ["Good day."]


def test_an_interrupt_leaves_what_waits_to_the_run_that_goes_on(plain: SqlStore) -> None:
    driven = DrivenStore(plain, RUN)
    with pytest.raises(KeyboardInterrupt), driven.deferring():  # noqa: PT012
        driven.save_candidate(RUN, 1, said(0, "Hello."))
        raise KeyboardInterrupt
    assert rows(plain, "candidates") == 0
    with driven.deferring():
        assert driven.candidates(RUN, 1) == []


def test_a_call_that_ends_after_an_interrupt_has_its_prompt(plain: SqlStore) -> None:
    driven = DrivenStore(plain, RUN)
    with pytest.raises(KeyboardInterrupt), driven.deferring():  # noqa: PT012
        content = driven.save_prompt(a_prompt())
        raise KeyboardInterrupt
    driven.save_calls(RUN, [Call(round=1, agent="Ana", node="generate", model="m", prompt=content)])
    assert plain.prompt(content) == a_prompt()


def test_a_text_that_another_process_has_deleted_between_two_runs_is_stored_again(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with SqlStore.open(path, create=True) as store:
        for run in ("first", "then"):
            store.create_run(a_run(run), a_case())
        with DrivenStore(store, "first").deferring():
            DrivenStore(store, "first").save_turn("first", a_turn_record(1))
        with SqlStore.open(path) as other:
            other.remove_run("first")
        then = DrivenStore(store, "then")
        with then.deferring():
            then.save_turn("then", a_turn_record(1))
        assert [turn.text for turn in store.turns("then")] == ["Line 1."]


# --- what is kept ---------------------------------------------------------------------------------------------------


def test_what_is_kept_is_what_would_be_read(plain: SqlStore) -> None:
    plain.create_run(a_group_run("meet"), a_meeting())
    driven, thought = (
        DrivenStore(plain, "meet"),
        Assessment(situation="A meeting.", thought="Hm.", emotion="calm", emotion_strength=0.5, done=()),
    )
    with driven.deferring():
        for turn in range(1, 200):
            driven.save_step("meet", turn, "Cy", "assess", thought)
            driven.save_candidate("meet", turn, said(0, f"Line {turn}."))
            driven.save_step("meet", turn, "Ada", "assess", thought)
            driven.save_turn("meet", a_turn_record(turn))
            assert driven.step("meet", turn, "Ada", "assess", Assessment) == thought
            assert driven.step("meet", turn, "Ben", "assess", Assessment) is None
        for first, last in ((1, 199), (1, 3), (150, 199), (199, 199), (200, 199), (198, 210)):
            assert driven.turns("meet", first, last) == plain.turns("meet", first, last)
        assert driven.turn_record("meet", 199) == plain.turn_record("meet", 199)
        assert driven.candidates("meet", 5) == plain.candidates("meet", 5)
        driven.save_candidate("meet", 5, said(1, "Once more."))
        assert [found.text for found in driven.candidates("meet", 5)] == ["Line 5.", "Once more."]
        for _ in range(2):
            assert driven.step("meet", 7, "Ada", "assess", Assessment) == thought
            assert driven.step("meet", 7, "Cy", "assess", Assessment) == thought
    assert len(driven._turns) < 170, "what is kept does not grow with the conversation"
    assert len(driven._candidates) < 5


def test_what_was_stored_before_is_read(plain: SqlStore) -> None:
    plain.save_candidate(RUN, 1, said(3, "From before."))
    plain.save_calls(RUN, [a_call(plain)])
    driven = DrivenStore(plain, RUN)
    with driven.deferring():
        driven.save_candidate(RUN, 1, said(0, "Hello."))
        assert [found.text for found in driven.candidates(RUN, 1)] == ["Hello.", "From before."]
        assert driven.call(RUN, 1, "Ann", "generate", 0) == plain.call(RUN, 1, "Ann", "generate", 0) is not None
        assert driven.call(RUN, 2, "Ann", "generate", 0) is None


def test_rows_of_a_transaction_that_was_undone_are_not_pointed_to(plain: SqlStore) -> None:
    driven = DrivenStore(plain, RUN)
    with pytest.raises(StorageError), plain.transaction():  # noqa: PT012
        driven.save_prompt(a_prompt())
        raise StorageError("the disk is full")
    assert rows(plain, "contents") == 1
    other = DrivenStore(plain, RUN)
    assert plain.prompt(other.save_prompt(a_prompt())) == a_prompt()


# --- how often ------------------------------------------------------------------------------------------------------


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    found: Counter[str] = Counter()
    fetched, outermost = StoreFile._fetched, StoreFile._outermost

    def noted_fetch(file: StoreFile, sql: str, values: Any, *of: Any) -> list[dict[str, Any]]:
        is_look = "data_version" in sql or "AS who" in sql  # for a request to stop: every so many seconds, not turns
        found["reads"] += not is_look
        return fetched(file, sql, values, *of)

    def noted_transaction(file: StoreFile) -> Any:
        found["transactions"] += 1
        return outermost(file)

    with monkeypatch.context() as patched:
        patched.setattr(StoreFile, "_fetched", noted_fetch)
        patched.setattr(StoreFile, "_outermost", noted_transaction)
        yield found


@pytest.mark.parametrize(
    ("scenario", "reads", "transactions"), [(("tidewell", "--lambda", "0"), 7, 3), (("team_building",), 40, 24)]
)
def test_a_turn_reads_and_writes_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: tuple[str, ...], reads: int, transactions: int
) -> None:
    taken = []
    for rounds in (4, 12):
        with counted(monkeypatch) as found:
            given = ("--set", "ending=off", "--rounds", rounds, "--model", "rehearsal")
            assert command("run", *scenario, *given, "--store", tmp_path / f"{rounds}.db").code == 0
        taken.append(found)
    few, many = taken
    assert (many["reads"] - few["reads"]) / 8 <= reads
    assert (many["transactions"] - few["transactions"]) / 8 <= transactions


def test_a_turn_reads_one_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, taken = Checkpoints.get_tuple, []
    for rounds in (2, 6):
        found: list[Any] = []

        def noted(saver: Checkpoints, config: Any, found: list[Any] = found) -> Any:
            found.append(config)
            return read(saver, config)

        monkeypatch.setattr(Checkpoints, "get_tuple", noted)
        given = ("--set", "ending=off", "--rounds", rounds, "--model", "rehearsal", "--lambda", "0")
        assert command("run", "tidewell", *given, "--store", tmp_path / f"{rounds}.db").code == 0
        taken.append(len(found))
    assert taken[1] - taken[0] == 4
