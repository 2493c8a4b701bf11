"""Whether what is not to the point can pass for it: real dialogues against what a machine makes of their case.

`python -m benchmarks.fooling [--half design|held_out] [--scenes] [--log FOLDER] [--lines]`

A case with a real dialogue is attacked in four ways, of which two to three kinds each; a dialogue of an attack has as
many lines as the real one (at most four of a place), by the same speakers:

* *recited*: where they are, four times; memories as they are; memories with *I*
* *shuffled*: the words of each real line; those of memories
* *negated*: memories that are denied, as they are and with *I*
* *partner's*: memories of the partner as one's own, as they are and with *I*

The table has per kind the mean figure, that of the match alone (`margin`), and how many are below the real dialogue of
their case. Below it stand ways that were thought of once the rules were there, to see where they end: the place in four
sentences, neighbouring words of the real lines changed about, and memories behind *Well, you know*; and the real
dialogue with its speakers changed about.

Cases: the logged ones of Tidewell and, if it is given, of a Generative Agents run; `benchmarks/cases`, of which the
last earlier dialogue is taken as the real one; with `--scenes` some plain ones of `worlds/scenes/` too, none of which
the order of words is counted in. Thresholds were chosen on every second case of each source (`design`).
"""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from tertulia.lab.to_the_point import to_the_point_of_cases
from tertulia.lab.tuning.dialogue_lessons import case_of
from tertulia.metrics.diversity import Dialogue
from tertulia.metrics.to_the_point import ToThePoint
from tertulia.models.loading import open_embedder
from tertulia.state.language_model import Embedder
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case
from tertulia.views.measuring.dialogues import logged_dialogues
from tertulia.worlds.catalog import resolve
from tertulia.worlds.scenes import DialogueScene, read_scenes, shipped_scenes

CASES = Path(__file__).parent / "cases"
#: Of the plain scenes, in their order, every eightieth is for designing, and the one that lies between is held out.
_EVERY, _FIRST = 80, 3
#: The kinds of each attack.
ATTACKS: Mapping[str, tuple[str, ...]] = {
    "recited": ("place", "memories", "memories, I"),
    "shuffled": ("shuffled", "shuffled memories"),
    "negated": ("negated", "negated, I"),
    "partner's": ("partner's", "partner's, I"),
}


class RealCase(NamedTuple):
    """A case and what was really said in it."""

    name: str
    case: Case
    dialogue: Dialogue
    is_design: bool


#: Ways that the rules were not made for.
BEYOND = ("place, varied", "neighbours", "memories, well", "not true that", "partner's, you know", "swapped")
_PLACES = (
    "So here we are at {place}.",
    "It is quiet at {place} today.",
    "I came to {place} this morning.",
    "You find me at {place}, as always.",
)


# --- cases ----------------------------------------------------------------------------------------------------------


def logged(source: str) -> list[RealCase]:
    """Return the logged cases of a town or a Generative Agents run."""
    found = enumerate(logged_dialogues(source).items())
    return [RealCase(name, case, dialogue, at % 2 == 0) for at, (name, (dialogue, case)) in found]


def written() -> list[RealCase]:
    """Return the cases of `benchmarks/cases` whose people have talked, without their last earlier dialogue."""
    found = []
    for at, file in enumerate(sorted(CASES.glob("*.yaml"))):
        case = resolve(str(file))
        if isinstance(case, Case) and case.previous_dialogues:
            *earlier, last = case.previous_dialogues
            before = case.model_copy(update={"previous_dialogues": tuple(earlier)})
            dialogue = [(line.speaker, line.text) for line in last.utterances]
            found.append(RealCase(file.stem, before, dialogue, at % 2 == 0))
    return found


def of_scenes() -> list[RealCase]:
    """Return some plain scenes."""
    files = sorted(shipped_scenes().glob("plain_*.jsonl"))
    scenes = [scene for scene in read_scenes(files) if isinstance(scene, DialogueScene)]
    places = range(_FIRST, len(scenes), _EVERY // 2)
    return [
        RealCase(f"scene {at}", case_of(scenes[at]), scenes[at].lines, number % 2 == 0)
        for number, at in enumerate(places)
    ]


# --- attacks --------------------------------------------------------------------------------------------------------


def attacks(case: Case, dialogue: Dialogue) -> dict[str, Dialogue]:
    """Return the dialogues of each kind of attack on a case."""
    draw = keyed_generator(1, agent="".join(case.names), node="attack")
    speakers = [speaker for speaker, _ in dialogue]

    def of(pick: Callable[[str], str]) -> Dialogue:
        return [(speaker, pick(speaker)) for speaker in speakers]

    def memory(name: str) -> str:
        return draw.choice(case.participant(name).memories).text

    def other(name: str) -> str:
        return case.other(name).persona.name

    return {
        "place": [(speaker, f"I am at {case.place or 'home'}.") for speaker in speakers[:4]],
        "memories": of(memory),
        "memories, I": of(lambda name: with_i(memory(name), name)),
        "shuffled": [(speaker, shuffled(text, draw)) for speaker, text in dialogue],
        "shuffled memories": of(lambda name: shuffled(memory(name), draw)),
        "negated": of(lambda name: negated(memory(name), name)),
        "negated, I": of(lambda name: with_i(negated(memory(name), name), name)),
        "partner's": of(lambda name: memory(other(name))),
        "partner's, I": of(lambda name: with_i(memory(other(name)), other(name))),
        "place, varied": [
            (speaker, _PLACES[at].format(place=case.place or "home")) for at, speaker in enumerate(speakers[:4])
        ],
        "neighbours": [(speaker, with_neighbours_changed(text)) for speaker, text in dialogue],
        "memories, well": of(lambda name: f"Well, you know, {with_i(memory(name), name)}"),
        "not true that": of(lambda name: f"It is not true that {with_i(memory(name), name)}"),
        "partner's, you know": of(lambda name: f"You know, {with_i(memory(other(name)), other(name))}"),
        "swapped": [(other(speaker), text) for speaker, text in dialogue],
    }


def with_i(text: str, name: str) -> str:
    """Return a memory of somebody as they would tell it of themselves."""
    text = re.sub(rf"\b{re.escape(name)}['’]s", "my", text).replace(name, "I")
    text = re.sub(rf"\b{re.escape(name.split()[0])}\b", "I", text)
    for form, own in (("I is", "I am"), ("I has", "I have"), ("I does", "I do")):
        text = text.replace(form, own)
    return re.sub(r"\b(?:he|she)\b", "I", re.sub(r"\b(?:his|her)\b", "my", text))


def negated(text: str, name: str) -> str:
    """Return a memory that is denied."""
    if found := re.search(rf"{re.escape(name)} (?:is|was|has|had|can|will|must|are|were)(?= )", text):
        return f"{text[: found.end()]} not{text[found.end() :]}"
    if found := re.search(rf"(?<={re.escape(name)} )\w+", text):
        verb = found.group()
        does = "did not" if verb.endswith("ed") else "does not"
        return f"{text[: found.start()]}{does} {re.sub('(?:ed|s)$', '', verb)}{text[found.end() :]}"
    return f"It is not true that {text[0].lower()}{text[1:]}"


def shuffled(text: str, draw: Random) -> str:
    """Return the words of a text in another order."""
    words = text.split()
    draw.shuffle(words)
    return " ".join(words)


def with_neighbours_changed(text: str) -> str:
    """Return a text of which every two neighbouring words have changed places."""
    words = text.split()
    for at in range(0, len(words) - 1, 2):
        words[at], words[at + 1] = words[at + 1], words[at]
    return " ".join(words)


# --- figures --------------------------------------------------------------------------------------------------------


def figures_of(cases: Sequence[RealCase], embedder: Embedder) -> dict[str, dict[str, ToThePoint]]:
    """Return the figures of each case by kind, `real` first; each is looked for among these cases."""
    kinds = {real.name: {"real": real.dialogue, **attacks(real.case, real.dialogue)} for real in cases}
    starts = {real.name: real.case for real in cases}
    by_kind = {
        kind: to_the_point_of_cases({name: [kinds[name][kind]] for name in kinds}, starts, embedder)
        for kind in next(iter(kinds.values()), {})
    }
    return {name: {kind: of_kind[name] for kind, of_kind in by_kind.items()} for name in kinds}


class Known:
    """An embedder that embeds each text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.id = embedder.id
        self._vectors: dict[str, list[float]] = {}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors |= dict(zip(new, self._embedder.embed(new) if new else (), strict=True))
        return [self._vectors[text] for text in texts]

    def embed_untruncated(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, each embedded whole."""
        return self._embedder.embed_untruncated(texts)


def rows(figures: Mapping[str, Mapping[str, ToThePoint]]) -> Iterator[str]:
    """Yield the rows of the table in Markdown."""
    yield "| kind | to the point | below the real one | match | below the real one | n |\n|---|---|---|---|---|---|"
    for kind in next(iter(figures.values()), {}):
        cells = [kind]
        for name in ("to_the_point", "margin"):
            pairs = [(getattr(of_case[kind], name), getattr(of_case["real"], name)) for of_case in figures.values()]
            below = sum(made < real for made, real in pairs)
            cells += [f"{np.mean([made for made, _ in pairs]):.3f}", "" if kind == "real" else f"{below}"]
        yield f"| {' | '.join(cells)} | {len(figures)} |"


def main() -> None:
    """Print the table of real dialogues and attacks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--half", choices=("design", "held_out"), help="default: both, one after the other")
    parser.add_argument("--log", help="the folder of a Generative Agents run")
    parser.add_argument("--scenes", action="store_true")
    parser.add_argument("--lines", action="store_true", help="print the figures of each case")
    options = parser.parse_args()
    cases = [*logged("tidewell"), *(logged(f"ga:{options.log}") if options.log else ()), *written()]
    cases += of_scenes() if options.scenes else []
    embedder = Known(open_embedder("minilm"))
    figures = figures_of(cases, embedder)
    for half in [options.half] if options.half else ["design", "held_out"]:
        chosen = {real.name: figures[real.name] for real in cases if real.is_design == (half == "design")}
        print(f"\n{half}: {len(chosen)} cases\n\n" + "\n".join(rows(chosen)))
        for name, of_case in chosen.items() if options.lines else ():
            print(name, {kind: round(found.to_the_point or 0, 3) for kind, found in of_case.items()})


if __name__ == "__main__":
    main()
