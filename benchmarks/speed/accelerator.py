"""Tokens a second of a model of eight billion random weights, with and without scoring, beside transformers' own.

For an accelerator (`benchmarks.speed.accelerator`), as no weights are needed to know what a step costs: Llama's
architecture with the tokenizer of the embedded model, in the precision that the device suits. Each conversation has a
prompt of its own, of people of the shipped town; each writes the same number of tokens. No prompt is in memory when a
measurement begins, so all of them read the prompts too. Times are wall times behind a synchronization, the median of
three after one to warm up.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from rich.console import Console
from rich.table import Table
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tertulia.cli.environment import cache_folder
from tertulia.models.loading import device_and_dtype
from tertulia.models.local import embedded
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.prompts.render import render
from tertulia.state.language_model import (
    GenerationRequest,
    ModelTraits,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
)
from tertulia.state.questions import Generation, Question, ScoredGeneration
from tertulia.state.records import Case, Prompt, Unit
from tertulia.worlds.catalog import list_cases

CONVERSATIONS = (1, 4, 16, 64)
PROMPT_TOKENS, REPLY_TOKENS, REPETITIONS = 1600, 64, 3
#: Llama 3.1 8B (its config.json), with the embedded model's vocabulary.
EIGHT_BILLION = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}
TINY = {**EIGHT_BILLION, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
TINY |= {"num_attention_heads": 4, "num_key_value_heads": 2}
FIELD = ReplyField("speech", "text", max_tokens=REPLY_TOKENS)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="a model of two small layers, to try the benchmark")
    parser.add_argument("--conversations", type=int, nargs="+", default=CONVERSATIONS)
    asked = parser.parse_args()
    console = Console(width=140, highlight=False)
    model = random_model(TINY if asked.tiny else EIGHT_BILLION)
    device = model.model.device
    name = torch.cuda.get_device_name() if device.type == "cuda" else device.type
    weights = sum(parameter.numel() for parameter in model.model.parameters())
    console.print(f"{name}, {model.model.dtype}, torch {torch.__version__}, {weights / 1e9:.2f} billion random weights")
    console.print(f"prompts of {PROMPT_TOKENS} tokens, {REPLY_TOKENS} written; vLLM is not measured")
    columns = ("conversations", "reading s", "plain s", "tokens/s", "behind reading", "scored s", "scoring's share")
    table = Table(*columns, "transformers s", "tokens/s", "peak GiB")
    for number in asked.conversations:
        cells = measure(model, number)
        table.add_row(*cells)
        print(" | ".join(cells), flush=True)
    console.print(table)


def random_model(shape: dict[str, Any]) -> CausalLanguageModel:
    """Return a model of Llama's architecture with normal random weights, on this machine's device."""
    device, dtype = device_and_dtype("auto")
    tokenizer = AutoTokenizer.from_pretrained(embedded.folder(cache_folder()))
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **shape)).eval()
    finally:
        torch.set_default_dtype(before)
    traits = ModelTraits(context_window=8192, layout="single_message", judge="rating")
    return CausalLanguageModel("random", model, cast(PreTrainedTokenizerFast, tokenizer), traits)


def measure(model: CausalLanguageModel, conversations: int) -> tuple[str, ...]:
    """Return the row of so many conversations: reading alone, plainly, scored, and by `generate` of transformers."""
    prompts = [prompt_of(number, model) for number in range(conversations)]
    written: list[int] = []

    def answered(kind: Callable[[GenerationRequest], Question]) -> None:
        model.clear_cache()
        questions = [kind(_request(prompt, number)) for number, prompt in enumerate(prompts)]
        answers: Any = asyncio.run(model.answer_batch(questions))
        replies = [answer[0][0] if isinstance(answer, tuple) else answer[0] for answer in answers]
        written[:] = [sum(len(reply.tokens) for reply in replies)]

    def read() -> None:
        model.clear_cache()
        reader = model.prompts.reader(keeps=False)
        for prompt in prompts:
            reader(prompt)

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    read_s, plain_s = _median_s(read), _median_s(partial(answered, Generation))
    tokens = written[0]
    scored_s = _median_s(partial(answered, lambda request: ScoredGeneration(request, ScoringOptions())))
    peak = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
    model.clear_cache()
    transformers_s = _median_s(partial(_by_transformers, model, prompts))
    same = conversations * REPLY_TOKENS
    return (
        *(str(conversations), f"{read_s:.2f}", f"{plain_s:.2f}", f"{tokens / plain_s:.0f}"),
        *(f"{tokens / (plain_s - read_s):.0f}", f"{scored_s:.2f}", f"{1 - plain_s / scored_s:.1%}"),
        *(f"{transformers_s:.2f}", f"{same / transformers_s:.0f}", f"{peak:.1f}"),
    )


def _median_s(work: Callable[[], None]) -> float:
    spent = []
    for _ in range(1 + REPETITIONS):
        _wait()
        start = time.perf_counter()
        work()
        _wait()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent[1:])


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def prompt_of(number: int, model: CausalLanguageModel) -> RenderedPrompt:
    """Return a prompt of a person of the shipped town, which begins like no other, of about `PROMPT_TOKENS`."""
    cases = [listed.case for listed in list_cases("tidewell").cases if isinstance(listed.case, Case)]
    person = cases[number % len(cases)].initiator
    texts, length = [f"Conversation {number}."], 0
    memories = [memory.text for memory in person.memories]
    while length < PROMPT_TOKENS - 40:
        text = memories[len(texts) % len(memories)]
        texts.append(text)
        length += len(model.tokenizer.encode(text)) + 1
    units = tuple(Unit(id=str(at), block="prompt", kind="text", text=text) for at, text in enumerate(texts))
    return render(Prompt(units=units, speaker=person.persona.name, layout="single_message"), model.tokenizer)


def _request(prompt: RenderedPrompt, number: int) -> GenerationRequest:
    return GenerationRequest(prompt, (FIELD,), (random.Random(str(number)),), 0.8, 0.9)


def _by_transformers(model: CausalLanguageModel, prompts: Sequence[RenderedPrompt]) -> None:
    """Write as many tokens by `generate`, prompts padded on the left, with its usual attention."""
    longest = max(len(prompt.input_ids) for prompt in prompts)
    padded = [[0] * (longest - len(prompt.input_ids)) + list(prompt.input_ids) for prompt in prompts]
    seen = [[0] * (longest - len(prompt.input_ids)) + [1] * len(prompt.input_ids) for prompt in prompts]
    device = model.model.device
    options: dict[str, Any] = {"max_new_tokens": REPLY_TOKENS, "min_new_tokens": REPLY_TOKENS, "pad_token_id": 0}
    options |= {"do_sample": True, "temperature": 0.8, "top_p": 0.9, "attention_mask": torch.tensor(seen).to(device)}
    of_transformers: Any = model.model
    ours = of_transformers.config._attn_implementation
    of_transformers.set_attn_implementation("sdpa")
    try:
        with torch.inference_mode():
            of_transformers.generate(torch.tensor(padded).to(device), **options)
    finally:
        of_transformers.set_attn_implementation(ours)


if __name__ == "__main__":
    main()
