"""`diff`: two runs that differ in one record are told apart by that record; what is no part of a run does not count."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import Cli
from support.group_stored import NAMES, a_group_run, a_meeting, write_meeting
from support.stored import a_candidate, a_case, a_run, a_turn_record, write_turns

from tertulia.state.cognition import Assessment, Bid, Call, Character, Finding, Floor, InformationNeed, Perception
from tertulia.state.meeting import Meeting
from tertulia.state.records import Record, TurnRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.differences import differences, word_differences

A, B = "aaaa", "bbbb"
ADA, BEN, *_ = NAMES
VOICE, ADDED = {"model": "n", "parameters": {}}, {"source": "mine", "hash": "0"}


@pytest.fixture
def store(cli: Cli) -> Iterator[SqlStore]:
    """The store of this folder; `cli` has gone to the folder."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two runs of one meeting that are the same."""
    path = tmp_path_factory.mktemp("written") / "meetings.db"
    with SqlStore.open(path, create=True) as store:
        write_meeting(store, A)
        write_meeting(store, B)
    return path


@pytest.fixture
def meetings(cli: Cli, written: Path) -> Iterator[SqlStore]:
    """A copy of them in this folder."""
    with SqlStore.open(shutil.copy(written, "tertulia.db")) as opened:
        yield opened


def rehearse(cli: Cli, *arguments: str) -> str:
    return str(cli("run", *arguments, "--rehearse", "--json").json["run"])


def compared(cli: Cli, *more: str) -> dict[str, Any]:
    """The comparison of A and B as JSON; it exits with 4 exactly if something differs."""
    document = cli("diff", A, B, *more, "--json").json
    assert cli("diff", A, B, *more, "--exit-code").code == (0 if document["identical"] else 4)
    return document


# --- the same -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["tidewell", "ferry_timetable"])
def test_the_same_run_twice(cli: Cli, scenario: str) -> None:
    first, second = (rehearse(cli, scenario, "--rounds", "2") for _ in range(2))
    result = cli("diff", first, second, "--exit-code")
    assert (result.code, result.out) == (0, f"{first} and {second} are identical: 2 turns, to the last record\n")
    document = cli("diff", first, second, "--json").json
    assert document["schema_version"] == 1
    assert (document["a"], document["b"]) == ({"run": first, "turns": 2}, {"run": second, "turns": 2})
    assert document["identical"] is True
    assert (document["settings"], document["first_divergence"], document["turns"]) == ([], None, [])
    assert document["diversity"]["a"] == document["diversity"]["b"]


def test_a_line_that_no_model_wrote_is_marked_and_has_no_figure_of_the_judge(cli: Cli, store: SqlStore) -> None:
    run = rehearse(cli, "tidewell", "--rounds", "4", "--lambda", "0.5")
    fork = cli("fork", run, "--at", "2", "--say", "We are closed.", "--json").json["run"]
    shown = cli("diff", run, fork).out
    lines = shown.split("turn 2\n", 1)[1].splitlines()
    assert lines[1].endswith("✎ not generated")
    assert "✎" not in lines[0]
    assert any(line.startswith("judge") and line.endswith("| – (not generated)") for line in lines)
    assert shown.count("✎") == 1


def test_status_lineage_and_dates_do_not_count(cli: Cli, store: SqlStore) -> None:
    store.create_run(a_run(A), a_case())
    later = {"status": "failed", "error": "no disk", "created": "2027-01-01T00:00:00+00:00"}
    trial = {"experiment": "night", "setting": "half", "case": "tidewell", "trial": 1, "cohort": 1}
    store.create_run(a_run(B, **later, trial=trial), a_case())
    for run in (A, B):
        write_turns(store, run, 1, 2)
    assert compared(cli)["identical"] is True


def test_neither_time_nor_an_unfinished_round_counts(cli: Cli, meetings: SqlStore) -> None:
    last = meetings.calls(A)[-1]
    meetings.save_calls(B, [last.model_copy(update={"node": "late"})])
    assert last.round == 8  # thought of, but never ended
    for run, seconds in ((A, 1.0), (B, 2.0)):
        meetings.save_calls(run, [Call(round=2, agent=ADA, node="x", model="m", prompt=last.prompt, seconds=seconds)])
    assert compared(cli)["identical"] is True


# --- one record -----------------------------------------------------------------------------------------------------


def with_comment(store: SqlStore) -> None:
    (known,) = store.candidates(B, 4)
    store.save_candidate(B, 4, known.model_copy(update={"comment": "It does not fit."}))


def with_backup(store: SqlStore) -> None:
    store.save_candidate(B, 2, a_candidate(1))


def with_call(store: SqlStore) -> None:
    known = store.calls(B, 1)[0]
    store.save_calls(B, [known.model_copy(update={"node": "appraise"})])


#: By round, who, node and what it stores: a change, and its path.
STEPS: list[tuple[int, str, str, type[Record], dict[str, Any], list[str]]] = [
    (0, BEN, "prepare", Character, {"descriptions": ("quiet",)}, ["characters.Ben.descriptions"]),
    (3, ADA, "perceive", Perception, {"relevance": 0.13}, ["perception.Ada.relevance"]),
    (5, ADA, "choose_mechanisms", InformationNeed, {"key_information": "a"}, ["mechanisms.Ada.key_information"]),
    (7, ADA, "memory_retrieval", Finding, {"problem": "it failed"}, ["findings.Ada.memory_retrieval.problem"]),
    (6, ADA, "assess", Assessment, {"thought": "Hm."}, ["thoughts.Ada.thought"]),
    (1, ADA, "bid", Bid, {"willingness": 0.7}, ["willingness.Ada.willingness"]),
    (2, ADA, "bid", Bid, {"latency_s": 5.0, "persistence": 0.7}, ["latency.Ada.persistence", "latency.Ada.latency_s"]),
    (4, "", "floor", Floor, {"tied": ()}, ["floor.tied"]),
]


@pytest.mark.parametrize(("round", "agent", "node", "kind", "changes", "paths"), STEPS)
def test_one_step(
    cli: Cli, meetings: SqlStore, round: int, agent: str, node: str, kind: type[Record], changes: Any, paths: list[str]
) -> None:
    known = meetings.step(B, round, agent, node, kind)
    assert known is not None
    meetings.save_step(B, round, agent, node, known.model_copy(update=changes))
    differ_in(cli, round, paths)


@pytest.mark.parametrize(
    ("change", "turn", "paths"),
    [
        (with_comment, 4, ["judgement.0.comment"]),
        (with_backup, 2, ["candidates.1", "judgement.1"]),
        (with_call, 1, ["calls.Ada.appraise 0"]),
    ],
)
def test_one_record(
    cli: Cli, meetings: SqlStore, change: Callable[[SqlStore], None], turn: int, paths: list[str]
) -> None:
    change(meetings)
    differ_in(cli, turn, paths)


def differ_in(cli: Cli, turn: int, paths: list[str]) -> None:
    """Assert that A and B differ in these paths of a turn, and in nothing else."""
    document = compared(cli)
    assert document["identical"] is False
    assert document["settings"] == []
    (differing,) = document["turns"]
    assert differing["turn"] == document["first_divergence"]["turn"] == turn
    assert [".".join(difference["path"]) for difference in differing["differences"]] == paths
    assert document["first_divergence"]["differs"] == list(dict.fromkeys(path.partition(".")[0] for path in paths))
    assert compared(cli, "--turn", str(turn))["turns"] == [differing]
    assert compared(cli, "--turn", str((turn + 1) % 8))["identical"] is True


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"scores": {"x": 0.25, "y": 2.0}}, ["scores.units.y"]),
        ({"scores": None}, ["scores.units"]),
        ({"scored_by": "n"}, ["scores.by"]),
        ({"removed": ("x",)}, ["removed"]),
        ({"removed": ("y", "x")}, ["removed"]),
        ({"judged_by": "off"}, ["judgement.by"]),
        ({"rollbacks": 2, "chosen": 2}, ["judgement.rollbacks", "judgement.chosen"]),
        ({"turn": {"text": "Other."}}, ["text"]),
        ({"turn": {"sim_time_s": 4.0}}, ["clock"]),
        ({"turn": {"ended": True}}, ["ending"]),
        ({"turn": {"speaker": None, "text": ""}}, ["speaker", "text"]),
    ],
)
def test_one_figure_of_a_turn(cli: Cli, store: SqlStore, changes: dict[str, Any], paths: list[str]) -> None:
    known = {"scores": {"x": 0.25, "y": 1.0}, "removed": ("x", "y"), "scored_by": "m"}
    record = a_turn_record(1, **known)
    turn = record.turn.model_copy(update=changes.get("turn", {}))
    for run, changed in ((A, record), (B, record.model_copy(update={**changes, "turn": turn}))):
        store.create_run(a_run(run), a_case())
        store.save_turn(run, changed)
    (differing,) = compared(cli)["turns"]
    assert [".".join(difference["path"]) for difference in differing["differences"]] == paths
    if paths == ["scores.units.y"]:
        assert differing["largest_score_difference"] == {"unit": "y", "a": 1.0, "b": 2.0}
    if changes.get("removed") == ("x",):
        assert (differing["removed_only_in_a"], differing["removed_only_in_b"]) == (["y"], [])
        assert "only in A: y" in cli("diff", A, B).out


@pytest.mark.parametrize(
    ("changes", "path", "values"),
    [
        ({"seed": 8}, ["seed"], (7, 8)),
        ({"model": "n"}, ["model"], ("m", "n")),
        ({"embedder": "f"}, ["embedder"], ("e", "f")),
        ({"rehearsed": True}, ["rehearsed"], (False, True)),
        ({"parameters": {"removal_factor": 0.8}}, ["parameters", "removal_factor"], (0.5, 0.8)),
        ({"participant_models": {"Ana": VOICE}}, ["voices", "Ana"], (None, VOICE)),
        ({"extensions": (ADDED,)}, ["extensions"], ([], [ADDED])),
    ],
)
def test_one_setting(
    cli: Cli, store: SqlStore, changes: dict[str, Any], path: list[str], values: tuple[Any, Any]
) -> None:
    store.create_run(a_run(A), a_case())
    store.create_run(a_run(B, **changes), a_case())
    for run in (A, B):
        write_turns(store, run, 1, 1)
    document = compared(cli)
    assert document["settings"] == [{"path": path, "a": values[0], "b": values[1]}]
    assert document["turns"] == []
    shown = cli("diff", A, B).out
    assert ".".join(path) in shown
    assert "the conversations are identical" in shown


def test_one_thing_about_a_person(cli: Cli, store: SqlStore) -> None:
    meeting = a_meeting()
    first, *others = meeting.participants
    persona = first.persona.model_copy(update={"age": 41})
    changed = meeting.model_copy(
        update={
            "participants": (first.model_copy(update={"persona": persona}), *others),
            "mechanisms": meeting.mechanisms[:2],
        }
    )
    store.create_run(a_group_run(A), meeting)
    store.create_run(a_group_run(B), Meeting.model_validate(changed.model_dump()))
    assert [difference["path"] for difference in compared(cli)["settings"]] == [
        ["start", "participants", ADA, "persona", "age"],
        ["start", "mechanisms"],
    ]


# --- more than one --------------------------------------------------------------------------------------------------


def test_in_a_terminal(cli: Cli, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    said = a_turn_record(1).turn
    for run, text in ((A, "one two three"), (B, "one \x1b[31mtwo\x1b]0;x\x07 four")):
        store.create_run(a_run(run), a_case())
        store.save_turn(run, TurnRecord(turn=said.model_copy(update={"text": text})))
    piped = cli("diff", A, B).out
    assert "Ana: one [-two three-]" in piped
    assert "Ana: one {+�[31mtwo�]0;x� four+}" in piped
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    coloured = cli("diff", A, B).out
    assert "Ana: one [-two three-]" in coloured
    assert "\x1b[31mtwo\x1b]" not in coloured
    assert "\x07" not in coloured


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((A, "zz99"), 3, ["'zz99'"]),
        ((A, "b"), 2, ["'b' is ambiguous", "bbbb", "bccc"]),
        ((A, B, "--turn", "8"), 3, ["turn 8", "turns 1 to 7"]),
        ((A, B, "--turn", "-1"), 3, ["turn -1"]),
    ],
)
def test_bad_requests(cli: Cli, meetings: SqlStore, arguments: tuple[str, ...], code: int, words: list[str]) -> None:
    meetings.create_run(a_run("bccc"), a_case())
    result = cli("diff", *arguments, "--exit-code")
    result.complains(code, *words)
    assert result.out == ""


# --- the comparing itself -------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
TEXT = st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join)


@settings(max_examples=20)
@given(JSON, JSON)
def test_a_difference_is_where_its_path_says(a: Any, b: Any) -> None:
    def at(document: Any, path: tuple[str, ...]) -> Any:
        for name in path:
            document = document[int(name)] if isinstance(document, list) else document.get(name)
        return document

    found = list(differences(a, b))
    assert len({difference.path for difference in found}) == len(found)
    assert all(
        (at(a, difference.path), at(b, difference.path)) == (difference.a, difference.b)
        and difference.a != difference.b
        for difference in found
    )
    assert not list(differences(a, a))


@settings(max_examples=20)
@given(TEXT, TEXT)
def test_marked_words_are_all_words(a: str, b: str) -> None:
    marked = word_differences(a, b)
    assert [" ".join(words for words, _ in passages) for passages in marked] == [a, b]
    common = [[words for words, is_common in passages if is_common] for passages in marked]
    assert common[0] == common[1]
    if a == b:
        assert all(is_common for passages in marked for _, is_common in passages)
