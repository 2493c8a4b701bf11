"""What goes on in agents, in the store: steps and calls come back as they went in, compactly, also from older files."""

import base64
import itertools
import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlite_utils import Database
from support.group_stored import ROUNDS, a_group_run, a_meeting, write_meeting
from support.stored import NOW, a_case, a_prompt, a_run, a_turn_record, write_turn, write_turns
from test_storage import counts, names, replies, texts

from state.cognition import (
    Assessment,
    Bid,
    Call,
    CallKind,
    Character,
    Finding,
    Floor,
    InformationNeed,
    MechanismChoice,
    Perception,
    SubGoal,
    Trace,
    Visit,
    WillingnessParts,
)
from state.errors import StorageError, TertuliaError
from state.records import Memory, Prompt, Record, Reply, TurnRecord, Unit
from state.store import Store
from storage import migrations
from storage.contents import content_hash
from storage.schema import APPLICATION_ID
from storage.search import search
from storage.store import SqliteStore
from storage.tables import COLUMNS
from storage.values import bound

AGENTS = ("Alice", "Bob", "Carol", "David", "Emma")


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    with SqliteStore.open(":memory:") as opened:
        yield opened


@pytest.fixture
def begun(store: SqliteStore) -> SqliteStore:
    """A store with the runs k3f9 and m2aa, in which nobody has thought yet."""
    for run in ("k3f9", "m2aa"):
        store.create_run(a_run(run), a_case())
    return store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tertulia.db"


def a_reply(text: str = '{"thought": "Hm."}', **fields: str | bool | int) -> Reply:
    return Reply(text=text, tokens=(5, 6, 7), text_tokens=(1, 2), fields=fields or {"thought": "Hm."})


def a_call(agent: str = "Ana", round: int = 1, *replies: Reply, node: str = "assess", attempt: int = 0) -> Call:
    return Call(
        round=round,
        agent=agent,
        node=node,
        attempt=attempt,
        model="m",
        prompt="0" * 32,
        replies=replies or (a_reply(),),
    )


# --- round trips ----------------------------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)
shares = st.floats(0, 1)
positive = st.floats(0, exclude_min=True, allow_infinity=False)
json_data = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | st.integers() | finite | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
few_texts = st.lists(texts, max_size=3).map(tuple)
sub_goals = st.builds(SubGoal, goal=counts, text=texts, share=shares)
parts = st.builds(WillingnessParts, topic=shares, goal=shares, emotion=shares, personality=shares)
choices = st.builds(MechanismChoice, active=st.booleans(), reason=texts)
steps = (
    st.builds(Character, big_five=few_texts, descriptions=few_texts, plan=st.lists(sub_goals, max_size=2).map(tuple))
    | st.builds(
        Perception, turn=counts, similarities=st.dictionaries(names, finite, max_size=3), relevance=shares,
        named=st.booleans(), noticed=st.booleans(), importance=st.floats(0, 10),
    )
    | st.builds(InformationNeed, key_information=texts, mechanisms=st.dictionaries(names, choices, max_size=3))
    | st.builds(Finding, lines=few_texts, data=json_data, problem=st.none() | texts)
    | st.builds(
        Assessment, situation=texts, thought=texts, emotion=texts, emotion_strength=shares,
        done=st.lists(st.booleans(), max_size=3).map(tuple),
    )
    | st.builds(
        Bid, parts=parts, willingness=positive, willing=st.booleans(), similarity=shares,
        similarity_max=st.none() | finite, latency_scale_s=positive, latency_spread_s=positive,
        persistence=st.floats(0, 1, exclude_min=True), latency_s=st.none() | finite, won=st.booleans(),
    )
    | st.builds(Floor, order=texts, waited_s=st.none() | finite, looks=counts, tied=few_texts, reason=st.none() | texts)
)  # fmt: skip
#: Replies whose text is the JSON of their fields, as models write them, beside those where it is anything.
written = st.dictionaries(names, texts | st.booleans() | st.integers(), max_size=3).flatmap(
    lambda fields: st.builds(
        Reply, text=st.sampled_from([json.dumps(fields), json.dumps(fields, ensure_ascii=False, indent=1)]),
        tokens=st.lists(st.integers(0, 2**53), max_size=5).map(tuple), text_tokens=st.tuples(counts, counts),
        fields=st.just(fields),
    )
)  # fmt: skip
results = st.dictionaries(texts, finite, max_size=2) | finite
calls = st.builds(
    Call, round=st.integers(0, 3), agent=names, node=names, attempt=st.integers(0, 3),
    kind=st.sampled_from(get_args(CallKind)), model=texts, prompt=texts, parameters=json_data,
    replies=st.lists(replies | written, max_size=3).map(tuple), values=st.lists(results, max_size=2).map(tuple),
    prompt_tokens=st.none() | counts, reply_tokens=st.none() | counts, seconds=st.none() | st.floats(0, 1e9),
)  # fmt: skip
visits = st.builds(Visit, node=names, agent=st.just("") | names, before=json_data, update=st.none() | json_data)
traces = st.builds(Trace, visits=st.lists(visits, max_size=3).map(tuple), after=json_data)


@given(record=steps, agent=st.just("") | names, node=names)
def test_steps_come_back(record: Record, agent: str, node: str) -> None:
    with SqliteStore.open(":memory:") as store:
        store.create_run(a_run(), a_case())
        store.save_step("k3f9", 2, agent, node, record)
        back = store.step("k3f9", 2, agent, node, type(record))
        assert back == record
        assert repr(back) == repr(record)  # 1, 1.0 and True are equal
        assert store.steps("k3f9", node, type(record)) == {(2, agent): record}


@given(made=st.lists(calls, max_size=4, unique_by=lambda call: (call.round, call.agent, call.node, call.attempt)))
def test_calls_come_back_in_the_order_in_which_they_were_stored(made: list[Call]) -> None:
    with SqliteStore.open(":memory:") as store:
        store.create_run(a_run(), a_case())
        store.save_calls("k3f9", made)
        assert store.calls("k3f9") == made
        assert list(map(repr, store.calls("k3f9"))) == list(map(repr, made))
        for call in made:
            assert store.call("k3f9", call.round, call.agent, call.node, call.attempt) == call
        for round in range(4):
            assert store.calls("k3f9", round) == [call for call in made if call.round == round]


@given(trace=traces)
def test_traces_come_back(trace: Trace) -> None:
    with SqliteStore.open(":memory:") as store:
        store.create_run(a_run(), a_case())
        assert store.trace("k3f9", 1) is None
        store.save_trace("k3f9", 1, Trace(visits=(), after={"turn": 0}))
        store.save_trace("k3f9", 1, trace)
        back = store.trace("k3f9", 1)
        assert back == trace
        assert repr(back) == repr(trace)
        assert store.trace("k3f9", 2) is None


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"a": 1}', {"a": True}),
        ('{"a": 1.0}', {"a": 1}),
        ('{"a": 1, "b": 2}', {"b": 2, "a": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a": NaN}', {"a": 1}),
        ('{"a": "\\ud800"}', {"a": "\ud800"}),
        ('{"a": "x"} and more', {"a": "x"}),
        ("[" * 100_000, {"a": "x"}),
        ("9" * 5_000, {"a": 1}),
        ("null", {}),
        ("", {}),
        ("{}", {}),
    ],
)
def test_fields_come_back_whatever_the_text_says(
    begun: SqliteStore, text: str, fields: dict[str, str | bool | int]
) -> None:
    reply = Reply(text=text, tokens=(2**53, 0), text_tokens=(0, 0), fields=fields)
    begun.save_calls("k3f9", [a_call("Ana", 1, reply)])
    (back,) = begun.calls("k3f9")[0].replies
    assert repr(back) == repr(reply)


def test_a_text_that_holds_its_fields_is_stored_once(begun: SqliteStore) -> None:
    begun.save_calls("k3f9", [a_call("Ana", 1, a_reply('{"thought": "a quiet thought"}', thought="a quiet thought"))])
    (row,) = begun.file.rows("SELECT replies FROM calls")
    assert row["replies"].count("a quiet thought") == 1


def test_a_whole_meeting_comes_back(store: Store) -> None:
    write_meeting(store)
    assert store.start("m33t") == a_meeting()
    assert store.run("m33t").turns == ROUNDS
    bids = store.steps("m33t", "bid", Bid)
    assert list(bids) == sorted(bids)
    assert [agent for (round, agent), bid in bids.items() if bid.won and round <= ROUNDS] == [
        turn.speaker for turn in store.turns("m33t") if turn.speaker is not None
    ]
    assert all(store.prompt(call.prompt).units for call in store.calls("m33t"))


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_step_replaces_the_one_of_its_key_only(begun: SqliteStore) -> None:
    keys = [("k3f9", 1, "Ana", "goal"), ("k3f9", 2, "Ana", "goal"), ("k3f9", 1, "", "goal"), ("k3f9", 1, "Ana", "time")]
    keys.append(("m2aa", 1, "Ana", "goal"))
    for key in keys:
        begun.save_step(*key, Finding(lines=(str(key),)))
    begun.save_step(*keys[0], Finding(lines=("new",)))
    assert begun.step(*keys[0], Finding) == Finding(lines=("new",))
    assert [begun.step(*key, Finding) for key in keys[1:]] == [Finding(lines=(str(key),)) for key in keys[1:]]
    assert begun.step("k3f9", 3, "Ana", "goal", Finding) is None
    assert list(begun.steps("k3f9", "goal", Finding)) == [(1, ""), (1, "Ana"), (2, "Ana")]
    assert begun.steps("k3f9", "nothing", Finding) == {}


def test_rounds_are_in_the_order_of_numbers(begun: SqliteStore) -> None:
    for round in (10, 9, 100, 2):
        begun.save_step("k3f9", round, "Ana", "goal", Finding())
    assert [round for round, _ in begun.steps("k3f9", "goal", Finding)] == [2, 9, 10, 100]


def test_a_call_replaces_the_one_of_its_key_only(begun: SqliteStore) -> None:
    first, second, third = a_call("Bo"), a_call("Ana"), a_call("Bo", attempt=1)
    begun.save_calls("k3f9", [first, second])
    begun.save_calls("m2aa", [first])
    again = a_call("Bo", 1, a_reply("other"))
    begun.save_calls("k3f9", [third, again])
    assert begun.call("k3f9", 1, "Bo", "assess", 0) == again
    assert begun.call("k3f9", 1, "Bo", "assess", 2) is None
    assert begun.calls("k3f9") == [second, third, again]
    assert begun.calls("m2aa") == [first]


def test_steps_calls_and_traces_written_twice_change_nothing(begun: SqliteStore) -> None:
    def rows() -> list[list[dict[str, object]]]:
        tables = ("contents", "prompts", "steps", "calls", "traces", "passages", "passages_fts")
        return [begun.file.rows(f"SELECT * FROM {table}") for table in tables]

    write_meeting(begun)
    begun.save_trace("m33t", 1, Trace(visits=(), after={"turn": 1}))
    before = rows()
    begun.save_trace("m33t", 1, Trace(visits=(), after={"turn": 1}))
    write_meeting(begun)
    for table, again in zip(before, rows(), strict=True):
        # A call has the place, and so the number, of the last time that it was stored.
        assert again == table or [row | {"id": 0} for row in again] == [row | {"id": 0} for row in table]


def test_calls_are_stored_all_or_none(begun: SqliteStore) -> None:
    with pytest.raises(OverflowError):
        begun.save_calls("k3f9", [a_call("Ana"), a_call("Bo", 2**70)])
    assert begun.calls("k3f9") == []
    begun.save_calls("k3f9", [])
    assert begun.calls("k3f9") == []


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_can_not_hold_is_refused_not_changed(begun: SqliteStore, number: float) -> None:
    bid = Bid(
        parts=WillingnessParts(topic=0, goal=0, emotion=0, personality=0), willingness=0, willing=False, similarity=0,
        similarity_max=None, latency_scale_s=1, latency_spread_s=1, persistence=1, latency_s=number, won=False,
    )  # fmt: skip
    with pytest.raises(ValueError, match="not JSON compliant"):
        begun.save_step("k3f9", 1, "Ana", "bid", bid)
    assert begun.step("k3f9", 1, "Ana", "bid", Bid) is None


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, float("nan"), object(), {1, 2}])
def test_a_finding_holds_json_only(value: object) -> None:
    with pytest.raises((ValueError, TypeError), match="JSON"):
        Finding(data={"x": value})


# --- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE steps SET record = '{'",
        "UPDATE steps SET record = '{\"lines\": 3}'",
        "UPDATE calls SET tokens = 'é'",
        "UPDATE calls SET tokens = substr(tokens, 5)",
        "UPDATE calls SET replies = '[]'",
        "UPDATE calls SET replies = '7'",
        "UPDATE calls SET replies = replace(replies, 'text', 'tfxt')",
        "UPDATE calls SET replies = replace(replies, '{\\\"thought', '[\\\"thought')",
        "UPDATE calls SET model = x'ff'",
    ],
)
def test_damage_is_told(begun: SqliteStore, change: str) -> None:
    begun.save_step("k3f9", 1, "Ana", "goal", Finding(lines=("x",)))
    begun.save_calls("k3f9", [a_call()])
    assert begun.file.write(change).rowcount == 1
    with pytest.raises(StorageError, match=r":memory: is damaged or was altered"):
        assert begun.step("k3f9", 1, "Ana", "goal", Finding) is None or begun.calls("k3f9") is None


#: Columns by which rows are found: one that is altered there is a row that is lost, as if it had been deleted.
KEYS = {"run", "turn", "round", "agent", "node", "attempt", "position", "ancestor"}


def read_all(store: SqliteStore, run: str) -> list[object]:
    """Everything that a store gives out about a run."""
    turns = store.turns(run)
    kinds = {"prepare": Character, "perceive": Perception, "assess": Assessment, "bid": Bid, "floor": Floor}
    return [
        *(store.run(run), store.runs(), store.start(run), turns, store.calls(run), store.trace(run, 1)),
        *([store.turn_record(run, turn.turn), store.candidates(run, turn.turn)] for turn in turns),
        *(store.steps(run, node, kind) for node, kind in kinds.items()),
        *(store.prompt(call.prompt) for call in store.calls(run)),
        search(store.file, "the", run),
    ]


def test_every_altered_value_is_told(store: SqliteStore) -> None:
    write_meeting(store)
    store.save_trace("m33t", 1, Trace(visits=(), after={"turn": 1}))
    sound = read_all(store, "m33t")
    columns = {(table, column) for table, columns in COLUMNS.items() for column in columns if column not in KEYS}
    columns |= {(table, "checksum") for table in COLUMNS} | {("contents", "text"), ("units", "block")}
    altered = set()
    for table, column in sorted(columns):
        store.file.write("BEGIN")
        other = f"CASE typeof({column}) WHEN 'null' THEN 1 WHEN 'text' THEN {column} || ' ' ELSE {column} + 1 END"
        if store.file.write(f"UPDATE {table} SET {column} = {other}").rowcount:
            altered.add(table)
            with pytest.raises(StorageError, match="is damaged or was altered"):
                pytest.fail(f"{table}.{column} is not told: {read_all(store, 'm33t')}")
        store.file.write("ROLLBACK")
    assert altered >= {"runs", "lineage", "turns", "unit_scores", "candidates", "steps", "calls", "traces"}
    assert read_all(store, "m33t") == sound


def test_the_parameters_of_a_call_are_told_when_altered_or_lost(begun: SqliteStore) -> None:
    begun.save_calls("k3f9", [a_call().model_copy(update={"parameters": {"temperature": 0.8}})])
    for change in (
        "UPDATE contents SET text = replace(text, '0.8', '0.9') WHERE text LIKE '%temperature%'",
        "DELETE FROM contents WHERE text LIKE '%temperature%'",
    ):
        assert begun.file.write(change).rowcount == 1
        with pytest.raises(StorageError, match="is damaged or was altered"):
            begun.calls("k3f9")


@pytest.mark.parametrize("change", ["DELETE FROM lineage", "UPDATE lineage SET run = 'k3f8'"])
def test_a_lost_lineage_is_told(begun: SqliteStore, change: str) -> None:
    begun.create_run(a_run("f0rk", parent=("k3f9", 2)), a_case())
    for which in ("run = 'f0rk' AND depth = 0", "run = 'f0rk' AND depth = 1"):
        begun.file.write("BEGIN")
        assert begun.file.write(f"{change} WHERE {which}").rowcount == 1
        with pytest.raises(StorageError, match=r"is damaged or was altered .*lineage"):
            begun.run("f0rk")
        begun.file.write("ROLLBACK")
    assert begun.run("f0rk").turns == 1


def test_flipped_bytes_never_end_in_a_traceback(path: Path) -> None:
    with SqliteStore.open(path, create=True) as store:
        write_meeting(store)
    content = path.read_bytes()

    def read_everything() -> list[object]:
        with SqliteStore.open(path) as store:
            kinds = {"prepare": Character, "perceive": Perception, "choose_mechanisms": InformationNeed}
            kinds |= {"time_analysis": Finding, "assess": Assessment, "bid": Bid, "floor": Floor}
            found = [store.steps("m33t", node, kind) for node, kind in kinds.items()]
            return [store.start("m33t"), store.run("m33t"), store.calls("m33t"), *found]

    sound = read_everything()
    drawn = random.Random(0)
    noticed = 0
    for _ in range(200):
        at = drawn.randrange(len(content))
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << drawn.randrange(8))]) + content[at + 1 :])
        try:
            noticed += read_everything() != sound
        except TertuliaError as error:
            noticed += str(path) in str(error) or "m33t" in str(error)
    assert noticed > 30


# --- older files ----------------------------------------------------------------------------------------------------


def make_version(connection: sqlite3.Connection, before: str) -> None:
    """Make the tables of the version that a migration found."""
    migrations.MIGRATIONS.apply(Database(connection), stop_before=before)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def write_version_1(path: Path) -> None:
    """A store as the first release left it, with one run and one turn."""
    case = json.dumps(a_case().model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    with closing(sqlite3.connect(path)) as connection:
        make_version(connection, before="steps_and_calls")
        for number, text in enumerate((case, "Hello."), start=1):
            connection.execute("INSERT INTO contents VALUES (?, ?, ?)", (number, content_hash(text), text))
        run = a_run()
        values = (run.run, "finished", run.scenario, run.model, run.embedder, 0, "7", json.dumps(run.parameters))
        connection.execute(
            """INSERT INTO runs (run, status, scenario, model, embedder, rehearsed, seed, parameters, created, case_id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)""",
            (*values, run.created.isoformat()),
        )
        connection.execute("INSERT INTO turns VALUES ('k3f9', 1, 1, 'Ana', 2, 0.0, 0, NULL, 0, 0, 0, NULL, NULL)")
        connection.commit()


@pytest.mark.parametrize("create", [True, False])
def test_a_store_of_the_first_version_still_shows_its_run(path: Path, create: bool) -> None:
    write_version_1(path)
    for _ in ("migrated", "opened again"):
        with SqliteStore.open(path, create=create) as store:
            assert store.runs() == [a_run(status="finished", turns=1)]
            assert store.start("k3f9") == a_case()
            assert [turn.text for turn in store.turns("k3f9")] == ["Hello."]
            assert store.calls("k3f9") == []
    with SqliteStore.open(path) as store:
        write_turn(store, "k3f9", 2)
        write_meeting(store)
        assert [run.run for run in store.runs()] == ["m33t", "k3f9"]


VIEWS = ("each_run", "each_turn", "each_agent_round", "each_unit", "each_call")
HALF = "half an \ud83d"


def write_version_2(path: Path) -> SqliteStore:
    """A store as the second release left it, with a dialogue and a meeting; return the same runs in a new one."""
    store = SqliteStore.open(":memory:")
    write_turns(store, "k3f9", 1, 2)
    known = Memory(id="m", kind="event", text=f"The lake was {HALF}.", created=NOW, importance=3)
    meeting, case = a_meeting(), a_case()
    ada, bo = meeting.participants[0], case.partner
    people = (ada.model_copy(update={"memories": (known, known)}), *meeting.participants[1:])
    store.create_run(a_run(), case.model_copy(update={"partner": bo.model_copy(update={"memories": (known,)})}))
    store.create_run(a_group_run(), meeting.model_copy(update={"participants": people}))
    write_meeting(store)
    said = a_turn_record(3).turn.model_copy(update={"text": f"I am {HALF}."})
    store.save_turn("k3f9", TurnRecord(turn=said))
    with closing(sqlite3.connect(path)) as connection:
        make_version(connection, before="checksums_and_lineage")
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join({"voices": "participant_models"}.get(name, name) for name in names)
            for row in store.file.database.execute(f"SELECT {columns} FROM {table}"):
                values = [
                    base64.b85encode(value).decode() if name == "tokens" else value
                    for name, value in zip(names, row, strict=True)
                ]
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", [*map(bound, values)])
        connection.commit()
    return store


def test_a_store_of_the_second_version_is_as_if_this_one_had_written_it(path: Path) -> None:
    with write_version_2(path) as new, SqliteStore.open(path) as old:
        assert [(run.run, run.kind) for run in old.runs()] == [("m33t", "group_chat"), ("k3f9", "dialogue")]
        for run in ("k3f9", "m33t"):
            assert read_all(old, run) == read_all(new, run)
        assert len(old.calls("m33t")) == len(old.steps("m33t", "assess", Assessment)) + 1
        for view in VIEWS:
            not_noted = {"parameters": None} if view == "each_call" else {}
            rows = old.file.rows(f"SELECT * FROM {view}")
            assert rows == [row | not_noted for row in new.file.rows(f"SELECT * FROM {view}")]
            assert rows
        passages = "SELECT run, turn, agent, kind, text FROM passages ORDER BY kind, run, turn, agent"
        assert old.file.rows(passages) == new.file.rows(passages)
        assert [found.kind for found in search(old.file, "half an")] == ["memory", "memory", "utterance"]
        assert [found.run for found in search(old.file, "thinks number 8")] == ["m33t"] * 3


def test_a_run_of_the_second_version_can_be_forked(path: Path) -> None:
    write_version_2(path).close()
    with SqliteStore.open(path) as store:
        store.create_run(a_group_run("f0rk", parent=("m33t", 4)), store.start("m33t"))
        assert store.turns("f0rk") == store.turns("m33t", 1, 3)
        assert store.calls("f0rk", 3) == store.calls("m33t", 3)
        assert store.calls("f0rk", 4) == []


def test_a_migration_is_whole_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_version_1(path)
    monkeypatch.setitem(migrations.QUERIES, "each_call", "no query")  # the last step of the last migration
    before = path.read_bytes()
    with pytest.raises(StorageError):
        SqliteStore.open(path)
    assert path.read_bytes() == before


# --- size and effort ------------------------------------------------------------------------------------------------

PROSE = """we should look at the budget before anyone walks home because list of places near lake is longer than last
year and nobody has asked what weather does to a boat that holds nine people who would rather cook outside"""
MECHANISMS = ("memory_retrieval", "goal_summary", "topic_analysis", "time_analysis", "speech_frequency")
#: Phases of a round in which each agent calls the model, with how many words it replies.
PHASES = {"choose_mechanisms": 90, "topic_analysis": 30, "assess": 60}


def write_group_round(store: Store, run: str, round: int) -> None:
    """Store what a round of five agents leaves: each thinks in five steps and asks the model three times."""
    drawn = random.Random(round)
    for agent in AGENTS:
        _write_steps(store, run, round, agent, drawn)
    for node, length in PHASES.items():
        store.save_calls(run, [_a_long_call(store, round, agent, node, length, drawn) for agent in AGENTS])
    write_turn(store, run, round)


def _words(drawn: random.Random, count: int) -> str:
    return " ".join(drawn.choices(PROSE.split(), k=count))


def _write_steps(store: Store, run: str, round: int, agent: str, drawn: random.Random) -> None:
    near = {name: drawn.random() for name in ("profile", "background", "emotion")}
    parts = WillingnessParts(
        topic=drawn.random(), goal=drawn.random(), emotion=drawn.random(), personality=drawn.random()
    )
    records: dict[str, Record] = {
        "perceive": Perception(
            turn=round - 1, similarities=near, relevance=drawn.random(), named=False, noticed=True, importance=4.2
        ),
        "choose_mechanisms": InformationNeed(
            key_information=_words(drawn, 12),
            mechanisms={name: MechanismChoice(active=True, reason=_words(drawn, 8)) for name in MECHANISMS},
        ),
        "topic_analysis": Finding(
            lines=(_words(drawn, 10), _words(drawn, 10)),
            data={state: [_words(drawn, 3) for _ in range(4)] for state in ("open", "discussed", "paused")},
        ),
        "assess": Assessment(
            situation=_words(drawn, 30), thought=_words(drawn, 20), emotion="eager", emotion_strength=0.5,
            done=(True, False, False),
        ),
        "bid": Bid(
            parts=parts, willingness=drawn.random(), willing=True, similarity=drawn.random(),
            similarity_max=drawn.random(), latency_scale_s=1 + drawn.random(), latency_spread_s=1 + drawn.random(),
            persistence=1.0, latency_s=drawn.random(), won=False,
        ),
    }  # fmt: skip
    for node, record in records.items():
        store.save_step(run, round, agent, node, record)


def _a_long_call(store: Store, round: int, agent: str, node: str, length: int, drawn: random.Random) -> Call:
    kept = [f"{agent} holds fact {i}, which is true at any moment of the meeting." for i in range(25)]
    heard = [
        f"In round {r} somebody said something about the boat, the lake and the list." for r in range(round, round + 10)
    ]
    new = [_words(drawn, 12) for _ in range(5)]
    units = tuple(
        Unit(id=f"{node}.{i}", block="question", kind="item", text=text)
        for i, text in enumerate(itertools.chain(kept, heard, new))
    )
    said = _words(drawn, length)
    fields = {"thought": said, "active": True}
    # Of a real vocabulary; about 1.5 tokens a word, as names and markup take more than one.
    tokens = tuple(drawn.randrange(49_152) for _ in range(length * 3 // 2))
    reply = Reply(text=json.dumps(fields), tokens=tokens, text_tokens=(4, len(tokens) - 6), fields=fields)
    prompt = store.save_prompt(Prompt(units=units, speaker=agent, layout="single_message"))
    return Call(round=round, agent=agent, node=node, model="m", prompt=prompt, replies=(reply,))


def test_a_round_of_five_is_small_and_every_round_alike(path: Path) -> None:
    sizes = [0]
    with SqliteStore.open(path, create=True) as store:
        store.create_run(a_group_run("k3f9"), a_meeting())
        for round in range(1, 61):
            write_group_round(store, "k3f9", round)
            if round % 10 == 0:
                store.file.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                sizes.append(path.stat().st_size)
        assert len(store.calls("k3f9")) == 60 * 15
    added = [after - before for before, after in itertools.pairwise(sizes)]
    assert sizes[-1] / 60 < 60 * 1024
    assert added[-1] <= 1.1 * added[2]
    assert sum(added[3:]) <= 1.1 * sum(added[:3])


def test_a_prompt_of_known_units_takes_a_handful_of_statements(store: SqliteStore) -> None:
    first = a_prompt(memories=200)
    store.save_prompt(first)
    statements: list[str] = []
    store.file.database.conn.set_trace_callback(statements.append)
    content = store.save_prompt(first.model_copy(update={"units": first.units[::-1]}))
    store.file.database.conn.set_trace_callback(None)
    assert 1 < len(statements) <= 6
    assert store.prompt(content).units == first.units[::-1]


def test_texts_and_units_that_a_failed_prompt_left_are_gone(store: SqliteStore) -> None:
    store.file.write("CREATE TRIGGER refuse BEFORE INSERT ON prompts BEGIN SELECT raise(ABORT, 'no'); END")
    with pytest.raises(sqlite3.IntegrityError):
        store.save_prompt(a_prompt())
    store.file.write("DROP TRIGGER refuse")
    assert store.file.rows("SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM contents) AS n") == [{"n": 0}]
    assert store.prompt(store.save_prompt(a_prompt())) == a_prompt()


# --- kill -----------------------------------------------------------------------------------------------------------

WRITER = """
import sys
from itertools import count
from test_storage_cognition import write_group_round
from support.stored import a_case, a_run
from storage.store import SqliteStore
store = SqliteStore.open(sys.argv[1], create=True)
store.create_run(a_run(), a_case())
for round in count(store.run("k3f9").turns + 1):
    write_group_round(store, "k3f9", round)
    print(round, flush=True)
"""


def test_what_was_thought_before_a_kill_is_whole(path: Path) -> None:
    folders = os.pathsep.join(str(folder) for folder in Path(__file__).parents[:3])
    reached = 0
    for lines in (2, 5):
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": folders}) as writer:
            assert writer.stdout is not None
            reported = [int(writer.stdout.readline()) for _ in range(lines)]
            writer.kill()
        assert reported[0] > reached
        reached = reported[-1]
        with SqliteStore.open(path) as store:
            for node in PHASES:
                for _, batch in itertools.groupby(
                    (call for call in store.calls("k3f9") if call.node == node), key=lambda call: call.round
                ):
                    assert [call.agent for call in batch] == list(AGENTS)
            assert len(store.calls("k3f9")) >= 15 * reached
            assert len(store.steps("k3f9", "bid", Bid)) >= 5 * reached
            for call in store.calls("k3f9", reached):
                assert len(store.prompt(call.prompt).units) == 40
