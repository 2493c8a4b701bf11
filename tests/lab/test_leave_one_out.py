"""What a line loses without units of its prompt: measured by leaving them out, kept, and told as measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.checked_runs import a_run_of_a_model, alter, checked, left_out, read, reading_by, units_of
from support.scripted import ScriptedModel

import tertulia as tt
from tertulia.lab.annotations.checked_line import lines_to_check
from tertulia.lab.annotations.leave_one_out import missing, readings_left
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore
from tertulia.views.reading.leaning import reasons
from tertulia.views.reading.why import why_turn
from tertulia.views.reading.why_words import QUOTED, quoted


def never_opened(name: str) -> ScriptedModel:
    raise AssertionError(f"{name} was opened")


@pytest.fixture
def run(tmp_path: Path) -> tt.Run:
    return a_run_of_a_model(tmp_path, rounds=3, removal_factor=0.3)


async def test_every_unit_is_left_out_and_those_that_count_are_named_as_measured(run: tt.Run) -> None:
    units = units_of(read(run))
    model, told = reading_by({units[0]: 0.2, units[-1]: 1.5}), list[str]()
    details = await checked(run, model, tell=told.append)
    assert details.measured == pytest.approx(dict.fromkeys(units, 0.0) | {units[0]: 0.2, units[-1]: 1.5})
    found = reasons(details)
    assert found is not None
    assert [(reason.unit.id, reason.measured) for reason in found] == [(units[-1], True), (units[0], True)]
    assert ", as measured" in why_turn(details)
    assert "scripted" not in why_turn(details), "who wrote a line needs no mention"
    assert told == [f"turn 2: {len(units) + 1} readings of its prompt by scripted, whole and without units"]
    assert sorted(map(len, left_out(model, units))) == [0, *[1] * len(units)]


async def test_where_nothing_is_named_every_unit_is_measured_and_named_if_it_is_a_reason_after_all(run: tt.Run) -> None:
    units = units_of(read(run))
    alter(Path(run.store.path), "turns", line_scores=json.dumps(dict.fromkeys(units, 0.0)))
    assert reasons(read(run)) == []
    nothing = await checked(run, reading_by({units[-1]: 0.05}))
    assert nothing.measured == pytest.approx(dict.fromkeys(units, 0.0) | {units[-1]: 0.05})
    assert "leaned on nothing in particular, as measured. " in why_turn(nothing)
    found = await checked(run, reading_by({units[-1]: 0.3}), reader="other")
    assert [reason.unit.id for reason in reasons(found) or ()] == [units[-1]]


async def test_a_line_that_was_answered_is_named_as_measured_with_its_speaker(run: tt.Run) -> None:
    details = await checked(run, reading_by({"current_dialogue.turn_1": 2.0}))
    first = read(run, 1).record.turn
    assert f"leaned on {quoted(f'{first.speaker}: {first.text}', QUOTED)} (the line is " in why_turn(details)
    assert ", as measured). " in why_turn(details)


async def test_units_with_the_same_words_are_left_out_together_and_named_once(run: tt.Run) -> None:
    details = read(run)
    first, second, *others = units_of(details)
    assert details.prompt is not None
    words = {unit.id: unit.text for unit in details.prompt.units}
    with SqlStore.open(run.store.path) as store:
        units = [
            unit.model_copy(update={"text": f"{words[first].upper()}!"}) if unit.id == second else unit
            for unit in details.prompt.units
        ]
        prompt = store.save_prompt(details.prompt.model_copy(update={"units": tuple(units)}))
    alter(Path(run.store.path), "turns", prompt=prompt)
    model = reading_by({first: 0.4, second: 0.4})
    details = await checked(run, model)
    assert {first, second} in left_out(model, [first, second])
    assert details.measured == pytest.approx(dict.fromkeys(others, 0.0) | {first: 0.8, second: 0.8})
    (reason,) = reasons(details) or ()
    assert reason.copies == 2
    assert "(2 times in its prompt; the line is " in why_turn(details)


async def test_what_was_measured_is_kept_and_a_fork_has_it(run: tt.Run) -> None:
    details = await checked(run, reading_by({}))
    assert (await checked(run, never_opened)).measured == details.measured
    alter(Path(run.store.path), "runs", rehearsed=1, model="rehearsal")
    fork = run.fork(at=3)
    assert read(fork).measured == details.measured
    assert read(fork, 3).measured == {}
    assert run.turn(2).document()["measured_by"] == "scripted"
    assert {unit.id for unit in run.turn(2).units if unit.measured_loss is not None} == set(details.measured)


async def test_a_line_without_scores_is_scored_first(tmp_path: Path) -> None:
    run = a_run_of_a_model(tmp_path, scored=False, rounds=2, removal_factor=0)
    assert reasons(read(run)) is None
    details = await checked(run, reading_by({}))
    record = details.record
    assert record.line_scores is not None
    (said,) = set(units_of(details)) - set(record.line_scores)
    assert said == "current_dialogue.turn_1"
    assert record.line_scored_by == "scripted, attention beyond a neutral reply's"
    assert set(details.measured) == set(units_of(details))
    assert read(run, 2).record == record
    assert read(run, 1).record.line_scores is None


async def test_another_reader_is_named_and_does_not_take_the_place_of_the_writer(run: tt.Run) -> None:
    first = await checked(run, reading_by({}), reader="other")
    assert first.checked.measured_by == "other"
    assert why_turn(first).partition(". ")[0].endswith(", as other reads it")
    named = next(iter(first.measured))
    second = await checked(run, reading_by({named: 2.0}))
    assert (second.checked.measured_by, second.measured[named]) == ("scripted", pytest.approx(2.0))
    assert read(run).checked.measured_by == "scripted"
    assert read(run, reader="other").measured == first.measured


async def test_all_parts_of_an_exchange_are_checked(tmp_path: Path) -> None:
    run = a_run_of_a_model(tmp_path, "villagers", rounds=1, agents=4, removal_factor=0)
    details = await checked(run, reading_by({}), 1)
    assert details.measured
    assert all(part.measured for part in details.parts.values())
    assert {*details.parts} == {"plan", "answer"}


def test_a_line_that_no_model_wrote_is_refused(tmp_path: Path) -> None:
    run = tt.run("tidewell", rehearse=True, rounds=1, store=tmp_path / "rehearsed.db")
    with pytest.raises(UsageError, match=f"run {run.id} is rehearsed: a stand-in has no likelihoods"):
        run.turn(1).check()
    details = read(a_run_of_a_model(tmp_path, rounds=1), 1)
    with SqlStore.open(":memory:") as store:
        silent = replace(
            details,
            record=details.record.model_copy(update={"turn": details.record.turn.model_copy(update={"speaker": None})}),
        )
        with pytest.raises(UsageError, match="nobody spoke in turn 1"):
            lines_to_check(store, silent)
        with pytest.raises(UsageError, match="turn 1 was written by hand: there is no prompt"):
            lines_to_check(store, replace(details, prompt=None))
        edited = tuple(each.model_copy(update={"origin": "by_hand"}) for each in details.candidates)
        with pytest.raises(UsageError, match="turn 1 was written by hand: there is no prompt"):
            lines_to_check(store, replace(details, candidates=edited))


# --- without scores: by a budget --------------------------------------------------------------------------------------


@pytest.fixture
def without_scores(tmp_path: Path) -> tt.Run:
    return a_run_of_a_model(tmp_path, scored=False, rounds=2, removal_factor=0)


def test_a_budget_that_has_a_call_for_every_unit_leaves_each_out(without_scores: tt.Run) -> None:
    with SqlStore.open(without_scores.store.path) as store:
        (line,) = lines_to_check(store, read(without_scores))
        units = len(line.ablated.units)
        assert readings_left(line, {}, units + 1) == len(missing(line, {}, units + 1)) == units + 1
        words = missing(line, {}, units + 1)
        assert words[0] == "1" * units
        assert [word.index("0") for word in words[1:]] == [*range(units)][::-1]
        assert missing(line, dict.fromkeys(words, -1.0), units + 1) == []


def test_a_smaller_budget_reads_random_ablations_and_leaves_out_what_they_tell(without_scores: tt.Run) -> None:
    with SqlStore.open(without_scores.store.path) as store:
        (line,) = lines_to_check(store, read(without_scores))
        units, calls = line.ablated.units, len(line.ablated.units)
        assert readings_left(line, {}, calls) == calls
        drawn = missing(line, {}, calls)
        assert len(drawn) == calls - 3
        assert drawn == sorted(drawn, reverse=True)
        values = {word: -5 + 2.0 * (word[4] == "1") + 1.0 * (word[1] == "1") for word in drawn}
        part = {word: values[word] for word in drawn[:5]}
        assert missing(line, part, calls) == drawn[5:]
        assert readings_left(line, part, calls) == calls - 5
        named = missing(line, values, calls)
        assert len(named) == 3
        assert line.ablated.without(4) in named
        values |= dict.fromkeys(named, -5.0)
        assert missing(line, values, calls) == []
        assert set(line.losses(values)) <= set(units)
