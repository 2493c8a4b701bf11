"""Choices read from probabilities, for models too small to say what they feel or need.

A sentence is begun after what the agent heard, and its continuations are compared: not how likely each is, but how much
likelier than after lines without content (`prompts/choices.py`). Words are still the model's own: what was chosen is
put into its reply, and it goes on from there.
"""

import math
from collections.abc import Sequence

from nodes.view import View
from prompts.choices import assemble_choice, assemble_neutral
from prompts.templates import template
from state.meeting import EMOTIONS
from state.randomness import keyed_generator

#: How strong a feeling is in the words of the template.
_GRADES = {"little": 0.25, "plain": 0.55, "very": 0.9}
#: The power of the distribution from which a feeling is drawn: a small model's is flat, though its order is not bad.
_SHARPNESS = 3.0


def reads_probabilities(view: View) -> bool:
    """Return whether the agent's choices are read from probabilities, and not from its replies."""
    return view.context.parameters.choices == "probabilities"


async def choose_feeling(view: View) -> tuple[str, int]:
    """Return the feeling that the situation makes likelier, and its strength from 0 to 10.

    The feeling is drawn from the calibrated distribution over all of them, the strength expected over their grades.
    Who has noticed nothing yet feels as before.
    """
    if not view.lines():
        return view.mind["emotion"], round(10 * view.mind["emotion_strength"])
    texts = template("choices")
    options = [texts.fill(f"feeling.{grade}", {"emotion": emotion}) for emotion in EMOTIONS for grade in _GRADES]
    shares = normalised(await log_ratios(view, "feeling", texts.fill("feeling.ask", {"name": view.name}), options))
    by_emotion = [shares[at : at + len(_GRADES)] for at in range(0, len(shares), len(_GRADES))]
    weights = [sum(grades) ** _SHARPNESS for grades in by_emotion]
    generator = keyed_generator(view.context.seed, round=view.round, agent=view.name, node="feeling")
    (index,) = generator.choices(range(len(EMOTIONS)), weights)
    grades = by_emotion[index]
    strength = sum(share * grade for share, grade in zip(grades, _GRADES.values(), strict=True)) / sum(grades)
    return EMOTIONS[index], round(10 * strength)


async def choose_switches(view: View, descriptions: Sequence[str]) -> list[bool]:
    """Return for each mechanism whether the situation makes it likelier than it is without one.

    They compete with each other and with needing nothing: a mechanism is on where its calibrated share is above 1 / n.
    """
    texts = template("choices")
    options = [texts.fill("mechanism.option", {"value": description}) for description in descriptions]
    options.append(texts.fill("mechanism.none", {}))
    shares = normalised(await log_ratios(view, "mechanism", texts.fill("mechanism.ask", {"name": view.name}), options))
    return [share > 1 / len(shares) for share in shares[:-1]]


async def choose_done(view: View, index: int, step: str) -> bool:
    """Return whether the situation makes it likelier that a step of the plan is done than it is without one."""
    texts = template("choices")
    options = [texts.fill(f"step.{entry}", {"value": step}) for entry in ("done", "open")]
    ask = texts.fill("step.ask", {"name": view.name, "value": step})
    done, still_open = await log_ratios(view, f"step_{index}", ask, options)
    return done > still_open


def as_choice(decided: bool | None) -> tuple[str, ...]:
    """Return the values that a boolean of a reply may have; any where nothing is decided."""
    return () if decided is None else ("true" if decided else "false",)


async def log_ratios(view: View, node: str, ask: str, options: Sequence[str]) -> list[float]:
    """Return the logarithm of how much likelier each option is than after lines without content.

    Args:
        view: The agent's view of the round.
        node: What is chosen; it names the calls.
        ask: The beginning of the sentence that an option completes.
        options: Its ends.
    """
    model = view.context.asked_by(view.name, view.round, f"weigh_{node}", view.part)
    prompt = assemble_choice(view.situation(), ask, view.context.model.tokenizer)
    found = await model.probabilities(prompt, options)
    neutral = await _neutral_logs(view, node, ask, options)
    return [_log(probability) - log for probability, log in zip(found, neutral, strict=True)]


async def _neutral_logs(view: View, node: str, ask: str, options: Sequence[str]) -> list[float]:
    """Return the mean logarithm of each option's probability after lines without content.

    It is the same for a whole meeting: the calls are those of the round before the first, and made once.
    """
    prompts = assemble_neutral(view.situation(), ask, view.context.model.tokenizer)
    key = ("neutral", view.context.model.id, view.name, tuple(prompt.input_ids for prompt in prompts), tuple(options))
    if key not in view.context.kept:
        model = view.context.asked_by(view.name, 0, f"weigh_{node}")
        logs = [[_log(p) for p in await model.probabilities(prompt, options)] for prompt in prompts]
        view.context.kept[key] = [sum(of_option) / len(logs) for of_option in zip(*logs, strict=True)]
    kept: list[float] = view.context.kept[key]
    return kept


def normalised(logs: Sequence[float]) -> list[float]:
    """Return shares that sum to 1, of weights given by their logarithms."""
    weights = [math.exp(log - max(logs)) for log in logs]
    return [weight / sum(weights) for weight in weights]


def _log(probability: float) -> float:
    return math.log(max(probability, 1e-30))
