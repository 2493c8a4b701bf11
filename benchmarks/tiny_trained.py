"""Train tiny models of other structures until their lines depend on their prompts, for `tertulia scores fit`.

Run by hand, from the root; minutes of one core each:

    python -m benchmarks.tiny_trained grouped FOLDER      # or: windows FOLDER --steps 1000
    tertulia scores fit FOLDER/model $(for case in FOLDER/cases/*.yaml; do echo --cases $case; done)

1. A made world: a person's memories are reports, such as *Ada Berg heard that Otto sells plums.* A line takes up one of
   them (*They talk of plums.*), names the speaker's trade, or is small talk, which leans on nothing.
2. Prompts are the product's own, without a random share of their units; a line never takes up a removed unit.
3. Repeating a thing of four, and of short lists, is learned first, then of whole prompts: so copying comes in minutes.
4. Scenarios for the fit are of the same world, and of other draws.
"""

import argparse
import random
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
import yaml
from support.tiny_tokenizer import CHAT_TEMPLATE
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from tertulia.lab.tuning.dialogue_lessons import memories_of, turns_of
from tertulia.lab.tuning.lesson import Dropout
from tertulia.models.local.tokenizer import HuggingFaceTokenizer
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.prompts.remove import remove_units
from tertulia.prompts.render import as_messages, render
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Participant, Persona, Prompt

_FIRST, _LAST, _VERBS, _THINGS, _TRADES, _TRAITS, _PLACES = (
    words.split()
    for words in (
        "Ada Otto Mara Piotr Ines Tomas Vera Hugo Lena Karim Olga Bruno Sofia Ravi Nadia Felix Greta Omar Paula Jonas",
        "Berg Lind Costa Novak Haas Moreau Silva Kern Duarte Fox Marsh Ivers",
        "sells mends hides counts paints borrows carries washes steals collects repairs builds",
        "plums boats lamps clocks keys kettles ropes letters maps bells ladders drums",
        "baker tailor sailor teacher nurse painter farmer miller",
        "calm quick stubborn warm shy careful loud patient",
        "quay mill library market chapel station bridge harbour",
    )
)
_TALK = ("Yes, so it is.", "Good day to you.", "Well, that is so.", "How are you today?")

_ENDS, _MOST = "<|im_end|>", 1500
_SIZE: dict[str, Any] = {
    "hidden_size": 96,
    "intermediate_size": 192,
    "num_attention_heads": 6,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "tie_word_embeddings": True,
    "initializer_range": 0.08,
}


def _windows(words: int) -> PreTrainedModel:
    """Return a Qwen 2 of four layers, of which every other one sees the last 48 tokens alone."""
    layers = ["sliding_attention", "full_attention"] * 2
    windows: dict[str, Any] = {"use_sliding_window": True, "sliding_window": 48, "layer_types": layers}
    config = Qwen2Config(vocab_size=words, num_hidden_layers=4, num_key_value_heads=6, **_SIZE, **windows)
    return Qwen2ForCausalLM(config)


def _grouped(words: int) -> PreTrainedModel:
    """Return a Llama of three layers, in which each key serves three heads."""
    return LlamaForCausalLM(LlamaConfig(vocab_size=words, num_hidden_layers=3, num_key_value_heads=2, **_SIZE))


STRUCTURES = {"grouped": _grouped, "windows": _windows}


def a_case(draw: random.Random, reports: int, others: int = 3) -> tuple[Case, dict[str, str]]:
    """Return two people with so many reports and other memories, and by memory text the line that takes it up."""
    lines: dict[str, str] = {}
    pair = []
    time = datetime(2024, 5, 16, 17, 20)
    for first in draw.sample(_FIRST, 2):
        name = f"{first} {draw.choice(_LAST)}"
        for thing in draw.sample(_THINGS, reports):
            lines[f"{name} heard that {draw.choice(_FIRST)} {draw.choice(_VERBS)} {thing}."] = f"They talk of {thing}."
        trade = draw.choice(_TRADES)
        texts = [text for text in lines if text.startswith(f"{name} heard")]
        texts += [f"{name} went to the {place}." for place in draw.sample(_PLACES, others)]
        lines[f"{name} is a {trade}."] = f"I am a {trade}."
        persona = Persona(
            name=name,
            age=draw.randrange(20, 80),
            character=", ".join(draw.sample(_TRAITS, 2)),
            background=(f"{name} is a {trade}.",),
        )
        pair.append(Participant(persona=persona, memories=memories_of(texts, time), activity="waiting"))
    place = f"the {draw.choice(_PLACES)}"
    return Case(scenario="scene", time=time, place=place, initiator=pair[0], partner=pair[1]), lines


def a_line(prompt: Prompt, lines: dict[str, str], draw: random.Random) -> str:
    """Return a line that fits a prompt: three of four take up a report that is in it, if there is one."""
    shown = "\n".join(unit.text for unit in prompt.units if unit.removable)
    reports = [line for text, line in lines.items() if text in shown and " heard " in text]
    trades = [line for text, line in lines.items() if text in shown and " is a " in text]
    kind = draw.random()
    if reports and kind < 0.75:
        return draw.choice(reports)
    return draw.choice(trades if trades and kind < 0.85 else _TALK)


def a_prompt(draw: random.Random) -> tuple[Prompt, str]:
    """Return a prompt of the product without a random share of its units, and a line that fits it."""
    parameters = Parameters()
    case, lines = a_case(draw, 5)
    names = [case.initiator.persona.name, case.partner.persona.name]
    spoken = draw.choice((0, 0, 1, 2, 3))
    speaker = names[spoken % 2]
    before = [(names[at % 2], draw.choice([*lines.values(), *_TALK])) for at in range(spoken)]
    memories = list(case.participant(speaker).memories)
    draw.shuffle(memories)
    material = UtteranceMaterial(
        case, speaker, [case.other(speaker).persona.name], memories, turns_of(before), asks_ending=False
    )
    prompt = assemble_prompt(material, "single_message", parameters.blocks, parameters.removable_blocks)
    gone = Dropout(whole=0.6, empty=0.05).draw([unit.id for unit in prompt.units if unit.removable], draw)
    prompt = remove_units(prompt, gone)
    return prompt, a_line(prompt, lines, draw)


def texts_of(prompt: Prompt, line: str) -> tuple[str, str]:
    """Return the beginning of the reply, which the grammar gives, and the rest."""
    return f'{{"{prompt.speaker}": "', line


def a_tokenizer() -> PreTrainedTokenizerFast:
    """Return a byte-level tokenizer in which words of the world and of the prompts are single tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_MOST,
        special_tokens=["<|endoftext|>", "<|im_start|>", _ENDS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    draw = random.Random("words")
    texts = [
        "\n".join([*(unit.text for unit in prompt.units), *texts_of(prompt, line)])
        for prompt, line in (a_prompt(draw) for _ in range(400))
    ]
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|endoftext|>",
        eos_token=_ENDS,
        additional_special_tokens=["<|im_start|>"],
        chat_template=CHAT_TEMPLATE,
    )


Example = tuple[list[int], int]  # tokens, and the first of the reply's


def words_of_a_set(tokenizer: HuggingFaceTokenizer, draw: random.Random) -> Iterator[Example]:
    """Yield four things, and four times one of them, each behind *of*."""
    words = [tokenizer.encode(f" {word}")[0] for word in _THINGS]
    (of,) = tokenizer.encode(" of")
    while True:
        shown = draw.sample(words, 4)
        yield shown + [token for _ in shown for token in (of, draw.choice(shown))], 5


def short_texts(tokenizer: HuggingFaceTokenizer, draw: random.Random) -> Iterator[Example]:
    """Yield lists of reports with lines behind them that take each of them up."""
    while True:
        case, lines = a_case(draw, 4, others=0)
        memories = [memory.text for memory in case.initiator.memories]
        begins = len(read := tokenizer.encode("".join(f"- {text}\n" for text in memories)))
        told = draw.sample([lines[text] for text in memories], 4)
        yield read + [token for line in told for token in tokenizer.encode(f'"{line}"\n')], begins


def whole_prompts(tokenizer: HuggingFaceTokenizer, draw: random.Random) -> Iterator[Example]:
    """Yield prompts of the product with their reply and the end of the message."""
    while True:
        prompt, line = a_prompt(draw)
        begins, rest = texts_of(prompt, line)
        tokens = list(render(prompt, tokenizer).input_ids) + tokenizer.encode(begins)
        roles = tuple(role for role, _ in as_messages(prompt))
        end = tokenizer.chat_markup((*roles, "assistant", "user"))[len(roles) + 1][:1]
        yield tokens + tokenizer.encode(rest) + tokenizer.encode('"}') + list(end), len(tokens)


_RATE, _WARM_UP = 4e-3, 20


def train(model: PreTrainedModel, tokenizer: HuggingFaceTokenizer, steps_of_prompts: int) -> None:
    """Learn the replies of short texts, then of so many steps of whole prompts, and print their loss by kind."""
    course = (
        (450, ((words_of_a_set, 32), (short_texts, 6), (whole_prompts, 1))),  # steps, and by kind examples a step
        (steps_of_prompts, ((words_of_a_set, 16), (whole_prompts, 4))),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    every = sum(steps for steps, _ in course)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / _WARM_UP, (every - step) / steps_of_prompts)
    )
    for steps, kinds in course:
        examples = [kind(tokenizer, random.Random(f"{kind.__name__} {steps}")) for kind, _ in kinds]
        seen: list[list[float]] = []
        for step in range(1, steps + 1):
            losses = [_loss(model, list(islice(of, batch))) for of, (_, batch) in zip(examples, kinds, strict=True)]
            optimizer.zero_grad()
            torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            seen.append([loss.item() for loss in losses])
            if step % 50 == 0:
                shown = (fmean(of) for of in zip(*seen[-50:], strict=True))
                texts = [f"{kind.__name__} {loss:.3f}" for (kind, _), loss in zip(kinds, shown, strict=True)]
                print(f"step {step} of {steps}, nats a token: {', '.join(texts)}", flush=True)


def _loss(model: PreTrainedModel, drawn: list[Example]) -> torch.Tensor:
    """Return the mean negative log-likelihood of the replies' tokens."""
    longest = max(len(tokens) for tokens, _ in drawn)
    ids = torch.tensor([tokens + [0] * (longest - len(tokens)) for tokens, _ in drawn])  # (B, T)
    at = torch.arange(1, longest)
    begins, ends = (torch.tensor(ends)[:, None] for ends in zip(*((b, len(t)) for t, b in drawn), strict=True))
    reply = ((at >= begins) & (at < ends)).float()  # (B, T - 1)
    logits = model(input_ids=ids).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return (losses * reply).sum() / reply.sum()


def write_cases(folder: Path, number: int) -> None:
    """Write scenarios of the world, of draws that nothing was learned from."""
    folder.mkdir(parents=True, exist_ok=True)
    for at in range(number):
        case, _ = a_case(random.Random(f"case {at}"), 5)
        people = [
            each.persona.model_dump(include={"name", "age", "traits", "background"})
            | {"activity": each.activity, "memories": [memory.text for memory in each.memories]}
            for each in (case.initiator, case.partner)
        ]
        document = {"name": f"world {at}", "time": str(case.time), "place": case.place, "participants": people}
        (folder / f"world_{at:02}.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def main() -> None:
    """Train a model, and write it with scenarios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("structure", choices=STRUCTURES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=250, help="of whole prompts")
    parser.add_argument("--cases", type=int, default=16)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    tokenizer = a_tokenizer()
    model = STRUCTURES[options.structure](len(tokenizer))
    train(model, HuggingFaceTokenizer(tokenizer), options.steps)
    model.save_pretrained(options.folder / "model")
    tokenizer.save_pretrained(options.folder / "model")
    write_cases(options.folder / "cases", options.cases)


if __name__ == "__main__":
    main()
