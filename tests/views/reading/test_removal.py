"""What λ could not do, and lengths of blocks that are not there, are told and do not stop a run."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.stored import a_run

import tertulia
from tertulia.state.records import Candidate, Prompt, Reply, Turn, TurnRecord, Unit
from tertulia.storage.store import SqlStore
from tertulia.views.reading.removal import remarks, removal_in_words
from tertulia.views.reading.turns import LineDetails
from tertulia.views.reading.what_if import removed_at
from tertulia.views.wording.phrases import judged_in_words


def details(scores: dict[str, float], factor: float, what_if: float | None = None, **parameters: Any) -> LineDetails:
    """A turn whose prompt has an item of its block for each score, and a text before them."""
    items = [Unit(id=id, block=id[0], kind="item", text=f"Item {id}.", removable=True) for id in scores]
    leads = [
        Unit(id=f"{block}.lead", block=block, kind="text", text="So:") for block in sorted({id[0] for id in scores})
    ]
    prompt = Prompt(units=(*leads, *items), speaker="Ann", layout="single_message")
    run = a_run().model_copy(update={"parameters": {"removal_factor": factor, **parameters}})
    turn = Turn(turn=1, round=1, speaker="Ann", text="Hm.", sim_time_s=0, ended=False)
    record = TurnRecord(turn=turn, prompt="x", scores=scores | {lead.id: 1.0 for lead in leads}, scored_by="attention")
    removed = removed_at(run, record, prompt, factor if what_if is None else what_if)
    return LineDetails(
        run=run, record=record, prompt=prompt, candidates=(), removed=frozenset(removed), what_if=what_if
    )


def test_a_unit_with_most_of_the_weight_is_pointed_out_while_lambda_passes_over_it() -> None:
    scores = {"b1": 71.0, "m1": 15.0, "m2": 14.0}
    assert remarks(details(scores, 0.7))["heavy"] == (
        "one unit holds 71% of the removable weight (“Item b1.”): λ passes over it, and takes it from λ = 0.71 on"
    )
    assert "heavy" not in remarks(details(scores, 0.71))
    assert "heavy" in remarks(details(scores, 0.9, what_if=0.3))
    assert "heavy" not in remarks(details({"b1": 40.0, "m1": 30.0, "m2": 30.0}, 0.35))


def test_that_nothing_fits_and_that_zeros_stay_is_told() -> None:
    scores = {"b1": 4.0, "m1": 3.0, "m2": 3.0}
    assert remarks(details(scores, 0.2))["nothing"] == (
        "nothing fits under λ = 0.2, as the lightest of 3 removable items has 30.0% of their weight: nothing is removed"
    ), "with persona_check it is judged all the same"
    assert remarks(details({"b1": 4.0, "m1": 0.0, "m2": 0.0}, 1))["zero"].startswith("2 removable items have a score")
    assert not remarks(details(scores, 1))
    assert not remarks(details(scores, 0))
    assert not remarks(details(scores, 0.2, retain="highest"))


def test_what_if_and_remarks_follow_the_walk() -> None:
    scores = {"b1": 71.0, "m1": 15.0, "m2": 14.0}
    by_walk = {
        walk: details(scores, 0.5, what_if=0.3, removal_walk=walk) for walk in ("paper", "first_overshoot", "nearest")
    }
    assert [sorted(turn.removed - {"m.lead"}) for turn in by_walk.values()] == [["m1", "m2"], [], []]
    assert "passes over it" in remarks(by_walk["paper"])["heavy"]
    assert remarks(by_walk["first_overshoot"])["heavy"].endswith(
        ": the walk stops at it, and takes it from λ = 0.71 on"
    )
    nearest = remarks(by_walk["nearest"])["heavy"]  # 0.36 is nearer to 0.71 than to 0
    assert nearest.endswith(": the walk stops at it, and takes it from λ = 0.36 on")
    assert not details(scores, 0.35, removal_walk="nearest").removed
    assert details(scores, 0.36, removal_walk="nearest").removed_items == 1
    assert "the heaviest of 3 removable items has 71.0%" in remarks(by_walk["nearest"])["nothing"]


@pytest.mark.parametrize(("walk", "factor"), [("paper", 0.66), ("first_overshoot", 0.66), ("nearest", 0.33)])
def test_the_factor_that_takes_a_heavy_unit_is_the_least_that_does(walk: str, factor: float) -> None:
    scores = {"b1": 65.345, "m1": 20.0, "m2": 14.655}
    below = details(scores, round(factor - 0.01, 2), removal_walk=walk)
    assert remarks(below)["heavy"].endswith(f"takes it from λ = {factor} on")
    assert "b1" not in below.removed
    assert "b1" in details(scores, factor, removal_walk=walk).removed


def test_from_the_lightest_up_the_heaviest_comes_last() -> None:
    turn = details({"b1": 65.345, "m1": 20.0, "m2": 14.655}, 0.7, removal_order="ascending")
    assert "b1" not in turn.removed
    assert remarks(turn)["heavy"].endswith(": it comes last")


def test_asked_and_reached_are_told_with_the_walk_that_comes_nearer() -> None:
    scores = {"b1": 43.0, "m1": 30.0, "m2": 27.0}
    turn = details(scores, 0.57)
    assert (turn.removal_factor_asked, turn.removal_factor_reached) == (0.57, pytest.approx(0.43))
    assert remarks(turn)["reached"] == (
        "λ = 0.57 was asked for, and 0.430 reached; --set removal_walk=calm would reach 0.570"
    )
    assert "reached" not in remarks(details(scores, 0.57, removal_walk="calm"))
    assert "λ reached: 0.430" in removal_in_words(turn)[0]
    what_if = details(scores, 0.9, what_if=0.57)
    assert (what_if.removal_factor_asked, what_if.removal_factor_reached) == (0.57, pytest.approx(0.43))
    assert "0.430 reached" in remarks(what_if)["reached"]


def test_a_share_within_the_tolerance_is_as_asked() -> None:
    scores = {"b1": 50.0, "m1": 48.0, "m2": 2.0}
    assert "reached" not in remarks(details(scores, 0.52))
    assert "reached" not in remarks(details({"b1": 48.0, "m1": 52.0}, 0.5)), "0.48 is 0.02 below"
    assert "reached" in remarks(details({"b1": 47.0, "m1": 53.0}, 0.5))


def test_a_share_is_of_attention_or_of_the_scores_of_another_scorer() -> None:
    scores = {"b1": 4.0, "m1": 3.0, "m2": 3.0}
    first, *_ = removal_in_words(details(scores, 0.4, nodes={"score": "shared_words"}))
    assert "40.0% of their score (" in first
    assert "40.0% of their attention (" in removal_in_words(details(scores, 0.4))[0]


def test_a_figure_above_the_threshold_is_not_rounded_to_it() -> None:
    turn = details({"b1": 4.0}, 0.4, inconsistency_threshold=0.05)
    reply = Reply(text="Hm.", tokens=(), text_tokens=(0, 0), fields={})
    candidate = Candidate(attempt=0, text="Hm.", reply=reply, origin="drawn", inconsistency=0.0502)
    assert judged_in_words(candidate, turn) == "0.0502"
    of_runs = candidate.model_copy(update={"inconsistency": 0.06, "inconsistency_runs": (0.04, 0.08)})
    assert judged_in_words(of_runs, turn) == "0.060 (0.04, 0.08)"


def test_nothing_fits_by_a_share_that_is_above_the_factor() -> None:
    nothing = remarks(details({"b1": 59.92, "m1": 20.04, "m2": 20.04}, 0.2))["nothing"]
    assert "the lightest of 3 removable items has 20.04% of their weight" in nothing


def test_items_and_units_have_their_own_numbers() -> None:
    first, *_ = removal_in_words(details({"b1": 4.0, "m1": 3.0, "m2": 3.0}, 0.4))
    assert first.startswith("✗ 1 of 3 removable items were removed at λ = 0.4: 40.0% of their attention")
    assert first.endswith(", and 1 text of blocks that lost all items")


def test_a_length_of_about_so_much_passes_over_a_block_that_is_not_there(cli: Cli) -> None:
    arguments = ("run", "tidewell", "--rehearse", "--rounds", "2", "--lambda", "0")
    for lengths in ("h~250w,m~20w", "h~3"):
        result = cli(*arguments, "--set", f"block_lengths={lengths}")
        assert (result.code, result.err.count("block_lengths passes over human needs")) == (0, 1), result.err
    cli(*arguments, "--set", "block_lengths=h=250w").complains(2, "human_needs has no items", "leave h out", "~ for =")


def test_a_turn_under_whose_lambda_nothing_fits_is_noted_once(cli: Cli) -> None:
    result = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--lambda", "0.0001", "--set", "ending=off")
    assert (result.code, result.err.count("note: turn 1: nothing fits under λ = 0.0001")) == (0, 1), result.err
    assert result.err.count("nothing fits") == 1
    assert "nothing fits under λ = 0.0001" in cli("show", "@last", "--turn", "3").out


def test_what_a_placebo_removed_is_found_again_from_the_store_in_dialogues_meetings_and_albums(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    settings = {"removal_order": "placebo"}
    runs = [
        tertulia.run(
            name, rehearse=True, rounds=3, removal_factor=0.5, store=path, settings=settings, progress=False, **more
        )
        for name, more in (("tidewell", {}), ("team_building", {}), ("villagers", {"agents": 4}))
    ]
    removed = 0
    with SqlStore.open(path) as store:
        for run in (store.run(run.id) for run in runs):
            for turn in store.turns(run.run):
                records = {"": store.turn_record(run.run, turn.turn), **store.parts(run.run, turn.turn)}
                for part, record in records.items():
                    if record.scores is None or record.prompt is None:
                        continue
                    prompt = store.prompt(record.prompt)
                    assert removed_at(run, record, prompt, 0.5, part) == record.removed
                    removed += len(record.removed)
    assert removed
