"""Cost of an utterance, relative to a plain generation of the same prompt and length (`make bench`).

The prompts are those of the shipped town, the model is the embedded one, in float32 and in the precision that
suits this machine. G is `generate` of transformers with its usual attention, on a model as transformers loads it: its
weights are not packed. Times are CPU times of the process; each ratio is the median over prompts, measured in turn.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import torch
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table
from transformers import AutoModelForCausalLM, DynamicCache, PreTrainedModel

from benchmarks.speed.memory import added_by
from tertulia.cli.environment import cache_folder
from tertulia.models.loading import device_and_dtype, open_embedder, open_model
from tertulia.models.local import embedded
from tertulia.models.local.attention_scores import attention_to_prompt
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.models.local.decoding_state import prefill
from tertulia.models.local.embedder import SentenceEmbedder
from tertulia.nodes.shared.memory import retrieve_memories
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.nodes.utterance.retrieve import focal_points
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.runs.access.engines import Engines
from tertulia.runs.access.suited import suited_to
from tertulia.runs.driving.conversation import drive
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import begin_with, plan_run
from tertulia.state.context import Context
from tertulia.state.language_model import GenerationRequest, ScoringOptions
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Prompt
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve

CASES = [f"tidewell:{n}" for n in (0, 3, 5, 7)]
LENGTHS = (800, 1600, 3200, 6400)
RESPONSE = 60


@dataclass(frozen=True)
class Sample:
    """A prompt of the shipped town."""

    scenario: str
    prompt: Prompt


def main() -> None:
    """Print the table."""
    console = Console(width=110, highlight=False)
    table = Table("figure", "target", "float32", "default", title="An utterance of the embedded model, as ratios")
    _, default = device_and_dtype("auto")
    columns = {precision: _measure(precision) for precision in dict.fromkeys(("float32", short(default)))}
    for figure, value in columns["float32"].items():
        table.add_row(figure, TARGETS.get(figure, ""), value, columns.get(short(default), {}).get(figure, ""))
    console.print(f"default precision here: {default}; torch {torch.__version__}, {torch.get_num_threads()} threads")
    console.print(table)


def short(dtype: torch.dtype) -> str:
    """Return the name of a precision as options have it."""
    return str(dtype).removeprefix("torch.")


TARGETS = {
    "scoring 3 responses / generating the same 3 plainly": "≤ 1.05",
    "whole utterance at λ = 0.3 / G": "≤ 2.4, better 2.1",
    "peak memory added by scoring, eager / ours, 800 tokens": "",
    "peak memory added by scoring, eager / ours, 1600 tokens": "≥ 40",
}


def _measure(precision: str) -> dict[str, str]:
    model = open_model("smollm2", cache=cache_folder(), precision=precision)  # type: ignore[arg-type]
    embedder = open_embedder("minilm")
    assert isinstance(model, CausalLanguageModel)
    assert isinstance(embedder, SentenceEmbedder)
    parameters = suited_to(model.traits, Parameters().with_settings({"removal_factor": 0.3, "max_turns": 1}))
    samples = [_sample(case, embedder, parameters) for case in CASES]
    figures = {"prompt, tokens (median)": f"{statistics.median(_length(model, s, parameters) for s in samples):.0f}"}
    plain = plain_model(precision)
    _warm_up(model, plain, samples[0], parameters)
    figures |= _scoring(model, samples, parameters)
    figures |= _utterances(model, plain, embedder, samples, parameters)
    figures |= _growth(model)
    figures |= _memory(precision)
    return figures


def _sample(scenario: str, embedder: SentenceEmbedder, parameters: Parameters) -> Sample:
    case = resolve(scenario)
    assert isinstance(case, Case)
    speaker, listener = case.names
    points = focal_points(case, speaker, [listener], [])
    memories = retrieve_memories(case.initiator.memories, points, case.time, embedder, parameters)
    material = UtteranceMaterial(case, speaker, [listener], memories, turns=[], asks_ending=False)
    return Sample(scenario, assemble_prompt(material, "chat_turns", parameters.blocks, parameters.removable_blocks))


def _request(model: CausalLanguageModel, sample: Sample, parameters: Parameters, rows: int) -> GenerationRequest:
    generators = tuple(random.Random(f"{sample.scenario} {row}") for row in range(rows))
    return utterance_request(sample.prompt, generators, model.tokenizer, parameters)


def _length(model: CausalLanguageModel, sample: Sample, parameters: Parameters) -> int:
    return len(_request(model, sample, parameters, 1).prompt.input_ids)


def _cpu_s(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _warm_up(model: CausalLanguageModel, plain: PreTrainedModel, sample: Sample, parameters: Parameters) -> None:
    asyncio.run(model.generate(_request(model, sample, parameters, 3)))
    plain_generation_s(plain, _request(model, sample, parameters, 1).prompt.input_ids, 10)


def plain_model(precision: str) -> PreTrainedModel:
    """Return the embedded model as transformers loads it, with its weights and its attention as they are there.

    Where ours has weights in half precision and computes in float32, all is in float32: transformers has no such way.
    """
    folder = embedded.folder(cache_folder())
    dtype = getattr(torch, "float32" if precision == "float16" else precision)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    return cast(PreTrainedModel, model.eval())


def plain_generation_s(
    model: PreTrainedModel, prompt: Sequence[int], tokens: int, kept: DynamicCache | None = None
) -> float:
    """Return G: CPU seconds of `generate` of transformers, for exactly that length, behind what is kept."""
    ids = torch.tensor([prompt])
    options: dict[str, Any] = {"max_new_tokens": tokens, "min_new_tokens": tokens, "pad_token_id": 0}
    options |= {"do_sample": True, "temperature": 0.8, "top_p": 0.9, "past_key_values": kept}
    generate: Any = model.generate
    return _cpu_s(partial(generate, ids, attention_mask=torch.ones_like(ids), **options))[0]


def _scoring(model: CausalLanguageModel, samples: Sequence[Sample], parameters: Parameters) -> dict[str, str]:
    ratios = []
    for sample in samples:
        model.clear_cache()
        plain_s, replies = _cpu_s(partial(asyncio.run, model.generate(_request(model, sample, parameters, 3))))
        model.clear_cache()
        scoring = model.generate_scored(_request(model, sample, parameters, 3), ScoringOptions())
        scored_s, (same, _) = _cpu_s(partial(asyncio.run, scoring))
        assert [r.tokens for r in same] == [r.tokens for r in replies]
        ratios.append(scored_s / plain_s)
    return {"scoring 3 responses / generating the same 3 plainly": f"{statistics.median(ratios):.2f}"}


def _utterances(
    model: CausalLanguageModel,
    plain: PreTrainedModel,
    embedder: SentenceEmbedder,
    samples: Sequence[Sample],
    parameters: Parameters,
) -> dict[str, str]:
    """Whole turns through graph and storage, against one plain generation of the same prompt and reply length."""
    figures: dict[str, str] = {}
    rollbacks = 0
    for name, backups in (
        ("whole utterance at λ = 0.3 / G", "with_utterance"),
        ("  the same, backups on demand", "on_demand"),
    ):
        settings = parameters.with_settings({"backups": backups})
        ratios = []
        for seed, sample in enumerate(samples):
            model.clear_cache()
            measured = _Measured(model)
            with SqlStore.open(":memory:", create=True) as store:
                context = _context(store, measured, embedder, sample, settings, seed)
                embedder.embed([m.text for m in context.case.initiator.memories])  # once per run, not per utterance
                spent, _ = _cpu_s(partial(asyncio.run, drive(context, InMemorySaver())))
                record = store.turn_record(context.run, 1)
                tokens = len(store.candidates(context.run, 1)[record.chosen].reply.tokens)
                rollbacks += record.rollbacks if backups == "on_demand" else 0
            length = max(tokens, round(statistics.mean(measured.lengths)))
            prompt = _request(model, sample, parameters, 1).prompt.input_ids
            ratios.append(spent / plain_generation_s(plain, prompt, length))
        figures[name] = f"{statistics.median(ratios):.2f}  ({min(ratios):.2f}–{max(ratios):.2f})"
    figures[f"  rollbacks in those {len(samples)} utterances, on demand"] = str(rollbacks)
    return figures


def _context(
    store: SqlStore, model: Any, embedder: SentenceEmbedder, sample: Sample, parameters: Parameters, seed: int
) -> Context:
    plan = replace(plan_run(sample.scenario, RunRequest(seed=seed)), parameters=parameters)
    return begin_with(store, plan, Engines(model, {}, embedder))


class _Measured:
    """A model that keeps the lengths of the replies that it scored as it drew them."""

    def __init__(self, model: CausalLanguageModel) -> None:
        self._model = model
        self.lengths: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def generate_scored(self, *arguments: Any) -> Any:
        """Return replies and scores."""
        replies, scores = await self._model.generate_scored(*arguments)
        self.lengths += [len(reply.tokens) for reply in replies]
        return replies, scores


def _growth(model: CausalLanguageModel) -> dict[str, str]:
    """Scoring three given responses on longer and longer prompts, per token, against the shortest."""
    words = random.Random(1)
    per_token = {}
    for length in LENGTHS:
        prompt = [words.randrange(100, 40_000) for _ in range(length)]
        responses = [[words.randrange(100, 40_000) for _ in range(RESPONSE)] for _ in range(3)]
        start = time.process_time()
        attention_to_prompt(model.model, prefill(model.model, prompt), responses)
        spent = time.process_time() - start
        per_token[length] = spent / length
    growth = ", ".join(f"{per_token[length] / per_token[LENGTHS[0]]:.2f}" for length in LENGTHS)
    return {f"CPU per prompt token at {', '.join(map(str, LENGTHS))}, against the first": growth}


def _memory(precision: str) -> dict[str, str]:
    ours = {length: added_by("ours", length, precision) for length in LENGTHS}
    figures = {}
    for length in LENGTHS[:2]:  # the eager way would need 44 GB at the last
        eager = added_by("eager", length, precision)
        figures[f"peak memory added by scoring, eager / ours, {length} tokens"] = (
            f"{eager / max(ours[length], 1):.0f}  ({eager:.0f} / {ours[length]:.0f} MB)"
        )
    grown = ", ".join(f"{added:.0f}" for added in ours.values())
    return {**figures, f"memory added at {', '.join(map(str, LENGTHS))} tokens, MB": grown}


if __name__ == "__main__":
    main()
