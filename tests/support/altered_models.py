"""Tiny models of which a test knows, counts or interrupts the figures."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from tertulia.models.local.causal import CausalLanguageModel
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.questions import Answer, Likelihood, Question
from tertulia.state.randomness import keyed_generator


class Planted(CausalLanguageModel):
    """A model in which a line's log-probability is the sum of the effects of the units that its prompt has.

    `heads` is the attention of two layers' two heads, of which only the last head of the second says the effect.
    """

    def __init__(self, model: CausalLanguageModel) -> None:
        self.__dict__.update(model.__dict__)

    @staticmethod
    def effects(prompt: RenderedPrompt) -> dict[str, float]:
        """Return the effect of each unit, which may be below 0; texts have none."""
        assert prompt.source is not None
        drawn = {
            unit.id: keyed_generator(7, agent=unit.text, node="effect").gauss(0, 1) for unit in prompt.source.units
        }
        return {unit.id: drawn[unit.id] * unit.removable for unit in prompt.source.units}

    async def answer_batch(self, questions: Sequence[Question]) -> list[Answer]:
        prompts = [question.prompt for question in questions if isinstance(question, Likelihood)]
        assert len(prompts) == len(questions)
        return [sum(self.effects(prompt).values()) - 10 for prompt in prompts]

    async def head_attention(
        self, prompt: RenderedPrompt, response: Sequence[int], span: tuple[int, int]
    ) -> dict[str, list[list[float]]]:
        def noise(unit: str, row: int) -> float:
            return keyed_generator(8, agent=f"{unit} {len(prompt.input_ids)}", node="noise", row=row).random()

        return {
            unit: [[noise(unit, 0), noise(unit, 1)], [noise(unit, 2), effect]]
            for unit, effect in self.effects(prompt).items()
        }


class Stopping(CausalLanguageModel):
    """A model that is interrupted after so many ablations."""

    def __init__(self, model: CausalLanguageModel, after: int) -> None:
        self.__dict__.update(model.__dict__)
        self.asked, self._after = 0, after

    async def answer_batch(self, questions: Sequence[Question]) -> list[Answer]:
        if self.asked + len(questions) > self._after:
            raise KeyboardInterrupt
        self.asked += len(questions)
        return await super().answer_batch(questions)


class Counting(CausalLanguageModel):
    """A tiny model that counts how often it is asked for figures, and may fail."""

    asked = 0
    fails = False

    async def token_figures(self, *asked: Any, **options: Any) -> Any:
        self.asked += 1
        if self.fails:
            raise RuntimeError("the machine was switched off")
        return await super().token_figures(*asked, **options)


class AtOnce(CausalLanguageModel):
    """A tiny model that reads the whole vocabulary as responses of one token at once, and keeps what it found."""

    async def token_figures(self, prompt: Any, responses: Any, other: Any = None, *, sampling: Any = None) -> Any:
        found = self.__dict__.setdefault("found", {})
        if (key := (prompt.input_ids, other.input_ids)) not in found:
            config: Any = self.model.config
            tokens = [[token] for token in range(config.vocab_size)]
            found[key] = await super().token_figures(prompt, tokens, other, sampling=sampling)
        return [found[key][token] for (token,) in responses]


class Plain(nn.Linear):
    """A product that any processor has in bfloat16, in the place of a packed one."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        outputs, inputs = weight.shape
        super().__init__(inputs, outputs, bias=False, dtype=weight.dtype)
        assert bias is None
        self.weight = nn.Parameter(weight.clone(), requires_grad=False)
