"""Which reducer of attention agrees with leave-one-out likelihood, and how stable it is.

`python -m benchmarks.sinks [--first] [FOLDER]`: the embedded model in float32, about a minute of CPU for a prompt.
Prompts are those of cases 4 to 7 of the shipped town, and of a Generative Agents run where its folder is given; with
`--first` of cases 0 to 3, which were looked at while the reducers were settled.

*Leave-one-out*: by how much the mean log-likelihood of a response falls when a unit is removed, mean over
three responses. *Removed at 0.5*: the share of it (of the units that help at all) in what Algorithm 1 removes at
λ = 0.5, and the share of the units: what helps no more than others has the same share in both. *Stable*: scores over
three responses against the mean over nine others, ranks (Spearman) and overlap (Jaccard) of what is removed.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr
from torch import Tensor

from benchmarks.surrogate import FACTORS, Scores, lengths, opened, prompt_of
from tertulia.models.loading import open_embedder
from tertulia.models.local.attention_scores import NEUTRAL_REPLY, attention_to_prompt, unit_scores
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.models.local.decoding_state import prefill
from tertulia.nodes.shared.removing import prune_units
from tertulia.nodes.utterance.generate import utterance_request
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import render
from tertulia.state.language_model import RenderedPrompt, ScoringOptions
from tertulia.state.parameters import Parameters, Reducer
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, Prompt, Reply
from tertulia.worlds.catalog import list_cases

#: Which cases of a town, by whether the reducers were settled on them.
CASES = {True: slice(0, 4), False: slice(4, 8)}

#: The numbers of responses, of those that are scored, and of shuffled orders.
RESPONSES, SCORED, ORDERS = 12, 3, 2

SHUFFLED, BEYOND_SHUFFLED = "mean over shuffled orders", "beyond shuffled orders"


@dataclass
class Row:
    """The figures of one way to score, a value per prompt."""

    agreement: list[float] = field(default_factory=list)
    removed: list[tuple[float, float]] = field(default_factory=list)
    stable: list[list[float]] = field(default_factory=list)
    highest: list[str] = field(default_factory=list)
    spent_s: list[float] = field(default_factory=list)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    model, first = opened("smollm2"), "--first" in arguments
    folders = [argument for argument in arguments if argument != "--first"]
    if not folders:
        print("no folder of a Generative Agents run: the shipped town alone", file=sys.stderr)
    rows: dict[str, Row] = {}
    towns = ["tidewell", *(f"ga:{folder}" for folder in folders)]
    for number, prompt in enumerate(prompts(towns, model, CASES[first])):
        print(f"prompt {number + 1}", file=sys.stderr)
        asyncio.run(measure(model, prompt, number, rows))
    Console(width=140, highlight=False).print(table(rows))


def prompts(towns: Sequence[str], model: CausalLanguageModel, cases: slice) -> Iterator[Prompt]:
    """Yield prompts as the model gets them, every other one behind a first line."""
    embedder, parameters = open_embedder("minilm"), model.traits.resolve(Parameters(ending="off"))
    for town in towns:
        for number, listed in enumerate(list_cases(town).cases[cases]):
            assert isinstance(listed.case, Case)
            assert parameters.layout != "auto"
            yield prompt_of(listed.case, number % 2 == 1, parameters.layout, embedder, parameters)


async def measure(model: CausalLanguageModel, prompt: Prompt, number: int, rows: dict[str, Row]) -> None:
    """Add the figures of a prompt to the rows."""
    generators = tuple(keyed_generator(1, round=number, node="sinks", row=row) for row in range(RESPONSES))
    parameters = model.traits.resolve(Parameters(ending="off"))
    request = utterance_request(prompt, generators, model.tokenizer, parameters)
    replies = await model.generate(request)
    effects = await effects_of_removal(model, prompt, replies[:SCORED])
    effect = mean(effects)
    for name, (scores, spent_s) in scores_of(model, prompt, request.prompt, replies).items():
        row = rows.setdefault(name, Row())
        few = mean(scores[:SCORED])
        row.agreement.append(rank_correlation(few, effect))
        row.removed += share_removed(prompt, few, effect)
        row.highest.append(max(effect, key=lambda unit: few[unit]))
        row.spent_s.append(spent_s)
        if len(scores) > SCORED:
            row.stable.append(stability(prompt, few, mean(scores[SCORED:])))
    row = rows.setdefault("leave-one-out, of the other responses", Row())
    others = [mean([effect for effect in effects if effect is not each]) for each in effects]
    row.agreement.append(
        statistics.mean(rank_correlation(each, rest) for each, rest in zip(effects, others, strict=True))
    )
    for each, rest in zip(effects, others, strict=True):
        row.removed += share_removed(prompt, rest, each)
    row.highest.append(max(effect, key=lambda unit: effect[unit]))


def scores_of(
    model: CausalLanguageModel, prompt: Prompt, rendered: RenderedPrompt, replies: Sequence[Reply]
) -> dict[str, tuple[list[Scores], float]]:
    """Return by way to score the scores of each reply, and the CPU seconds beside those of Eq. 1."""
    responses = [reply.tokens for reply in replies]
    prefix = prefill(model.model, rendered.input_ids)
    attentions = attention_to_prompt(model.model, prefix, responses)
    started = time.process_time()
    (neutral,) = attention_to_prompt(model.model, prefix, [model.tokenizer.encode(NEUTRAL_REPLY)])
    read_s = time.process_time() - started

    def reduced(reducer: Reducer, rendered: RenderedPrompt, attentions: Sequence[Tensor]) -> list[Scores]:
        return [unit_scores(a, rendered, ScoringOptions(reducer), neutral=neutral) for a in attentions]

    found: dict[str, tuple[list[Scores], float]] = {}
    for reducer in get_args(Reducer):
        started = time.process_time()
        scores = reduced(reducer, rendered, attentions)
        spent_s = (time.process_time() - started) * SCORED / RESPONSES
        found[reducer] = scores, spent_s + (read_s if reducer == "beyond-neutral" else 0.0)
    started = time.process_time()
    by_order = []
    for order in range(ORDERS):
        in_order = render(shuffled(prompt, order), model.tokenizer, reply_prefix_of(prompt))
        read = attention_to_prompt(model.model, prefill(model.model, in_order.input_ids), responses[:SCORED])
        by_order.append(reduced("sum-mean", in_order, read))
    spent_s = time.process_time() - started
    orders = [mean(scores) for scores in zip(*by_order, strict=True)]
    found[SHUFFLED] = orders, spent_s
    found[BEYOND_SHUFFLED] = (
        [
            {unit: max(0.0, score - less[unit]) for unit, score in scores.items()}
            for scores, less in zip(found["sum-mean"][0], orders, strict=False)
        ],
        spent_s,
    )
    found["length in tokens"] = [lengths(prompt, model.tokenizer)] * SCORED, 0.0
    return found


def shuffled(prompt: Prompt, order: int) -> Prompt:
    """Return the prompt with its removable units in another order, the same for the same number."""
    removable = [unit for unit in prompt.units if unit.removable]
    keyed_generator(order, node="sinks: order").shuffle(removable)
    others = iter(removable)
    return prompt.model_copy(update={"units": tuple(next(others) if unit.removable else unit for unit in prompt.units)})


async def effects_of_removal(model: CausalLanguageModel, prompt: Prompt, replies: Sequence[Reply]) -> list[Scores]:
    """Return for each reply by how much its mean log-likelihood falls without each removable unit, nats per token."""
    prefix = reply_prefix_of(prompt)
    full = [await model.log_likelihood(render(prompt, model.tokenizer, prefix), reply) for reply in replies]
    found: list[dict[str, float]] = [{} for _ in replies]
    for unit in (unit.id for unit in prompt.units if unit.removable):
        without = render(remove_units(prompt, [unit]), model.tokenizer, prefix)
        for effects, before, reply in zip(found, full, replies, strict=True):
            effects[unit] = before - await model.log_likelihood(without, reply)
    return list(found)


def mean(scores: Sequence[Scores]) -> Scores:
    """Return the mean of each unit's scores."""
    return {unit: statistics.mean(each[unit] for each in scores) for unit in scores[0]}


def rank_correlation(scores: Scores, effect: Scores) -> float:
    """Return Spearman's ρ over the units that have an effect; 0 where scores, or effects, are all alike."""
    first, second = [scores[unit] for unit in effect], list(effect.values())
    return float(spearmanr(first, second).statistic) if len(set(first)) > 1 < len(set(second)) else 0.0


def share_removed(prompt: Prompt, scores: Scores, effect: Scores) -> list[tuple[float, float]]:
    """Return the share of what helps, and of the units, that Algorithm 1 removes at λ = 0.5; none if nothing helps."""
    removed = prune_units(prompt.units, {unit: max(0.0, score) for unit, score in scores.items()}, 0.5)
    helps = {unit: max(0.0, value) for unit, value in effect.items()}
    total = sum(helps.values())
    return [(sum(helps[unit] for unit in removed) / total, len(removed) / len(helps))] if total else []


def stability(prompt: Prompt, first: Scores, second: Scores) -> list[float]:
    """Return Spearman's ρ over the removable units, and the overlap of what is removed at each λ."""
    figures = [rank_correlation(first, {unit.id: second[unit.id] for unit in prompt.units if unit.removable})]
    for factor in FACTORS:
        removed, same = (set(prune_units(prompt.units, scores, factor)) for scores in (first, second))
        figures.append(len(removed & same) / max(1, len(removed | same)))
    return figures


def table(rows: Mapping[str, Row]) -> Table:
    """Return means over prompts, with their standard errors where these matter."""
    shown = Table("reducer", "ρ with leave-one-out", "removed at 0.5: help, units", "stable: ρ, overlap at λ")
    shown.add_column("persona fact highest")
    shown.add_column("more CPU, s")
    for name, row in rows.items():
        helps = [share for share, _ in row.removed]
        shown.add_row(
            name,
            with_error(row.agreement),
            f"{with_error(helps)}, {statistics.mean(share for _, share in row.removed):.2f}",
            ", ".join(f"{statistics.mean(values):.2f}" for values in zip(*row.stable, strict=True)),
            f"{sum(unit.startswith('basic_info') for unit in row.highest)} of {len(row.highest)}",
            f"{statistics.mean(row.spent_s):.2f}" if row.spent_s else "",
        )
    return shown


def with_error(values: Sequence[float]) -> str:
    """Return the mean and its standard error."""
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values) / len(values) ** 0.5:.2f}"


if __name__ == "__main__":
    main(sys.argv[1:])
