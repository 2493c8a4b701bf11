"""What is kept of prompts saves reading them again, and does not show in the digits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import cycle, product

import pytest
from support.on_use import on_use
from support.tiny import EACH_FAMILY, FAMILIES, drawn_tokens, tiny_language_model, tiny_model

from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, ScoringOptions
from tertulia.state.records import Reply

attention_interface = on_use("tertulia.models.local.attention_interface")
causal = on_use("tertulia.models.local.causal")
decoding_state = on_use("tertulia.models.local.decoding_state")
kept_chunks = on_use("tertulia.models.local.kept_chunks")
prefix = on_use("tertulia.models.local.prefix")
torch = on_use("torch")

LENGTH = 32


#: Prompts of one speaker: lines are added, an item in the middle changes, the first token changes, one ends on a cut.
@cache
def prompts() -> list[list[int]]:
    base = drawn_tokens(150, 1)
    return [
        base,
        [*base, *drawn_tokens(40, 2)],
        [*base[:70], *drawn_tokens(90, 3)],
        [7, *base[1:]],
        base[: 4 * LENGTH + 1],
    ]


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.local.decoding_state.CHUNK", LENGTH)


def _rendered(tokens: Sequence[int], shared: int = 0) -> RenderedPrompt:
    spans = {f"u{i}": (i, min(i + 10, len(tokens))) for i in range(0, len(tokens), 10)}
    return RenderedPrompt(tuple(tokens), spans, dict.fromkeys(spans, "block"), shared_prefix=shared)


async def _figures(model: causal.CausalLanguageModel, tokens: Sequence[int], shared: int) -> list[object]:
    """Whatever a model is asked about a prompt."""
    prompt = _rendered(tokens, shared)
    generators = tuple(random.Random(row) for row in range(2))
    request = GenerationRequest(prompt, (ReplyField("Ana", "speech", max_tokens=5),), generators, 0.8, 0.9)
    replies, scores = await model.generate_scored(request, ScoringOptions())
    return [
        replies,
        scores,
        await model.score(prompt, [reply.tokens for reply in replies], ScoringOptions()),
        await model.log_likelihood(prompt, replies[0]),
        await model.probabilities(prompt, [" part", " go on"]),
    ]


@pytest.mark.parametrize(
    ("family", "shared", "dtype"),
    [(family, *how) for family, how in zip(FAMILIES, cycle(product((0, 50), ("float32", "bfloat16"))))],
)
async def test_what_was_kept_does_not_show_in_the_digits(family: str, shared: int, dtype: str) -> None:
    model = tiny_language_model(family)
    model.model.to(getattr(torch, dtype))
    cold = []
    for prompt in prompts():
        model.clear_cache()
        cold.append(await _figures(model, prompt, shared))
    model.clear_cache()
    for number in (1, 0, 3, 2, 4):
        assert await _figures(model, prompts()[number], shared) == cold[number]


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_keys_and_values_are_the_same_to_the_bit(family: str) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        model = tiny_model(family).to(dtype)
        model.set_attn_implementation(attention_interface.IMPLEMENTATION)
        kept = kept_chunks.KeptChunks(1 << 30)
        for prompt in (*prompts(), prompts()[0]):
            cold, warm = decoding_state.prefill(model, prompt), decoding_state.prefill(model, prompt, 0, kept)
            assert all(map(torch.equal, (*cold.keys, *cold.values), (*warm.keys, *warm.values))), dtype


def _passes_counted(model: causal.CausalLanguageModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the tokens of each forward pass in which a prompt is read."""
    read, forward = [], model.model.base_model.forward

    def counted(input_ids, **others):
        if isinstance(decoding_state.current_state.get(), prefix.Prefix):
            read.append(input_ids.shape[1])
        return forward(input_ids=input_ids, **others)

    monkeypatch.setattr(model.model.base_model, "forward", counted)
    return read


async def test_only_what_follows_the_common_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_language_model()
    read, passes = _passes_counted(model, monkeypatch), []
    for prompt in prompts():
        await model.log_likelihood(_rendered(prompt), Reply(text="{}", tokens=(5, 6), text_tokens=(0, 2), fields={}))
        passes.append(list(read))
        read.clear()
    assert passes == [[32, 32, 32, 32, 21], [32, 29], [32, 32, 31], [32, 32, 32, 32, 21], []]


def test_a_model_whose_positions_depend_on_the_length_reads_a_prompt_in_one_pass() -> None:
    model = tiny_model("llama, grouped heads")
    model.config.rope_parameters["rope_type"] = "dynamic"
    model.set_attn_implementation(attention_interface.IMPLEMENTATION)
    kept = kept_chunks.KeptChunks(1 << 30)
    decoding_state.prefill(model, prompts()[0], 50, kept)
    assert [len(tokens) for _, tokens in kept] == [149]


def _chunk(tokens: int) -> kept_chunks.Chunk:
    return kept_chunks.Chunk((torch.zeros(1, tokens, 1),), (torch.zeros(1, tokens, 1),))


def _keys(tokens: str) -> list[tuple[int, tuple[int, ...]]]:
    return [(0, tuple(map(ord, tokens[: end + 1]))) for end in range(len(tokens))]


def _texts(kept: kept_chunks.KeptChunks) -> set[str]:
    return {"".join(map(chr, tokens)) for _, tokens in kept}


def _kept(room: int, *prompts: str) -> set[str]:
    """What of prompts is kept, one after the other, where there is room for so many chunks of a token."""
    kept = kept_chunks.KeptChunks(room * _chunk(1).size)
    for prompt in prompts:
        kept.keep({key: _chunk(1) for key in _keys(prompt)})
    return _texts(kept)


def test_the_beginning_of_a_prompt_is_kept_longest() -> None:
    assert _kept(3, "abcde") == {"a", "ab", "abc"}


def test_what_was_found_again_outlives_what_was_not() -> None:
    assert _kept(4, "ab", "ax", *(other * 2 for other in "cdefgh")) == {"a", "h", "hh", "g"}


def test_what_was_found_again_leaves_room_for_what_is_new() -> None:
    assert _kept(4, "abcd", "abcd", "x") == {"a", "ab", "abc", "x"}


def test_a_chunk_larger_than_the_budget_is_not_kept() -> None:
    kept = kept_chunks.KeptChunks(_chunk(2).size)
    kept.keep(dict(zip(_keys("ab"), (_chunk(1), _chunk(9)), strict=True)))
    assert _texts(kept) == {"a"}
    kept.clear()
    assert not _texts(kept)
