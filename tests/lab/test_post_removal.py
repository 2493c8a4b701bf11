"""Where attention goes in pruned prompts of stored runs, scored anew; and how much to the point dialogues are."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.commands import Cli
from support.letters import LetterEmbedder
from support.scripted import ScriptedModel

from tertulia.lab.post_removal import post_removal_of_runs
from tertulia.metrics.post_removal import PostRemoval
from tertulia.metrics.to_the_point import to_the_point
from tertulia.models.rehearsal import RehearsalModel
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render
from tertulia.state.errors import NotFoundError
from tertulia.state.language_model import LanguageModel
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore


@pytest.fixture
def store(cli: Cli) -> SqlStore:
    assert cli("run", "tidewell", "--rehearse", "--rounds", "2", "--lambda", "0.5").code == 0
    with SqlStore.open(Path("tertulia.db"), create=False) as opened:
        yield opened


def of_runs(store: SqlStore, names: Sequence[str], open_model: Callable[[], LanguageModel]) -> dict[str, PostRemoval]:
    runs = [(store.run(name), 1) for name in names]
    return asyncio.run(post_removal_of_runs(runs, store, "rehearsal", open_model))


def of_last(store: SqlStore, model: LanguageModel) -> PostRemoval:
    (found,) = of_runs(store, ["@last"], lambda: model).values()
    return found


def test_a_pruned_prompt_is_scored_anew(store: SqlStore) -> None:
    run, model = store.run("@last"), ScriptedModel()
    model.id = "rehearsal"  # who scored in the run
    found = of_last(store, model)
    asked = model.asked("generate_scored")
    records = [store.turn_record(run.run, turn) for turn in (1, 2)]
    pruned = [remove_units(store.prompt(str(record.prompt)), record.removed) for record in records]
    assert [request.prompt.input_ids[:50] for request in asked] == [
        render(prompt, model.tokenizer).input_ids[:50] for prompt in pruned
    ]
    assert all(len(request.generators) == 3 for request in asked)
    assert found.prompts == 2
    assert 0 < (found.top1 or 0) < (found.top3 or 0) <= 1


def test_figures_are_kept_and_only_missing_ones_are_scored(store: SqlStore) -> None:
    run = store.run("@last")
    found = of_last(store, RehearsalModel())

    def none() -> LanguageModel:
        raise AssertionError("all figures are kept")

    assert of_runs(store, [], none) == {}
    assert of_runs(store, [run.run], none)[run.run] == found
    kept = Annotations(store.file).of(run.run, "post_removal")
    assert [(each.first, each.last, each.prompt_tokens > 0, each.reply_tokens > 0) for each in kept] == [
        (1, 1, True, True),
        (2, 2, True, True),
    ]
    Annotations(store.file).save(run.run, [kept[0].model_copy(update={"answers": {"figures": "?"}})])
    assert of_last(store, RehearsalModel()) == found, "the same draws"
    other = asyncio.run(post_removal_of_runs([(run, 1)], store, "another", RehearsalModel))
    assert other[run.run] == found, "kept by model"
    assert len(Annotations(store.file).of(run.run, "post_removal")) == 4


def test_where_another_model_scored_the_full_prompt_is_scored_too(store: SqlStore) -> None:
    model = ScriptedModel()
    of_last(store, model)
    assert len(model.asked("generate_scored")) == 4


def test_where_nothing_was_removed_nothing_is_scored(store: SqlStore, cli: Cli) -> None:
    assert (
        cli("run", "tidewell", "--rehearse", "--rounds", "1", "--lambda", "0", "--set", "record_scores=true").code == 0
    )
    model = ScriptedModel()
    model.id = "rehearsal"
    whole = of_last(store, model)
    assert whole.kept == 1.0
    assert not model.asked("generate_scored")


def test_a_run_without_prompts(store: SqlStore) -> None:
    run = store.run("@last")
    store.create_run(run.model_copy(update={"run": "mute"}), store.start(run.run))
    with pytest.raises(NotFoundError, match="no turn of run mute has a prompt"):
        of_runs(store, ["mute"], RehearsalModel)


# --- to the point ---------------------------------------------------------------------------------------------------


def test_a_case_is_found_by_what_is_said_in_its_dialogues() -> None:
    texts = {"zoo": ["zzz zebra", "zzz", "zoo zz"], "bus": ["bbb", "bus bb", "bubble"], "none": []}
    found = to_the_point(
        {"zoo": [["zzz", "bbb", ""], ["zz"]], "bus": [["bb"]], "none": [["bb"]]}, texts, LetterEmbedder()
    )
    assert (found["zoo"].dialogues, found["zoo"].cases) == (2, 2)
    assert found["zoo"].lines_found == 2 / 3
    assert found["bus"].dialogues_found == 1
    assert (found["bus"].margin or 0) > 0.1
    assert found["none"].dialogues_found is None
    assert to_the_point({"zoo": [["zzz"]]}, {"zoo": ["zzz"]}, LetterEmbedder())["zoo"].margin is None
