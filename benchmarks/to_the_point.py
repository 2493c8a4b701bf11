"""How much to the point a model speaks, how varied it is, and how often it repeats itself, for some settings.

`python -m benchmarks.to_the_point [--cases FILE_OR_NAME ...] [--seeds 1 2 3] [--turns 6] [--set NAME=VALUE ...]`

*To the point*: from its utterances alone, people's names masked, the embedder finds which of the cases a dialogue is.
A case is the memories, earlier dialogues and surroundings of its two people. The match of a line with a case is the
mean cosine with the three nearest of these texts, that of a dialogue the mean over its lines; the case with the highest
match is the guess. By chance one of so many cases is right.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tertulia as tt
from metrics.diversity import distinct_n, words, words_per_utterance
from nodes.address import without_names
from state.language_model import Embedder
from state.records import Case
from worlds.catalog import resolve

#: The nearest texts of a case with which a line is compared.
_NEAREST = 3


class Figures(NamedTuple):
    """The figures of a setting.

    Attributes:
        dialogues: Share of dialogues whose case is found.
        lines: Share of lines.
        margin: Mean match with the right case, minus the mean with the others.
        distinct: dist-1 to dist-3 within a dialogue, mean.
        repeated: Share of the 4-grams of words of a line that an earlier line of the dialogue has.
        length: Words in a line.
    """

    dialogues: float
    lines: float
    margin: float
    distinct: tuple[float, float, float]
    repeated: float
    length: float


def texts_of_case(case: Case) -> list[str]:
    """Return what a case is: its memories, earlier dialogues and surroundings, without people's names."""
    texts = [memory.text for person in (case.initiator, case.partner) for memory in person.memories]
    texts += [person.activity for person in (case.initiator, case.partner) if person.activity]
    texts += [line.text for dialogue in case.previous_dialogues for line in dialogue.utterances]
    texts += [case.place] if case.place else []
    names = (case.initiator.persona.name, case.partner.persona.name)
    return [text for text in dict.fromkeys(without_names(text, names) for text in texts) if text]


def matches(lines: Sequence[str], cases: Sequence[NDArray[np.float64]], embedder: Embedder) -> NDArray[np.float64]:
    """Return how well each line matches each case, `(lines, cases)`."""
    vectors = np.array(embedder.embed(list(lines)))
    return np.array([np.sort(vectors @ case.T, axis=1)[:, -_NEAREST:].mean(axis=1) for case in cases]).T


def repeated_share(lines: Sequence[str], n: int = 4) -> float:
    """Return the share of the n-grams of words that an earlier line has."""
    seen: set[tuple[str, ...]] = set()
    found = total = 0
    for line in lines:
        tokens = words(line)
        grams = {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}
        found, total = found + len(grams & seen), total + len(grams)
        seen |= grams
    return found / total if total else 0.0


def figures_of(
    dialogues: Mapping[tuple[int, int], list[tuple[str, str]]], cases: Sequence[Case], embedder: Embedder
) -> Figures:
    """Return the figures of dialogues by number of their case and seed."""
    texts = [np.array(embedder.embed(texts_of_case(case))) for case in cases]
    right, right_lines, margins = [], [], []
    for (number, _), dialogue in dialogues.items():
        names = (cases[number].initiator.persona.name, cases[number].partner.persona.name)
        masked = [text for _, line in dialogue if (text := without_names(line, names))]
        found = matches(masked or ["."], texts, embedder)
        right.append(found.mean(axis=0).argmax() == number)
        right_lines += list(found.argmax(axis=1) == number)
        margins.append(found[:, number].mean() - np.delete(found, number, axis=1).mean())
    each = list(dialogues.values())
    mean = [float(np.mean([distinct_n([dialogue], n) or 0.0 for dialogue in each])) for n in (1, 2, 3)]
    return Figures(
        float(np.mean(right)),
        float(np.mean(right_lines)),
        float(np.mean(margins)),
        (mean[0], mean[1], mean[2]),
        float(np.mean([repeated_share([text for _, text in dialogue]) for dialogue in each])),
        float(np.mean([words_per_utterance([dialogue]) or 0.0 for dialogue in each])),
    )


def dialogues_of(
    scenarios: Sequence[str], seeds: Sequence[int], settings: Mapping[str, Any], turns: int, store: Path
) -> dict[tuple[int, int], list[tuple[str, str]]]:
    """Return the dialogues of each case and seed, as pairs of speaker and line; the embedded model speaks."""
    handle = tt.Store(store)
    found = {}
    for number, scenario in enumerate(scenarios):
        for seed in seeds:
            run = tt.run(scenario, rounds=turns, seed=seed, settings=settings, store=handle, progress=False)
            found[number, seed] = [(turn.speaker, turn.text) for turn in run.turns if turn.speaker is not None]
    return found


def main() -> None:
    """Run the dialogues of one setting, and print their lines and figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", nargs="+", default=[f"tidewell:{case}" for case in range(8)])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--set", nargs="*", default=[], dest="settings")
    parser.add_argument("--lines", action="store_true", help="print what was said")
    options = parser.parse_args()
    from tertulia.engines import ModelAccess

    settings = dict(setting.split("=", 1) for setting in options.settings)
    cases = [resolve(scenario) for scenario in options.cases]
    with tempfile.TemporaryDirectory() as folder:
        dialogues = dialogues_of(options.cases, options.seeds, settings, options.turns, Path(folder) / "runs.db")
    for (number, seed), dialogue in dialogues.items() if options.lines else ():
        print(f"\n{options.cases[number]}, seed {seed}")
        for speaker, text in dialogue:
            print(f"  {speaker}: {text}")
    embedder = ModelAccess().embedder("minilm")
    found = figures_of(dialogues, [case for case in cases if isinstance(case, Case)], embedder)
    print(
        f"{' '.join(options.settings) or 'defaults'}: to the point {found.dialogues:.2f} of dialogues, "
        f"{found.lines:.2f} of lines, margin {found.margin:+.3f}; dist-1 to 3 "
        f"{' '.join(f'{value:.2f}' for value in found.distinct)}; repeated 4-grams {found.repeated:.2f}; "
        f"{found.length:.1f} words a line"
    )


if __name__ == "__main__":
    main()
