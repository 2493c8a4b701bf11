"""Where conversations come out that are asked for a level, and how stable what is removed is."""

from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import Cli
from support.setpoints import CHANCE, a_setpoint

from tertulia.lab.experiments.landing import WAYS, land, landing_document, landing_page
from tertulia.lab.experiments.running import InProcessExecutor
from tertulia.lab.experiments.setpoint import CalibrationTask, Pilot
from tertulia.lab.stability import overlap, stability_of
from tertulia.metrics.diversity import distinct_n
from tertulia.nodes.utterance.prune import WALKS
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.language_model import REHEARSAL
from tertulia.state.records import Prompt, Unit
from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.full

TASK = CalibrationTask("tidewell", {"max_turns": 2}, REHEARSAL, pilot=Pilot(3, 2, (0.0, 1.0)))


def landed(store: SqlStore) -> Any:
    return land(store, TASK, ["low", "high"], 3, InProcessExecutor(store, ModelAccess()), lambda event: None)


def test_conversations_are_held_in_three_ways_and_measured(store: SqlStore) -> None:
    setpoint = a_setpoint(trials=3, rounds=2)
    store.experiments.save_calibration(TASK.key(TASK.plan()), "dist3", setpoint.model_dump(mode="json"))
    case = landed(store)
    assert [(landing.level, landing.way) for landing in case.landings] == [
        (level, way) for level in ("low", "high") for way in WAYS
    ]
    by_place = {(landing.level, landing.way): landing for landing in case.landings}
    assert by_place["low", "guessed"].removal_factor == 0.25
    assert by_place["high", "calibrated"].removal_factor == pytest.approx(setpoint.removal_factor_for(0.725))
    assert by_place["low", "steered"].asked == pytest.approx(0.575)
    runs = [run for run in store.runs() if run.trial is not None and run.trial.setting == "high, steered"]
    assert len(runs) == 3 == by_place["high", "steered"].trials
    dialogues = [[(str(turn.speaker), turn.text) for turn in store.turns(run.run)] for run in runs]
    assert by_place["high", "steered"].reached == pytest.approx(distinct_n(dialogues, 3))
    before = len(store.runs())
    assert landed(store) == case
    assert len(store.runs()) == before
    assert landing_document([case])["cases"][0]["landings"][0]["missed"] == case.landings[0].missed
    assert sum(line.startswith("| tidewell | high |") for line in landing_page([case])) == 3


def test_a_case_that_lambda_does_not_move_is_named_and_not_asked(store: SqlStore) -> None:
    flat = a_setpoint(diversity=(0.6, 0.6, 0.6), evidence=CHANCE)
    store.experiments.save_calibration(TASK.key(TASK.plan()), "dist3", flat.model_dump(mode="json"))
    case = landed(store)
    assert case.landings == ()
    assert "a higher λ does not give more" in str(case.refused)
    assert any("tidewell: " in line for line in landing_page([case]))


# --- stability ------------------------------------------------------------------------------------------------------


def a_prompt(units: int) -> Prompt:
    items = [Unit(id=f"u{i}", block="memory", kind="item", text="x", removable=True) for i in range(units)]
    return Prompt(units=tuple(items), speaker="A", layout="single_message")


SCORES = st.lists(st.floats(0.1, 9), min_size=6, max_size=6).map(
    lambda scores: {f"u{i}": s for i, s in enumerate(scores)}
)


@given(st.lists(SCORES, min_size=2, max_size=4))
def test_overlaps_are_means_over_pairs_of_draws(drawn: list[dict[str, float]]) -> None:
    prompt = a_prompt(6)
    found = stability_of([(prompt, drawn)], 3)
    assert (found.prompts, found.draws) == (1, len(drawn))
    assert (found.correlation is None) is any(len(set(scores.values())) == 1 for scores in drawn)
    for row in found.walks:
        sets = [set(WALKS[row.walk](prompt.units, scores, row.removal_factor, "descending")) for scores in drawn]
        pairs = [overlap(a, b) for i, a in enumerate(sets) for b in sets[i + 1 :]]
        assert row.overlap.mean == pytest.approx(mean(pairs))
        taken = [sum(s[u] for u in removed) / sum(s.values()) for s, removed in zip(drawn, sets, strict=True)]
        assert row.removed_attention.mean == pytest.approx(mean(taken))
        assert row.off_target.mean == pytest.approx(mean(abs(share - row.removal_factor) for share in taken))


def test_the_command_draws_anew_and_is_the_same_twice(cli: Cli) -> None:
    run = str(cli("run", "tidewell", "--rehearse", "--rounds", "2", "--json").json["run"])
    found = cli("lab", "stability", run, "--draws", "2", "--json").json
    assert (found["draws"], found["correlation"]["n"], len(found["walks"])) == (2, 2, 12)
    assert cli("lab", "stability", run, "--draws", "2", "--json").json == found
    assert "| nearest | 0.5 |" in cli("lab", "stability", run, "--draws", "2").out
    unscored = str(cli("run", "tidewell", "--rehearse", "--rounds", "1", "--lambda", "0", "--json").json["run"])
    cli("lab", "stability", unscored).complains(3, "was scored")
