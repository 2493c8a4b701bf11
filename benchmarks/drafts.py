"""Which drafts of the embedded model make sense, and how often weighing them picks one that does.

`draft_lines.jsonl` has a turn of a scene a line (`worlds/scenes/plain_8.jsonl`, on which the voice was not trained):
the speaker and drafts of the next line, plain samples at T = 0.8 or T = 0.35 without four tokens in a row from the
dialogue, none left out. Two readers, large language models, saw the scene so far, the speaker's memories and the
drafts, nothing else, and said what is wrong with each draft (`null`: it makes sense); of those at T = 0.35 also whether
its first sentence alone would make sense. The weight 1/2 was chosen on the drafts at T = 0.35.

Example: python -m benchmarks.drafts
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tertulia.cli.environment import cache_folder
from tertulia.lab.tuning.dialogue_lessons import case_of, turns_of
from tertulia.models.loading import open_model
from tertulia.nodes.utterance.generate import prompt_without
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt, reply_object, reply_prefix_of
from tertulia.prompts.render import render, retokenized
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, Reply
from tertulia.worlds.scenes import DialogueScene

LINES = Path(__file__).with_name("draft_lines.jsonl")
SCENES = Path(__file__).parents[1] / "tertulia" / "worlds" / "scenes" / "plain_8.jsonl"
#: Weights of what was said beside the log-probability.
WEIGHTS = (0.0, 0.5, 1.0)


class Beginning(NamedTuple):
    """A draft, or its first sentence.

    Attributes:
        turn: Which turn it is for.
        makes_sense: For both readers.
        likely, without: Its log-probability, in nats per token, and that without the lines before it.
    """

    turn: int
    is_whole: bool
    makes_sense: bool
    likely: float
    without: float


class DraftedTurn(NamedTuple):
    """A turn of a scene with its drafts: each with what both readers found, and with both verdicts on its beginning."""

    scene: DialogueScene
    turn: int
    speaker: str
    temperature: float
    drafts: list[list[object]]


def drafted() -> Iterator[DraftedTurn]:
    """Yield the turns of the file."""
    scenes = [DialogueScene.model_validate_json(line) for line in SCENES.read_text(encoding="utf-8").splitlines()]
    for row in map(json.loads, LINES.read_text(encoding="utf-8").splitlines()):
        yield DraftedTurn(**{**row, "scene": scenes[row["scene"]]})


def first_sentence(text: str) -> str:
    """Return the first sentence of a draft."""
    found = re.match(r"[^.!?]+[.!?]*", text)
    return found[0].strip() if found else text


def prompt_of(drafted: DraftedTurn) -> Prompt:
    """Return the prompt of a turn, with all that its speaker remembers."""
    case, parameters = case_of(drafted.scene), Parameters()
    material = UtteranceMaterial(
        start=case,
        speaker=drafted.speaker,
        listeners=[case.other(drafted.speaker).persona.name],
        memories=case.participant(drafted.speaker).memories,
        turns=turns_of(drafted.scene.lines[: drafted.turn - 1]),
        asks_ending=False,
    )
    return assemble_prompt(material, "chat_turns", parameters.blocks, parameters.removable_blocks)


def likelihood(model: LanguageModel, prompt: Prompt, text: str) -> float:
    """Return the mean log-probability of a line after a prompt, in nats per token."""
    prefix = reply_prefix_of(prompt)
    written = reply_object(prompt.speaker, text, None, "en")
    reply = retokenized(
        model.tokenizer, Reply(text=written, tokens=(), text_tokens=(0, 0), fields={prompt.speaker: text}), prefix
    )
    return asyncio.run(model.log_likelihood(render(prompt, model.tokenizer, prefix), reply))


def read(model: LanguageModel, turns: Sequence[DraftedTurn]) -> Iterator[Beginning]:
    """Yield all drafts with their figures, and their first sentences where readers judged them."""
    for number, turn in enumerate(turns):
        prompt = prompt_of(turn)
        bare = prompt_without(prompt, "answer") or prompt
        for text, faults, *verdicts in turn.drafts:
            assert isinstance(text, str)
            assert isinstance(faults, list)
            judged = [(text, True, not any(faults))]
            judged += [(first_sentence(text), False, all(verdict)) for verdict in verdicts if isinstance(verdict, list)]
            for line, is_whole, makes_sense in judged:
                figures = [likelihood(model, shown, line) for shown in (prompt, bare)]
                yield Beginning(number, is_whole, makes_sense, *figures)


def main() -> None:
    """Print how many drafts make sense, and how many of those picked, by weight."""
    model = open_model("smollm2", cache=cache_folder())
    for temperature, of_temperature in groupby(drafted(), lambda turn: turn.temperature):
        turns = list(of_temperature)
        found = list(read(model, turns))
        for name, beginnings in (("whole", [b for b in found if b.is_whole]), ("with first sentences", found)):
            share = sum(b.makes_sense for b in beginnings) / len(beginnings)
            print(f"T = {temperature}, {name}: {share:.0%} of {len(beginnings)} make sense", end="")
            for weight in WEIGHTS:
                picked = [
                    max(of_turn, key=lambda b: b.likely + weight * (b.likely - b.without))
                    for of_turn in ([b for b in beginnings if b.turn == number] for number in range(len(turns)))
                ]
                print(f"; picked at {weight}: {sum(b.makes_sense for b in picked)} of {len(picked)}", end="")
            print()


if __name__ == "__main__":
    main()
