"""The documents of a run, its turns and its minds, without a browser, beside what the store has."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.meeting_case import a_quay, an_attendee, at
from support.stored import a_case, a_run, a_turn_record, write_turns

import tertulia
from tertulia.nodes.conversation.turns import speaking_time_s
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.views.reading.documents import agent_in_run_document
from tertulia.views.reading.turns import read_turn


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[SqlStore, str]:
    """A meeting of six rounds, and the fork of it at round four."""
    path = tmp_path_factory.mktemp("documents") / "t.db"
    run = tertulia.run("team_building", rehearse=True, rounds=6, removal_factor=0.4, store=path, progress=False)
    fork = run.fork(at=4, removal_factor=0.8, progress=False)
    assert fork.id != run.id
    return SqlStore.open(path), fork.id


def test_turns_tell_how_each_came_about_as_the_turns_themselves_do(rehearsed: tuple[SqlStore, str]) -> None:
    store, run = rehearsed
    record, start = store.run(run), store.start(run)
    rows = document_at(store, f"runs/{run}/turns")["turns"]
    assert [row["turn"] for row in rows] == list(range(7))  # how it opened is turn 0
    rate = Parameters.model_validate(record.parameters).speaking_rate_wpm
    for row in rows[1:]:
        details = read_turn(store, record, start, row["turn"])
        assert row["text"] == details.record.turn.text
        assert row["rollbacks"] == details.record.rollbacks
        if row["speaker"] is None:
            assert (row["removed"], row["duration_s"]) == (None, 10)
            continue
        assert (row["removed"], row["removable"]) == (details.removed_items, len(details.removable))
        assert row["removal_factor"] == details.removal_factor == (0.4 if row["turn"] < 4 else 0.8)
        assert row["duration_s"] == speaking_time_s(row["text"], rate)
        assert {bid["agent"]: bid["won"] for bid in row["bids"]} == {
            agent.agent: agent.won for agent in details.round.agents
        }  # type: ignore[union-attr]


def test_only_later_turns_are_read_where_only_those_are_asked_for(rehearsed: tuple[SqlStore, str]) -> None:
    store, run = rehearsed
    rows = document_at(store, f"runs/{run}/turns")["turns"]
    for after in (0, 3, 5, 6):
        later = document_at(store, f"runs/{run}/turns", {"after": str(after)})["turns"]
        assert later == [row for row in rows if row["turn"] > after]
    with pytest.raises(SettingError, match="no number of a turn"):
        document_at(store, f"runs/{run}/turns", {"after": "x"})


def test_the_first_turns_are_those_of_all_turns(rehearsed: tuple[SqlStore, str]) -> None:
    store, run = rehearsed
    rows = document_at(store, f"runs/{run}/turns")["turns"]
    assert document_at(store, f"runs/{run}/turns", {"to": "4"})["turns"] == rows[:5]
    assert document_at(store, f"runs/{run}/turns", {"after": "2", "to": "4"})["turns"] == rows[3:5]
    with pytest.raises(SettingError, match="to"):
        document_at(store, f"runs/{run}/turns", {"to": "x"})


def test_the_newest_runs_are_the_first_of_all_runs(rehearsed: tuple[SqlStore, str]) -> None:
    store, run = rehearsed
    everything = document_at(store, "runs")
    newest = document_at(store, "runs", {"first": "1"})
    assert (everything["total"], newest["total"]) == (2, 2)
    assert newest["runs"] == everything["runs"][:1]
    assert newest["runs"][0]["run"] == run


def test_an_agent_in_short_is_the_agent_of_every_round(rehearsed: tuple[SqlStore, str]) -> None:
    store, run = rehearsed
    short = document_at(store, f"runs/{run}/agents/bob")
    whole = agent_in_run_document(store, store.run(run), store.start(run), "Bob")
    assert short["turns"] == whole["turns"]
    assert len(short["cognition"]) == len(whole["cognition"]) == 6
    for mind, in_full in zip(short["cognition"], whole["cognition"], strict=True):
        for field in ("round", "thought", "emotion", "willingness", "willing", "latency_s", "won", "typed"):
            assert mind[field] == in_full[field]
        assert mind["parts"] == in_full["willingness_parts"]
        assert mind["mechanisms"] == [name for name, choice in in_full["mechanisms"].items() if choice["active"]]


def test_a_run_names_its_parent_and_its_forks(rehearsed: tuple[SqlStore, str]) -> None:
    store, run = rehearsed
    parent = document_at(store, f"runs/{run}")["parent"]["run"]
    assert document_at(store, f"runs/{parent}")["forks"] == [
        {"run": run, "turn": 4, "label": None, "removal_factor": 0.8}
    ]


def test_who_comes_late_and_leaves_early_is_told(tmp_path: Path) -> None:
    late = an_attendee("Bo", joins=at(5), leaves=at(20), leaves_for="a boat to catch")
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        store.create_run(a_run(kind="group_chat"), a_quay(participants=(an_attendee("Ana"), late)))
        document = document_at(store, "runs/k3f9")
        opening = document_at(store, "runs/k3f9/opening")
    assert document["stays"] == [{"agent": "Bo", "joins_s": 300, "leaves_s": 1200, "leaves_for": "a boat to catch"}]
    assert [person["agent"] for person in opening["people"]] == ["Ana", "Bo"]


def test_what_was_not_scored_or_written_by_hand_has_no_figures(tmp_path: Path) -> None:
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        store.create_run(a_run(), a_case())
        write_turns(store, "k3f9", 1, 1)
        store.save_turn("k3f9", a_turn_record(2))
        scored, by_hand = document_at(store, "runs/k3f9/turns")["turns"]
        with pytest.raises(UsageError, match="no meeting"):
            document_at(store, "runs/k3f9/opening")
    assert (scored["by_hand"], scored["removed"], scored["removable"]) == (False, 2, 45)
    assert (by_hand["by_hand"], by_hand["removed"], by_hand["removable"]) == (True, None, None)


def test_an_exchange_has_question_and_answer_in_one_row(tmp_path: Path) -> None:
    run = tertulia.run("villagers", rehearse=True, agents=4, rounds=2, store=tmp_path / "t.db", progress=False)
    with SqlStore.open(tmp_path / "t.db") as store:
        rows = document_at(store, f"runs/{run.id}/turns")["turns"]
    assert [row["turn"] for row in rows] == list(range(1, 5))
    for row, exchange in zip(rows, run.exchanges, strict=True):
        assert (row["text"], row["exchange"]["answer"]) == (exchange.turn.text, exchange.answer.text)


def test_the_documents_need_neither_torch_nor_langgraph() -> None:
    heavy = {"torch", "transformers", "langgraph"}
    code = f"import sys, tertulia.viewer.documents.by_path; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
