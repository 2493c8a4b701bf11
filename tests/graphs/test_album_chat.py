"""An album chat from its first round to its last, as it is stored; forked from any exchange, stopped at any call."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.album_case import a_population
from typing_extensions import override

from tertulia.models.rehearsal import RehearsalModel
from tertulia.nodes.album.belongings import belongings_at, first_belongings
from tertulia.nodes.utterance.prune import prune_units
from tertulia.prompts.cut import item_of
from tertulia.runs.access.engines import Engines, ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.planning.additions import NOTHING_ADDED
from tertulia.runs.planning.forking import plan_fork
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import RunPlan, begin, begin_with, plan_run, reopen
from tertulia.state.album import PARTS, Exchange, Pairs, Population
from tertulia.state.errors import ModelError, SettingError, TertuliaError, UsageError
from tertulia.state.language_model import REHEARSAL, GenerationRequest
from tertulia.state.parameters import ALBUM_CHAT, Parameters
from tertulia.state.records import Reply, RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.comparing import compare


def a_plan(population: Population, rounds: int = 3, seed: int = 1, **settings: object) -> RunPlan:
    chosen = {**ALBUM_CHAT, "max_turns": rounds, **settings}
    parameters = Parameters().with_settings(chosen)
    return RunPlan(population, parameters, REHEARSAL, seed, NOTHING_ADDED.registry())


def held(store: SqlStore, plan: RunPlan) -> RunRecord:
    """The run of a plan, at its end."""
    context = begin(store, plan, ModelAccess())
    drive_run(store, context, lambda event: None)
    return store.run(context.run)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with SqlStore.open(tmp_path / "store.db", create=True) as opened:
        yield opened


def test_an_odd_number_meets_in_pairs_and_somebody_rests(store: SqlStore) -> None:
    run = held(store, a_plan(a_population(7), rounds=4))
    assert (run.status, run.kind, run.turns) == ("finished", "album_chat", 12)
    turns = store.turns(run.run)
    assert [turn.round for turn in turns] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    drawn = store.steps(run.run, "pairs", Pairs)
    assert [turn for turn, _ in drawn] == [1, 4, 7, 10]
    resting = [pairs.resting for pairs in drawn.values()]
    assert None not in resting
    assert len(set(resting)) > 1
    exchanges = {turn: exchange for (turn, _), exchange in store.steps(run.run, "exchange", Exchange).items()}
    for turn in turns:
        pairs = drawn[3 * (turn.round - 1) + 1, ""].pairs
        exchange, parts = exchanges[turn.turn], store.parts(run.run, turn.turn)
        assert (exchange.asker, exchange.answerer) == pairs[(turn.turn - 1) % 3]
        assert turn.speaker == parts["plan"].turn.speaker == exchange.asker
        assert parts["answer"].turn.speaker == exchange.answerer


@pytest.mark.parametrize("passes", [True, False])
def test_pictures_travel_where_they_are_to_and_everything_shown_follows_from_the_exchanges(
    store: SqlStore, passes: bool
) -> None:
    population = a_population(6, pictures=3)
    plan = a_plan(population, rounds=5, album_pictures=3, pass_pictures=passes)
    run = held(store, plan)
    exchanges = store.steps(run.run, "exchange", Exchange)
    assert {exchange.found for exchange in exchanges.values()} == {"named", "similar"}
    assert any(exchange.passed for exchange in exchanges.values()) is passes
    before = first_belongings(population, plan.parameters)
    for (turn, _), exchange in exchanges.items():
        assert exchange.picture in before[exchange.asker]["album"]
        assert exchange.sight == "captioned, not seen"
        plan_prompt = store.prompt(store.parts(run.run, turn)["plan"].prompt or "")
        shown = [unit.id.removeprefix("album.") for unit in plan_prompt.units if unit.id.startswith("album.p")]
        assert shown == before[exchange.asker]["album"]
        told = [unit for unit in plan_prompt.units if unit.block == "previous_dialogues" and unit.kind == "item"]
        records = {item_of(unit.id) for unit in told}
        assert len(records) == len(before[exchange.asker]["history"]) <= 3
        so_far = [(number, met) for (number, _), met in exchanges.items() if number <= turn]
        before |= belongings_at(population, so_far, plan.parameters)


def test_lambda_the_judge_and_rollback_act_on_all_three_calls(store: SqlStore) -> None:
    run = held(store, a_plan(a_population(6), rounds=3, removal_factor=0.6))
    removed_blocks, rolled_back = Counter[str](), Counter[str]()
    for turn in store.turns(run.run):
        records = {"": store.turn_record(run.run, turn.turn), **store.parts(run.run, turn.turn)}
        assert set(records) == set(PARTS.values())
        for part, record in records.items():
            units = store.prompt(record.prompt or "").units
            scores = record.scores or {}
            assert set(scores) == {unit.id for unit in units}
            chosen = prune_units(units, scores, 0.6)
            assert [id for id in record.removed if id in chosen] == [unit.id for unit in units if unit.id in chosen]
            assert (record.judged_by is not None) == bool(record.removed)
            removed_blocks.update(unit.block for unit in units if unit.id in record.removed and unit.kind == "item")
            rolled_back[part] += record.rollbacks
            candidates = store.candidates(run.run, turn.turn, part)
            assert next(c.text for c in candidates if c.attempt == record.chosen) == record.turn.text
    assert set(removed_blocks) == {"basic_info", "previous_dialogues", "album"}
    assert all(rolled_back[part] for part in PARTS.values())


# --- forks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("removal_factor", "forked_at"), [(0.0, (2,)), (0.4, (1, 3, 4))])
def test_a_fork_without_a_change_is_its_parent_wherever_it_begins(
    store: SqlStore, removal_factor: float, forked_at: tuple[int, ...]
) -> None:
    """At the first exchange of all and of a round, within a round, and at the last of all."""
    parent = held(store, a_plan(a_population(5), rounds=2, removal_factor=removal_factor))
    for at in forked_at:
        fork = held(store, plan_fork(store, parent, at))
        assert compare(store, parent.run, fork.run).is_same, at
    again = held(store, plan_fork(store, fork, at))
    assert compare(store, parent.run, again.run).is_same


def test_a_fork_from_the_middle_of_a_round_keeps_its_first_exchanges_whatever_it_changes(store: SqlStore) -> None:
    parent = held(store, a_plan(a_population(6), rounds=3))
    fork = held(store, plan_fork(store, parent, 5, RunRequest({"setting": "high"}, seed=5)))
    compared = compare(store, parent.run, fork.run)
    assert compared.first_divergence is not None
    assert compared.first_divergence.turn == 5
    drawn = store.steps(fork.run, "pairs", Pairs)
    assert drawn[4, ""] == store.steps(parent.run, "pairs", Pairs)[4, ""]
    assert drawn[7, ""] != store.steps(parent.run, "pairs", Pairs)[7, ""]
    assert len(store.steps(fork.run, "exchange", Exchange)) == fork.turns == 9


def test_a_fork_takes_more_rounds_but_no_other_villagers_and_no_words(store: SqlStore) -> None:
    parent = held(store, a_plan(a_population(4), rounds=2))
    with pytest.raises(SettingError, match=r"^max_turns=2: a fork at turn 5 has 2 rounds already"):
        plan_fork(store, parent, 5)
    assert held(store, plan_fork(store, parent, 5, RunRequest({"max_turns": 3}))).turns == 6
    for name in ("agents", "album_pictures", "villagers", "pictures"):
        with pytest.raises(SettingError, match=rf"^{name}=3: a fork has the villagers of its parent"):
            plan_fork(store, parent, 2, RunRequest({name: 3}))
    with pytest.raises(UsageError, match=r"is an album chat, whose forks take no say"):
        plan_fork(store, parent, 2, say="What a picture!")


# --- stopped at any call --------------------------------------------------------------------------------------------


class Failing(RehearsalModel):
    """The stand-in, which measures how much its drafts have to do with the context, and fails at one of its batches."""

    def __init__(self, at: int | None) -> None:
        super().__init__()
        self.at, self.batches = at, 0

    @override
    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        self.batches += 1
        if self.batches == self.at:
            raise ModelError("the model failed")
        replies = await super().generate_batch(requests)
        return [[reply.model_copy(update={"information": len(reply.text) / 7}) for reply in row] for row in replies]


def engines_with(model: RehearsalModel) -> Engines:
    return Engines(model, {}, ModelAccess().embedder(REHEARSAL))


def test_calls_meet_in_batches_and_a_run_that_failed_at_any_of_them_goes_on_as_if_it_had_not(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.nodes.album.draw_pairs.EXCHANGES_IN_BATCH", 2)
    plan = a_plan(a_population(6), rounds=2, drafts=2, redraws=0)
    whole_model = Failing(None)
    context = begin_with(store, plan, engines_with(whole_model))
    drive_run(store, context, lambda event: None)
    whole = context.run
    assert whole_model.batches == 2 * 2 * 3  # rounds, tables of two and of one, phases
    for at in (2, 6, 7):  # a second and a third phase, and the first of another round
        broken = begin_with(store, plan, engines_with(Failing(at)))
        with pytest.raises(ModelError, match="the model failed"):
            drive_run(store, broken, lambda event: None)
        assert store.run(broken.run).turns in (0, 3)
        monkeypatch.setattr("tertulia.runs.planning.starting.reopen_engines", lambda *_: engines_with(Failing(None)))
        drive_run(store, reopen(store, store.run(broken.run), ModelAccess()), lambda event: None)
        assert compare(store, whole, broken.run).is_same, at


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"order": "random"}, "order=random: villagers is an album chat, in which all meet in pairs; it has no order"),
        ({"preset": "paper"}, "preset=paper: the paper has dialogues of two, and villagers is an album chat"),
        ({"human_needs": "true"}, "it has no human_needs"),
        ({"ending": "reply"}, "it has no ending"),
        ({"pruning": "first"}, "pruning=first"),
        ({"agents": "1"}, "agents=1: an album chat needs two or more"),
        ({"setting": "medium"}, "setting=medium"),
        ({"nodes.perceive": "perceive"}, "an album chat has no place 'perceive'"),
        ({"nodes.retrieve_memory": "retrieve_memory"}, "an album chat has no place 'retrieve_memory'"),
    ],
)
def test_what_an_album_chat_does_not_have_is_refused_before_anything_is_stored(
    settings: dict[str, str], problem: str
) -> None:
    with pytest.raises(TertuliaError) as refused:
        plan_run("villagers", RunRequest(settings, model=REHEARSAL))
    assert problem in str(refused.value)


@pytest.mark.parametrize("scenario", ["tidewell", "team_building"])
def test_what_only_an_album_chat_has_is_refused_elsewhere(scenario: str) -> None:
    for name, value in (("agents", "4"), ("setting", "high"), ("villagers", "4"), ("pictures", "4")):
        with pytest.raises(SettingError, match=rf"^{name}={value}: {scenario} is no album chat"):
            plan_run(scenario, RunRequest({name: value}, model=REHEARSAL))


def test_a_seat_is_refused() -> None:
    with pytest.raises(SettingError, match="it has no seat"):
        plan_run("villagers", RunRequest(model=REHEARSAL, seat="Noor Rahmani"))
