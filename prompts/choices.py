"""Sentences that end at a choice, for models too small to name their feelings or needs.

Which continuation is likelier is measured against the same sentence after lines without content, because a model has
its favourite words after any line. Source: Zhao et al. 2021, "Calibrate Before Use".
"""

from collections.abc import Sequence

from tertulia.prompts.cognition import AgentSituation
from tertulia.prompts.person import lines_of
from tertulia.prompts.templates import template
from tertulia.state.language_model import RenderedPrompt, Tokenizer
from tertulia.state.records import Prompt, Turn, Unit

#: Latest lines that a choice is made by.
_LINES = 4
#: Facts of the person, behind their background.
_OF_PERSON = ("age", "occupation", "traits")
#: Entries of the template: lines without content.
_NEUTRAL = ("first", "second", "third")


def assemble_choice(situation: AgentSituation, ask: str, tokenizer: Tokenizer) -> RenderedPrompt:
    """Return the prompt that ends with `ask`, the beginning of a sentence, after the latest lines the agent noticed."""
    return _rendered(situation, [_line(turn, situation.language) for turn in situation.lines[-_LINES:]], ask, tokenizer)


def assemble_neutral(situation: AgentSituation, ask: str, tokenizer: Tokenizer) -> list[RenderedPrompt]:
    """Return the same prompt after lines without content; they are the same for a whole meeting."""
    texts = template("choices", situation.language)
    other = next(name for name in situation.meeting.names if name != situation.name)
    lines = [texts.fill("line", {"name": other, "text": texts.fill(f"neutral.{entry}", {})}) for entry in _NEUTRAL]
    return [_rendered(situation, [line], ask, tokenizer) for line in lines]


def _line(turn: Turn, language: str) -> str:
    if turn.speaker is None:
        return template("cognition", language).fill("moment.silence", {})
    return template("choices", language).fill("line", {"name": turn.speaker, "text": turn.text})


def _rendered(situation: AgentSituation, lines: Sequence[str], ask: str, tokenizer: Tokenizer) -> RenderedPrompt:
    """Return a prompt as plain text, a unit on each line; all choices share everything before the last line."""
    texts, meeting = template("choices", situation.language), situation.meeting
    about = {"name": situation.name, "title": meeting.title, "description": meeting.description}
    known = [
        *situation.agent.persona.background,
        *lines_of(situation.agent, _OF_PERSON, situation.language, situation.character.big_five),
    ]
    parts = [texts.fill("person", {"value": " ".join(known) or situation.name})]
    parts += [texts.fill("meeting", about), *lines, ask]
    return _as_plain_text(parts, tokenizer)


def assemble_character(name: str, words: str, tokenizer: Tokenizer, language: str) -> RenderedPrompt:
    """Return the prompt that ends with the beginning of a sentence about a person of such a character."""
    texts = template("choices", language)
    parts = [texts.fill("poles.person", {"name": name, "value": words}), texts.fill("poles.ask", {"name": name})]
    return _as_plain_text(parts, tokenizer)


def assemble_nobody(name: str, tokenizer: Tokenizer, language: str) -> list[RenderedPrompt]:
    """Return the same prompt about people of no character."""
    texts = template("choices", language)
    words = [texts.fill(f"poles.nobody.{entry}", {}) for entry in _NEUTRAL]
    return [assemble_character(name, text, tokenizer, language) for text in words]


def _as_plain_text(parts: Sequence[str], tokenizer: Tokenizer) -> RenderedPrompt:
    units = [Unit(id=f"choice.{i}", block="choice", kind="text", text=text) for i, text in enumerate(parts, 1)]
    tokens: list[int] = []
    spans = {}
    for unit in units:
        start = len(tokens)
        tokens += tokenizer.encode(unit.text if unit is units[-1] else f"{unit.text}\n")
        spans[unit.id] = (start, len(tokens))
    return RenderedPrompt(
        input_ids=tuple(tokens),
        token_spans=spans,
        unit_blocks={unit.id: unit.block for unit in units},
        shared_prefix=spans[units[-1].id][0],
        source=Prompt(units=tuple(units), speaker="", layout="plain_text"),
    )
