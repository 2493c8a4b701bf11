"""Questions of several conversations as one batch: each gets the answer that it would get alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.on_use import on_use
from support.tiny import EACH_FAMILY, rendered_texts, tiny_language_model

from tertulia.state.errors import ContextWindowError
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, ScoringOptions
from tertulia.state.questions import (
    Answer,
    BatchingModel,
    Generation,
    Likelihood,
    NextOption,
    Question,
    Sampling,
    ScoredGeneration,
    TokenFigures,
    TokenReading,
)
from tertulia.state.records import Reply

causal = on_use("tertulia.models.local.causal")
decoding_state = on_use("tertulia.models.local.decoding_state")
prefix = on_use("tertulia.models.local.prefix")
torch = on_use("torch")

SPEECH = (ReplyField("Ana", "speech", max_tokens=16), ReplyField("over?", "boolean"))
RATING = (ReplyField("comment", "text", max_tokens=8), ReplyField("rating", "integer", minimum=1, maximum=10))


def _prompt(model: causal.CausalLanguageModel, *texts: str) -> RenderedPrompt:
    return rendered_texts(model, *texts, reply_prefix='{"Ana": "')


def _request(
    model: causal.CausalLanguageModel, seed: int, *texts: str, rows: int = 2, **options: Any
) -> GenerationRequest:
    generators = tuple(random.Random(f"{seed} {row}") for row in range(rows))
    return GenerationRequest(_prompt(model, *texts), SPEECH, generators, 1.2, 0.95, **options)


def _questions(model: causal.CausalLanguageModel) -> list[Question]:
    """Questions of every kind; the first two share a prompt, and one amplifies its context."""
    noon, late, long = ("The ferry leaves.", "At noon."), ("It is late.",), ("The baker knows the ferry well. " * 6,)
    without = _prompt(model, "At noon.")
    amplified = _request(model, 3, *noon, without_context=without, context_strength=1.0, no_repeat_ngram=3)
    reply = _reply(model, "The ferry is late.")
    judged = replace(_request(model, 4, *late, rows=3), prompt=_plain(model, *late), fields=RATING)
    return [
        Generation(_request(model, 1, *noon)),
        ScoredGeneration(_request(model, 2, *noon, rows=3), ScoringOptions()),
        Likelihood(_prompt(model, *noon), reply),
        Generation(amplified),
        NextOption(_prompt(model, *late), (" part", " go on with it")),
        ScoredGeneration(_request(model, 5, *long), ScoringOptions("beyond-neutral")),
        Likelihood(_prompt(model, *long), reply),
        Generation(judged),
        NextOption(_prompt(model, *noon), (" no", " yes", " perhaps so")),
        Generation(_request(model, 6, *late, rows=0)),
        TokenReading(_prompt(model, *late), reply.tokens, _prompt(model, *noon), Sampling(0.7, 0.9)),
    ]


def _plain(model: causal.CausalLanguageModel, *texts: str) -> RenderedPrompt:
    return replace(_prompt(model, *texts), reply_prefix="")


def _reply(model: causal.CausalLanguageModel, said: str) -> Reply:
    tokens = model.tokenizer.encode(f'{said}"}}')
    text = f'{{"Ana": "{said}"}}'
    return Reply(text=text, tokens=tuple(tokens), text_tokens=(0, len(tokens) - 1), fields={"Ana": said})


async def _alone(model: causal.CausalLanguageModel, question: Question) -> Answer:
    if isinstance(question, Generation):
        return await model.generate(question.request)
    if isinstance(question, ScoredGeneration):
        return await model.generate_scored(question.request, question.options)
    if isinstance(question, Likelihood):
        return await model.log_likelihood(question.prompt, question.reply)
    if isinstance(question, TokenReading):
        asked = (question.prompt, [question.response], question.other)
        return (await model.token_figures(*asked, sampling=question.sampling))[0]
    return await model.probabilities(question.prompt, question.options)


def _require_alike(found: Answer, expected: Answer) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        _require_alike(found[0], expected[0])
        assert found[1] == pytest.approx(expected[1], rel=1e-3)
    elif isinstance(expected, list) and expected and not isinstance(expected[0], float):
        assert [reply.text for reply in found] == [reply.text for reply in expected]  # type: ignore[union-attr]
        for mine, other in zip(found, expected, strict=True):  # type: ignore[arg-type]
            assert (mine.information or 0.0) == pytest.approx(other.information or 0.0, rel=1e-2)  # type: ignore[union-attr]
    elif isinstance(expected, TokenFigures):
        for values, others in zip(vars(found).values(), vars(expected).values(), strict=True):
            assert values == pytest.approx(others, rel=1e-3, abs=1e-5)
    else:
        assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("family", EACH_FAMILY)
async def test_every_question_gets_the_answer_that_it_gets_alone(family: str) -> None:
    model = tiny_language_model(family)
    assert isinstance(model, BatchingModel)
    alone = [await _alone(model, question) for question in _questions(model)]
    batch = await model.answer_batch(_questions(model))
    for found, expected in zip(batch, alone, strict=True):
        _require_alike(found, expected)


async def test_a_batch_has_the_same_digits_whatever_is_in_memory() -> None:
    model = tiny_language_model()
    model.model.to(torch.bfloat16)
    cold = await model.answer_batch(_questions(model))
    assert await model.answer_batch(_questions(model)) == cold
    model.clear_cache()
    await model.generate(_request(model, 9, "The ferry leaves.", "Never."))
    assert await model.answer_batch(_questions(model)) == cold


def _count_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each state that is made."""
    made: list[int] = []
    original = decoding_state.DecodingState.__init__

    def counted(self: decoding_state.DecodingState, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        made.append(len(self.lengths))

    monkeypatch.setattr(decoding_state.DecodingState, "__init__", counted)
    return made


async def test_what_is_asked_twice_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_language_model()
    twice = [*_questions(model), *_questions(model)]
    made = _count_rows(monkeypatch)
    answers = await model.answer_batch(twice)
    half = len(twice) // 2
    assert answers[:half] == answers[half:]
    assert made[:3] == [2 + 2 + 2 + 3, 3, 2], "those without context among the generations, scored ones, and by head"
    for first, second in zip(twice[:half], twice[half:], strict=True):
        if isinstance(first, Generation) and isinstance(second, Generation):
            states = [[g.getstate() for g in question.request.generators] for question in (first, second)]
            assert states[0] == states[1], "what is drawn next from a generator depends on the batch"


@pytest.mark.parametrize(
    "change",
    [
        lambda r: replace(r, generators=(random.Random(8), random.Random(9))),
        lambda r: replace(r, temperature=0.3),
        lambda r: replace(r, fields=(ReplyField("Ana", "speech", max_tokens=4),)),
        lambda r: replace(r, no_repeat_from=((1, 2, 3),)),
        lambda r: replace(r, prompt=replace(r.prompt, source=r.prompt.source.model_copy(update={"speaker": "Bo"}))),
    ],
)
async def test_questions_that_differ_in_anything_are_answered_each(
    change: Callable[[Any], GenerationRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_language_model()
    made = _count_rows(monkeypatch)
    await model.answer_batch(
        [Generation(_request(model, 1, "At noon.")), Generation(change(_request(model, 1, "At noon.")))]
    )
    assert made == [4]


async def test_large_batches_are_answered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_language_model()
    whole = await model.answer_batch(_questions(model))
    made = _count_rows(monkeypatch)
    monkeypatch.setattr("tertulia.models.local.causal._BATCH_BYTES", 1)
    parts = await model.answer_batch(_questions(model))
    assert max(made) < 5
    for found, expected in zip(parts, whole, strict=True):
        _require_alike(found, expected)


async def test_a_question_that_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    model = tiny_language_model(context_window=150)
    first = _request(model, 1, "At noon.")
    before = [generator.getstate() for generator in first.generators]
    with pytest.raises(ContextWindowError, match="context window of tiny"):
        await model.answer_batch([Generation(first), NextOption(_prompt(model, "The ferry. " * 60), (" yes", " no"))])
    assert [generator.getstate() for generator in first.generators] == before


async def test_prompts_of_several_conversations_stay_in_memory_within_a_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny_language_model()
    texts = [f"Boat {number} leaves at noon." for number in range(8)]
    questions: Sequence[Question] = [NextOption(_prompt(model, text), (" yes", " no")) for text in texts]
    await model.answer_batch(questions)
    read: list[int] = []
    forward = model.model.base_model.forward

    def counted(input_ids: torch.Tensor, **others: Any) -> Any:
        if isinstance(decoding_state.current_state.get(), prefix.Prefix):
            read.append(input_ids.shape[1])
        return forward(input_ids=input_ids, **others)

    monkeypatch.setattr(model.model.base_model, "forward", counted)
    await model.answer_batch(questions)
    assert read == []
    model.prompts.chunks.budget = 1
    await model.answer_batch([NextOption(_prompt(model, "Another."), (" yes", " no"))])
    assert len(model.prompts.prefixes) == 3
