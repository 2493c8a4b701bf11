"""Time of a group chat's phase as one batch, against the same calls one after another (`make bench`).

Five people of the shipped town each have a prompt of their own and answer in JSON. Rounding differs between the two
ways, and with it what is drawn and how long the replies are. So the tokens that each person draws are recorded in a
first run; every measured run samples as always and then takes the recorded token, so that both ways write the same
replies, token by token, which is checked. No prompt is in memory when a run begins. Times are wall times, measured
alternately; each ratio is of two neighbouring runs, and the median is shown with the range.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from unittest.mock import patch

import torch
from rich.console import Console
from rich.table import Table

from tertulia.cli.environment import cache_folder
from tertulia.models.loading import device_and_dtype, open_model
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.models.local.decoding import draw_token
from tertulia.prompts.render import render
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, Tokenizer
from tertulia.state.records import Case, Participant, Prompt, Reply, Unit
from tertulia.worlds.catalog import list_cases

PEOPLE = 5
PROMPT_TOKENS = 500
REPETITIONS = 5
TARGETS = {"float32": 0.65, "bfloat16": 0.55}
FIELDS = (
    ReplyField("key_information", "text", max_tokens=48),
    ReplyField("recall", "boolean"),
    ReplyField("recall_reason", "text", max_tokens=36),
    ReplyField("plan", "boolean"),
    ReplyField("plan_reason", "text", max_tokens=36),
)
TASK = (
    "A neighbour has just come in and said that the ferry may not sail tomorrow. Say in JSON what matters about it to "
    "you, whether you should recall something about it and whether you should go over your plans, each with a reason."
)


class RecordedGenerator(random.Random):
    """A generator whose row takes the tokens that it drew in the first run.

    Attributes:
        tokens: The tokens drawn so far.
        drawing: The generator, of all of them, that was used last.
    """

    drawing: "RecordedGenerator"

    def __init__(self, seed: str, tokens: Sequence[int] | None = None) -> None:
        super().__init__(seed)
        self.recorded = None if tokens is None else iter(tokens)
        self.tokens: list[int] = []

    def random(self) -> float:
        """Return the next number, with which a token will be drawn."""
        RecordedGenerator.drawing = self
        return super().random()


def draw_recorded(logits: torch.Tensor, number: float, temperature: float, top_p: float, min_p: float = 0.0) -> int:
    """Draw a token as always, then take the recorded token if there is one."""
    drawn = draw_token(logits, number, temperature, top_p, min_p)
    row = RecordedGenerator.drawing
    row.tokens.append(drawn if row.recorded is None else next(row.recorded))
    return row.tokens[-1]


def main() -> None:
    """Print the table."""
    console = Console(width=110, highlight=False)
    _, default = device_and_dtype("auto")
    columns = {name: measure(name) for name in dict.fromkeys(("float32", str(default).removeprefix("torch.")))}
    table = Table("figure", *columns, title=f"{PEOPLE} prompts with the embedded model, as one batch and one by one")
    for figure in columns["float32"]:
        table.add_row(figure, *(column[figure] for column in columns.values()))
    console.print(f"default precision here: {default}; torch {torch.__version__}, {torch.get_num_threads()} threads")
    console.print(table)


def measure(precision: str) -> dict[str, str]:
    """Return the figures of one precision."""
    model = open_model("smollm2", cache=cache_folder(), precision=precision)  # type: ignore[arg-type]
    assert isinstance(model, CausalLanguageModel)
    prompts = [prompt_for(person, model.tokenizer) for person in townspeople()]
    with patch("tertulia.models.local.decoding.draw_token", draw_recorded):
        first = [RecordedGenerator(str(row)) for row in range(PEOPLE)]
        expected, _ = _one_by_one(model, _requests(prompts, first))
        single_s: list[float] = []
        batch_s: list[float] = []
        for _ in range(REPETITIONS):
            for times, way in ((single_s, _one_by_one), (batch_s, _one_batch)):
                generators = [RecordedGenerator(str(row), drawn.tokens) for row, drawn in enumerate(first)]
                replies, spent_s = way(model, _requests(prompts, generators))
                assert [reply.tokens for reply in replies] == [reply.tokens for reply in expected]
                times.append(spent_s)
    ratios = [batch / single for single, batch in zip(single_s, batch_s, strict=True)]
    return {
        "tokens in the prompts": ", ".join(str(len(prompt.input_ids)) for prompt in prompts),
        "tokens in the replies": ", ".join(str(len(reply.tokens)) for reply in expected),
        "one by one, s": f"{statistics.median(single_s):.1f}",
        "one batch, s": f"{statistics.median(batch_s):.1f}",
        "one batch / one by one": f"{statistics.median(ratios):.2f}  ({min(ratios):.2f}–{max(ratios):.2f})",
        "  target": f"≤ {TARGETS[precision]}" if precision in TARGETS else "",
    }


def townspeople() -> list[Participant]:
    """Return people of the shipped town, each as of their first conversation."""
    cases = [listed.case for listed in list_cases("tidewell").cases if isinstance(listed.case, Case)]
    people = {person.persona.name: person for case in reversed(cases) for person in (case.partner, case.initiator)}
    return list(people.values())[:PEOPLE]


def prompt_for(person: Participant, tokenizer: Tokenizer) -> RenderedPrompt:
    """Return a prompt of a persona, as many of their last memories as fit, and the task."""
    persona = person.persona
    about = [f"You are {persona.name}, {persona.age}, {persona.character}.", *persona.background, persona.lifestyle]
    texts = [text for text in about if text] + [TASK]
    for memory in reversed(person.memories):
        longer = [*texts[:-1], memory.text, TASK]
        if sum(len(tokenizer.encode(text)) + 1 for text in longer) > PROMPT_TOKENS:
            break
        texts = longer
    units = tuple(Unit(id=str(i), block="prompt", kind="text", text=text) for i, text in enumerate(texts))
    return render(Prompt(units=units, speaker=persona.name, layout="single_message"), tokenizer)


def _requests(prompts: Sequence[RenderedPrompt], generators: Sequence[random.Random]) -> list[GenerationRequest]:
    pairs = zip(prompts, generators, strict=True)
    return [GenerationRequest(prompt, FIELDS, (generator,), 0.8, 0.9) for prompt, generator in pairs]


def _one_by_one(model: CausalLanguageModel, requests: Sequence[GenerationRequest]) -> tuple[list[Reply], float]:
    model.clear_cache()
    start = time.perf_counter()
    replies = [asyncio.run(model.generate(request))[0] for request in requests]
    return replies, time.perf_counter() - start


def _one_batch(model: CausalLanguageModel, requests: Sequence[GenerationRequest]) -> tuple[list[Reply], float]:
    model.clear_cache()
    start = time.perf_counter()
    batch = asyncio.run(model.generate_batch(requests))
    return [replies[0] for replies in batch], time.perf_counter() - start


if __name__ == "__main__":
    main()
