"""The rehearsal: the same everywhere, replies as the real grammar writes them, and draws that let everything occur."""

import asyncio
import json
import math
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.models.local.grammar import _VALUES
from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel, RehearsalTokenizer
from tertulia.models.rehearsed_words import WORDS
from tertulia.prompts.render import render
from tertulia.runs.access.suited import RATING_THRESHOLD
from tertulia.state.language_model import (
    GenerationRequest,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
)
from tertulia.state.parameters import Reducer
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, Reply, Unit

TEXTS = {
    "memory": ["- the mill wheel is broken", "- lanterns were seen at the harbour", "- a letter came from the sister"],
    "current_dialogue": ["Piotr: Did the smugglers leave?", "Ana: Their barrels stand in the orchard."],
}
SPEECH = (ReplyField("Ana Sol", "speech", max_tokens=60), ReplyField("over?", "boolean"))
RATING = (ReplyField("comment", "text", max_tokens=60), ReplyField("rating", "integer", minimum=1, maximum=10))


@pytest.fixture(scope="module")
def model() -> RehearsalModel:
    return RehearsalModel()


def _prompt(reply_prefix: str = "", layout: str = "single_message", more: str = "") -> RenderedPrompt:
    units = [
        Unit(id=f"{block}.{i}", block=block, kind="item", text=text + more)
        for block, texts in TEXTS.items()
        for i, text in enumerate(texts)
    ]
    return render(Prompt(units=tuple(units), speaker="Ana Sol", layout=layout), RehearsalTokenizer(), reply_prefix)


def _request(fields: tuple[ReplyField, ...], rows: int, prompt: RenderedPrompt | None = None) -> GenerationRequest:
    generators = tuple(keyed_generator(7, node="test", row=row) for row in range(rows))
    return GenerationRequest(prompt or _prompt(), fields, generators, 0.8, 0.9)


def _replies(model: RehearsalModel, fields: tuple[ReplyField, ...], rows: int) -> list[Reply]:
    return asyncio.run(model.generate(_request(fields, rows)))


# --- tokenizer ------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=80))  # lone surrogates and control characters as well
def test_any_text_comes_back(text: str) -> None:
    tokenizer = RehearsalTokenizer()
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert "".join(tokenizer.decode([token]) for token in tokens) == text, "no token cuts a character"
    assert not set(tokens) & _markup()
    assert all(0 <= token < 2**53 for token in tokens), "exact in JSON"


def _markup() -> set[int]:
    return {token for part in RehearsalTokenizer().chat_markup(("system", "user")) for token in part}


# --- replies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Ana Sol", 'Ana "Sol" Ruiz', "安娜", "Ana\nSol 🦆", "<|user|>"])
@pytest.mark.parametrize("prefixed", [False, True])
async def test_replies_are_the_json_asked_for(model: RehearsalModel, name: str, prefixed: bool) -> None:
    fields = (ReplyField(name, "speech", max_tokens=60), ReplyField("over?", "boolean"), *RATING)
    start = f'{{{json.dumps(name, ensure_ascii=False)}: "' if prefixed else ""
    prompt = _prompt(start, "chat_turns" if prefixed else "single_message")
    for reply in await model.generate(_request(fields, 50, prompt)):
        assert reply.text == json.dumps(reply.fields, ensure_ascii=False)
        assert list(reply.fields) == [field.name for field in fields]
        assert start + model.tokenizer.decode(reply.tokens) == reply.text
        assert model.tokenizer.decode(reply.tokens[slice(*reply.text_tokens)]) == reply.fields[name]


def test_speech_is_as_the_grammar_wants_it_and_varied(model: RehearsalModel) -> None:
    texts = [str(reply.fields["Ana Sol"]) for reply in _replies(model, SPEECH, 400)]
    assert all(re.fullmatch(_VALUES["speech"], text) for text in texts)
    assert all(8 <= len(text.split()) <= 30 for text in texts)
    assert all(len(set(texts[start : start + 100])) >= 90 for start in range(0, 400, 100))
    assert any("orchard" in text for text in texts), "words of the prompt are taken up"


@pytest.mark.parametrize("kind", ["speech", "text"])
@pytest.mark.parametrize("max_tokens", [1, 8, 14, 24])
def test_texts_keep_to_their_length(model: RehearsalModel, kind: str, max_tokens: int) -> None:
    for reply in _replies(model, (ReplyField("Ana", kind, max_tokens=max_tokens),), 60):
        first, past_last = reply.text_tokens
        assert 0 < past_last - first <= max_tokens
        assert re.search(r"[.?…]$", str(reply.fields["Ana"]))


@given(st.lists(st.text(st.characters(), max_size=40), max_size=4))
def test_any_prompt_gets_speech(texts: list[str]) -> None:
    units = tuple(Unit(id=str(i), block="b", kind="item", text=text) for i, text in enumerate(texts))
    prompt = render(Prompt(units=units, speaker="Ana", layout="single_message"), RehearsalTokenizer())
    for reply in asyncio.run(RehearsalModel().generate(_request(SPEECH, 3, prompt))):
        assert re.fullmatch(_VALUES["speech"], str(reply.fields["Ana Sol"]))
        assert json.loads(reply.text) == reply.fields


def test_a_row_draws_from_nothing_but_its_generator(model: RehearsalModel) -> None:
    together = _replies(model, SPEECH + RATING, 5)
    before = random.getstate()
    alone = GenerationRequest(_prompt(), SPEECH + RATING, (keyed_generator(7, node="test", row=3),), 0.8, 0.9)
    assert asyncio.run(model.generate(alone)) == [together[3]]
    assert random.getstate() == before, "nothing random is global"


def test_about_one_in_twelve_booleans_is_true(model: RehearsalModel) -> None:
    ended = [reply.fields["over?"] for reply in _replies(model, SPEECH, 1000)]
    assert 0.05 < sum(ended) / len(ended) < 0.11


def test_a_third_of_the_judgements_conflict(model: RehearsalModel) -> None:
    ratings = [int(reply.fields["rating"]) for reply in _replies(model, RATING, 1800)]
    assert set(ratings) == set(range(1, 11))
    conflicts = [sum(ratings[i : i + 3]) / 3 > RATING_THRESHOLD for i in range(0, 1800, 3)]
    assert 0.27 < sum(conflicts) / len(conflicts) < 0.41
    assert any(all(conflicts[i : i + 4]) for i in range(0, 600, 4)), "sometimes no backup is left"


# --- scores, likelihoods, embeddings --------------------------------------------------------------------------------


@pytest.mark.parametrize("reducer", ["sum-mean", "mean-mean", "beyond-neutral", "capped"])
async def test_scores_while_generating_are_those_of_the_replies(model: RehearsalModel, reducer: Reducer) -> None:
    options = ScoringOptions(reducer)
    replies, scores = await model.generate_scored(_request(SPEECH, 3), options)
    assert replies == await model.generate(_request(SPEECH, 3))
    by_response = await model.score(_prompt(), [reply.tokens for reply in replies], options)
    for unit in _prompt().token_spans:
        assert scores[unit] == pytest.approx(sum(s[unit] for s in by_response) / 3)
        assert all(s[unit] > 0 for s in by_response)


async def test_likelihoods_and_probabilities_follow_content(model: RehearsalModel) -> None:
    replies = await model.generate(_request(SPEECH, 300))
    full, pruned = _prompt(), _prompt(more=" by the river")
    contrasts = []
    for reply in replies:
        likelihoods = [await model.log_likelihood(prompt, reply) for prompt in (full, pruned)]
        assert all(-4 <= likelihood <= -1 for likelihood in likelihoods)
        contrasts.append(likelihoods[0] - likelihoods[1])
    conflicts = sum(contrast > model.traits.likelihood_threshold for contrast in contrasts)
    assert 0.23 < conflicts / 300 < 0.43, "as often as with ratings"
    parting = [(await model.probabilities(_prompt(more=str(i)), ["They part.", "They go on."]))[0] for i in range(400)]
    assert 0.04 < sum(p > model.traits.ending_threshold for p in parting) / 400 < 0.12, "as often as by the reply"
    assert sum(await model.probabilities(full, ["a", "b", "c"])) == pytest.approx(1)


@given(st.text(st.characters(), max_size=60))
def test_vectors_have_unit_length(text: str) -> None:
    embedder = RehearsalEmbedder()
    (vector,) = embedder.embed([text])
    assert len(vector) == 64
    assert math.hypot(*vector) == pytest.approx(1)
    assert embedder.embed_untruncated([text]) == [vector]


# --- everywhere the same, quickly, and without torch ----------------------------------------------------------------


# --- what it says ---------------------------------------------------------------------------------------------------


def test_speech_is_whole_sentences_about_phrases_of_the_prompt(model: RehearsalModel) -> None:
    named = re.compile(r"the (?:mill wheel|harbour|letter|sister|smugglers|barrels|orchard)\b")
    texts = [str(reply.fields["Ana Sol"]) for reply in _replies(model, SPEECH, 300)]
    assert all(re.fullmatch(r"(?:[A-Z][^.?!]*[.?] ?)+", text) for text in texts)
    about = [text for text in texts if named.search(text)]
    assert len(about) > 150
    remarks = "|".join(re.escape(r).replace(r"\{a\}", "the .+").replace(r"\{b\}", "the .+") for r in WORDS.remarks)
    assert all(re.search(remarks, text) for text in texts), "every line says that nobody means it"


async def test_what_is_drawn_after_a_text_hangs_on_no_text(model: RehearsalModel) -> None:
    """A conversation ends where it ends, whatever λ removed from its prompts."""
    prompts = (_prompt(), _prompt(more=" by the mill"))
    full, other = [await model.generate(_request(SPEECH + RATING, 200, prompt)) for prompt in prompts]
    assert [reply.fields["Ana Sol"] for reply in full] != [reply.fields["Ana Sol"] for reply in other]
    for name in ("over?", "rating"):
        assert [reply.fields[name] for reply in full] == [reply.fields[name] for reply in other]
