"""The documents of a comparison: what `diff` says, of runs of any length, by reading few of their turns."""

from pathlib import Path

import pytest
from support.stored import a_candidate, a_case, a_prompt, a_run, a_turn_record

import tertulia
from tertulia.state.errors import SettingError
from tertulia.state.records import Turn
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.views.reading import differences
from tertulia.views.reading.comparing import compare, comparison_document

LONG = 400


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared") / "t.db"


@pytest.fixture(scope="module")
def runs(path: Path) -> list[str]:
    """Conversations of each kind with forks, and one that was held twice."""
    how = {"rehearse": True, "store": path, "progress": False}
    meeting = tertulia.run("team_building", rounds=3, removal_factor=0.4, **how)  # type: ignore[arg-type]
    dialogue, again = (tertulia.run("tidewell", rounds=4, removal_factor=0.5, **how) for _ in range(2))  # type: ignore[arg-type]
    album = tertulia.run("villagers", rounds=2, agents=4, **how)  # type: ignore[arg-type]
    forks = [
        meeting.fork(2, removal_factor=0.9, progress=False),
        meeting.fork(2, progress=False),
        dialogue.fork(3, removal_factor=0.95, progress=False),
        dialogue.fork(2, say="Hello.", progress=False),
        dialogue.fork(3, rounds=3, progress=False),
        album.fork(3, seed=9, progress=False),
    ]
    return [run.id for run in (meeting, dialogue, again, album, *forks)]


def test_any_two_runs_part_and_differ_where_diff_says(path: Path, runs: list[str]) -> None:
    with SqlStore.open(path) as store:
        for a in runs:
            for b in runs:
                expected = comparison_document(compare(store, a, b), {})
                found = document_at(store, f"diff/{a}/{b}")
                for name in ("first_divergence", "identical", "settings"):
                    assert found[name] == expected[name], (a, b)
                numbers = ",".join(map(str, found["differing"]))
                read = document_at(store, f"diff/{a}/{b}/turns", {"of": numbers})
                assert [row["turn"] for row in read["turns"]] == [row["turn"] for row in expected["turns"]], (a, b)
                assert {*found["differing"]} == {row["turn"] for row in read["turns"]} | {*read["same"]}
                for row, whole in zip(read["turns"], expected["turns"], strict=True):
                    assert row.items() >= {name: whole[name] for name in whole if name != "differences"}.items()


def write_short_turns(store: SqlStore, run: str, first: int, last: int, unlike: tuple[int, ...] = ()) -> None:
    with store.transaction():
        for turn in range(first, last + 1):
            prompt = a_prompt(turn, memories=3, others=1)
            scores = {unit.id: (i + turn % 7) / 10 + (turn in unlike) for i, unit in enumerate(prompt.units)}
            store.save_candidate(run, turn, a_candidate(0, turn))
            spoken = Turn(turn=turn, round=turn, speaker="Ana", text=f"Line {turn}.", sim_time_s=turn, ended=False)
            record = a_turn_record(turn, prompt=store.save_prompt(prompt), scores=scores)
            store.save_turn(run, record.model_copy(update={"turn": spoken}))


@pytest.fixture
def long_runs(tmp_path: Path) -> Path:
    """Two long runs that differ in the scores of two turns alone, and a fork that differs from its first turn on."""
    path = tmp_path / "long.db"
    with SqlStore.open(path, create=True) as store:
        for run in ("aaaa", "bbbb"):
            store.create_run(a_run(run), a_case())
        write_short_turns(store, "aaaa", 1, LONG)
        write_short_turns(store, "bbbb", 1, LONG, unlike=(250, 390))
        store.create_run(a_run("cccc", parent=("aaaa", 4)), a_case())
        write_short_turns(store, "cccc", 4, LONG, unlike=tuple(range(4, LONG + 1)))
    return path


def test_of_long_runs_few_turns_are_read(long_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    documents = differences.turn_documents

    def noted(store: SqlStore, run: str, first: int = 0, last: int | None = None) -> object:
        assert last is not None
        read.extend(range(first, last + 1))
        return documents(store, run, first, last)

    monkeypatch.setattr(differences, "turn_documents", noted)
    with SqlStore.open(long_runs) as store:
        alike = document_at(store, "diff/aaaa/bbbb")
        forked = document_at(store, "diff/aaaa/cccc")
    assert (alike["first_divergence"]["turn"], alike["differing"]) == (250, [250, 390])
    assert (forked["first_divergence"]["turn"], len(forked["differing"])) == (4, LONG - 3)
    assert len(read) < LONG / 10


def test_runs_of_which_one_is_behind_say_which_turns_the_other_has(long_runs: Path) -> None:
    with SqlStore.open(long_runs) as store:
        store.create_run(a_run("dddd", parent=("aaaa", 4)), a_case())
        document = document_at(store, "diff/aaaa/dddd")
    assert document["first_divergence"] == {"turn": 4, "only_in": "a", "differs": []}
    assert document["differing"] == [*range(4, LONG + 1)]


@pytest.mark.parametrize("of", ["x", "1,-2", "1,2;3", ",".join(map(str, range(100)))])
def test_what_is_no_list_of_turns_is_refused_in_a_sentence(long_runs: Path, of: str) -> None:
    with SqlStore.open(long_runs) as store, pytest.raises(SettingError, match="is no list of at most 60 numbers"):
        document_at(store, "diff/aaaa/bbbb/turns", {"of": of})
