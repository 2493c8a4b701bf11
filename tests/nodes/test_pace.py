"""In which turns λ acts: policies of pruning, and what they are found by."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import Cli
from support.dialogue_case import BEGINNING, a_context, some_turns
from support.scripted import ScriptedModel
from support.setpoints import a_setpoint

from tertulia.graphs.dialogue import build_dialogue_graph
from tertulia.metrics.diversity import distinct_n
from tertulia.nodes.shared.removal_factor import (
    History,
    distinct_share,
    observations,
    past_utterances,
    prunes,
    words_of,
)
from tertulia.nodes.shared.steering import steer
from tertulia.nodes.utterance.begin import begin_utterance
from tertulia.nodes.utterance.prune import prune_units
from tertulia.state.parameters import Parameters
from tertulia.state.records import Turn, TurnRecord

SAID = st.lists(st.text("ab c'é你好", max_size=12), max_size=8)


@given(SAID, st.integers(1, 4))
def test_the_running_measure_is_dist_n_of_those_utterances(said: list[str], n: int) -> None:
    assert distinct_share([words_of(text) for text in said], n) == distinct_n([[("A", text) for text in said]], n)


@given(st.integers(1, 9), st.integers(0, 12))
def test_first_k_counts_utterances(turns: int, before: int) -> None:
    parameters = Parameters(pruning="first", pruning_turns=turns)
    assert prunes(parameters, [("so",)] * before) is (before < turns)


def test_where_it_is_repetitive() -> None:
    parameters = Parameters(pruning="when_repetitive", repetition_threshold=0.8)
    line, another, third = words_of("I like the pier."), words_of("You hate the town."), words_of("We leave at noon.")
    assert not prunes(parameters, [])
    assert not prunes(parameters, [line])  # nothing could repeat it
    assert prunes(parameters, [line, line])
    assert not prunes(parameters, [line, another])
    others = [words_of(text) for text in ("She sold a boat.", "Two gulls came by.", "Rain fell all night.")]
    assert not prunes(parameters, [line, line, another, third, *others, line])  # the first two are out of the window
    assert prunes(parameters, [line, line, another, third, line])
    assert not prunes(parameters, [("so",), ("so",)])  # no triple: no measure
    assert prunes(Parameters(pruning="every"), [])


def test_a_history_is_read_on_and_read_anew_where_a_run_goes_back() -> None:
    context = a_context()
    for turn in some_turns(4):
        context.store.save_turn(context.run, TurnRecord(turn=turn))
    silence = Turn(turn=5, round=5, speaker=None, text="", sim_time_s=9, ended=False)
    context.store.save_turn(context.run, TurnRecord(turn=silence))
    assert [said.turn for said in History.before(context, 3)] == [1, 2]
    assert [said.turn for said in History.before(context, 6)] == [1, 2, 3, 4]
    assert [said.turn for said in History.before(context, 2)] == [1]
    assert History.before(context, 1) == []


@pytest.mark.parametrize(
    ("settings", "factors"),
    [
        ({}, [0.5, 0.5, 0.5, 0.5]),
        ({"pruning": "first", "pruning_turns": 2}, [0.5, 0.5, 0.0, 0.0]),
        ({"pruning": "first", "pruning_turns": 2, "retain": "highest"}, [None, None, 0.0, 0.0]),
        ({"pruning": "when_repetitive", "repetition_threshold": 1}, [0.0, 0.0, 0.5, 0.5]),  # it repeats itself
        ({"pruning": "when_repetitive", "repetition_threshold": 0}, [0.0, 0.0, 0.0, 0.0]),
    ],
    ids=str,
)
async def test_turns_have_the_factor_that_was_in_force_and_are_scored_where_it_acts(
    settings: dict[str, Any], factors: list[float | None]
) -> None:
    model = ScriptedModel(speech=lambda _: "We can mend the lamp by noon.")
    context = a_context(model, removal_factor=0.5, max_turns=4, ending="off", **settings)
    await build_dialogue_graph().ainvoke(BEGINNING, context=context)
    records = [context.store.turn_record(context.run, turn) for turn in range(1, 5)]
    assert [record.removal_factor for record in records] == factors
    assert [record.scores is not None for record in records] == [factor != 0 for factor in factors]
    assert [bool(record.removed) for record in records] == [factor != 0 for factor in factors]
    assert len(context.model.asked("generate_scored")) == sum(factor != 0 for factor in factors)


async def test_the_factor_follows_from_the_turns_before_alone() -> None:
    context = a_context(removal_factor=0.5, pruning="first", pruning_turns=2)
    for turn in some_turns(3):
        context.store.save_turn(context.run, TurnRecord(turn=turn))

    async def factor(turn: int) -> float | None:
        from langgraph.runtime import Runtime

        state = {"round": turn, "turn": turn, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}
        return (await begin_utterance(state, Runtime(context=context)))["removal_factor"]

    assert [await factor(turn) for turn in (4, 2, 3, 1)] == [0.0, 0.5, 0.0, 0.5]


def test_show_says_why_and_forks_and_resumed_runs_keep_to_it(cli: Cli) -> None:
    settings = ["--set", "pruning=first", "--set", "pruning_turns=2", "--lambda", "0.5"]
    run = str(cli("run", "tidewell", "--rehearse", "--rounds", "4", *settings, "--json").json["run"])
    shown = [cli("show", run, "--turn", str(turn), "--json").json for turn in (2, 3)]
    assert [turn["removal_factor"] for turn in shown] == [0.5, 0.0]
    assert [turn["scored_by"] is None for turn in shown] == [False, True]
    assert "pruning=first: pruned, as utterance 2 where 2 are" in cli("show", run, "--turn", "2").out
    assert "pruning=first: not pruned, as utterance 3 where 2 are" in cli("show", run, "--turn", "3").out
    fork = str(cli("fork", run, "--at", "2", "--json").json["run"])
    assert [cli("show", fork, "--turn", str(turn), "--json").json["removal_factor"] for turn in (1, 2, 3)] == [
        0.5,
        0.5,
        0.0,
    ]
    cli("show", run, "--turn", "3", "--lambda", "0.5").complains(3, "λ was 0 there")
    cli("replay", run)


async def test_a_steered_conversation_has_the_factor_of_what_was_said_and_no_other() -> None:
    setpoint = a_setpoint(gains=(1.0,) * 6, inconsistency=None)
    context = a_context(max_turns=5, ending="off", diversity=0.66, setpoint=setpoint)
    await build_dialogue_graph().ainvoke(BEGINNING, context=context)
    records = [context.store.turn_record(context.run, turn) for turn in range(1, 6)]
    factors = [record.removal_factor for record in records]
    assert factors[0] == pytest.approx(0.65)
    assert all(factor > 0.65 for factor in factors[1:])  # the scripted model says one line again and again
    for turn, factor in enumerate(factors, 1):
        utterances = past_utterances(context.store, context.run, 1, turn - 1, is_steered=True)
        assert steer(setpoint, 0.66, observations(setpoint, utterances)).removal_factor == factor
        units = context.store.prompt(records[turn - 1].prompt).units
        assert set(prune_units(units, records[turn - 1].scores, factor)) <= set(records[turn - 1].removed)


def test_a_steered_run_is_shown_forked_and_replayed(cli: Cli) -> None:
    setpoint = a_setpoint(inconsistency=None).model_dump_json()
    asked = ["--set", "ending=off", "--set", "diversity=0.66", "--set", f"setpoint={setpoint}"]
    run = str(cli("run", "tidewell", "--rehearse", "--rounds", "5", *asked, "--json").json["run"])
    turns = [cli("show", run, "--turn", str(turn), "--json").json for turn in range(1, 6)]
    assert [turn["steering"]["removal_factor"] for turn in turns] == [turn["removal_factor"] for turn in turns]
    assert len({turn["removal_factor"] for turn in turns}) > 2
    assert "for dist3 = 0.66: calibrated 0.650" in cli("show", run, "--turn", "1").out
    assert "diversity asks for" in cli("show", run, "--turn", "5").out
    assert "λ from 0.65, steered to dist3 = 0.66" in cli("show", run).out
    cli("replay", run)
    fork = str(cli("fork", run, "--at", "4", "--json").json["run"])
    assert [cli("show", fork, "--turn", str(turn), "--json").json["removal_factor"] for turn in (3, 4, 5)] == [
        turn["removal_factor"] for turn in turns[2:]
    ]
    other = str(cli("fork", run, "--at", "4", "--set", "diversity=0.55", "--json").json["run"])
    departs = turns[3]["removal_factor"] - 0.65  # the other target, and what was found of this conversation
    shown = cli("show", other, "--turn", "4", "--json").json
    assert shown["steering"]["calibrated"] == pytest.approx(0.25)
    assert shown["removal_factor"] - 0.25 == pytest.approx(departs, abs=0.1)
    fixed = str(cli("fork", run, "--at", "4", "--lambda", "0.2", "--json").json["run"])
    assert cli("show", fixed, "--turn", "4", "--json").json["removal_factor"] == 0.2
    cli("fork", run, "--at", "4", "--model", "rehearsal2").complains(2)


def test_album_chats_have_no_first_turns(cli: Cli) -> None:
    cli("run", "villagers", "--rehearse", "--set", "pruning=first").complains(2, "pruning=first", "album chat")
