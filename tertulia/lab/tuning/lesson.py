"""Lessons: prompts of the product with the texts in them, or after them, that are learned; and their tokens.

Memory dropout: a lesson is read with a random share of its removable units gone, from none to all, so that a prompt
that λ has pruned is nothing new to the model.
"""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from tertulia.models.tuning.sequence import Draft, TrainingSequence
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import as_messages, render
from tertulia.state.language_model import Tokenizer
from tertulia.state.records import Prompt


@dataclass(frozen=True)
class Lesson:
    """A prompt with the texts that are learned from it.

    Attributes:
        source: The kind of call that it teaches: `dialogue`, `meeting`, `assess`, `plan` and so on.
        learned: The units that are learned: by unit id, the given text before the learned rest.
        answer: The model's answer behind the prompt, if any: the beginning that is given, and the rest.
        drafts: Drafts of the line that comes next, with their grades.
    """

    source: str
    prompt: Prompt
    learned: dict[str, str] = field(default_factory=dict)
    answer: tuple[str, str] | None = None
    drafts: tuple[tuple[str, int], ...] = ()

    @property
    def compares(self) -> bool:
        """Whether its drafts have different grades, so that better ones are preferred to worse ones."""
        return len({grade for _, grade in self.drafts}) > 1

    def removable(self) -> list[str]:
        """Return the ids of the units that dropout may take; none where drafts are compared: grades hold as read."""
        return [] if self.compares else [unit.id for unit in self.prompt.units if unit.removable]


@dataclass(frozen=True)
class Dropout:
    """How much of a prompt is removed: with probability `whole` nothing, with `empty` all, else a uniform share."""

    whole: float = 0.35
    empty: float = 0.2

    def draw(self, units: list[str], generator: random.Random) -> list[str]:
        """Return the units that are removed."""
        drawn = generator.random()
        if drawn < self.whole:
            return []
        if drawn < self.whole + self.empty:
            return units
        share = generator.random()
        return [unit for unit in units if generator.random() < share]


def sequence_of(lesson: Lesson, removed: list[str], tokenizer: Tokenizer) -> TrainingSequence:
    """Return the tokens of a lesson without these units, and which of them are learned.

    A text is learned with the end of its message, if it is in one; the sequence ends behind the last that is learned.
    """
    prompt = remove_units(lesson.prompt, removed)
    if prompt.layout == "plain_text" and lesson.answer is not None:
        read, learned = (tuple(tokenizer.encode(text)) for text in (prompt.units[0].text, lesson.answer[1]))
        return TrainingSequence(read + learned, ((len(read), len(read + learned)),), lesson.source)
    if lesson.drafts:
        return _with_drafts(lesson, prompt, tokenizer)
    prefix = "" if lesson.answer is None else lesson.answer[0]
    rendered = render(prompt, tokenizer, prefix)
    tokens = list(rendered.input_ids)
    spans: list[tuple[int, int]] = []
    for unit, given in lesson.learned.items():
        if unit not in rendered.token_spans:
            continue
        first, past_last = rendered.token_spans[unit]
        known = tokenizer.encode(given)
        at = first + len(known) if tokens[first : first + len(known)] == known else first
        spans.append((at, min(past_last + 1, len(tokens))))
    if lesson.answer is not None:
        start = len(tokens)
        tokens += tokenizer.encode(lesson.answer[1])
        tokens += end_of_message(prompt, tokenizer)
        spans.append((start, len(tokens)))
    spans.sort()
    return TrainingSequence(tuple(tokens[: spans[-1][1]]), tuple(spans), lesson.source)


def _with_drafts(lesson: Lesson, prompt: Prompt, tokenizer: Tokenizer) -> TrainingSequence:
    """Return the tokens of a prompt up to where its line begins, with the drafts of that line."""
    rendered, end = render(prompt, tokenizer, reply_prefix_of(prompt)), end_of_message(prompt, tokenizer)
    drafts = []
    for text, grade in lesson.drafts:
        words, whole = tokenizer.encode(text), tokenizer.encode(f'{text}"}}')
        shared = next((at for at, pair in enumerate(zip(words, whole, strict=False)) if pair[0] != pair[1]), len(words))
        drafts.append(Draft((*whole, *end), max(1, shared), grade))
    return TrainingSequence(tuple(rendered.input_ids), (), lesson.source, tuple(drafts))


def end_of_message(prompt: Prompt, tokenizer: Tokenizer) -> list[int]:
    """Return the token that ends an answer to a prompt, by the model's own markup; none if it has no markup."""
    roles = tuple(role for role, _ in as_messages(prompt))
    behind = tokenizer.chat_markup((*roles, "assistant", "user"))[len(roles) + 1]
    return list(behind[:1])


def answer_of(fields: dict[str, Any]) -> tuple[str, str]:
    """Return an answer as JSON: the beginning that the grammar gives, and the learned rest."""
    text = json.dumps(fields, ensure_ascii=False)
    first = next(iter(fields))
    opening = f"{{{json.dumps(first, ensure_ascii=False)}: "
    opening += '"' if isinstance(fields[first], str) else ""
    return opening, text[len(opening) :]
