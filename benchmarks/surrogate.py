"""Agreement of a surrogate's attention scores with the writer's: `python -m benchmarks.surrogate [FOLDER…]`.

The writer is the embedded model: it replies to full prompts of the shipped town, and its attention scores the units.
Then each surrogate reads the same prompts and replies. Compared are the ranks of the removable units (Spearman), and
what Algorithm 1 would remove (Jaccard). Two rows are for comparison: the writer's attention over other replies, an
upper bound, and the length of units, without any attention. A FOLDER, or hub id, is another surrogate.
"""

import asyncio
import copy
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr
from transformers import AutoModelForCausalLM, AutoTokenizer

from tertulia.cli.environment import cache_folder
from tertulia.models.loading import Precision, open_embedder, open_model
from tertulia.models.local import embedded
from tertulia.models.local.adapters import merge_adapters, read_adapters
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.nodes.scorers.attention import scores_by_reading
from tertulia.nodes.shared.memory import retrieve_memories
from tertulia.nodes.utterance.generate import utterance_request
from tertulia.nodes.utterance.prune import prune_units
from tertulia.nodes.utterance.retrieve import focal_points
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.state.language_model import Embedder, ScoringOptions, Tokenizer
from tertulia.state.parameters import Layout, Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, Prompt, Reply, Turn
from tertulia.worlds.catalog import list_cases

FACTORS = (0.25, 0.5, 0.75)
CASES = 4
LAYOUTS: tuple[Layout, ...] = ("single_message", "chat_turns")
RESPONSES = 3

Scores = Mapping[str, float]


@dataclass(frozen=True)
class Sample:
    """A prompt, the writer's replies to it, and its attention scores over these replies and over others."""

    prompt: Prompt
    replies: list[Reply]
    scores: Scores
    scores_of_others: Scores


def main(names: Sequence[str]) -> None:
    """Print a table for each layout of prompts."""
    console = Console(width=110, highlight=False)
    for layout in LAYOUTS:
        table = Table("surrogate", "Spearman", *(f"Jaccard, λ = {factor}" for factor in FACTORS), title=layout)
        for name, (rank, *overlaps) in asyncio.run(measure(layout, names)).items():
            table.add_row(name, rank, *overlaps)
        console.print(table)


async def measure(layout: Layout, names: Sequence[str]) -> dict[str, list[str]]:
    """Return by surrogate the agreement with the writer: median and quartiles over prompts, of ranks and overlaps."""
    writer = opened("smollm2")
    samples = [await sample_of(writer, prompt, number) for number, prompt in enumerate(prompts(layout))]
    found = {
        "the writer, over other replies": [
            agreement(sample.prompt, sample.scores, sample.scores_of_others) for sample in samples
        ],
        "length in tokens": [
            agreement(sample.prompt, sample.scores, lengths(sample.prompt, writer.tokenizer)) for sample in samples
        ],
    }
    readers = RELATIONS | {name: partial(opened, name) for name in names}
    for name, open_reader in readers.items():
        reader = open_reader()
        print(f"{layout}: {name}", file=sys.stderr)
        found[name] = []
        for sample in samples:
            read = await scores_by_reading(reader, sample.prompt, sample.replies, ScoringOptions())
            found[name].append(agreement(sample.prompt, sample.scores, read))
    return {name: [quartiles(values) for values in zip(*rows, strict=True)] for name, rows in found.items()}


def opened(name: str, precision: Precision = "float32") -> CausalLanguageModel:
    """Return a local model."""
    model = open_model(name, cache=cache_folder(), precision=precision)
    assert isinstance(model, CausalLanguageModel)
    return model


def with_modules() -> tuple[Any, Any]:
    """Return the writer's model and tokenizer as transformers has them: nothing is packed."""
    folder = embedded.folder(cache_folder())
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    merge_adapters(model, read_adapters(embedded.VOICE))
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def rounded(bits: int) -> CausalLanguageModel:
    """Return the writer with every matrix of its layers rounded to a number of bits, in groups of 32."""
    model, tokenizer = with_modules()
    inner = model.base_model
    most = 2 ** (bits - 1)
    with torch.no_grad():
        for parameter in inner.layers.parameters():
            if parameter.dim() == 2:
                groups = parameter.view(-1, 32)
                step = groups.abs().amax(1, keepdim=True) / (most - 0.5)
                groups.copy_((groups / step).round().clamp(-most, most - 1) * step)
    return CausalLanguageModel("rounded", model, tokenizer, embedded.TRAITS)


def shortened(layers: int) -> CausalLanguageModel:
    """Return the writer's first layers alone."""
    model, tokenizer = with_modules()
    model.base_model.layers = model.base_model.layers[:layers]
    model.config.num_hidden_layers = layers
    return CausalLanguageModel("shortened", model, tokenizer, embedded.TRAITS)


def untrained(layers: int) -> CausalLanguageModel:
    """Return a model of the writer's kind that has learnt nothing."""
    writer, tokenizer = with_modules()
    config: Any = copy.deepcopy(writer.config)
    config.num_hidden_layers = layers
    torch.manual_seed(0)
    return CausalLanguageModel("untrained", type(writer)(config).eval(), tokenizer, embedded.TRAITS)


RELATIONS: dict[str, Callable[[], CausalLanguageModel]] = {
    "the same in bfloat16": partial(opened, "smollm2", "bfloat16"),
    "the same, rounded to 4 bits": partial(rounded, 4),
    "the same, rounded to 3 bits": partial(rounded, 3),
    "its first 20 layers of 30": partial(shortened, 20),
    "its first 10 layers of 30": partial(shortened, 10),
    "4 layers, random weights": partial(untrained, 4),
}


def prompts(layout: Layout) -> list[Prompt]:
    """Return full prompts of the shipped town: each case at its opening, and behind a first line."""
    embedder, parameters = open_embedder("minilm"), Parameters()
    cases = [listed.case for listed in list_cases("tidewell").cases if isinstance(listed.case, Case)][:CASES]
    return [prompt_of(case, greeted, layout, embedder, parameters) for case in cases for greeted in (False, True)]


def prompt_of(case: Case, greeted: bool, layout: Layout, embedder: Embedder, parameters: Parameters) -> Prompt:
    """Return the prompt for the first utterance of a case, or for the answer to it."""
    first, second = case.names
    speaker, listener = (second, first) if greeted else (first, second)
    text = f"Good day, {second}! What have you been doing?"
    turns = [Turn(turn=1, round=1, speaker=first, text=text, sim_time_s=0, ended=False)] if greeted else []
    points = focal_points(case, speaker, [listener], turns)
    memories = retrieve_memories(case.participant(speaker).memories, points, case.time, embedder, parameters)
    material = UtteranceMaterial(case, speaker, [listener], memories, turns, asks_ending=False)
    return assemble_prompt(material, layout, parameters.blocks, parameters.removable_blocks)


async def sample_of(writer: CausalLanguageModel, prompt: Prompt, number: int) -> Sample:
    """Return the writer's replies to a prompt, twice as many as in a run, with the scores of each half."""
    parameters = Parameters(ending="off")
    halves = []
    for half in range(2):
        generators = tuple(keyed_generator(half, round=number, node="surrogate", row=row) for row in range(RESPONSES))
        request = utterance_request(prompt, generators, writer.tokenizer, parameters)
        halves.append(await writer.generate_scored(request, ScoringOptions()))
    (replies, scores), (_, scores_of_others) = halves
    return Sample(prompt, replies, scores, scores_of_others)


def lengths(prompt: Prompt, tokenizer: Tokenizer) -> Scores:
    """Return the length of each unit in tokens."""
    return {unit.id: float(len(tokenizer.encode(unit.text))) for unit in prompt.units}


def agreement(prompt: Prompt, first: Scores, second: Scores) -> list[float]:
    """Return Spearman's ρ over the removable units, and the overlap of what is removed at each λ."""
    ids = [unit.id for unit in prompt.units if unit.removable]
    ranks = float(spearmanr([first[id] for id in ids], [second[id] for id in ids]).statistic)
    overlaps = []
    for factor in FACTORS:
        removed, same = (set(prune_units(prompt.units, scores, factor)) for scores in (first, second))
        overlaps.append(len(removed & same) / len(removed | same))
    return [ranks, *overlaps]


def quartiles(values: Sequence[float]) -> str:
    """Return median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


if __name__ == "__main__":
    main(sys.argv[1:])
