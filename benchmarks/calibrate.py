"""Calibrate the likelihood judge of a model on the shipped town: `python -m benchmarks.calibrate [MODEL]`.

Replies to full prompts are taken to be consistent with what λ would remove. Their contrast (see
`nodes.judge.judge_by_likelihood`) is measured at several λ; the threshold is the level that one in ten exceeds.
"""

import asyncio
import sys
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np

from cli.environment import cache_folder
from models.loading import open_embedder, open_model
from nodes.generate import read_candidate, spoken_request, utterance_request
from nodes.judge import judge_by_likelihood
from nodes.memory import retrieve_memories
from nodes.prune import prune_units
from nodes.retrieve import focal_points
from prompts.assemble import UtteranceMaterial, assemble_prompt
from prompts.remove import removed_with_blocks
from state.context import Context
from state.graph_state import UtteranceState
from state.language_model import ScoringOptions
from state.parameters import Parameters
from state.randomness import keyed_generator
from state.records import Case, Turn
from worlds.catalog import list_cases

FACTORS = (0.3, 0.5, 0.7, 1.0)
REPLIES = 4


async def contrasts(name: str) -> dict[float, list[float]]:
    """Return the contrasts of replies to full prompts, by λ, in nats per token."""
    model = open_model(name, cache=cache_folder())
    embedder = open_embedder("minilm")
    parameters = model.traits.resolve(Parameters(judge="likelihood"))
    found: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    for listed in list_cases("tidewell").cases:
        case = listed.case
        assert isinstance(case, Case)
        broker = SimpleNamespace(asked_by=lambda model, *_: model)  # nothing is recorded
        context = Context("", 0, case, parameters, model, embedder, None, broker)  # type: ignore[arg-type]
        for turns in ([], [greeting(case)]):
            for factor, values in (await contrasts_of(context, listed.number, turns)).items():
                found[factor] += values
    return found


def greeting(case: Case) -> Turn:
    """Return a first turn of a case."""
    text = f"Good day, {case.partner.persona.name}! What have you been doing?"
    return Turn(turn=1, round=1, speaker=case.initiator.persona.name, text=text, sim_time_s=0, ended=False)


async def contrasts_of(context: Context, number: int, turns: list[Turn]) -> dict[float, list[float]]:
    """Return the contrasts of replies to the next prompt of a case, by λ."""
    case, model, parameters = context.case, context.model, context.parameters
    assert isinstance(case, Case)
    speaker = (case.partner if turns else case.initiator).persona.name
    listeners = [name for name in case.names if name != speaker]
    points = focal_points(case, speaker, listeners, turns)
    stream = case.participant(speaker).memories
    memories = retrieve_memories(stream, points, case.time, context.embedder, parameters)
    material = UtteranceMaterial(case, speaker, listeners, memories, turns, asks_ending=parameters.ending == "reply")
    prompt = assemble_prompt(material, model.traits.layout, parameters.blocks, parameters.removable_blocks)
    generators = tuple(
        keyed_generator(0, round=number, agent=speaker, node="calibrate", row=row) for row in range(REPLIES)
    )
    replies = await model.generate(spoken_request(prompt, generators, model.tokenizer, parameters))
    plain = utterance_request(prompt, generators[: parameters.scoring_responses], model.tokenizer, parameters)
    _, scores = await model.generate_scored(plain, ScoringOptions())
    state: UtteranceState = {"speaker": speaker, "round": number}
    found: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    for factor in FACTORS:
        removed = removed_with_blocks(prompt, prune_units(prompt.units, scores, factor))
        for attempt, reply in enumerate(replies):
            candidate = read_candidate(attempt, reply, speaker)
            judged = await judge_by_likelihood(state, context, prompt, removed, candidate)
            found[factor].append(judged.inconsistency)
    return found


def main(arguments: list[Any]) -> None:
    """Print the quantiles of the contrast by λ, and the threshold over all of them."""
    found = asyncio.run(contrasts(arguments[0] if arguments else "smollm2"))
    for factor, values in [*found.items(), ("all", list(chain.from_iterable(found.values())))]:
        low, median, high = np.quantile(values, [0.1, 0.5, 0.9])
        print(
            f"λ = {factor}: {len(values)} replies, 10 % {low:+.3f}, median {median:+.3f}, 90 % {high:+.3f} nats/token"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
