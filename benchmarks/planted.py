"""How many of planted faults the monitor of sense finds, and how many untouched lines it flags.

Lines are the scenes of `worlds/scenes/` (the rules were made with them), those in `held_out/`, and, where they lie
beside the repository, the published Generative Agents run and the test split of Synthetic-Persona-Chat (the rules were
made with its other split), whose people get names. Faults are planted by `plantings.py`, keyed.

Precision is that of as many planted lines as untouched ones: of lines that could have the fault, with and without it.

Example: python -m benchmarks.planted --of held_out --limit 200
"""

import argparse
import csv
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from benchmarks.plantings import Said, plantings
from tertulia.lab.tuning.dialogue_lessons import case_of
from tertulia.nodes.shared.sense import faults_of
from tertulia.nodes.shared.situation import LINES_SEEN, Situation, known_to
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.worlds.generative_agents import read_log
from tertulia.worlds.scenes import DialogueScene

ROOT = Path(__file__).parents[1]
SCENES = ROOT / "tertulia" / "worlds" / "scenes"
DATA = ROOT.parent / "shared" / "data"
LOG = DATA / "generative_agents" / "July1_the_ville_isabella_maria_klaus-step-3-20"
PUBLIC = DATA / "synthetic_persona_chat"
#: Names for the two of a public dialogue.
NAMES = ("Mara Lind", "Tom Becker", "Ines Rocha", "Owen Price", "Yuki Mori", "Paul Stein", "Ruth Abbey", "Omar Nasser")


@cache
def shown() -> tuple[str, ...]:
    """Return what a prompt tells besides what is known."""
    with (SCENES / "plain_1.jsonl").open(encoding="utf-8") as lines:
        case = case_of(DialogueScene.model_validate_json(next(lines)))
    material = UtteranceMaterial(
        start=case,
        speaker=case.names[0],
        listeners=[case.names[1]],
        memories=(),
        turns=(),
        asks_ending=False,
    )
    parameters = Parameters()
    units = assemble_prompt(material, "chat_turns", parameters.blocks, parameters.removable_blocks).units
    return tuple(unit.text for unit in units if unit.kind == "text" and unit.block != "current_dialogue")


def _said(
    lines: Sequence[tuple[str, str]], known: Mapping[str, tuple[str, ...]], place: str | None, began: datetime | None
) -> Iterator[Said]:
    for at, (speaker, text) in enumerate(lines):
        before = lines[max(0, at - LINES_SEEN) : at]
        yield Said(Situation(speaker, list(known), before, known, place, began, shown()), text)


def scenes(*patterns: str) -> Iterator[Said]:
    """Yield the lines of dialogues in `tertulia/worlds/scenes/`."""
    for file in (file for pattern in patterns for file in sorted(SCENES.glob(pattern))):
        for scene in map(DialogueScene.model_validate_json, file.read_text(encoding="utf-8").splitlines()):
            known = {
                person.name: (*person.memories, *filter(None, (person.background, person.traits, person.activity)))
                for person in scene.people
            }
            yield from _said(scene.lines, known, scene.place, scene.began)


def held_out() -> Iterator[Said]:
    """Yield the answers that agree with a memory, behind their questions, and partings; at hours that are drawn."""
    for file in ("pairs", "pairs_plain"):
        rows = (SCENES / "held_out" / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        for number, pair in enumerate(map(json.loads, rows)):
            draw = keyed_generator(1, round=number, node=file)
            began = datetime(2024, draw.randrange(1, 13), draw.randrange(1, 28), draw.randrange(6, 23))
            known = {pair["speaker"]: (pair["memory"], *pair["others"]), pair["listener"]: ()}
            lines = [(pair["listener"], pair["before"]), (pair["speaker"], pair["agrees"])]
            place = draw.choice(("a bakery", "the harbour office", "a kitchen", "a train"))
            yield from list(_said(lines, known, place, began))
            said = [*lines, (pair["listener"], "I see.")]
            yield list(_said([*lines, *said[2:]], {**known, pair["listener"]: ()}, place, began))[-1]
    for pair in map(json.loads, (SCENES / "held_out" / "endings.jsonl").read_text(encoding="utf-8").splitlines()):
        yield from _said([("Ana", pair["line"]), ("Bo", pair["reply"])], {"Ana": (), "Bo": ()}, None, None)


def logged() -> Iterator[Said]:
    """Yield the lines of the published run, with what its people knew before."""
    log = read_log(LOG)
    for number, talk in enumerate(log.dialogues):
        case = log.case(number, "logged")
        known = {name: known_to(case.participant(name)) for name in case.names}
        lines = [(line.speaker, line.text) for line in talk.utterances]
        yield from _said(lines, known, case.place, case.time)


def public(split: str = "test", most: int = 400) -> Iterator[Said]:
    """Yield the lines of public dialogues with the personas of both."""
    with (PUBLIC / f"{split}.csv").open(encoding="utf-8", newline="") as opened:
        for number, row in enumerate(csv.DictReader(opened)):
            if number == most:
                break
            names = keyed_generator(1, round=number, node="names").sample(NAMES, 2)
            called = {f"User {at}": name for at, name in enumerate(names, 1)}
            talk = row["Best Generated Conversation"]
            lines = [(who, text) for who, _, text in (line.partition(": ") for line in talk.splitlines()) if text]
            for label, name in called.items():
                lines = [(name if who == label else who, text.replace(label, name)) for who, text in lines]
            known = {name: tuple(row[f"user {at} personas"].splitlines()) for at, name in enumerate(names, 1)}
            yield from _said([line for line in lines if line[0] in known], known, None, None)


SOURCES = {
    "scenes": lambda: scenes("plain_*.jsonl", "dialogues_*.jsonl"),
    "held_out": held_out,
    "log": logged,
    "public": public,
}


def report(name: str, lines: Sequence[Said], show: int = 0) -> None:
    """Print the recall of every fault and of each way of planting it, its precision, and what is flagged untouched."""
    began = time.perf_counter()
    untouched = [faults_of(said.text, said.situation) for said in lines]
    cost = 1000 * (time.perf_counter() - began) / len(lines)
    flagged = Counter(fault for faults in untouched for fault in faults)
    print(f"{name}: {len(lines)} lines, {sum(map(bool, untouched)) / len(lines):.1%} flagged; {cost:.2f} ms a line")
    pool = [said.text for said in lines]
    for fault, ways in plantings().items():
        planted, found, false = Counter[str](), Counter[str](), 0
        missed: dict[str, list[Said]] = {}
        for number, said in enumerate(lines):
            could = False
            for way, plant in ways.items():
                changed = plant(said, keyed_generator(1, round=number, node=f"{fault} {way}"), pool)
                if changed is None:
                    continue
                could = True
                planted[way] += 1
                is_found = fault in faults_of(changed.text, changed.situation)
                found[way] += is_found
                if not is_found:
                    missed.setdefault(way, []).append(changed)
            false += could and fault in untouched[number]
        _print(fault, planted, found, false, flagged[fault] / len(lines))
        for way, changed_lines in missed.items():
            for said in changed_lines[:: max(1, len(changed_lines) // show)][:show] if show else ():
                last = said.situation.before[-1][1] if said.situation.before else ""
                print(f"      {way}: [{said.situation.speaker}] {last!r} -> {said.text!r}")


def _print(fault: str, planted: Counter[str], found: Counter[str], false: int, untouched: float) -> None:
    total, right = sum(planted.values()), sum(found.values())
    if not total:
        print(f"  {fault:8} none could be planted; untouched {untouched:.2%}")
        return
    precision = f"{right / len(planted) / (right / len(planted) + false):.2f}" if right else "-"
    ways = ", ".join(f"{way} {found[way]}/{count}" for way, count in planted.items())
    print(f"  {fault:8} {right / total:4.0%} of {total}, precision {precision}, untouched {untouched:.2%} ({ways})")


def main() -> None:
    """Print the figures of all lines that are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--of", choices=[*SOURCES], action="append", help="which lines; all of them if not given")
    parser.add_argument("--limit", type=int, default=2500, help="the most lines of each")
    parser.add_argument("--show", type=int, default=0, help="so many of the lines that were missed, per way")
    asked = parser.parse_args()
    for name in asked.of or SOURCES:
        try:
            lines = list(SOURCES[name]())
        except FileNotFoundError as error:
            print(f"{name}: not measured, {error.filename} is not there")
            continue
        report(name, lines[:: max(1, len(lines) // asked.limit)][: asked.limit], asked.show)


if __name__ == "__main__":
    main()
