"""Cost of a dialogue's utterances against plain ones: `python -m benchmarks.dialogue [PRECISION] [TURNS]`.

Every utterance of a dialogue of the shipped town is pruned and judged. G is `generate` of transformers on the full
prompt of that turn, for as many tokens as were said; it is also given with its keys and values of that speaker's last
prompt kept (`past_key_values` up to the first difference). Times are CPU times with one thread.
"""

import asyncio
import statistics
import sys
import time
from dataclasses import dataclass, replace

import torch
from langgraph.checkpoint.memory import InMemorySaver
from transformers import DynamicCache, PreTrainedModel

from benchmarks.utterance import plain_generation_s, plain_model, short
from tertulia.cli.environment import cache_folder
from tertulia.models.loading import device_and_dtype, open_embedder, open_model
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.render import render
from tertulia.runs.access.engines import Engines
from tertulia.runs.driving.conversation import drive
from tertulia.runs.driving.events import Event, TurnFinished
from tertulia.runs.planning.starting import begin_with, plan_run
from tertulia.state.language_model import Embedder, LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Prompt
from tertulia.storage.store import SqlStore

SCENARIO = "tidewell:3"


@dataclass(frozen=True)
class Turn:
    """A turn: its CPU seconds, its full prompt, the tokens of its reply, and where the prompt left the last one."""

    spent_s: float
    prompt: tuple[int, ...]
    reply: int
    common: int


def main(precision: str, turns: int) -> None:
    """Print the figures."""
    torch.set_num_threads(1)
    found = dialogue(precision, turns)
    plain = plain_model(precision)
    _plain_s(plain, found[0], 0)
    plain_s = statistics.mean(_plain_s(plain, turn, 0) for turn in found)  # of all turns: their lengths differ
    keeping_s = statistics.mean(_plain_s(plain, turn, turn.common) for turn in found)
    spent_s = statistics.mean(turn.spent_s for turn in found)
    later = found[2:]
    print(f"{precision}, {len(found)} turns of {statistics.mean(len(t.prompt) for t in found):.0f} tokens")
    print(f"utterance {spent_s:.2f} s, G {plain_s:.2f} s, G with kept prefix {keeping_s:.2f} s")
    print(f"utterance / G {spent_s / plain_s:.2f}; / G with kept prefix {spent_s / keeping_s:.2f}")
    print(f"common beginning from the third turn on: {statistics.mean(t.common / len(t.prompt) for t in later):.2f}")


def dialogue(precision: str, turns: int) -> list[Turn]:
    """Return the turns of a dialogue at λ = 0.5, from a model that has read nothing yet."""
    model, embedder = open_model("smollm2", cache=cache_folder(), precision=precision), open_embedder("minilm")  # type: ignore[arg-type]
    chosen = {"removal_factor": 0.5, "max_turns": turns, "ending": "off"}
    parameters = model.traits.resolve(Parameters().with_settings(chosen))
    clock: list[float] = []
    with SqlStore.open(":memory:", create=True) as store:
        plan = replace(plan_run(SCENARIO, {}, seed=1), parameters=parameters)
        context = begin_with(store, plan, Engines(model, {}, embedder))
        assert isinstance(context.start, Case)
        embedder.embed([m.text for person in (context.start.initiator, context.start.partner) for m in person.memories])
        clock.append(time.process_time())

        def note(event: Event) -> None:
            if isinstance(event, TurnFinished):
                clock.append(time.process_time())

        asyncio.run(drive(context, InMemorySaver(), note))
        found: list[Turn] = []
        prompts: dict[str | None, tuple[int, ...]] = {}
        for turn in store.turns(context.run):
            record = store.turn_record(context.run, turn.turn)
            prompt = store.prompt(record.prompt or "")
            tokens = render(prompt, model.tokenizer, reply_prefix_of(prompt)).input_ids
            before = prompts.get(turn.speaker, ())
            common = next((i for i, (a, b) in enumerate(zip(before, tokens, strict=False)) if a != b), len(before))
            reply = store.candidates(context.run, turn.turn)[record.chosen].reply
            at = len(found)
            found.append(Turn(clock[at + 1] - clock[at], tokens, len(reply.tokens), min(common, len(tokens) - 1)))
            prompts[turn.speaker] = tokens
    return found


def prompts_of_dialogue(model: LanguageModel, embedder: Embedder, parameters: Parameters) -> list[Prompt]:
    """Return the full prompts of a dialogue."""
    with SqlStore.open(":memory:", create=True) as store:
        plan = replace(plan_run(SCENARIO, {}, seed=1), parameters=parameters)
        context = begin_with(store, plan, Engines(model, {}, embedder))
        asyncio.run(drive(context, InMemorySaver()))
        numbers = [turn.turn for turn in store.turns(context.run)]
        return [store.prompt(store.turn_record(context.run, number).prompt or "") for number in numbers]


def _plain_s(model: PreTrainedModel, turn: Turn, kept: int) -> float:
    """Return G of a turn, with the keys and values of its first tokens in memory."""
    cache = DynamicCache(config=model.config)
    if kept:
        with torch.inference_mode():
            model.forward(torch.tensor([turn.prompt[:kept]]), past_key_values=cache)
    return plain_generation_s(model, turn.prompt, turn.reply, cache)


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else short(device_and_dtype("auto")[1]), int((sys.argv[2:] or ["16"])[0]))
