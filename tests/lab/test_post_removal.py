"""Where attention goes in pruned prompts of stored runs, scored anew; and how much to the point dialogues are."""

from pathlib import Path

import pytest
from support.commands import Cli
from support.letters import LetterEmbedder
from support.scripted import ScriptedModel
from support.tiny import tiny_language_model

from tertulia.lab.post_removal import post_removal_of_run, post_removal_of_turns
from tertulia.lab.to_the_point import to_the_point_of_scenarios
from tertulia.metrics.to_the_point import texts_of_case, to_the_point
from tertulia.models.rehearsal import RehearsalModel
from tertulia.nodes.shared.removing import prune_units
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render
from tertulia.reading.what_if import removed_at
from tertulia.state.errors import NotFoundError
from tertulia.state.records import Case
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve


@pytest.fixture
def store(cli: Cli) -> SqlStore:
    assert cli("run", "tidewell", "--rehearse", "--rounds", "2", "--lambda", "0.5").code == 0
    with SqlStore.open(Path("tertulia.db"), create=False) as opened:
        yield opened


async def test_a_pruned_prompt_is_scored_anew(store: SqlStore) -> None:
    run, model = store.run("@last"), ScriptedModel()
    model.id = "rehearsal"  # who scored in the run
    found = await post_removal_of_run(store, run, model)
    asked = model.asked("generate_scored")
    records = [store.turn_record(run.run, turn) for turn in (1, 2)]
    pruned = [remove_units(store.prompt(str(record.prompt)), record.removed) for record in records]
    assert [request.prompt.input_ids[:50] for request in asked] == [
        render(prompt, model.tokenizer).input_ids[:50] for prompt in pruned
    ]
    assert all(len(request.generators) == 3 for request in asked)
    assert found.prompts == 2
    assert 0 < (found.top1 or 0) < (found.top3 or 0) <= 1
    assert sum(found.attention_by_block.values()) == pytest.approx(1)
    again = await post_removal_of_run(store, run, RehearsalModel())
    assert again == found, "the same draws"


async def test_where_another_model_scored_the_full_prompt_is_scored_too(store: SqlStore) -> None:
    run, model = store.run("@last"), ScriptedModel()
    await post_removal_of_run(store, run, model)
    assert len(model.asked("generate_scored")) == 4


async def test_other_removals_are_looked_at_in_the_same_prompts(store: SqlStore) -> None:
    run, model = store.run("@last"), ScriptedModel()
    model.id = "rehearsal"
    record = store.turn_record(run.run, 1)
    prompt = store.prompt(str(record.prompt))
    removals = [(record, prompt, removed_at(run, record, prompt, factor)) for factor in (0.0, 0.5, 1.0)]
    whole, half, empty = await post_removal_of_turns(run, removals, model)
    assert (whole.kept, whole.items_left) == (1.0, 1.0)
    assert len(model.asked("generate_scored")) == 2, "nothing is removed at 0, so nothing is scored"
    assert (half.items_left or 0) > (empty.items_left or 0)
    assert set(removals[1][2]) >= set(prune_units(prompt.units, record.scores or {}, 0.5))


async def test_a_local_model_shows_where_attention_went(store: SqlStore) -> None:
    run = store.run("@last")
    record = store.turn_record(run.run, 1)
    prompt = store.prompt(str(record.prompt))
    (found,) = await post_removal_of_turns(
        run, [(record, prompt, record.removed)], tiny_language_model(context_window=None)
    )
    assert found.kept is not None
    assert found.kept > 0


async def test_a_run_without_prompts(store: SqlStore) -> None:
    run = store.run("@last")
    store.create_run(run.model_copy(update={"run": "mute"}), store.start(run.run))
    with pytest.raises(NotFoundError, match="no turn of run mute has a prompt"):
        await post_removal_of_run(store, store.run("mute"), RehearsalModel())


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


def test_names_tell_no_case() -> None:
    case = resolve("tidewell:0")
    assert isinstance(case, Case)
    memory = next(text for text in texts_of_case(case) if len(text) > 40)
    said = [[(case.names[0], memory), (case.names[1], f"{case.names[0]}!")]]
    found = to_the_point_of_scenarios({"tidewell:0": said, "team_building": said}, LetterEmbedder(200), ["tidewell:1"])
    assert list(found) == ["tidewell:0"]
    assert (found["tidewell:0"].cases, found["tidewell:0"].dialogues) == (2, 1)
    only_name = to_the_point_of_scenarios({"tidewell:0": [said[0][1:]]}, LetterEmbedder(), ["tidewell:1"])
    assert only_name["tidewell:0"].dialogues == 0
