"""First lines of cases, drawn at several λ from one decoder: dictated where memories stand, freed where they are gone.

`benchmarks.talk.first_lines [--model NAME ...] [--cases SCENARIO ...] [--seeds 8] [--lambda 0 0.5 1] [--lines]`

For each case, λ and seed a first line is drawn in plain sampling: no amplified context, one draft, no ban.

* *within − between*: mean cosine of first lines of one case, minus that of lines of different cases, names masked: how
  much of a line its case dictates.
* *entropy*: of the next token, in nats, over the tokens of the lines drawn, at T = 1 and without the grammar: how much
  is left open.
* *recited*: share of lines with six words in a row from one unit of the full prompt.

Figures are means over cases with 95 % intervals (bootstrap over cases), differences from λ = 0 case by case.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray

from tertulia.cli.environment import cache_folder
from tertulia.metrics.recitation import recites
from tertulia.models.loading import open_embedder, open_model
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.models.local.decoding_state import DecodingState
from tertulia.models.local.platforms import platform_of
from tertulia.nodes.scorers.attention import scoring_request
from tertulia.nodes.shared.memory import retrieve_memories
from tertulia.nodes.shared.names_in_text import without_names
from tertulia.nodes.utterance.candidates import utterance_of
from tertulia.nodes.utterance.prune import prune_units
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.nodes.utterance.retrieve import focal_points
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.prompts.examples import exchanges
from tertulia.prompts.remove import remove_units
from tertulia.runs.access.suited import suited_to
from tertulia.state.language_model import Embedder, RenderedPrompt
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, Prompt, Reply
from tertulia.state.words import words
from tertulia.worlds.catalog import resolve


@dataclass(frozen=True)
class FirstLines:
    """The first lines of a case at a λ: what was said, its entropy in nats a token, and whether it recites."""

    texts: list[str]
    entropies: list[float]
    recited: list[bool]


def first_lines(
    model: CausalLanguageModel,
    embedder: Embedder,
    case: Case,
    factor: float,
    seeds: Sequence[int],
    parameters: Parameters,
) -> FirstLines:
    """Return the first lines of a case at λ, a seed each."""
    texts, entropies, recited = [], [], []
    for seed in seeds:
        full = first_prompt(model, embedder, case, seed, parameters)
        units = [unit.text for unit in full.units if unit.kind == "item"]
        prompt = remove_units(full, removed_at(model, full, factor, seed, parameters))
        generator = keyed_generator(seed, round=1, agent=prompt.speaker, node="generate")
        request = utterance_request(prompt, (generator,), model.tokenizer, parameters)
        (reply,) = asyncio.run(model.generate(request))
        text = utterance_of(reply, prompt.speaker)
        texts.append(without_names(text, case.names))
        entropies.append(mean_entropy(model, request.prompt, reply))
        recited.append(recites(text, units))
    return FirstLines(texts, entropies, recited)


def first_prompt(
    model: CausalLanguageModel, embedder: Embedder, case: Case, seed: int, parameters: Parameters
) -> Prompt:
    """Return the full prompt for the first line of a case, as the product assembles it."""
    speaker, listeners = case.names[0], [case.names[1]]
    points = focal_points(case, speaker, listeners, [])
    memories = retrieve_memories(case.initiator.memories, points, case.time, embedder, parameters)
    drawn = keyed_generator(seed, agent=speaker, node="example_exchange").choice(exchanges())
    material = UtteranceMaterial(
        case, speaker, listeners, memories, [], asks_ending=parameters.ending == "reply", exchange=drawn
    )
    return assemble_prompt(material, model.traits.layout, parameters.blocks, parameters.removable_blocks)


def removed_at(
    model: CausalLanguageModel, prompt: Prompt, factor: float, seed: int, parameters: Parameters
) -> list[str]:
    """Return what Algorithm 1 removes from a prompt at λ."""
    if factor == 0:
        return []
    if factor == 1:
        return [unit.id for unit in prompt.units if unit.removable]
    rows = range(parameters.scoring_responses)
    generators = tuple(keyed_generator(seed, agent=prompt.speaker, node="score", row=row) for row in rows)
    asked = scoring_request(prompt, generators, model, parameters)
    _, scores = asyncio.run(model.generate_scored(asked.request, asked.options))
    return prune_units(prompt.units, scores, factor)


def mean_entropy(model: CausalLanguageModel, prompt: RenderedPrompt, reply: Reply) -> float:
    """Return the mean entropy of the next token over the tokens of a reply's text, in nats."""
    first, past_last = reply.text_tokens
    prefix = model.prompts.get(prompt)
    state = DecodingState(model.model, prefix, 1, past_last, capture=False)
    with torch.no_grad():
        logs = state.forward([[prefix.tokens[-1], *reply.tokens[: past_last - 1]]])[0].float().log_softmax(-1)
    return float(-(logs.exp() * logs).sum(-1)[first:past_last].mean())


def alike(texts: Sequence[Sequence[str]], embedder: Embedder) -> list[tuple[float, float]]:
    """Return for each case the mean cosine of its lines with each other, and with those of the other cases."""
    vectors = [np.array(embedder.embed(list(of_case))) for of_case in texts]
    found = []
    for number, of_case in enumerate(vectors):
        within = [float(a @ b) for a, b in combinations(of_case, 2)]
        others = np.concatenate([other for at, other in enumerate(vectors) if at != number])
        found.append((float(np.mean(within)), float((of_case @ others.T).mean())))
    return found


def figures(lines: Sequence[FirstLines], embedder: Embedder) -> NDArray[np.float64]:
    """Return the figures of every case at a λ: within − between, within, entropy, recited, words a line."""
    rows = []
    for of_case, (within, between) in zip(lines, alike([line.texts for line in lines], embedder), strict=True):
        length = np.mean([len(words(text)) for text in of_case.texts])
        rows.append([within - between, within, np.mean(of_case.entropies), np.mean(of_case.recited), length])
    return np.array(rows)


def shown(values: NDArray[np.float64], sign: str = "") -> str:
    """Return a mean over cases with its 95 % interval, by bootstrap over cases."""
    rows = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    low, high = np.quantile(values[rows].mean(axis=1), (0.025, 0.975))
    return f"{values.mean():{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def main() -> None:
    """Print the figures of each model at each λ as a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", nargs="+", default=["smollm2", "smollm2:plain"])
    parser.add_argument("--cases", nargs="+", default=[f"tidewell:{case}" for case in range(8)])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--lambda", dest="factors", nargs="+", type=float, default=[0.0, 0.5, 1.0])
    parser.add_argument("--temperature", type=float, help="that of the model where it is left out")
    parser.add_argument("--lines", action="store_true", help="print what was said")
    options = parser.parse_args()
    embedder = open_embedder("minilm")
    cases = [resolve(case) for case in options.cases]
    names = ("within − between", "within", "entropy", "recited", "words a line")
    for name in options.model:
        model = open_model(name, cache=cache_folder())
        assert isinstance(model, CausalLanguageModel)
        plain = {"context_strength": 0, "drafts": 1, "no_repeat_ngram": 0}
        parameters = suited_to(model.traits, Parameters(temperature=options.temperature, **plain))
        parameters = parameters.model_copy(update={"ending": "off"})
        print(
            f"\n{name}, {len(cases)} cases, {options.seeds} seeds, "
            f"T = {parameters.sampling_temperature:g}; {_where(model)}\n"
        )
        print(f"| λ | {' | '.join(names)} |\n|---|{'---|' * len(names)}", flush=True)
        first = None
        for factor in options.factors:
            seeds = range(1, options.seeds + 1)
            lines = [
                first_lines(model, embedder, case, factor, seeds, parameters)
                for case in cases
                if isinstance(case, Case)
            ]
            found = figures(lines, embedder)
            print(f"| {factor:g} | {' | '.join(shown(values) for values in found.T)} |", flush=True)
            if first is not None:
                print(
                    f"| {factor:g} minus the first | {' | '.join(shown(v, '+') for v in (found - first).T)} |",
                    flush=True,
                )
            first = found if first is None else first
            if options.lines:
                for case, of_case in zip(options.cases, lines, strict=True):
                    print(f"\n{case}", *of_case.texts, sep="\n  ", flush=True)


def _where(model: CausalLanguageModel) -> str:
    platform = platform_of([model])
    return f"{platform.processor}, {platform.precision}, {platform.threads} threads" if platform else "no platform"


if __name__ == "__main__":
    main()
