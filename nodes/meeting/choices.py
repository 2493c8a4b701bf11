"""Choices read from probabilities, for models too small to put feelings or needs into words.

A sentence is begun after the lines that the agent heard, and its continuations are compared: not how likely each is,
but how much likelier than after lines without content (`prompts/choices.py`). Words are still the model's own: the
choice is put into its reply, and it goes on from there.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from tertulia.nodes.meeting.view import View
from tertulia.prompts.choices import assemble_choice, assemble_neutral
from tertulia.prompts.templates import PromptTemplate, template
from tertulia.prompts.translations import translated
from tertulia.state.cognition import MechanismChoice
from tertulia.state.languages import DEFAULT
from tertulia.state.meeting import EMOTIONS

#: How strong a feeling is in the words of the template.
_GRADES = {"little": 0.25, "plain": 0.55, "very": 0.9}
#: The power of the distribution from which a feeling is drawn: a small model's is flat, though its order is not bad.
_SHARPNESS = 3.0


def reads_probabilities(view: View) -> bool:
    """Return whether the agent's choices are read from probabilities, and not from its replies."""
    return view.context.parameters.choices == "probabilities"


async def choose_feeling(view: View) -> tuple[str, int]:
    """Return the feeling that the situation makes likelier, and its strength from 0 to 10.

    An agent that has noticed nothing yet feels as before.
    """
    if not view.lines():
        return view.mind["emotion"], round(10 * view.mind["emotion_strength"])
    ask, options = _texts(view).fill("feeling.ask", {"name": view.name}), feeling_options(view.language)
    return feeling_of(await log_ratios(view, "feeling", ask, options), view.generator("feeling"))


def feeling_options(language: str = DEFAULT) -> list[str]:
    """Return the words for every feeling in each of its grades."""
    fill, words = template("choices", language).fill, [translated(emotion, language) for emotion in EMOTIONS]
    return [fill(f"feeling.{grade}", {"emotion": emotion}) for emotion in words for grade in _GRADES]


def feeling_of(ratios: Sequence[float], generator: random.Random) -> tuple[str, int]:
    """Return a feeling drawn from the calibrated distribution, and its strength expected over the feeling's grades.

    Args:
        ratios: The logarithm of how much likelier each of `feeling_options` is than after lines without content.
    """
    shares, count = normalised(ratios), len(_GRADES)
    by_emotion = [shares[at : at + count] for at in range(0, len(shares), count)]
    weights = [sum(grades) ** _SHARPNESS for grades in by_emotion]
    (index,) = generator.choices(range(len(EMOTIONS)), weights)
    grades = by_emotion[index]
    strength = sum(share * grade for share, grade in zip(grades, _GRADES.values(), strict=True)) / sum(grades)
    return EMOTIONS[index], round(10 * strength)


async def choose_switches(view: View, descriptions: Sequence[str]) -> list[MechanismChoice]:
    """Return for each mechanism whether the situation makes it likelier than it is without one, and its share."""
    ask = _texts(view).fill("mechanism.ask", {"name": view.name})
    return switches_of(await log_ratios(view, "mechanism", ask, switch_options(descriptions, view.language)))


def switch_options(descriptions: Sequence[str], language: str = DEFAULT) -> list[str]:
    """Return the words for every mechanism, and last those for needing none."""
    texts = template("choices", language)
    return [
        *(texts.fill("mechanism.option", {"value": text}) for text in descriptions),
        texts.fill("mechanism.none", {}),
    ]


def switches_of(ratios: Sequence[float]) -> list[MechanismChoice]:
    """Return the choice of each mechanism: it is on if its calibrated share is above 1 / n, as its reason says.

    Mechanisms compete with each other, and with needing none.

    Args:
        ratios: As in `feeling_of`, of `switch_options`.
    """
    even = 1 / len(ratios)
    return [
        MechanismChoice(active=share > even, reason=f"its calibrated share is {share:.2f}; it is on above {even:.2f}")
        for share in normalised(ratios)[:-1]
    ]


async def choose_done(view: View, index: int, step: str) -> bool:
    """Return whether the situation makes it likelier that a step of the plan is done than it is without one.

    An agent that has noticed nothing yet holds the same steps for done as before.
    """
    if not view.lines():
        return view.done()[index]
    texts = _texts(view)
    options = [texts.fill(f"step.{entry}", {"value": step}) for entry in ("done", "open")]
    partner = next(name for name in view.meeting.names if name != view.name)
    ask = texts.fill("step.ask", {"name": view.name, "other": partner, "value": step.rstrip(".。")})
    done, still_open = await log_ratios(view, f"step_{index}", ask, options)
    return done > still_open


def _texts(view: View) -> PromptTemplate:
    return template("choices", view.language)


def as_choice(decided: bool | None) -> tuple[str, ...]:
    """Return the values that a boolean of a reply may have; any if nothing is decided."""
    return () if decided is None else ("true" if decided else "false",)


@dataclass(frozen=True)
class _Neutral:
    """The probabilities of options after each of the lines without content."""

    probabilities: Sequence[Sequence[float]]


async def log_ratios(view: View, node: str, ask: str, options: Sequence[str]) -> list[float]:
    """Return the logarithm of how much likelier each option is than after lines without content.

    The answer after these is the same for a whole meeting: it is asked for once, under the round before the first.

    Args:
        node: The choice; it names the calls.
        ask: The beginning of the sentence that an option completes.
    """
    context, situation, tokenizer = view.context, view.situation(), view.context.model.tokenizer
    model = context.asked_by(view.name, view.round, f"weigh_{node}", view.part)
    found = await model.probabilities(assemble_choice(situation, ask, tokenizer), options)
    key = (context.model.id, view.name, ask, tuple(options))
    if (neutral := context.kept.get(_Neutral, key)) is None:
        model = context.asked_by(view.name, 0, f"weigh_{node}")
        prompts = assemble_neutral(situation, ask, tokenizer)
        neutral = context.kept.keep(_Neutral([await model.probabilities(prompt, options) for prompt in prompts]), key)
    return log_ratios_of(found, neutral.probabilities)


def log_ratios_of(found: Sequence[float], neutral: Sequence[Sequence[float]]) -> list[float]:
    """Return the logarithm of each probability, less its mean logarithm in the neutral cases."""
    means = [sum(map(_log, of_option)) / len(neutral) for of_option in zip(*neutral, strict=True)]
    return [_log(probability) - mean for probability, mean in zip(found, means, strict=True)]


def normalised(logs: Sequence[float]) -> list[float]:
    """Return shares that sum to 1, of weights given by their logarithms."""
    weights = [math.exp(log - max(logs)) for log in logs]
    return [weight / sum(weights) for weight in weights]


def _log(probability: float) -> float:
    return math.log(max(probability, 1e-30))
