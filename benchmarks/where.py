"""Where the work of an utterance goes: tokens, rows, bytes and CPU by step, of the embedded model as it is shipped.

A dialogue's six utterances, a meeting's round and an album's exchanges are driven with default settings (λ = 0.5) on
one thread, twice. First a profiler tells Python from the functions of libraries; then the model's entry points are
clocked. All is CPU time of the process; bytes are those of weights, keys and values by which a forward pass multiplies.
With the name of a case its lines and CPU seconds alone are printed, nothing being counted: for two checkouts by turns.
"""

import argparse
import cProfile
import pstats
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import tertulia as tt
from tertulia.cli.environment import cache_folder
from tertulia.models import cohort
from tertulia.models.journal import JournalledModel
from tertulia.models.local import causal, kept_prompts
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.models.local.lean_llama import LeanLlama
from tertulia.runs.driving import conversation

CASES: dict[str, dict[str, Any]] = {
    "dialogue": {"scenario": "tidewell", "rounds": 6},
    "meeting": {"scenario": "team_building", "rounds": 1},
    "album": {"scenario": "villagers", "agents": 4, "rounds": 1},
}

#: The entry points of the model.
ENTRIES = (
    *("generate_batch", "generate_scored", "answer_batch", "score"),
    *("log_likelihood", "probabilities", "token_figures", "token_log_likelihoods"),
)

Function = Callable[..., Any]

#: The step that the call under way belongs to, and the part of it if a function's name does not say that.
_step: ContextVar[str] = ContextVar("step", default="")
_part: ContextVar[str] = ContextVar("part", default="")


@dataclass
class Work:
    """The forward passes of a part of a step.

    Attributes:
        tokens: Read in them; of a prompt, those that were not in memory.
        kept: Tokens of prompts that were in memory.
        rows: Of replies, over all passes.
        weights, keys: Bytes.
    """

    passes: int = 0
    tokens: int = 0
    kept: int = 0
    rows: int = 0
    seconds: float = 0.0
    weights: int = 0
    keys: int = 0


class Count:
    """Work by step and part. Its methods wrap the functions in which it is done."""

    def __init__(self) -> None:
        self.work: defaultdict[tuple[str, str], Work] = defaultdict(Work)
        self.precision = ""
        self._within = 0.0  # seconds inside the part under way that other parts have

    @contextmanager
    def timed(self, part: str) -> Iterator[Work]:
        """Add the time spent inside, besides what is counted there, to a part of the current step."""
        outside, self._within, start = self._within, 0.0, time.process_time()
        work = self.work[_step.get(), part]
        try:
            yield work
        finally:
            spent = time.process_time() - start
            work.seconds += spent - self._within
            self._within = outside + spent

    def entry(self, function: Function) -> Function:
        """Wrap an entry point of the model."""

        @wraps(function)
        async def entered(*arguments: Any, **options: Any) -> Any:
            with self.timed("between passes"):
                return await function(*arguments, **options)

        return entered

    def prefill(self, function: Function) -> Function:
        """Wrap the function that returns a prompt, read or from memory."""

        @wraps(function)
        def filling(model: Any, tokens: Sequence[int], *arguments: Any) -> Any:
            work = self.work[_step.get(), _part.get() or "prompts"]
            before = work.tokens
            prefix = function(model, tokens, *arguments)
            work.kept += len(tokens) - 1 - (work.tokens - before)
            return prefix

        return filling

    def read(self, function: Function) -> Function:
        """Wrap the forward pass of a prompt's tokens."""

        @wraps(function)
        def reading(lean: Any, prefix: Any, end: int) -> None:
            with self.timed(_part.get() or "prompts") as work:
                work.passes, work.tokens = work.passes + 1, work.tokens + end - prefix.length
                function(lean, prefix, end)
                *layers, last = lean._layers
                work.weights += sum(map(_bytes_of_layer, layers)) + _bytes(last.in_attention)
                work.keys += prefix.size

        return reading

    def logits(self, function: Function) -> Function:
        """Wrap the forward pass of the tokens of replies."""

        @wraps(function)
        def computing(lean: Any, state: Any, tokens: Any, positions: Any, ends: Sequence[int] | None) -> Tensor:
            with self.timed(_part.get() or ("replies read" if ends is None else "replies drawn")) as work:
                work.passes, work.tokens = work.passes + 1, work.tokens + len(tokens)
                work.rows += 1 + sum(after != before + 1 for before, after in pairwise(positions))
                found: Tensor = function(lean, state, tokens, positions, ends)
                head = _bytes(lean._head) if ends is None or ends else 0
                work.weights += sum(map(_bytes_of_layer, lean._layers)) + head
                groups = state.groups_with_tokens
                work.keys += sum(tensor.nbytes for group in groups for tensor in (*group.keys, *group.values))
                self.precision = str(found.dtype).removeprefix("torch.")
                return found

        return computing


def main() -> None:
    """Print a table for each case, or the lines and CPU seconds of one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="?", choices=CASES)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(width=120, highlight=False, markup=False)
    if chosen.case:
        lines, seconds = driven(CASES[chosen.case])
        console.print(*lines, f"{seconds:.2f} s of CPU", sep="\n")
        return
    for case, asked in CASES.items():
        count, profile = Count(), cProfile.Profile(time.process_time)
        driven(asked, profile)
        with counting(count):
            lines, seconds = driven(asked)
        console.print(table(f"{case}: {len(lines)} lines, {seconds:.1f} s of CPU", count, seconds))
        share = f"Python, with operators that it writes as signs: {python_share(profile):.0%}"
        console.print(f"{share}; {processor()}, {count.precision}, torch {torch.__version__}, one thread\n")


def driven(asked: dict[str, Any], profile: cProfile.Profile | None = None) -> tuple[list[str], float]:
    """Return the lines of a run, and its CPU seconds once its model is open."""
    drive, seconds = conversation.drive, 0.0

    async def clocked(*arguments: Any, **options: Any) -> Any:
        nonlocal seconds
        start = time.process_time()
        if profile is not None:
            profile.enable()
        try:
            return await drive(*arguments, **options)
        finally:
            if profile is not None:
                profile.disable()
            seconds += time.process_time() - start

    with tempfile.TemporaryDirectory() as folder, patch.object(conversation, "drive", clocked):
        run = tt.run(**asked, store=f"{folder}/store.db", cache=cache_folder(), progress=False)
        return [turn.text or "" for turn in run.turns], seconds


@contextmanager
def counting(count: Count) -> Iterator[None]:
    """Count the work of all models meanwhile."""
    wrappers: list[tuple[Any, str, Callable[[Function], Function]]] = [
        (LeanLlama, "read", count.read),
        (LeanLlama, "logits", count.logits),
        (kept_prompts, "prefill", count.prefill),
        (causal, "attention_by_head", _in_part("attention by head")),
        (cohort, "_answered", _in_step(lambda waiting: waiting.call.node)),
        (cohort, "_answers", _in_step(lambda batch: " + ".join(sorted({waiting.call.node for waiting in batch})))),
        (JournalledModel, "score", _in_step(lambda model: model._asker[2])),
        (JournalledModel, "generate_batch", _in_step(lambda model: model._asker[2])),
        *((CausalLanguageModel, name, count.entry) for name in ENTRIES),
    ]
    with ExitStack() as stack:
        for owner, name, wrapper in wrappers:
            stack.enter_context(patch.object(owner, name, wrapper(getattr(owner, name))))
        yield


def _in_step(name: Callable[..., str]) -> Callable[[Function], Function]:
    """Return a wrapper of functions that make calls of a step, which their first argument names."""

    def wrapper(function: Function) -> Function:
        @wraps(function)
        async def stepping(*arguments: Any, **options: Any) -> Any:
            token = _step.set(name(arguments[0]))
            try:
                return await function(*arguments, **options)
            finally:
                _step.reset(token)

        return stepping

    return wrapper


def _in_part(name: str) -> Callable[[Function], Function]:
    """Return a wrapper of functions that do the named part of a step."""

    def wrapper(function: Function) -> Function:
        @wraps(function)
        def doing(*arguments: Any, **options: Any) -> Any:
            token = _part.set(name)
            try:
                return function(*arguments, **options)
            finally:
                _part.reset(token)

        return doing

    return wrapper


def _bytes(product: Any) -> int:
    """Return the bytes of the packed weight of a product, from its method."""
    return int(product.__self__.nbytes)


def _bytes_of_layer(layer: Any) -> int:
    return sum(map(_bytes, (layer.in_attention, layer.out_of_attention, layer.in_mlp, layer.out_of_mlp)))


def table(title: str, count: Count, seconds: float) -> Table:
    """Return the work by step and part; what remains of the CPU seconds is the last row."""
    figures = ("passes", "rows a pass", "tokens", "kept", "seconds", "share", "weights, GB", "keys, GB")
    shown = Table("step", "part", *figures, title=title)
    for (step, part), work in sorted(count.work.items()):
        rows = f"{work.rows / work.passes:.1f}" if work.rows else ""
        counts = [str(work.passes), rows, str(work.tokens), str(work.kept or "")] if work.passes else [""] * 4
        sizes = [f"{size / 1e9:.1f}" for size in (work.weights, work.keys)] if work.passes else []
        shown.add_row(step, part, *counts, f"{work.seconds:.2f}", f"{work.seconds / seconds:.0%}", *sizes)
    rest = seconds - sum(work.seconds for work in count.work.values())
    shown.add_row("all else", *[""] * 5, f"{rest:.2f}", f"{rest / seconds:.0%}")
    return shown


def python_share(profile: cProfile.Profile) -> float:
    """Return the share of the time outside functions of libraries."""
    stats: dict[tuple[str, int, str], Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    own: dict[tuple[str, int, str], float] = {function: figures[2] for function, figures in stats.items()}
    return sum(seconds for (file, _, _), seconds in own.items() if file != "~") / sum(own.values())


def processor() -> str:
    """Return the name of the processor."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))


if __name__ == "__main__":
    main()
