"""Prompts that ask a model about a stored conversation in which it takes no part.

The conversation comes first, so that a model that caches the beginning of a prompt reads it once for all questions.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, takewhile

from tertulia.prompts.templates import template
from tertulia.prompts.units import NumberedPart, numbered
from tertulia.state.records import Prompt, Turn

#: The block that prompts about the same part of a conversation have in common, at their beginning.
_CONVERSATION = "conversation"


def inventory_items() -> dict[int, str]:
    """Return the wording of every item of the inventory by its published number."""
    texts = template("inventory")
    numbers = takewhile(lambda number: f"items.{number}" in texts, count(1))
    return {number: texts.fill(f"items.{number}", {}) for number in numbers}


def ask_inventory(turns: Iterable[Turn], name: str, items: Sequence[str]) -> Prompt:
    """Return the prompt that asks how well each item fits a person, from 1 to 5. Source: ChatAgents App. E."""
    texts = template("inventory")
    form = dict.fromkeys(items, texts.fill("rating", {}))
    return _prompt("inventory", turns, [("task", "text", texts.fill("task", {"name": name}))], form)


def ask_self_inventory(
    turns: Iterable[Turn], name: str, poles: Sequence[str], known: Iterable[str], items: Sequence[str]
) -> Prompt:
    """Return the prompt that asks a person in character how well each item fits themselves, from 1 to 5.

    Args:
        turns: The earlier lines; none before the conversation.
        poles: The poles of their traits, if they were given some.
        known: Further facts about them.
    """
    texts = template("inventory")
    form = dict.fromkeys(items, texts.fill("rating", {}))
    asked: list[NumberedPart] = [("self", "text", texts.fill("self.lead", {"name": name}))]
    if poles:
        asked.append(("self", "item", texts.fill("self.poles", {"text": ", ".join(poles)})))
    asked += [("self", "item", texts.fill("self.item", {"text": text})) for text in known]
    asked.append(("task", "text", texts.fill("self.task", {"name": name})))
    return _prompt("inventory", turns, asked, form)


def ask_speech_acts(before: Iterable[Turn], turns: Sequence[Turn], acts: Iterable[str]) -> Prompt:
    """Return the prompt that asks which of these acts, or `none`, each line does, after the lines before."""
    texts = template("speech_acts")
    lines = [texts.fill("numbered", {"number": turn.turn, "name": turn.speaker, "text": turn.text}) for turn in turns]
    asked: list[NumberedPart] = [
        ("lines", "text", texts.fill("these", {})),
        *(("lines", "item", line) for line in lines),
        *(("acts", "item", texts.fill(f"acts.{act}", {})) for act in (*acts, "none")),
        ("task", "text", texts.fill("task", {})),
    ]
    form = {str(turn.turn): texts.fill("choice", {}) for turn in turns}
    return _prompt("speech_acts", before, asked, form)


def ask_outcome(
    turns: Iterable[Turn],
    question: str,
    name: str,
    known: Iterable[tuple[str, str]],
    answers: tuple[str, str],
    limits: tuple[int, int],
) -> Prompt:
    """Return the prompt that asks for the outcome of a conversation for a person, as a comment and a number.

    Args:
        question: A dimension of Sotopia, or `meeting`, for its subject. Source: Zhou et al. 2024.
        name: The person; empty for `meeting`.
        known: Facts for the reader beside the transcript: pairs of `goal`, `step`, `secret` or `about`, and a text.
        answers: The names of the fields for comment and number.
        limits: The lowest and the highest number.
    """
    texts = template("outcomes")
    values = {"name": name, "low": limits[0], "high": limits[1]}
    parts: list[NumberedPart] = [
        ("known", "item", texts.fill(f"known.{what}", {"name": name, what: text})) for what, text in known
    ]
    parts.append(("task", "text", texts.fill(f"task.{question}", values)))
    form = dict(zip(answers, (texts.fill("comment", {}), texts.fill("score", values)), strict=True))
    return _prompt("outcomes", turns, parts, form)


def shared_units(prompt: Prompt) -> int:
    """Return how many units at the beginning are shared with other prompts about the same lines."""
    return sum(unit.block == _CONVERSATION for unit in prompt.units)


def _prompt(name: str, turns: Iterable[Turn], asked: Sequence[NumberedPart], form: Mapping[str, str]) -> Prompt:
    texts = template(name)
    parts: list[NumberedPart] = []
    for turn in turns:
        line = "silence" if turn.speaker is None else "line"
        parts.append((_CONVERSATION, "item", texts.fill(line, {"name": turn.speaker, "text": turn.text})))
    if parts:
        parts.insert(0, (_CONVERSATION, "text", texts.fill("lead", {})))
    output = texts.fill("form", {"form": json.dumps(form, ensure_ascii=False)})
    parts += [*asked, ("output_instruction", "text", output)]
    return numbered(parts)
