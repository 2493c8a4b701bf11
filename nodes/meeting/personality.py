"""The poles of a participant's personality: said by the scenario, read from words of character, or drawn.

Poles are drawn only for a person of whom nothing of character is said: no words, no way of speaking, no descriptions,
no poles. Source of the draw: ChatAgents App. D. From words the model reads the other dimensions, with "neither" among
its answers; a model too small to answer compares sentences, as in `nodes/meeting/choices.py`. A dimension that neither
way tells has no pole.
"""

from collections.abc import Mapping, Sequence

from tertulia.nodes.meeting.choices import log_ratios_of, reads_probabilities
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.prompts.choices import assemble_character, assemble_nobody
from tertulia.prompts.cognition import Question
from tertulia.prompts.person import words_of_character
from tertulia.prompts.templates import template
from tertulia.prompts.translations import translated
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import BIG_FIVE
from tertulia.state.randomness import keyed_generator

#: Dimensions that the embedded model tells apart by probabilities; of the other two it knows no more than a guess.
_COMPARED = ("extraversion", "agreeableness", "neuroticism")
#: How much likelier than the other pole a pole is at least, in nats, beside people without character. Of 16 characters
#: that say how outgoing a person is, the embedded model reads 9 or 10, none wrongly; of 14 others it claims 4 to 6.
_CLEAR = 0.5


async def poles_of(view: View) -> tuple[str, ...]:
    """Return a participant's poles, one of a dimension at most, in the dimensions' order."""
    given, words = view.agent.big_five, words_of_character(view.agent)
    known = {dimension: next((pole for pole in given if pole in both), None) for dimension, both in BIG_FIVE.items()}
    if not given and not words:
        return drawn_poles(view.context.seed, view.name)
    open_ones = [dimension for dimension, pole in known.items() if pole is None]
    found = await _read(view, words, open_ones) if words and open_ones else {}
    return tuple(pole for dimension in BIG_FIVE if (pole := known[dimension] or found.get(dimension)))


def drawn_poles(seed: int, name: str) -> tuple[str, ...]:
    """Return a pole of each of the five dimensions, drawn for a person. Source: ChatAgents App. D."""
    generator = keyed_generator(seed, agent=name, node="personality")
    return tuple(generator.choice(poles) for poles in BIG_FIVE.values())


async def _read(view: View, words: Sequence[str], dimensions: Sequence[str]) -> Mapping[str, str]:
    traits = view.context.model.traits
    if traits.rehearsed or (traits.languages is not None and view.language not in traits.languages):
        return {}  # it can't read the words
    if not reads_probabilities(view):
        return await _asked(view, words, dimensions)
    compared = [dimension for dimension in dimensions if dimension in _COMPARED]
    return await _compared(view, words, compared) if compared else {}


async def _asked(view: View, words: Sequence[str], dimensions: Sequence[str]) -> Mapping[str, str]:
    """Return the poles that the model answers, by dimension."""
    fill, neither = view.texts.fill, view.texts.fill("poles.neither", {})
    answers = {
        dimension: {translated(pole, view.language): pole for pole in BIG_FIVE[dimension]} for dimension in dimensions
    }
    options = {dimension: (*answers[dimension], neither) for dimension in dimensions}
    question = Question(
        "poles",
        form={dimension: " | ".join(options[dimension]) for dimension in dimensions},
        example={dimension: options[dimension][at % 3] for at, dimension in enumerate(dimensions, start=1)},
        items=[fill("poles.about", {"name": view.name, "value": text}) for text in words],
    )
    fields = [ReplyField(dimension, "choice", choices=options[dimension]) for dimension in dimensions]
    reply = await view.ask("poles", question, fields, as_self=False)
    found = {dimension: answers[dimension].get(text_of(reply, dimension)) for dimension in dimensions}
    return {dimension: pole for dimension, pole in found.items() if pole is not None}


async def _compared(view: View, words: Sequence[str], dimensions: Sequence[str]) -> Mapping[str, str]:
    """Return the poles whose words are clearly likelier of the person than of people without character."""
    texts, tokenizer = template("choices", view.language), view.context.model.tokenizer
    options = [texts.fill(f"poles.{pole}", {}) for dimension in dimensions for pole in BIG_FIVE[dimension]]
    model = view.context.asked_by(view.name, view.round, "weigh_poles")
    found = await model.probabilities(
        assemble_character(view.name, "; ".join(words), tokenizer, view.language), options
    )
    nobodies = assemble_nobody(view.name, tokenizer, view.language)
    ratios = log_ratios_of(found, [await model.probabilities(prompt, options) for prompt in nobodies])
    poles = {}
    for dimension, high, low in zip(dimensions, ratios[::2], ratios[1::2], strict=True):
        if abs(high - low) >= _CLEAR:
            poles[dimension] = BIG_FIVE[dimension][high < low]
    return poles
