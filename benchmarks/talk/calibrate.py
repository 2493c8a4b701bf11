"""Calibrate judge and ending: `python -m benchmarks.talk.calibrate [MODEL] [--cases SCENARIO ...] [--held-out FOLDER]`.

The contrast (`nodes/utterance/judge.py`) of a reply is by how many nats a token what was removed makes it less
likely. It is measured

1. on replies to *pruned* prompts, at several λ, as a run judges them: their mean is negative by nature for replies to
   full prompts, and is not for these;
2. on the same replies beside items of another case in the place of those removed, which say nothing about them;
3. on pairs of replies that agree with a memory, or contradict it: the area under the curve, 0.5 by chance; and on the
   same replies with the memory of another pair, about which neither says anything: more than 0.5 would be wording.

That is the figure as it is without a vocabulary's probabilities, as of a server; its threshold would be the contrast
that one in four replies to prompts pruned at λ = 0.5 exceeds. Of the ending (`nodes/utterance/end.py`) it is shown how
many exchanges that were not taught are told apart at its threshold.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks.talk.first_lines import first_prompt, removed_at
from tertulia.cli.environment import cache_folder
from tertulia.lab.tuning.dialogue_lessons import pair_lesson
from tertulia.models.loading import open_embedder, open_model
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.nodes.utterance.candidates import read_candidate, written_reply
from tertulia.nodes.utterance.judge import judge_by_likelihood
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.prompts.ending import assemble_ending
from tertulia.prompts.remove import remove_units, removed_with_blocks
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.language_model import Embedder
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Candidate, Case, Prompt
from tertulia.worlds.catalog import resolve
from tertulia.worlds.scenes import EndingScene, PairScene, read_scenes, shipped_scenes

FACTORS = (0.3, 0.5, 0.7)

#: The share of replies to prompts pruned at λ = 0.5 that are to be conflicts.
_CONFLICTS = 0.25


def contrast(context: Context, prompt: Prompt, removed: Sequence[str], candidate: Candidate) -> float:
    """Return the contrast of a candidate, in nats a token: positive where what was removed makes it less likely."""
    state: UtteranceState = {"speaker": prompt.speaker, "turn": 1, "round": 1}
    return asyncio.run(judge_by_likelihood(state, context, prompt, removed, candidate)).inconsistency


def context_of(model: CausalLanguageModel, embedder: Embedder, case: Case, parameters: Parameters) -> Context:
    """Return a context in which nothing is recorded."""
    broker = SimpleNamespace(asked_by=lambda model, *_: model)
    return Context("", 0, case, parameters, model, embedder, None, broker)  # type: ignore[arg-type]


def with_memory_of(pair: PairScene, other: PairScene) -> PairScene:
    """Return a pair in which the speaker remembers what somebody else does."""
    named = other.memory.replace(other.speaker.split()[0], pair.speaker.split()[0])
    return pair.model_copy(update={"memory": named})


def contrasts_of_replies(
    model: CausalLanguageModel, embedder: Embedder, cases: Sequence[Case], seeds: int, parameters: Parameters
) -> tuple[dict[float, list[float]], list[float]]:
    """Return the contrasts of replies to pruned prompts, by λ; and at 0.5 beside items of the next case instead."""
    found: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    foreign = []
    for number, case in enumerate(cases):
        context = context_of(model, embedder, case, parameters)
        for seed in range(1, seeds + 1):
            full = first_prompt(model, embedder, case, seed, parameters)
            strange = first_prompt(model, embedder, cases[(number + 1) % len(cases)], seed, parameters)
            for factor in FACTORS:
                removed = removed_with_blocks(full, removed_at(model, full, factor, seed, parameters))
                pruned = remove_units(full, removed)
                generator = keyed_generator(seed, round=1, agent=full.speaker, node="generate")
                request = utterance_request(pruned, (generator,), model.tokenizer, parameters)
                candidate = read_candidate(0, asyncio.run(model.generate(request))[0], full.speaker)
                found[factor].append(contrast(context, full, removed, candidate))
                if factor == 0.5:
                    beside = with_items_of(full, strange, removed)
                    foreign.append(contrast(context, beside, removed, candidate))
    return found, foreign


def with_items_of(prompt: Prompt, other: Prompt, units: Sequence[str]) -> Prompt:
    """Return a prompt in which the memories among some units say what another prompt remembers."""
    texts = iter([unit.text for unit in other.units if unit.block == "memory" and unit.kind == "item"])
    replaced = (
        unit.model_copy(update={"text": next(texts, unit.text)})
        if unit.id in units and unit.block == "memory" and unit.kind == "item"
        else unit
        for unit in prompt.units
    )
    return prompt.model_copy(update={"units": tuple(replaced)})


def contrasts_of_pairs(
    model: CausalLanguageModel, embedder: Embedder, pairs: Sequence[PairScene], parameters: Parameters
) -> tuple[list[float], list[float]]:
    """Return the contrasts of the replies that agree, and of those that contradict, when the memory is removed."""
    agreeing: list[float] = []
    contradicting: list[float] = []
    for number, pair in enumerate(pairs):
        lesson = pair_lesson(pair, keyed_generator(number, node="lesson"))
        units = tuple(unit for unit in lesson.prompt.units if unit.id not in lesson.learned)
        prompt = lesson.prompt.model_copy(update={"units": units})
        memory = [unit.id for unit in units if unit.block == "memory" and unit.text.endswith(pair.memory)]
        context = context_of(model, embedder, None, parameters)  # type: ignore[arg-type]
        for text, found in ((pair.agrees, agreeing), (pair.contradicts, contradicting)):
            candidate = Candidate(attempt=0, text=text, reply=written_reply(prompt, text, None, context))
            found.append(contrast(context, prompt, memory, candidate))
    return agreeing, contradicting


def partings(model: CausalLanguageModel, endings: Sequence[EndingScene]) -> tuple[list[float], list[float]]:
    """Return the probability that they part, where they go on, and where they part."""
    found: tuple[list[float], list[float]] = ([], [])
    for ending in endings:
        prompt, options = assemble_ending(ending.line, ending.reply, model.tokenizer)
        found[ending.parts].append(asyncio.run(model.probabilities(prompt, options))[0])
    return found


def area_under_curve(negative: Sequence[float], positive: Sequence[float]) -> float:
    """Return how often a positive exceeds a negative, ties counted half: the area under the ROC curve."""
    low, high = np.array(negative)[:, None], np.array(positive)[None]
    return float(((low < high) + 0.5 * (low == high)).mean())


def auc_interval(negative: Sequence[float], positive: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the area, by bootstrap over pairs."""
    low, high, draw = np.array(negative), np.array(positive), np.random.default_rng(0)
    rows = draw.integers(0, len(low), (1000, len(low)))
    found = [area_under_curve(low[row], high[row]) for row in rows]
    return float(np.quantile(found, 0.025)), float(np.quantile(found, 0.975))


def main() -> None:
    """Print the quantiles of the contrast by λ, the area over pairs, and the threshold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", nargs="?", default="smollm2")
    parser.add_argument("--cases", nargs="+", default=[f"tidewell:{case}" for case in range(8)])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--held-out", type=Path, default=shipped_scenes() / "held_out")
    options = parser.parse_args()
    model, embedder = open_model(options.model, cache=cache_folder()), open_embedder("minilm")
    assert isinstance(model, CausalLanguageModel)
    parameters = model.traits.resolve(Parameters(judge="likelihood")).model_copy(update={"ending": "off"})
    scenes = read_scenes([options.held_out])
    going_on, parting = partings(model, [scene for scene in scenes if isinstance(scene, EndingScene)])
    ends = model.traits.ending_threshold or 0.5
    told = [p <= ends for p in going_on] + [p > ends for p in parting]
    print(
        f"{len(told)} endings, area {area_under_curve(going_on, parting):.2f}; at {ends:g} {np.mean(told):.0%} are told"
        f" apart, and {np.mean(np.array(parting) > ends):.0%} of partings found"
    )
    pairs = [scene for scene in scenes if isinstance(scene, PairScene)]
    strangers = [with_memory_of(pair, other) for pair, other in zip(pairs, pairs[1:] + pairs[:1], strict=True)]
    agreeing, contradicting = contrasts_of_pairs(model, embedder, pairs, parameters)
    for whose, contrasts in (
        ("the memory", (agreeing, contradicting)),
        ("another's memory", contrasts_of_pairs(model, embedder, strangers, parameters)),
    ):
        low, high = auc_interval(*contrasts)
        print(
            f"{options.model}, {len(pairs)} pairs, {whose}: area under the curve "
            f"{area_under_curve(*contrasts):.2f} [{low:.2f}, {high:.2f}]"
        )
    cases = [case for case in map(resolve, options.cases) if isinstance(case, Case)]
    found, foreign = contrasts_of_replies(model, embedder, cases, options.seeds, parameters)
    for name, values in [
        *((f"λ = {factor}", found[factor]) for factor in FACTORS),
        ("0.5, items of another case", foreign),
    ]:
        quantiles = ", ".join(f"{q:.0%} {np.quantile(values, q):+.3f}" for q in (0.1, 0.25, 0.5, 0.75, 0.9))
        print(f"{name}: {len(values)} replies, {quantiles} nats a token")
    threshold = float(np.quantile(found[0.5], 1 - _CONFLICTS))
    caught = np.mean(np.array(contradicting) > threshold), np.mean(np.array(agreeing) > threshold)
    print(f"threshold {threshold:+.3f}; above it: {caught[0]:.0%} of what contradicts, {caught[1]:.0%} of what agrees")


if __name__ == "__main__":
    main()
