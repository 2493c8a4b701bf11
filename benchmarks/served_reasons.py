"""Reasons measured over a server beside those measured here: `python -m benchmarks.served_reasons STORE --lines 40`.

The lines are those of a store, of runs of one model with weights on this machine: of each run its first line, then of
each its second. Each is read behind its prompt, and behind the same without every unit, by the model itself, and by the
same weights behind a small server on the loopback (`tests/support/protocol_server.py`) that tells the log-probabilities
of prompts. What the server does otherwise is what servers do: a message is one text to it, which it tokenises as such.
`--way chat` are vLLM's chat completions (`prompt_logprobs`), with the model's chat template; `--way echo` completions
with `echo`, in which a prompt is plain lines.

Target: the sentence names the same unit first in 95 % of the lines. Where nothing stands out, which unit has the
highest loss is rounding; `--precision float32` rounds less.
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from support.protocol_server import serving

from tertulia.cli.environment import cache_folder
from tertulia.lab.annotations.ablations import LEAST_UNITS
from tertulia.lab.annotations.checked_line import CheckedLine, lines_to_check
from tertulia.lab.annotations.leave_one_out import value_behind
from tertulia.models.loading import PRECISIONS
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.language_model import LanguageModel, RenderedPrompt
from tertulia.state.line_scores import LEAST_LOSS
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore
from tertulia.views.reading.turns import read_turn

#: The last tokens of a prompt, whose log-probabilities are computed: no line is longer. Others are told as 0.
_LAST = 300


@dataclass(frozen=True)
class Compared:
    """What a line loses without each unit, in nats a token, read here and over a server."""

    line: CheckedLine
    here: Mapping[str, float]
    served: Mapping[str, float]

    @property
    def firsts(self) -> tuple[str, str]:
        """The unit with the highest loss, here and over a server."""
        return max(self.here, key=self.here.__getitem__), max(self.served, key=self.served.__getitem__)

    @property
    def is_same(self) -> bool:
        """Whether both are the same unit."""
        here, served = self.firsts
        return here == served

    @property
    def says_same(self) -> bool:
        """Whether the sentence about the line names the same unit first, or none in both."""
        here, served = self.firsts
        named = self.here[here] >= LEAST_LOSS, self.served[served] >= LEAST_LOSS
        return named == (False, False) or (named == (True, True) and self.is_same)

    @property
    def furthest(self) -> float:
        """The furthest that two losses of a unit lie apart."""
        return max(abs(self.here[unit] - self.served[unit]) for unit in self.here)


def main() -> None:
    """Print a row for each line, and in how many the first unit is the same."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.served_reasons", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--way", choices=("chat", "echo"), default="chat")
    parser.add_argument("--precision", choices=PRECISIONS, default="auto")
    chosen = parser.parse_args()
    model = (
        ModelAccess(cache_folder())
        .naming([chosen.model])
        .language_model(chosen.model, Parameters(precision=chosen.precision))
    )
    assert isinstance(model, CausalLanguageModel), "only weights on this machine can be put behind the server"
    console, found = Console(highlight=False), list[Compared]()
    with (
        SqlStore.open(chosen.store) as store,
        serving(tells=chosen.way, read=lambda asked: read(model, asked)) as server,
    ):
        served = ModelAccess(cache_folder()).naming([server.model]).language_model(server.model, Parameters())
        for line in islice(lines_of(store, chosen.model), chosen.lines):
            compared = Compared(line, losses(store, line, model), losses(store, line, served))
            found.append(compared)
            console.print(
                f"{len(found)} of {chosen.lines}: turn {line.ablated.line.turn} of {line.ablated.line.run}, "
                f"{'the same' if compared.is_same else ' and '.join(compared.firsts)}"
            )
    console.print(table_of(found))
    print_summary(console, found, chosen.way)


def lines_of(store: SqlStore, model: str) -> Iterator[CheckedLine]:
    """Yield the lines of a store that a model spoke behind enough units: of each run the first, then the second."""
    runs = [run for run in reversed(store.runs()) if run.model == model and run.kind == "dialogue"]
    for turn in range(1, max((run.turns for run in runs), default=0) + 1):
        for run in runs:
            if turn <= run.turns:
                details = read_turn(store, run, store.start(run.run), turn)
                unscored = details.record.model_copy(update={"line_scores": None, "line_scored_by": None})
                if details.prompt is not None:
                    lines = lines_to_check(store, replace(details, record=unscored), model)
                    yield from (line for line in lines if len(line.ablated.units) >= LEAST_UNITS)


def losses(store: SqlStore, line: CheckedLine, model: LanguageModel) -> dict[str, float]:
    """Return by unit what a line loses without it to a model, in nats a token."""

    async def values() -> dict[str, float]:
        ablated, tokens, found = line.ablated, 0, dict[str, float]()
        for word in sorted([ablated.full, *map(ablated.without, range(len(ablated.units)))], reverse=True):
            found[word], tokens = await value_behind(store, word, line, model, tokens)
        return found

    return line.losses(asyncio.run(values()))


def read(model: CausalLanguageModel, request: dict[str, Any]) -> list[tuple[str, float | None]]:
    """Return the tokens of a request's prompt as a server reads them, with their log-probabilities."""
    tokenizer = model.tokenizer
    if "prompt" in request:
        tokens = tokenizer.encode(request["prompt"])
    else:
        *messages, begun = request["messages"]
        markup = tokenizer.chat_markup(tuple(message["role"] for message in messages))
        tokens = [
            token
            for before, message in zip(markup, messages, strict=False)
            for token in (*before, *tokenizer.encode(message["content"]))
        ]
        tokens += [*markup[-1], *tokenizer.encode(begun["content"])]
    told: list[float | None] = [0.0] * len(tokens)
    told[0] = None
    if request.get("echo") or "prompt_logprobs" in request:  # others ask for the number of tokens alone
        first = max(1, len(tokens) - _LAST)
        shown = RenderedPrompt(input_ids=tuple(tokens[:first]), token_spans={}, unit_blocks={})
        told[first:] = asyncio.run(model.token_log_likelihoods(shown, tokens[first:]))
    return [*zip(map(str, tokens), told, strict=True)]


def table_of(found: list[Compared]) -> Table:
    """Return a row for each line."""
    table = Table("run, turn", "units", "first here", "nats", "first over the server", "nats", "furthest apart")
    for each in found:
        here, served = each.firsts
        line = each.line.ablated.line
        table.add_row(
            f"{line.run}, {line.turn}",
            str(len(each.here)),
            *(here, f"{each.here[here]:.3f}", served, f"{each.served[served]:.3f}"),
            f"{each.furthest:.3f}",
        )
    return table


def print_summary(console: Console, found: list[Compared], way: str) -> None:
    """Print in how many lines the first unit is the same, and in how many the sentence names the same one, or none."""
    named = [each for each in found if max(each.here.values()) >= LEAST_LOSS]
    for what, lines in (("lines", found), (f"lines that lose {LEAST_LOSS} nats a token or more", named)):
        _print_share(console, f"{way}: the first unit is the same", [each.is_same for each in lines], what)
    _print_share(
        console, f"{way}: the sentence names the same first unit, or none", [e.says_same for e in found], "lines"
    )


def _print_share(console: Console, what: str, found: list[bool], of: str) -> None:
    if found:
        console.print(f"{what} in {sum(found)} of {len(found)} {of} ({sum(found) / len(found):.1%})")


if __name__ == "__main__":
    main()
