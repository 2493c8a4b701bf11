"""What a model expects at each token of a response: the plain definition, read a few tokens at a time."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from support.on_use import on_use
from support.tiny import EACH_FAMILY, tiny_language_model

from tertulia.state.errors import ContextWindowError
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.questions import TokenFigures

causal = on_use("tertulia.models.local.causal")
module = on_use("tertulia.models.local.token_figures")
torch = on_use("torch")

FULL = "The ferry is late, the baker is not, and it rains on the harbour."
PRUNED = "The ferry is late."
LINES = ("Then we walk.", "好，我们去。", "", "I would rather wait for it here, if it is all the same to you.")
EMPTY = TokenFigures((), ())


def _prompt(model: causal.CausalLanguageModel, text: str) -> RenderedPrompt:
    return RenderedPrompt(tuple(model.tokenizer.encode(text)), {}, {})


def _logs(model: causal.CausalLanguageModel, text: str, response: list[int]) -> torch.Tensor:
    """Return the log-probabilities at each token of a response `(n, V)`, from the model of transformers alone."""
    before = model.tokenizer.encode(text)
    with torch.inference_mode():
        logits = model.model(torch.tensor([before + response])).logits[0]
    return logits[len(before) - 1 : -1].double().log_softmax(-1)


def _flat(figures: list[TokenFigures]) -> list[float]:
    return [value for each in figures for values in asdict(each).values() for value in values]


@pytest.mark.parametrize("family", EACH_FAMILY)
async def test_figures_are_those_of_the_whole_distribution(family: str) -> None:
    model = tiny_language_model(family)
    responses = [model.tokenizer.encode(line) for line in LINES]
    model.model.set_attn_implementation("eager")
    logs = [(_logs(model, FULL, r), _logs(model, PRUNED, r)) for r in responses]
    model = tiny_language_model(family)
    found = await model.token_figures(_prompt(model, FULL), responses, _prompt(model, PRUNED))
    for response, (first, second), figures in zip(responses, logs, found, strict=True):
        at = list(range(len(response)))
        expected = TokenFigures(
            tuple(first[at, response].tolist()),
            tuple((-first.exp() * first).sum(-1).tolist()),
            tuple(second[at, response].tolist()),
            tuple((first.exp() * (first - second)).sum(-1).tolist()),
        )
        assert _flat([figures]) == pytest.approx(_flat([expected]), rel=1e-5, abs=1e-5)
    assert found[2] == EMPTY
    assert max(found[0].divergences) > 0.01


async def test_several_responses_have_the_figures_of_each_alone_however_few_tokens_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny_language_model()
    responses = [model.tokenizer.encode(line) for line in LINES]
    full, pruned = _prompt(model, FULL), _prompt(model, PRUNED)
    together = await model.token_figures(full, responses, pruned)
    single = [(await model.token_figures(full, [response], pruned))[0] for response in responses]
    assert _flat(together) == pytest.approx(_flat(single), abs=1e-5)
    largest: list[int] = []
    figures_of = module._figures

    def watched(logits: list[torch.Tensor], *others: Any) -> list[torch.Tensor]:
        largest.append(max(each.float().nbytes for each in logits))
        return figures_of(logits, *others)

    monkeypatch.setattr("tertulia.models.local.token_figures._figures", watched)
    of_token = 4 * model.model.config.vocab_size
    for most in (3, 8, 20):
        monkeypatch.setattr("tertulia.models.local.token_figures._TENSOR_BYTES", most * of_token)
        assert _flat(await model.token_figures(full, responses, pruned)) == pytest.approx(_flat(together), abs=1e-5)
        assert max(largest) <= most * of_token
        largest.clear()


async def test_a_prompt_diverges_from_itself_by_nothing_and_one_alone_has_no_divergence() -> None:
    model = tiny_language_model()
    responses = [model.tokenizer.encode(line) for line in LINES]
    same = await model.token_figures(_prompt(model, FULL), responses, _prompt(model, FULL))
    alone = await model.token_figures(_prompt(model, FULL), responses)
    assert [each.divergences for each in same] == [(0.0,) * len(response) for response in responses]
    for of_same, of_one in zip(same, alone, strict=True):
        assert of_same.other_log_likelihoods == of_same.log_likelihoods == of_one.log_likelihoods
        assert of_same.entropies == of_one.entropies
        assert (of_one.other_log_likelihoods, of_one.divergences) == ((), ())
    assert await model.token_figures(_prompt(model, FULL), []) == []
    assert await model.token_figures(_prompt(model, FULL), [[]], _prompt(model, PRUNED)) == [EMPTY]


async def test_tokens_that_a_model_forbids_have_no_part_in_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_language_model()
    forbidden = torch.zeros(model.model.config.vocab_size)
    forbidden[-7:] = -torch.inf
    forward = type(model.model.lm_head).forward
    monkeypatch.setattr(model.model.lm_head, "forward", lambda hidden: forward(model.model.lm_head, hidden) + forbidden)
    responses = [model.tokenizer.encode(LINES[0])]
    (found,) = await model.token_figures(_prompt(model, FULL), responses, _prompt(model, PRUNED))
    assert all(0 < value < 20 for value in (*found.entropies, *found.divergences))


async def test_what_does_not_fit_after_either_prompt_is_refused() -> None:
    model = tiny_language_model(context_window=24)
    response = model.tokenizer.encode("Then we walk.")
    with pytest.raises(ContextWindowError):
        await model.token_figures(_prompt(model, "It is."), [response], _prompt(model, FULL * 3))
