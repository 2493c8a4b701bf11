"""What a model says under some settings: how much to the point, how varied, how fluent, and how often repeated.

`python -m benchmarks.to_the_point [--cases FILE_OR_NAME ...] [--seeds 1 2 3] [--turns 4] [--set NAME=VALUE ...]
[--vary NAME=VALUE,VALUE ...] [--model NAME] [--store FILE] [--lines]`

* *Found, margin*: from its utterances alone, people's names masked, the embedder finds which of the cases a dialogue is
  (`metrics.to_the_point`). By chance one of so many cases is right, and who recites is always found.
* *To the point*: the margin in the speakers' own words; *recited words*, *out of order*: two of what it leaves out.
* *Varied*: dist-N and sim over the dialogues of a case that differ in their seed, as in the paper, and dist-2 at equal
  length, over as many words of each case as the setting with the fewest has.
* *Recited*: the share of lines with six words in a row from one text of their case; and how many lines are, word for
  word, lines of a shipped scene.
* *Fluent*: the mean log-probability of the words by themselves, without any prompt, in nats per token of the embedded
  model: it rewards what is common and grammatical, whether it makes sense or not.

Figures are means over cases with 95 % intervals (bootstrap over cases); those after the first setting's are differences
from it too, case by case. With a store, runs that stand there are not made again.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tertulia as tt
from tertulia.cli.environment import cache_folder
from tertulia.lab.to_the_point import to_the_point_of_scenarios
from tertulia.metrics.diversity import (
    Dialogue,
    dialogue_of,
    distinct_n,
    mean,
    metrics_of_cases,
    words,
    words_per_utterance,
)
from tertulia.metrics.recitation import recites
from tertulia.metrics.repetition import repeated_share
from tertulia.metrics.to_the_point import ToThePoint, texts_of_case
from tertulia.models.loading import open_embedder, open_model
from tertulia.state.language_model import Embedder, LanguageModel, RenderedPrompt
from tertulia.state.records import Case, Reply
from tertulia.state.text import folded
from tertulia.worlds.catalog import resolve
from tertulia.worlds.scenes import DialogueScene, MeetingScene, read_scenes, shipped_scenes

#: By seed, the dialogues of a case under a setting.
Dialogues = Mapping[int, Dialogue]

#: The columns of the table.
_FIGURES = (
    "dialogues found",
    "lines found",
    "margin",
    "dist-1",
    "dist-2",
    "dist-3",
    "dist-2, equal length",
    "sim",
    "nats a token",
    "words a line",
    "4-grams repeated",
    "recited",
    "to the point",
    "recited words",
    "out of order",
)


def cut(dialogues: Iterable[Dialogue], length: int) -> list[Dialogue]:
    """Return as many first words of dialogues as `length`, line by line in turn over the dialogues."""
    kept: list[tuple[str, str]] = []
    for lines in zip_longest(*dialogues):
        for line in lines:
            if line is not None and length > 0:
                shown = words(line[1])[:length]
                length -= len(shown)
                kept.append((line[0], " ".join(shown)))
    return [kept]


def word_count(dialogues: Iterable[Dialogue]) -> int:
    """Return the words of dialogues."""
    return sum(len(words(text)) for dialogue in dialogues for _, text in dialogue)


def fluency(lines: Sequence[str], model: LanguageModel) -> float:
    """Return the mean log-probability of lines without any prompt, in nats per token, each line alike."""
    prompt = RenderedPrompt(tuple(model.tokenizer.encode("\n")), {}, {})
    found = []
    for line in lines:
        if tokens := tuple(model.tokenizer.encode(line)):
            reply = Reply(text=line, tokens=tokens, text_tokens=(0, len(tokens)), fields={})
            found.append(asyncio.run(model.log_likelihood(prompt, reply)))
    return float(np.mean(found))


def figures_of(
    case: str, dialogues: Dialogues, length: int, found: ToThePoint, embedder: Embedder, model: LanguageModel
) -> list[float]:
    """Return the figures of a case's dialogues under a setting.

    Args:
        case: The scenario.
        dialogues: By seed.
        length: The words over which dist-2 is taken at equal length.
        found: How much to the point they are.
        embedder: Compares dialogues.
        model: Whose log-probability tells how fluent they are.
    """
    each = list(dialogues.values())
    varied = metrics_of_cases({"": each}, embedder)[""]
    figures: list[Any] = [found.dialogues_found, found.lines_found, found.margin]
    figures += [varied.dist1, varied.dist2, varied.dist3, distinct_n(cut(each, length), 2), varied.sim]
    figures += [fluency([text for dialogue in each for _, text in dialogue], model), words_per_utterance(each)]
    figures += [mean(repeated_share(dialogue) for dialogue in each)]
    start = resolve(case)
    known = texts_of_case(start) if isinstance(start, Case) else []
    figures += [mean(recites(text, known) for dialogue in each for _, text in dialogue)]
    figures += [found.to_the_point, found.recited, found.out_of_order]
    return [np.nan if figure is None else float(figure) for figure in figures]


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of a mean over cases, by bootstrap."""
    drawn = np.random.default_rng(0).integers(0, len(values), (4000, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def dialogue_under(
    scenario: str, seed: int, settings: Mapping[str, Any], turns: int, store: tt.Store, model: str
) -> Dialogue:
    """Return the dialogue of a case under settings; a model speaks, if it has not yet."""
    label = f"{model} {scenario} {seed} {turns} {' '.join(f'{name}={value}' for name, value in settings.items())}"
    found = store.runs(label=label, status="finished")
    run = (
        found[0]
        if found
        else tt.run(
            scenario, rounds=turns, seed=seed, model=model, settings=settings, store=store, progress=False, label=label
        )
    )
    return dialogue_of(run.turns)


def print_lines(
    dialogues: Sequence[Sequence[Dialogues]], settings: Sequence[Mapping[str, str]], cases: Sequence[str]
) -> None:
    """Print what was said, by setting, case and seed."""
    for setting, by_case in zip(settings, dialogues, strict=True):
        for case, by_seed in zip(cases, by_case, strict=True):
            for seed, dialogue in by_seed.items():
                print(f"\n{case}, seed {seed}{''.join(f', {name}={value}' for name, value in setting.items())}")
                for speaker, text in dialogue:
                    print(f"  {speaker}: {text}")


def print_table(
    dialogues: Sequence[Sequence[Dialogues]], settings: Sequence[Mapping[str, str]], cases: Sequence[str]
) -> None:
    """Print the figures of each setting with their intervals, and the differences from the first."""
    model, embedder = open_model("smollm2", cache=cache_folder()), open_embedder("minilm")
    lengths = [min(word_count(by_case[number].values()) for by_case in dialogues) for number in range(len(cases))]
    figures = np.array([_figures_by_case(by_case, lengths, cases, embedder, model) for by_case in dialogues])
    print(f"\n{len(cases)} cases, {len(dialogues[0][0])} seeds; {said_whole(dialogues)} lines of a scene said whole\n")
    print(f"| setting | {' | '.join(_FIGURES)} |\n|---|{'---|' * len(_FIGURES)}")
    for setting, of_setting in zip(settings, figures, strict=True):
        name = " ".join(f"{name}={value}" for name, value in setting.items()) or "defaults"
        print(f"| {name} | {' | '.join(shown(values) for values in of_setting.T)} |")
    for setting, of_setting in zip(settings[1:], figures[1:], strict=True):
        name = " ".join(f"{name}={value}" for name, value in setting.items())
        print(
            f"| {name}, minus the first | {' | '.join(shown(values, '+') for values in (of_setting - figures[0]).T)} |"
        )


def _figures_by_case(
    by_case: Sequence[Dialogues],
    lengths: Sequence[int],
    cases: Sequence[str],
    embedder: Embedder,
    model: LanguageModel,
) -> list[list[float]]:
    """Return the figures of every case under a setting."""
    found = to_the_point_of_scenarios(
        {case: list(dialogues.values()) for case, dialogues in zip(cases, by_case, strict=True)}, embedder
    )
    return [
        figures_of(case, dialogues, length, found[case], embedder, model)
        for case, dialogues, length in zip(cases, by_case, lengths, strict=True)
    ]


def said_whole(dialogues: Sequence[Sequence[Dialogues]]) -> int:
    """Return how many lines are, word for word, lines of a shipped scene."""
    scenes = [s for s in read_scenes([shipped_scenes()]) if isinstance(s, DialogueScene | MeetingScene)]
    taught = {folded(text) for scene in scenes for _, text in scene.lines}
    lines = (text for of_setting in dialogues for by_seed in of_setting for d in by_seed.values() for _, text in d)
    return sum(folded(text) in taught for text in lines)


def shown(values: NDArray[np.float64], sign: str = "") -> str:
    """Return a mean over cases with its interval; a dash where a case has no such figure."""
    if np.isnan(values).any():
        return "–"
    low, high = interval(values)
    return f"{values.mean():{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def main() -> None:
    """Run the dialogues of each setting, and print their figures as a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", nargs="+", default=[f"tidewell:{case}" for case in range(8)])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--set", nargs="*", default=[], dest="settings", metavar="NAME=VALUE")
    parser.add_argument("--vary", nargs="*", default=[], metavar="NAME=VALUE,VALUE")
    parser.add_argument("--store", type=Path, help="keeps the runs")
    parser.add_argument("--lines", action="store_true", help="print what was said")
    options = parser.parse_args()
    varied = [[(name, v) for v in values.split(",")] for name, _, values in (o.partition("=") for o in options.vary)]
    common = [(name, value) for name, _, value in (setting.partition("=") for setting in options.settings)]
    settings = [dict([*common, *chosen]) for chosen in product(*varied)]
    with tempfile.TemporaryDirectory() as folder:
        store = tt.Store(options.store or Path(folder) / "runs.db")
        dialogues = [
            [
                {seed: dialogue_under(case, seed, s, options.turns, store, options.model) for seed in options.seeds}
                for case in options.cases
            ]
            for s in settings
        ]
    if options.lines:
        print_lines(dialogues, settings, options.cases)
    print_table(dialogues, settings, options.cases)


if __name__ == "__main__":
    main()
