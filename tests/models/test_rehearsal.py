"""The rehearsal: the same everywhere, replies as the real grammar writes them, and draws that let everything occur."""

import asyncio
import json
import math
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.models.local.grammar import _VALUES
from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel, RehearsalTokenizer
from tertulia.models.rehearsed_words import WORDS, phrases_of
from tertulia.prompts.render import render
from tertulia.runs.access.suited import RATING_THRESHOLD, suited_to
from tertulia.state.errors import ModelError
from tertulia.state.language_model import (
    GenerationRequest,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
)
from tertulia.state.parameters import Parameters, Reducer
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Prompt, Reply, Unit

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize(
    "text", ["", "\0", "\0\0 a", "👩‍👩‍👧 🏳️‍🌈", "彼女は市場で", "<|user|>", "naïve über", "\ud800\udc00", " " * 9]
)
def test_awkward_texts_come_back(text: str) -> None:
    tokenizer = RehearsalTokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert not set(tokenizer.encode(text)) & _markup()


def _markup() -> set[int]:
    return {token for part in RehearsalTokenizer().chat_markup(("system", "user")) for token in part}


def test_markup_surrounds_messages() -> None:
    tokenizer = RehearsalTokenizer()
    markup = tokenizer.chat_markup(("system", "user"))
    assert len(markup) == 3
    assert [tokenizer.decode(part) for part in markup] == ["<|system|>", "<|user|>", "<|assistant|>"]


def test_tokens_are_about_as_many_as_those_of_a_real_model() -> None:
    text = "The harbour was quiet in the morning, and nobody had seen where the old fishing boat had gone."
    assert 1.1 < len(RehearsalTokenizer().encode(text)) / len(text.split()) < 1.7


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


def test_a_reply_that_can_not_begin_so_is_refused(model: RehearsalModel) -> None:
    with pytest.raises(ModelError, match="can't begin"):
        asyncio.run(model.generate(_request(SPEECH, 1, _prompt('{"Piotr": "'))))


def test_a_reply_without_text_spans_all_its_tokens(model: RehearsalModel) -> None:
    (reply,) = _replies(model, RATING[1:], 1)
    assert reply.text_tokens == (0, len(reply.tokens))
    assert json.loads(reply.text) == reply.fields


def test_speech_is_as_the_grammar_wants_it_and_varied(model: RehearsalModel) -> None:
    texts = [str(reply.fields["Ana Sol"]) for reply in _replies(model, SPEECH, 400)]
    assert all(re.fullmatch(_VALUES["speech"], text) for text in texts)
    assert all(8 <= len(text.split()) <= 30 for text in texts)
    assert all(len(set(texts[start : start + 100])) >= 90 for start in range(0, 400, 100))
    assert any("orchard" in text for text in texts), "words of the prompt are taken up"


def test_comments_are_as_the_grammar_wants_them(model: RehearsalModel) -> None:
    for reply in _replies(model, RATING, 100):
        assert re.fullmatch(_VALUES["text"], str(reply.fields["comment"]))


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


@pytest.mark.parametrize(("minimum", "maximum"), [(0, 0), (-3, 2), (0, 10), (5, 6)])
def test_integers_keep_to_their_bounds(model: RehearsalModel, minimum: int, maximum: int) -> None:
    field = ReplyField("n", "integer", minimum=minimum, maximum=maximum)
    drawn = {reply.fields["n"] for reply in _replies(model, (field,), 300)}
    assert drawn == set(range(minimum, maximum + 1))


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


async def test_scores_follow_content_and_length(model: RehearsalModel) -> None:
    prompt = _prompt()
    first, again, other = await model.score(prompt, [[1, 2], [1, 2], [1, 3]], ScoringOptions())
    assert first == again != other
    (per_token,) = await model.score(prompt, [[1, 2]], ScoringOptions("mean-mean"))
    for unit, (start, end) in prompt.token_spans.items():
        assert first[unit] == pytest.approx(per_token[unit] * (end - start))
    with pytest.raises(ModelError, match="no tokens"):
        await model.score(prompt, [[]], ScoringOptions())


async def test_scores_have_a_heavy_tail(model: RehearsalModel) -> None:
    tokens = model.tokenizer.encode("".join(chr(97 + i % 26) + str(i).zfill(3) for i in range(300)))
    spans = {str(i): (2 * i, 2 * i + 2) for i in range(300)}
    prompt = RenderedPrompt(tuple(tokens), spans, dict.fromkeys(spans, "memory"))
    (scores,) = await model.score(prompt, [[1]], ScoringOptions())
    ranked = sorted(scores.values())
    assert ranked[-1] > 5 * ranked[150]
    assert ranked[150] < 2 * ranked[0]


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


def test_traits_suit_every_judge(model: RehearsalModel) -> None:
    assert model.traits.rehearsed
    assert suited_to(model.traits, Parameters()).inconsistency_threshold == RATING_THRESHOLD
    assert suited_to(model.traits, Parameters(judge="likelihood", ending="continuation")).ending_threshold is not None


@given(st.text(st.characters(), max_size=60))
def test_vectors_have_unit_length(text: str) -> None:
    embedder = RehearsalEmbedder()
    (vector,) = embedder.embed([text])
    assert len(vector) == 64
    assert math.hypot(*vector) == pytest.approx(1)
    assert embedder.embed_untruncated([text]) == [vector]


def test_texts_with_the_same_words_are_near() -> None:
    first, same, near, far = RehearsalEmbedder().embed(
        ["The old mill wheel broke", "wheel MILL broke: the old!", "The old mill wheel turns", "ducks sleep late"]
    )

    def cosine(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert first == same
    assert cosine(first, near) > 0.6 > cosine(first, far)


# --- everywhere the same, quickly, and without torch ----------------------------------------------------------------

_SCRIPT = """
import asyncio, sys
from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, ScoringOptions
from tertulia.state.randomness import keyed_generator

async def main():
    model = RehearsalModel()
    ids = model.tokenizer.encode("Piotr: the lanterns 🏮 stand in the orchard.")
    prompt = RenderedPrompt(tuple(ids), {"u": (0, len(ids))}, {"u": "memory"})
    fields = (ReplyField("Ana", "speech"), ReplyField("over?", "boolean"), ReplyField("n", "integer"))
    generators = tuple(keyed_generator(3, node="test", row=row) for row in range(4))
    replies, scores = await model.generate_scored(
        GenerationRequest(prompt, fields, generators, 0.8, 0.9), ScoringOptions()
    )
    print([reply.model_dump_json() for reply in replies], scores, await model.log_likelihood(prompt, replies[0]))
    print(await model.probabilities(prompt, ["a", "b"]))
    print(RehearsalEmbedder().embed([prompt.reply_prefix, "two lanterns"]))

asyncio.run(main())
heavy = {"torch", "transformers", "numpy", "llguidance", "sentence_transformers"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


@pytest.mark.full
def test_every_process_gives_the_same_without_torch() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert "Ana" in printed[0]


@pytest.mark.full
async def test_a_hundred_turns_take_no_time(model: RehearsalModel) -> None:
    units = [
        Unit(id=f"m{i}", block="memory", kind="item", text=f"- {i} " + " ".join(["word harbour"] * 20))
        for i in range(50)
    ]
    began = time.process_time()
    for _ in range(10_000_000):  # a tenth of a second to one, by core and what else it does
        pass
    a_loop, began = time.process_time() - began, time.process_time()
    for turn in range(100):
        turns = [Unit(id=f"t{turn}", block="current_dialogue", kind="item", text=f"Ana: line {turn}.")]
        prompt = Prompt(units=(*units, *turns), speaker="Ana", layout="single_message")
        rendered = render(prompt, model.tokenizer)
        await model.generate_scored(_request(SPEECH, 3, rendered), ScoringOptions())
        for fields, rows in ((SPEECH, 1), (RATING, 3)):
            await model.generate(_request(fields, rows, render(prompt, model.tokenizer)))
        RehearsalEmbedder().embed([unit.text for unit in prompt.units])
    assert time.process_time() - began < 50 * a_loop, "about twelve times as long"


# --- what it says ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("- the mill wheel is broken", ["the mill wheel"]),
        ("- a letter came from her sister.", ["the letter", "the sister"]),
        ("Ana found blue handprints on the piano lid and asked", ["the piano lid"]),
        ("Bo fears that the board votes to move the market", ["the market"]),
        ("The Wren cools. The bank gives Bo a loan.", ["the loan"]),
        ("He told her nobody would come; the first is the best, the old are the few.", []),
        ("my quick and quiet sister says that an Old Slip cap is red", ["the Old Slip cap"]),
        ("Das Licht am Hafen ist aus.", []),
        ("They sit on the upper deck…", []),
        ("", []),
    ],
)
def test_phrases_name_something(text: str, phrases: list[str]) -> None:
    assert list(phrases_of(text)) == phrases


def test_phrases_of_the_stock_are_not_taken_up_again() -> None:
    for sentence in WORDS.remarks + WORDS.endings:
        assert set(phrases_of(sentence.format(a="the mill wheel", b="the orchard"))) <= {
            "the mill wheel",
            "the orchard",
        }


def test_speech_is_whole_sentences_about_phrases_of_the_prompt(model: RehearsalModel) -> None:
    named = re.compile(r"the (?:mill wheel|harbour|letter|sister|smugglers|barrels|orchard)\b")
    texts = [str(reply.fields["Ana Sol"]) for reply in _replies(model, SPEECH, 300)]
    assert all(re.fullmatch(r"(?:[A-Z][^.?!]*[.?] ?)+", text) for text in texts)
    about = [text for text in texts if named.search(text)]
    assert len(about) > 150
    remarks = "|".join(re.escape(r).replace(r"\{a\}", "the .+").replace(r"\{b\}", "the .+") for r in WORDS.remarks)
    assert all(re.search(remarks, text) for text in texts), "every line says that nobody means it"


def test_a_sentence_names_no_thing_twice() -> None:
    assert all("{b}" not in sentence for sentence in WORDS.remarks_about("the mill", "the mill"))
    assert len(WORDS.remarks_about("the mill", "the orchard")) == len(WORDS.remarks)


def test_other_languages_are_quoted_not_bent_into_phrases(model: RehearsalModel) -> None:
    text = " ".join(f"Wörter{'abcdefghijklmnopqrstuvwxyz'[i]} am Hafen" for i in range(26))
    prompt = render(
        Prompt(units=(Unit(id="m", block="memory", kind="item", text=text),), speaker="Ana", layout="single_message"),
        RehearsalTokenizer(),
    )
    said = [str(reply.fields["Ana Sol"]) for reply in asyncio.run(model.generate(_request(SPEECH, 20, prompt)))]
    assert all("the word “Wörter" in text for text in said)


async def test_what_is_drawn_after_a_text_hangs_on_no_text(model: RehearsalModel) -> None:
    """A conversation ends where it ends, whatever λ removed from its prompts."""
    prompts = (_prompt(), _prompt(more=" by the mill"))
    full, other = [await model.generate(_request(SPEECH + RATING, 200, prompt)) for prompt in prompts]
    assert [reply.fields["Ana Sol"] for reply in full] != [reply.fields["Ana Sol"] for reply in other]
    for name in ("over?", "rating"):
        assert [reply.fields[name] for reply in full] == [reply.fields[name] for reply in other]
