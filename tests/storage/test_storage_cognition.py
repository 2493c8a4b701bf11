"""What goes on in agents, in the store: steps and calls come back as they went in, by their keys, and compactly."""

import json
import sqlite3
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.group_stored import write_meeting
from support.postgres_server import NewStore
from support.stored import a_call, a_case, a_prompt, a_reply, a_run
from support.strategies import counts, few, names, replies, texts

from tertulia.state.cognition import (
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
from tertulia.state.records import Record, Reply
from tertulia.storage.store import SqlStore

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


@few
@given(record=steps, agent=st.just("") | names, node=names)
def test_steps_come_back(new_store: NewStore, record: Record, agent: str, node: str) -> None:
    with new_store() as store:
        store.create_run(a_run(), a_case())
        store.save_step("k3f9", 2, agent, node, record)
        back = store.step("k3f9", 2, agent, node, type(record))
        assert back == record
        assert repr(back) == repr(record)  # 1, 1.0 and True are equal
        assert store.steps("k3f9", node, type(record)) == {(2, agent): record}


@few
@given(made=st.lists(calls, max_size=4, unique_by=lambda call: (call.round, call.agent, call.node, call.attempt)))
def test_calls_come_back_in_the_order_in_which_they_were_stored(new_store: NewStore, made: list[Call]) -> None:
    with new_store() as store:
        store.create_run(a_run(), a_case())
        store.save_calls("k3f9", made)
        assert store.calls("k3f9") == made
        assert list(map(repr, store.calls("k3f9"))) == list(map(repr, made))
        for call in made:
            assert store.call("k3f9", call.round, call.agent, call.node, call.attempt) == call
            earlier = (call.round, call.agent, call.node, call.attempt - 1)
            was_made = earlier in [(each.round, each.agent, each.node, each.attempt) for each in made]
            assert was_made or store.call("k3f9", *earlier) is None
        for round in range(4):
            assert store.calls("k3f9", round) == [call for call in made if call.round == round]


@few
@given(trace=traces)
def test_traces_come_back(new_store: NewStore, trace: Trace) -> None:
    with new_store() as store:
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
    store_with_runs: SqlStore, text: str, fields: dict[str, str | bool | int]
) -> None:
    reply = Reply(text=text, tokens=(2**53, 0), text_tokens=(0, 0), fields=fields)
    store_with_runs.save_calls("k3f9", [a_call("Ana", 1, reply)])
    (back,) = store_with_runs.calls("k3f9")[0].replies
    assert repr(back) == repr(reply)


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_step_replaces_the_one_of_its_key_only_and_rounds_are_sorted(store_with_runs: SqlStore) -> None:
    keys = [("k3f9", 1, "Ana", "goal"), ("k3f9", 2, "Ana", "goal"), ("k3f9", 1, "", "goal"), ("k3f9", 1, "Ana", "time")]
    keys.append(("m2aa", 1, "Ana", "goal"))
    for key in keys:
        store_with_runs.save_step(*key, Finding(lines=(str(key),)))
    store_with_runs.save_step(*keys[0], Finding(lines=("new",)))
    assert store_with_runs.step(*keys[0], Finding) == Finding(lines=("new",))
    assert [store_with_runs.step(*key, Finding) for key in keys[1:]] == [Finding(lines=(str(key),)) for key in keys[1:]]
    assert store_with_runs.step("k3f9", 3, "Ana", "goal", Finding) is None
    assert list(store_with_runs.steps("k3f9", "goal", Finding)) == [(1, ""), (1, "Ana"), (2, "Ana")]
    assert store_with_runs.steps("k3f9", "nothing", Finding) == {}
    for round in (10, 9, 100):
        store_with_runs.save_step("k3f9", round, "Ana", "goal", Finding())
    assert [round for round, _ in store_with_runs.steps("k3f9", "goal", Finding)] == [1, 1, 2, 9, 10, 100]


def test_a_call_replaces_the_one_of_its_key_only(store_with_runs: SqlStore) -> None:
    first, second, third = a_call("Bo"), a_call("Ana"), a_call("Bo", attempt=1)
    store_with_runs.save_calls("k3f9", [first, second])
    store_with_runs.save_calls("m2aa", [first])
    again = a_call("Bo", 1, a_reply("other"))
    store_with_runs.save_calls("k3f9", [third, again])
    assert store_with_runs.call("k3f9", 1, "Bo", "assess", 0) == again
    assert store_with_runs.call("k3f9", 1, "Bo", "assess", 2) is None
    assert store_with_runs.calls("k3f9") == [second, third, again]
    assert store_with_runs.calls("m2aa") == [first]


def test_steps_calls_and_traces_written_twice_change_nothing(store_with_runs: SqlStore) -> None:
    def rows() -> list[list[dict[str, object]]]:
        tables = ("contents", "prompts", "steps", "calls", "traces", "passages")
        return [sorted(store_with_runs.file.rows(f"SELECT * FROM {table}"), key=repr) for table in tables]

    write_meeting(store_with_runs)
    store_with_runs.save_trace("m33t", 1, Trace(visits=(), after={"turn": 1}))
    before = rows()
    store_with_runs.save_trace("m33t", 1, Trace(visits=(), after={"turn": 1}))
    write_meeting(store_with_runs)
    for table, again in zip(before, rows(), strict=True):
        # A call has the place, and so the number, of the last time that it was stored.
        numbered = [sorted(({**row, "id": 0} for row in rows), key=repr) for rows in (table, again)]
        assert again == table or numbered[0] == numbered[1]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_can_not_hold_is_refused_not_changed(store_with_runs: SqlStore, number: float) -> None:
    bid = Bid(
        parts=WillingnessParts(topic=0, goal=0, emotion=0, personality=0), willingness=0, willing=False, similarity=0,
        similarity_max=None, latency_scale_s=1, latency_spread_s=1, persistence=1, latency_s=number, won=False,
    )  # fmt: skip
    with pytest.raises(ValueError, match="not JSON compliant"):
        store_with_runs.save_step("k3f9", 1, "Ana", "bid", bid)
    assert store_with_runs.step("k3f9", 1, "Ana", "bid", Bid) is None


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, float("nan"), object(), {1, 2}])
def test_a_finding_holds_json_only(value: object) -> None:
    with pytest.raises((ValueError, TypeError), match="JSON"):
        Finding(data={"x": value})


# --- size and effort ------------------------------------------------------------------------------------------------


def test_texts_and_units_that_a_failed_prompt_left_are_gone(file_store: SqlStore) -> None:
    store = file_store
    store.file.write("CREATE TRIGGER refuse BEFORE INSERT ON prompts BEGIN SELECT raise(ABORT, 'no'); END")
    with pytest.raises(sqlite3.IntegrityError):
        store.save_prompt(a_prompt())
    store.file.write("DROP TRIGGER refuse")
    assert store.file.rows("SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM contents) AS n") == [{"n": 0}]
    assert store.prompt(store.save_prompt(a_prompt())) == a_prompt()
