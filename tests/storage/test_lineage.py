"""Forks in the store: each has its ancestors' past up to where it left them, and no more; they stay as they are."""

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.postgres_server import NewStore
from support.stored import a_candidate, a_case, a_run, a_turn_record, stored_rows

from tertulia.state.cognition import Assessment, Call, Perception, Trace
from tertulia.state.errors import NotFoundError, StorageError
from tertulia.state.records import Candidate, Prompt, Reply, TurnRecord, Unit
from tertulia.storage.parts.search import search
from tertulia.storage.run_list import RunListing
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import COLUMNS
from tertulia.storage.values import checksum

NODE = "assess"
PERCEIVED = Perception(turn=0, similarities={}, relevance=0, named=False, noticed=True, importance=0)
#: The prompt of every turn.
PROMPT = Prompt(
    units=(Unit(id="m1", block="memory", kind="item", text="The lake is near."),), speaker="Ana", layout="chat_turns"
)
with SqlStore.open(":memory:") as _other:
    PROMPT_HASH = _other.save_prompt(PROMPT)


# --- what a run leaves, each piece with the name of the run and the turn in it ----------------------------------------

#: Tables that a run by itself has nothing in.
OTHERS = {"experiments", "calibrations", "annotations", "simulations", "encounters", "memories"}


def a_turn(by: str, turn: int) -> TurnRecord:
    record = a_turn_record(turn, prompt=PROMPT_HASH, scores={"m1": float(turn), by: 0.5}, removed=("m1",))
    return record.model_copy(update={"turn": record.turn.model_copy(update={"text": f"{by} says {turn}."})})


def a_choice(by: str, turn: int, verb: str = "says") -> Candidate:
    return a_candidate().model_copy(update={"text": f"{by} {verb} {turn}."})


def the_parts(by: str, turn: int) -> dict[str, TurnRecord]:
    """What Bo says and plans in a turn of Ana's."""
    whole = a_turn(by, turn)
    return {
        part: whole.model_copy(
            update={"turn": whole.turn.model_copy(update={"speaker": "Bo", "text": f"{by} {verb} {turn}."})}
            | {"rollbacks": rollbacks, "removed": ()}
        )
        for part, verb, rollbacks in (("answer", "replies", 1), ("plan", "plans", 2))
    }


def a_thought(by: str, round: int) -> Assessment:
    return Assessment(situation="", thought=f"{by} thinks {round}.", emotion="calm", emotion_strength=0.5, done=())


def a_call(by: str, round: int) -> Call:
    text = f"{by} wrote {round}."
    reply = Reply(text=text, tokens=(round,), text_tokens=(0, 1), fields={"thought": text})
    return Call(
        round=round, agent="Ana", node=NODE, model=by, prompt="0" * 32, parameters={"by": by}, replies=(reply,),
        prompt_tokens=10, reply_tokens=round, seconds=0.5,
    )  # fmt: skip


def a_trace(by: str, turn: int) -> Trace:
    return Trace(visits=(), after={"turn": turn, "by": by})


def write_thoughts(store: SqlStore, run: str, round: int) -> None:
    store.save_step(run, round, "Ana", "perceive", PERCEIVED)
    store.save_step(run, round, "Ana", NODE, a_thought(run, round))
    store.save_calls(run, [a_call(run, round)])


def write_words(store: SqlStore, run: str, turn: int) -> None:
    assert store.save_prompt(PROMPT) == PROMPT_HASH
    store.save_candidate(run, turn, a_choice(run, turn))
    store.save_candidate(run, turn, a_choice(run, turn, "plans"), "plan")
    store.save_turn(run, a_turn(run, turn), the_parts(run, turn))
    store.save_trace(run, turn, a_trace(run, turn))


def write(store: SqlStore, run: str, first: int, last: int) -> None:
    """Store turns with all that belongs to them; before the first one, the preparation."""
    if first == 1:
        write_thoughts(store, run, 0)
    for turn in range(first, last + 1):
        write_thoughts(store, run, turn)
        write_words(store, run, turn)


def begin(store: SqlStore, run: str, parent: tuple[str, int] | None = None, rewritten: bool = False) -> None:
    store.create_run(a_run(run, parent=parent, rewritten=rewritten), a_case())


def a_family(store: SqlStore) -> None:
    """A run of six turns, and what was forked from it: `b` at 4, `c` from `b` at 6, `d` from `b` at 2."""
    begin(store, "a")
    write(store, "a", 1, 6)
    for run, parent, last in (("b", ("a", 4), 7), ("c", ("b", 6), 8), ("d", ("b", 2), 3)):
        begin(store, run, parent)
        write(store, run, parent[1], last)


# --- what a run should be seen to have ------------------------------------------------------------------------------


@dataclass
class Seen:
    """Who wrote what of a run: by turn the words and the trace, by round the thoughts."""

    words: dict[int, str] = field(default_factory=dict)
    traces: dict[int, str] = field(default_factory=dict)
    thoughts: dict[int, str] = field(default_factory=dict)

    def forked(self, turn: int, rewritten: bool) -> "Seen":
        rounds = turn if rewritten else turn - 1 or -1
        return Seen(
            {at: by for at, by in self.words.items() if at < turn},
            {at: by for at, by in self.traces.items() if at <= rounds},
            {at: by for at, by in self.thoughts.items() if at <= rounds},
        )

    def write(self, run: str, first: int, last: int, thought: bool = True) -> None:
        for turn in range(first, last + 1):
            self.words[turn] = self.traces[turn] = run
        if thought:
            self.thoughts |= dict.fromkeys(range(first if first > 1 else 0, last + 1), run)


def check(store: SqlStore, run: str, seen: Seen) -> None:
    """Hold everything that the store gives out about a run against what it should have."""
    past = max([*seen.words, *seen.thoughts], default=0) + 2
    assert store.run(run).turns == len(seen.words)
    assert {record.run: record.turns for record in store.runs()}[run] == len(seen.words)
    assert store.turns(run) == [a_turn(by, turn).turn for turn, by in sorted(seen.words.items())]
    assert store.turns(run, 2, 3) == [
        a_turn(by, turn).turn for turn, by in sorted(seen.words.items()) if turn in (2, 3)
    ]
    parts = {
        (turn, part): record.turn
        for turn, by in sorted(seen.words.items())
        for part, record in the_parts(by, turn).items()
    }
    assert store.part_turns(run) == parts
    assert store.part_turns(run, 2, 3) == {key: turn for key, turn in parts.items() if key[0] in (2, 3)}
    for turn in range(past):
        if turn in seen.words:
            assert store.turn_record(run, turn) == a_turn(seen.words[turn], turn)
            assert store.candidates(run, turn) == [a_choice(seen.words[turn], turn)]
            assert store.candidates(run, turn, "plan") == [a_choice(seen.words[turn], turn, "plans")]
            assert store.parts(run, turn) == the_parts(seen.words[turn], turn)
        else:
            for read in (store.turn_record, store.parts):
                with pytest.raises(NotFoundError):
                    read(run, turn)
            assert store.candidates(run, turn) == store.candidates(run, turn, "plan") == []
        assert store.trace(run, turn) == (a_trace(seen.traces[turn], turn) if turn in seen.traces else None)
    thoughts = {(round, "Ana"): a_thought(by, round) for round, by in sorted(seen.thoughts.items())}
    assert store.steps(run, NODE, Assessment) == thoughts
    assert list(store.steps(run, NODE, Assessment)) == list(thoughts)
    calls = [a_call(by, round) for round, by in sorted(seen.thoughts.items())]
    made_by_it = [call for call in calls if call.model == run]
    assert store.calls(run) == calls
    assert store.calls(run, without_shared=True) == made_by_it
    for round in range(past):
        assert store.step(run, round, "Ana", NODE, Assessment) == thoughts.get((round, "Ana"))
        assert store.calls(run, round) == [call for call in calls if call.round == round]
        assert store.call(run, round, "Ana", NODE, 0) == next(
            (call for call in made_by_it if call.round == round), None
        )
    check_views(store, run, seen)
    check_search(store, run, seen)


def check_views(store: SqlStore, run: str, seen: Seen) -> None:
    def rows(view: str, columns: str) -> list[tuple[object, ...]]:
        found = store.file.rows(f"SELECT {columns} FROM {view} WHERE run = ?", run)
        return [tuple(row.values()) for row in found]

    words, thoughts = sorted(seen.words.items()), sorted(seen.thoughts.items())
    assert rows("each_run", "turns") == [(len(words),)]
    assert rows("each_turn", "turn, text, removed_units, inherited") == [
        (turn, f"{by} says {turn}.", 1, by != run) for turn, by in words
    ]
    assert rows("each_part", "turn, part, speaker, text, rollbacks, removed_units, inherited") == [
        (turn, part, "Bo", f"{by} {verb} {turn}.", rollbacks, 0, by != run)
        for turn, by in words
        for part, verb, rollbacks in (("answer", "replies", 1), ("plan", "plans", 2))
    ]
    assert rows("each_unit", "turn, position, unit, score, removed, inherited") == [
        (turn, 0, "m1", float(turn), 1, by != run) for turn, by in words
    ]
    assert rows("each_agent_round", "round, agent, thought, inherited") == [
        (round, "Ana", f"{by} thinks {round}.", by != run) for round, by in thoughts
    ]
    calls = rows("each_call", "round, reply, parameters, reply_tokens, inherited")
    assert sorted(calls) == [
        (round, f"{by} wrote {round}.", f'{{"by":"{by}"}}', round, by != run) for round, by in thoughts
    ]


def check_search(store: SqlStore, run: str, seen: Seen) -> None:
    for query, kind, mine in (
        *(("says", "utterance", seen.words), ("replies", "utterance", seen.words)),
        *(("thinks", "thought", seen.thoughts), ("plans", "thought", seen.words)),
    ):
        found = search(store.file, query, run)
        assert {(passage.kind, passage.run) for passage in found} <= {(kind, run)}
        assert sorted(passage.text for passage in found) == sorted(f"{by} {query} {turn}." for turn, by in mine.items())
        found = search(store.file, query)
        assert len(found) == len({(passage.run, passage.turn) for passage in found})


# --- a family ---------------------------------------------------------------------------------------------------------


def test_who_is_prepared_anew_is_no_longer_as_in_the_parent(store: SqlStore) -> None:
    a_family(store)
    begin(store, "e", ("c", 8))
    for agent in ("Ana", "Bo"):
        store.save_step("a", 0, agent, "prepare", a_thought("a", 0))
    store.save_step("e", 0, "Bo", "prepare", a_thought("e", 0))
    again = a_call("e", 0)
    store.save_calls("e", [again])
    assert store.steps("e", "prepare", Assessment) == {(0, "Ana"): a_thought("a", 0), (0, "Bo"): a_thought("e", 0)}
    assert store.step("e", 0, "Bo", "prepare", Assessment) == a_thought("e", 0)
    assert store.step("c", 0, "Bo", "prepare", Assessment) == a_thought("a", 0)
    assert store.calls("e", 0) == [again]
    assert store.calls("c", 0) == [a_call("a", 0)]
    begin(store, "f", ("e", 8))
    assert store.step("f", 0, "Bo", "prepare", Assessment) == a_thought("e", 0)
    assert store.calls("f", 0) == [again]
    costs = "SELECT run, inherited FROM each_call WHERE run IN ('e', 'f') AND round = 0"
    assert store.file.rows(costs) == [{"run": "e", "inherited": 0}, {"run": "f", "inherited": 1}]


def rows_of(store: SqlStore, run: str) -> dict[str, list[dict[str, object]]]:
    """Everything that belongs to a run, by table, as it stands in the file."""
    tables = [name for name, columns in COLUMNS.items() if "run" in columns]
    return {table: store.file.rows(f"SELECT * FROM {table} WHERE run = ?", run) for table in tables}


def test_a_parent_stays_as_it_is_to_the_last_byte(store: SqlStore) -> None:
    begin(store, "a")
    write(store, "a", 1, 6)
    before, everything = rows_of(store, "a"), stored_rows(store)
    for run, parent, rewritten in (("b", ("a", 1), False), ("c", ("a", 3), True), ("d", ("a", 7), False)):
        begin(store, run, parent, rewritten)
        write(store, run, parent[1], 8)
        store.set_status(run, "failed", "the model went away")
    assert rows_of(store, "a") == before
    assert {table for table, rows in before.items() if rows} >= {*COLUMNS} - OTHERS
    assert everything <= stored_rows(store)  # nothing that stood there was changed or taken out


# --- any tree ---------------------------------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int | None, int, bool, int]]:
    """Runs: each with its parent (by place), the turn of the fork, whether that is rewritten, and its last turn."""
    runs: list[tuple[int | None, int, bool, int]] = [(None, 1, False, draw(st.integers(0, 4)))]
    for _ in range(draw(st.integers(1, 4))):
        parent = draw(st.integers(0, len(runs) - 1))
        last = runs[parent][3]
        rewritten = draw(st.booleans()) and last > 0
        turn = draw(st.integers(1, last + (not rewritten)))
        runs.append((parent, turn, rewritten, turn - 1 + draw(st.integers(0, 3))))
    return runs


@given(tree=trees())
@example([(None, 1, False, 6), (0, 1, False, 0), (0, 1, False, 2), (2, 2, False, 1)])  # nothing is shared at turn 1
@example([(None, 1, False, 6), (0, 4, False, 7), (1, 6, False, 8), (1, 2, False, 3)])  # as `a_family`
@example([(None, 1, False, 6), (0, 1, True, 0), (0, 1, True, 3), (0, 4, True, 3), (0, 4, True, 6), (4, 6, True, 5)])
@settings(deadline=None, max_examples=3 if settings.default.max_examples < 2000 else 100)
def test_any_tree_of_forks_reads_as_it_was_told(
    new_store: NewStore, tree: list[tuple[int | None, int, bool, int]]
) -> None:
    seen: dict[str, Seen] = {}
    with new_store() as store:
        for place, (parent, turn, rewritten, last) in enumerate(tree):
            run = "abcdefgh"[place]
            if parent is None:
                begin(store, run)
                seen[run] = Seen()
            else:
                begin(store, run, ("abcdefgh"[parent], turn), rewritten)
                seen[run] = seen["abcdefgh"[parent]].forked(turn, rewritten)
            if rewritten and last >= turn:
                write_words(store, run, turn)
                seen[run].write(run, turn, turn, thought=False)
            first = turn + rewritten
            if first <= last:
                write(store, run, first, last)
                seen[run].write(run, first, last)
        for run, expected in seen.items():
            check(store, run, expected)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM lineage WHERE run = 'c' AND ancestor = 'a'",
        "DELETE FROM lineage WHERE run = 'c' AND depth > 0",
        "DELETE FROM lineage WHERE run = 'c'",
        "UPDATE lineage SET ancestor = 'd' WHERE run = 'c' AND depth = 2",
        "UPDATE lineage SET turns = 4 WHERE run = 'c' AND depth = 2",
        "UPDATE lineage SET rounds = 0 WHERE run = 'c' AND depth = 1",
        "INSERT INTO lineage (run, ancestor, depth, turns, rounds, checksum) VALUES ('c', 'd', 3, 1, 1, 0)",
        "UPDATE runs SET parent_run = 'c' WHERE run = 'b'",
        "UPDATE runs SET parent_run = 'gone' WHERE run = 'c'",
        "UPDATE runs SET parent_turn = 3 WHERE run = 'b'",
    ],
)
def test_a_lineage_that_is_not_as_it_was_written_is_told_of_its_run_and_in_lists(change: str) -> None:
    with SqlStore.open(":memory:") as store:
        a_family(store)
        with store.transaction():
            store.file.write(change)
            for table, key in (("lineage", "run = 'c'"), ("runs", "run IN ('b', 'c')")):
                for row in store.file.rows(f"SELECT * FROM {table} WHERE {key}"):
                    names = [name for name in ("run", "ancestor") if name in row]
                    which = " AND ".join(f"{name} = ?" for name in names)
                    renewed = checksum([row[name] for name in COLUMNS[table]])
                    values = [renewed, *(row[name] for name in names)]
                    store.file.write(f"UPDATE {table} SET checksum = ? WHERE {which}", *values)
        for read in (lambda: store.run("c"), store.runs, RunListing(store).rows):
            with pytest.raises(StorageError, match="lineage of run"):
                read()
        assert store.run("a").run == "a"
        if "runs" not in change:
            assert store.forks_of("b") == ("c", "d")
