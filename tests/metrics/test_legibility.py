"""Tests of whether an embedder can read texts: it tells unrelated dialogues apart, or says that it can't."""

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from itertools import combinations, islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from support.commands import Cli

from tertulia.metrics.diversity import Dialogue, dialogue_text
from tertulia.metrics.legibility import MULTILINGUAL, _highest_likeness, unread
from tertulia.models.local.embedded import TRAITS
from tertulia.models.local.embedder import SentenceEmbedder
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.runs.planning.prompt_language import language_notes
from tertulia.state.language_model import Embedder
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Memory, Participant, Persona
from tertulia.views.measuring.cases import Cases
from tertulia.views.measuring.measurement import Measurement, measure_cases

LANGUAGES: dict[str, list[list[str]]] = yaml.safe_load(
    Path(__file__).with_name("unrelated_dialogues.yaml").read_text(encoding="utf-8")
)

#: The languages that all-MiniLM-L6-v2 tells apart well enough, though it was trained on English.
READ = {"en", "de", "fr", "es"}


@pytest.fixture(scope="module")
def minilm() -> SentenceEmbedder:
    return SentenceEmbedder.open("minilm")


def dialogues_in(language: str) -> list[Dialogue]:
    return [[(a, first), (b, second)] for a, first, b, second in LANGUAGES[language]]


def measured(cases: dict[str, list[Dialogue]], embedder: Embedder) -> Measurement:
    return asyncio.run(measure_cases(Cases(dialogues=cases, runs={}, rehearsed=False, repeated=()), embedder, "minilm"))


@pytest.mark.parametrize("pairs", [6, pytest.param(24, marks=pytest.mark.full)])
@pytest.mark.parametrize("language", LANGUAGES)
def test_unrelated_dialogues_are_told_apart_or_it_is_said_that_they_cant_be(
    language: str, pairs: int, minilm: SentenceEmbedder
) -> None:
    chosen = islice(combinations(dialogues_in(language), 2), pairs)
    found = measured({str(number): list(pair) for number, pair in enumerate(chosen)}, minilm)
    assert found.unread.keys() == (set() if language in READ else found.diversity.keys())
    assert found.document().get("unread", {}) == found.unread
    for case, figures in found.diversity.items():
        assert figures.dist1 is not None
        if language in READ:
            assert figures.sim is not None
            assert figures.sim < 0.7
            assert found.variety[case].vendi is not None
        else:
            assert (figures.sim, figures.sim_untruncated, found.variety[case].vendi) == (None, None, None)


class Raised:
    """An embedder that gives no cosine below 0.75."""

    id = "raised"

    def __init__(self, other: Embedder) -> None:
        self._other = other

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[*(value / 2 for value in vector), 0.75**0.5] for vector in self._other.embed(texts)]

    embed_untruncated = embed


def test_an_embedder_whose_cosines_are_all_high_is_not_taken_for_a_blind_one(minilm: SentenceEmbedder) -> None:
    raised = Raised(minilm)
    cases = {language: [*map(dialogue_text, dialogues_in(language))] for language in LANGUAGES}
    assert min(np.dot(*raised.embed(cases["en"][:2])), 1) > 0.75
    assert unread(cases, raised.embed).keys() == unread(cases, minilm.embed).keys() == LANGUAGES.keys() - READ


def test_an_embedder_that_knows_the_words_of_a_script_reads_it() -> None:
    cases = {language: [*map(dialogue_text, dialogues_in(language))] for language in ("zh", "ja", "ru", "ar", "th")}
    assert unread(cases, RehearsalEmbedder().embed) == {}


@pytest.mark.parametrize("language", sorted(LANGUAGES.keys() - READ))
def test_a_text_in_two_scripts_is_not_read_if_one_of_them_is_not(language: str, minilm: SentenceEmbedder) -> None:
    half = zip(dialogues_in("en"), dialogues_in(language), strict=True)
    lines = [dialogue_text([first, second]) for (first, _), (_, second) in half]
    assert unread({str(pair): pair for pair in combinations(lines[:4], 2)}, minilm.embed).keys() == {
        str(pair) for pair in combinations(lines[:4], 2)
    }
    names = [dialogue_text([("Ann", first), ("Ben", second)]) for (_, first), (_, second) in dialogues_in(language)[:2]]
    assert unread({"": names, "en": [*map(dialogue_text, dialogues_in("en")[:2])]}, minilm.embed).keys() == {""}


def test_texts_without_letters_and_single_dialogues_are_left_alone(minilm: SentenceEmbedder) -> None:
    assert unread({"a": ["A: 12!", "B: 13."], "b": []}, minilm.embed) == {}
    assert measured({"zh": dialogues_in("zh")[:1]}, minilm).unread == {}


def test_short_dialogues_are_read_together(minilm: SentenceEmbedder) -> None:
    lines = [text for dialogue in dialogues_in("zh") for _, text in dialogue]
    short = [[("A", text[:6]), ("B", text[6:12])] for text in lines]
    assert all(sum(sign.isalpha() for _, text in dialogue for sign in text) < 14 for dialogue in short)
    assert measured({"zh": short}, minilm).unread.keys() == {"zh"}
    assert measured({"en": [[("A", "I go."), ("B", "Do.")], [("A", "Rain."), ("B", "Oh no.")]]}, minilm).unread == {}


@pytest.mark.parametrize("lines", [("😀😀", "🎉", "😭", "👍"), ("…", "?!", "--", "!")])
def test_lines_without_words_are_not_compared(lines: tuple[str, ...], cli: Cli, minilm: SentenceEmbedder) -> None:
    dialogues = [[("A", lines[0]), ("B", lines[1])], [("A", lines[2]), ("B", lines[3])]]
    found = measured({"x": dialogues}, minilm)
    assert (found.diversity["x"].sim, found.variety["x"].vendi) == (None, None)
    Path("d.jsonl").write_text("\n".join(json.dumps({"case": "x", "dialogue": dialogue}) for dialogue in dialogues))
    assert "not measured: sim and vendi of x, as their lines have no words" in " ".join(
        cli("metrics", "d.jsonl").out.split()
    )


def test_one_case_that_is_not_read_leaves_the_figures_of_the_others(minilm: SentenceEmbedder) -> None:
    cases = {language: dialogues_in(language) for language in ("en", "ko")}
    found = asyncio.run(
        measure_cases(
            Cases(dialogues=cases, runs={}, rehearsed=False, repeated=()),
            minilm,
            "minilm",
            against=Cases(dialogues=cases, runs={}, rehearsed=False, repeated=()),
            with_index=True,
        )
    )
    assert found.by_index is not None
    assert found.exclusiveness is not None
    for case, is_read in (("en", True), ("ko", False)):
        figures = (found.diversity[case].sim, found.by_index[case][0].sim, found.exclusiveness[case].max_sim)
        assert [figure is not None for figure in figures] == [is_read] * 3


def test_the_command_says_why_nothing_is_measured(cli: Cli) -> None:
    lines = [json.dumps({"case": "港", "dialogue": dialogue}, ensure_ascii=False) for dialogue in dialogues_in("zh")]
    Path("d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    shown = " ".join(cli("metrics", "d.jsonl").out.split())
    assert "not measured: sim and vendi of 港, as minilm can't read their language: with every letter" in shown
    assert f"name one that can: --embedder {MULTILINGUAL}" in shown
    assert cli("metrics", "d.jsonl", "--json").json["cases"]["港"]["sim"] is None


def test_a_run_whose_memories_are_not_read_says_so(minilm: SentenceEmbedder) -> None:
    memories = [
        Memory(id=f"m{n}", kind="event", text=a, created=datetime(2024, 5, 1), importance=3)
        for n, (_, a, *_) in enumerate(LANGUAGES["zh"])
    ]
    person = Participant(persona=Persona(name="李雷"), memories=tuple(memories), activity="翻抽屉")
    start = Case(
        scenario="s",
        time=datetime(2024, 5, 14),
        initiator=person,
        partner=person.model_copy(update={"persona": Persona(name="韩梅"), "memories": ()}),
    )
    model = SimpleNamespace(id="m", traits=TRAITS)
    context = SimpleNamespace(
        start=start,
        parameters=Parameters().with_settings({"removal_factor": 0}),
        model=model,
        participant_models={},
        embedder=minilm,
    )
    (note,) = language_notes(context)  # type: ignore[arg-type]
    assert note.startswith(
        "memories are retrieved by minilm, which can't read those of 李雷: with every letter exchanged"
    )
    assert f"--set embedder={MULTILINGUAL}), or" in note
    looked_at = _highest_likeness.cache_info().misses
    assert [*language_notes(context)] == [note]  # type: ignore[arg-type]
    assert _highest_likeness.cache_info().misses == looked_at  # runs of one case look once
