"""DRY: what a token costs that would go on with a repetition, by hand, and what is said under it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.dialogue_case import a_context
from support.on_use import on_use
from support.scripted import ScriptedModel
from support.tiny import tiny_language_model

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.journal import generation_parameters
from tertulia.models.local.repetition import repetition_penalties
from tertulia.prompts.render import render
from tertulia.state.language_model import GenerationRequest, LanguageModel, ReplyField
from tertulia.state.records import Prompt, Reply, Unit

decoding = on_use("tertulia.models.local.decoding")
torch = on_use("torch")

#: Words by token: signs that end a repetition are 20 to 24.
WORDS = {20: "\n", 21: ":", 22: '"', 23: '."', 24: " *"}


class Words:
    """A tokenizer whose tokens are numbers, with some signs."""

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(WORDS.get(token, f" {token}") for token in tokens)


@pytest.mark.parametrize(
    ("text", "lines", "lengths"),
    [
        ([1, 2, 3], [[9, 1, 2, 3, 7, 1]], {7: 3}),
        ([1, 2, 3], [[5, 2, 3, 8]], {8: 2}),
        ([1, 2, 3], [[5, 4, 3, 8]], {}),  # one token is none
        # nothing came after it
        ([1, 2, 3], [[2, 3, 7], [1, 2, 3, 7], [2, 3, 8]], {7: 3, 8: 2}),  # the longest counts
        ([1, 2, 4, 1, 2], [], {4: 2}),  # the text itself
        ([6, 6, 6], [], {6: 2}),  # a loop of one token
        ([], [[1, 2, 3]], {}),
        ([1, 2, 20, 3, 4], [[1, 2, 20, 3, 4, 7]], {7: 2}),  # it ends at a line break,
        ([1, 21, 4], [[1, 21, 4, 7]], {}),  # a colon,
        ([1, 2, 22], [[1, 2, 22, 7]], {}),  # a quote,
        ([1, 2, 24], [[1, 2, 24, 7]], {}),  # and an asterisk,
        ([1, 2, 3], [[1, 2, 3, 23]], {}),  # which cost nothing: a line may end as another did
        ([*range(100, 180)], [[*range(100, 180), 7]], {7: 50}),
    ],
)
def test_a_token_costs_more_the_longer_the_repetition_is(
    text: list[int], lines: list[list[int]], lengths: dict[int, int]
) -> None:
    expected = {token: pytest.approx(0.8 * 1.75 ** (length - 2)) for token, length in lengths.items()}
    assert repetition_penalties(text, lines, 0.8, Words()) == expected  # type: ignore[arg-type]


def a_request(model: LanguageModel, dry: float, lines: tuple[tuple[int, ...], ...] = ()) -> GenerationRequest:
    units = tuple(Unit(id=f"u{i}", block="memory", kind="item", text=f"Thing {i}.") for i in range(3))
    prompt = render(Prompt(units=units, speaker="Mara", layout="single_message"), model.tokenizer)
    fields = (ReplyField("Mara", "speech", max_tokens=16),)
    return GenerationRequest(prompt, fields, (random.Random(3),), 0.3, 1.0, no_repeat_from=lines, dry=dry)


def test_it_comes_off_the_logit_beside_the_bans_and_before_the_context_is_amplified() -> None:
    request = replace(a_request(ScriptedModel(), 2.0, ((1, 2, 3, 7), (2, 3, 8))), no_repeat_ngram=4)
    logits = torch.zeros(30)
    found = decoding.text_logits([1, 2, 3], logits, None, request, Words())  # type: ignore[arg-type]
    assert (float(found[7]), float(found[8])) == (-torch.inf, -2.0), "one is banned, the other costs"
    assert (found == 0).sum() == 28
    gains = torch.zeros(30).index_fill(0, torch.tensor([8]), 1.5)
    request = replace(request, no_repeat_ngram=0, context_strength=1.0)
    found = decoding.text_logits([1, 2, 3], logits, gains, request, Words())  # type: ignore[arg-type]
    assert (float(found[7]), float(found[8])) == (-torch.inf, -0.5), "7 costs 3.5, so the context does not lift it"
    assert torch.equal(decoding.text_logits([1, 2, 3], logits, None, replace(request, dry=0.0), Words()), logits)  # type: ignore[arg-type]


async def test_a_line_that_was_said_is_not_said_again() -> None:
    model = tiny_language_model()
    (plain,) = await model.generate(a_request(model, 0.0))
    line = drawn(plain, model)
    assert len(line) > 8
    assert await model.generate(a_request(model, 0.0, (line,))) == [plain]
    (other,) = await model.generate(a_request(model, 10.0, (line,)))
    said = drawn(other, model)
    assert said[:2] == line[:2]
    assert not {said[i : i + 3] for i in range(len(said) - 2)} & {line[i : i + 3] for i in range(len(line) - 2)}


def drawn(reply: Reply, model: LanguageModel) -> tuple[int, ...]:
    """The tokens of its text without the ellipsis with which it was closed."""
    assert str(reply.fields["Mara"]).endswith("…")
    first, past_last = reply.text_tokens
    return tuple(reply.tokens[first : past_last - len(model.tokenizer.encode("…"))])


async def test_speech_is_asked_for_with_it_and_what_is_judged_is_not() -> None:
    context = a_context(ScriptedModel(ratings=[9, 2]), dry=0.8, judge="rating", judge_runs=1, revision="rewrite",
                        inconsistency_threshold=5, removal_factor=0.5)  # fmt: skip
    start = {"round": 1, "turn": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}
    await build_utterance_graph().ainvoke(start, context=context)  # type: ignore[arg-type]
    calls = [call for call in context.store.calls(context.run) if call.kind.startswith("generate")]
    recorded = {call.node: call.parameters.get("dry") for call in calls}
    assert recorded.items() >= {"generate": 0.8, "rewrite": 0.8, "judge": None}.items()
    assert "dry" not in generation_parameters(a_request(ScriptedModel(), 0.0))
