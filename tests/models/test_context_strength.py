"""Context-aware decoding, and how much a reply has to do with its context."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.on_use import on_use
from support.tiny import rendered_texts, tiny_language_model

from tertulia.state.language_model import GenerationRequest, ReplyField

decoding = on_use("tertulia.models.local.decoding")
torch = on_use("torch")

SPEECH = (ReplyField("Ana", "speech", max_tokens=20),)
PREFIX = '{"Ana": "'


def _request(model, strength: float = 0.0, rows: int = 3, **others) -> GenerationRequest:
    return GenerationRequest(
        rendered_texts(
            model, "The ferry leaves at noon, and the baker knows it. " * 3, "What does Ana say?", reply_prefix=PREFIX
        ),
        SPEECH,
        # draws that do not fall between tokens whose likelihoods differ by rounding, as those of seed 0 do
        tuple(random.Random(10 + row) for row in range(rows)),
        temperature=1.0,
        top_p=1.0,
        without_context=rendered_texts(model, "What does Ana say?", reply_prefix=PREFIX),
        context_strength=strength,
        **others,
    )


def test_what_the_context_adds_is_added_again_to_what_is_plausible() -> None:
    with_context = torch.tensor([0.5, 0.3, 0.19, 0.01]).log()
    gains = with_context - torch.tensor([0.5, 0.1, 0.38, 0.02]).log()
    found = decoding.amplified(with_context, gains, 2.0).softmax(-1)
    expected = torch.tensor([0.5, 0.3 * 3**2, 0.19 * 0.5**2, 0.0])  # the last has a fiftieth of the likeliest
    assert torch.allclose(found, expected / expected.sum())


async def test_without_strength_the_replies_are_those_to_the_prompt_alone() -> None:
    model = tiny_language_model()
    alone = await model.generate(replace(_request(model), without_context=None))
    assert [reply.information for reply in alone] == [None, None, None]
    measured = await model.generate(_request(model))
    assert [reply.tokens for reply in measured] == [reply.tokens for reply in alone]


async def test_information_is_what_the_context_adds_to_the_drawn_tokens() -> None:
    model = tiny_language_model()
    request = _request(model)
    for reply in await model.generate(request):
        first, _ = reply.text_tokens
        closing = '…"}' if reply.fields["Ana"].endswith("…") else '"}'
        drawn = len(reply.tokens) - len(model.tokenizer.encode(closing))
        of_drawn = reply.model_copy(update={"text_tokens": (first, drawn)})
        with_context, without = [
            await model.log_likelihood(prompt, of_drawn) for prompt in (request.prompt, request.without_context)
        ]
        assert reply.information == pytest.approx(with_context - without, abs=1e-4)


class SureState:
    """A state whose logits are those of a model that says one text, and is nearly sure of each token of it."""

    captured_attention = None

    def __init__(self, model, text: str) -> None:
        self.lengths, self._tokens = [0], model.tokenizer.encode(text)
        self._size = len(model.tokenizer.tokenizer)

    def next_logits(self, to_read):
        self.lengths[0] += len(to_read[0])
        logits = torch.zeros(self._size)
        logits[self._tokens[self.lengths[0] - 1]] = 12.0
        return [logits]

    def truncate(self, row: int, tokens: int) -> None:
        self.lengths[row] -= tokens


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I have the lamp here. You may take it.", "I have the lamp here."),
        ("Yes. I have the lamp here. You may take it.", "Yes. I have the lamp here."),  # `Yes.` answers any question
        ("It costs about 1.50 a loaf. I know.", "It costs about 1.50 a loaf."),
        ("Where have you put it?", "Where have you put it?"),
    ],
)
def test_a_draft_ends_with_its_first_sentence_of_some_words(said: str, kept: str) -> None:
    model = tiny_language_model()
    whole = replace(_request(model, rows=1), without_context=None, temperature=0.1)
    for is_best_of, text in ((False, said), (True, kept)):
        request = replace(whole, is_best_of=is_best_of, fields=(ReplyField("Ana", "speech", max_tokens=200),))
        state = SureState(model, said + '"}')
        ((reply,),) = decoding.decode_replies(state, [(request, model._grammar(request))], model.tokenizer)
        assert reply.fields["Ana"] == text
        assert (reply.information is None) is not is_best_of


async def test_a_draft_tells_how_likely_it_is() -> None:
    model = tiny_language_model()
    request = replace(_request(model), without_context=None, is_best_of=True)
    for draft in await model.generate(request):
        first, _ = draft.text_tokens
        closing = '…"}' if draft.fields["Ana"].endswith("…") else '"}'
        drawn = len(draft.tokens) - len(model.tokenizer.encode(closing))
        of_drawn = draft.model_copy(update={"text_tokens": (first, drawn)})
        assert draft.information == pytest.approx(await model.log_likelihood(request.prompt, of_drawn), abs=1e-4)


def test_what_may_not_be_repeated_is_not_however_sure_the_model_is() -> None:
    model = tiny_language_model()
    request = replace(_request(model, 1.0), no_repeat_from=((5, 6),), no_repeat_ngram=2)
    logits, gains = torch.zeros(len(model.tokenizer.tokenizer)), torch.zeros(len(model.tokenizer.tokenizer))
    logits[6] = 20.0  # alone plausible
    found = decoding.text_logits([5], logits, gains, request, model.tokenizer)
    assert found[6] == -torch.inf
    assert found[7] == 0.0


@pytest.mark.parametrize(("text", "likeliest", "is_amplified"), [("Leila H", "add", False), ("Leila", " H", True)])
def test_a_word_that_has_begun_is_spelled_as_the_model_alone_would(
    text: str, likeliest: str, is_amplified: bool
) -> None:
    model = tiny_language_model()
    encode = model.tokenizer.encode
    token, other = encode(likeliest)[0], encode("z")[0]
    logits = torch.full((len(model.tokenizer.tokenizer),), -20.0)
    logits[token], logits[other] = 1.0, 0.0
    gains = torch.zeros_like(logits).index_fill(0, torch.tensor(other), 5.0)
    found = decoding.text_logits(encode(text), logits, gains, _request(model, 1.0), model.tokenizer)
    assert (int(found.argmax()) == other) is is_amplified
