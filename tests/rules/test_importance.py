"""How much a memory of a town weighs: by its words, or by a model, and what follows for reflection."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.dialogue_case import NOW, a_context, some_turns
from support.scripted import ScriptedModel

from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.nodes.machinery.guard import guarded
from tertulia.nodes.town.remember import memories_of_conversation
from tertulia.rules.importance import FAMILIES, SLIGHT, can_be_read, importance_by_words, importance_of, subjects_of
from tertulia.runs.access.engines import Engines
from tertulia.runs.planning.word_rules import rating_by_words
from tertulia.state.context import Context
from tertulia.state.language_model import GenerationRequest
from tertulia.state.parameters import Parameters
from tertulia.state.records import Reply, TurnRecord
from tertulia.state.town import Encounter
from tertulia.storage.store import SqlStore

WEIGHTY = ("Ann said that her mother died in the night.", "I am afraid, and she must never find out.")
SMALL_TALK = ("They chatted about the weather.", "It was a pleasant chat, nothing more.")


# --- the scale ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["brushing her teeth", "They talked about the price of bread.", SMALL_TALK[1]])
def test_what_is_gone_by_tomorrow_weighs_next_to_nothing(text: str) -> None:
    assert importance_of(text) == 1


@pytest.mark.parametrize(
    "text", [WEIGHTY[0], "She told him that she is pregnant.", "The doctor found a lump.", "Bo is leaving his wife."]
)
def test_what_is_never_forgotten_weighs_seven_or_more(text: str) -> None:
    assert importance_of(text) >= 7


def test_what_is_grave_is_not_lessened_by_the_kettle_and_two_subjects_weigh_more_than_one() -> None:
    assert importance_of("The kettle boiled when she told me that he died.") == importance_of("She told me he died.")
    assert importance_of("He died in prison, of a fever.") > importance_of("He died.")
    assert importance_of("They spoke of the boat.") == 2, "no word of it is known"
    assert importance_of("died murdered funeral illness prison divorce secret baby wedding " * 50) == 10


def test_names_are_no_subjects() -> None:
    assert subjects_of("We met Lieutenant War and Mr Baker.") == []
    assert subjects_of("Then the\n war  came.") == ["danger"]
    assert subjects_of("THE WAR CAME.") == ["danger"], "capitals tell nothing there"
    assert set(subjects_of("The harvest was average.")) == {"talk of nothing"}


def test_every_family_is_found_by_its_first_word() -> None:
    families = {**FAMILIES, **SLIGHT}
    for name, family in families.items():
        first = family.words.split()[0].removesuffix("*")
        assert name in subjects_of(f"They spoke of {first}."), name


@pytest.mark.parametrize(
    ("texts", "language", "is_read"),
    [
        (["My mother is ill."], "en", True),
        (["Rain."], "en", True),
        (["Tomorrow I begin my first day as a nurse."], "en", True),
        (["mending a net", "They spoke of the lamp."], "en", True),
        (["她的母亲去世了。"], "en", False),
        (["Er ist gestern gestorben, und seine Frau war in der Kirche."], "en", False),
        (["Ella ha visto a su madre en el hospital y tiene miedo."], "en", False),
        (["Hij had geen zin in de vergadering, of hij was ziek."], "en", False),
        (["My mother is ill."], "de", False),
        (["123"], "en", False),
    ],
)
def test_only_english_is_read(texts: list[str], language: str, is_read: bool) -> None:
    assert can_be_read(texts, language) == is_read


# --- who rates ------------------------------------------------------------------------------------------------------


async def importances(model: ScriptedModel, by_words: bool = True, **settings: Any) -> list[float]:
    """What Mara remembers of a talk weighs: that Piotr was reading, a summary, and a thought."""
    nodes = {"rate_importance": guarded(importance_by_words)} if by_words else {}
    context: Context = replace(a_context(model, **settings), nodes=nodes)
    for turn in some_turns(4):
        context.store.save_turn(context.run, TurnRecord(turn=turn))
    encounter = Encounter(
        day=2,
        number=1,
        time=NOW,
        place="the cemetery",
        initiator="Mara",
        partner="Piotr",
        activities=("mending a net", "reading the newspaper"),
        run="k3f9",
    )
    kept = await memories_of_conversation(context, encounter, "Mara", round=5)
    return [memory.importance for memory in kept]


def ratings_asked(model: ScriptedModel) -> int:
    """How often the model was asked for ratings."""
    return sum("1" in {field.name for field in request.fields} for request in model.asked("generate"))


async def test_by_content_no_model_is_asked_and_the_place_does_not_count() -> None:
    grave, light = ScriptedModel(comments=WEIGHTY), ScriptedModel(comments=SMALL_TALK)
    assert await importances(grave) == [1, *map(importance_of, WEIGHTY)]
    assert await importances(light) == [1, 1, 1]
    assert ratings_asked(grave) == ratings_asked(light) == 0


@pytest.mark.parametrize(
    ("comments", "settings"),
    [
        (WEIGHTY, {"by_words": False}),
        (WEIGHTY, {"language": "zh"}),
    ],
)
async def test_the_model_is_asked_without_the_rules_and_where_words_are_not_read(
    comments: tuple[str, str], settings: dict[str, Any]
) -> None:
    model = ScriptedModel(comments=comments, ratings=[3, 9, 5])
    assert await importances(model, **settings) == [3, 9, 5]
    assert ratings_asked(model) == 1


def test_words_rate_in_english_if_the_model_is_too_small_and_nothing_else_is_chosen() -> None:
    small = Engines(RehearsalModel(), {}, RehearsalEmbedder())
    able = Engines(ScriptedModel(rehearsed=False), {}, RehearsalEmbedder())
    by_words = ({"rate_importance": "importance_by_words"}, 20)
    plain = {"nodes.rate_importance": "rate_importance"}
    for engines, settings, expected in (
        (small, {}, by_words),
        (small, {"reflection_threshold": 7}, (by_words[0], 7)),
        (small, {"language": "de"}, ({}, None)),
        (small, {"preset": "paper"}, ({}, None)),
        (small, plain, ({"rate_importance": "rate_importance"}, None)),
        (able, {}, ({}, None)),
        (able, {"nodes.rate_importance": "importance_by_words"}, by_words),
    ):
        chosen = rating_by_words(Parameters().with_settings(settings), engines)
        assert (chosen.nodes, chosen.reflection_threshold) == expected


# --- what follows ---------------------------------------------------------------------------------------------------


def reflections(cli: Cli, monkeypatch: pytest.MonkeyPatch, store: Path, left: tuple[str, str]) -> int:
    """How many reflections two days of Tidewell have whose conversations all leave this summary and this thought."""
    generate = RehearsalModel.generate

    async def generated(self: RehearsalModel, request: GenerationRequest) -> list[Reply]:
        replies = await generate(self, request)
        if "summary" not in {field.name for field in request.fields}:
            return replies
        fields = dict(zip(("summary", "thought"), left, strict=True))
        return [reply.model_copy(update={"fields": {**reply.fields, **fields}}) for reply in replies]

    with monkeypatch.context() as patched:
        patched.setattr(RehearsalModel, "generate", generated)
        town = ("simulate", "tidewell", "--rehearse", "--days", "2", "--set", "max_turns=1")
        simulation = cli(*town, "--store", str(store), "--json").json["simulation"]
    days = cli("days", simulation, "--store", str(store), "--json").json["days"]
    return sum(day["reflections"] for day in days)


def test_small_talk_is_reflected_on_less_than_what_matters(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    light = reflections(cli, monkeypatch, tmp_path / "light.db", SMALL_TALK)
    grave = reflections(cli, monkeypatch, tmp_path / "grave.db", WEIGHTY)
    assert light < grave / 2
    with SqlStore.open(tmp_path / "light.db") as opened:
        assert opened.simulations.get("@last").status == "finished"
