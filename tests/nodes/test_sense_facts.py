"""Lines against what is known where they are said: planted faults are found, and good scenes have hardly any."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tertulia.nodes.shared.sense import Fault, faults_of
from tertulia.nodes.shared.situation import Situation
from tertulia.state.randomness import keyed_generator
from tertulia.worlds.scenes import DialogueScene, ScenePerson

KNOWN = {
    "Ana": (
        "Ana lost her father's watch on the ferry.",
        "Ana sold eleven baskets on Tuesday at nine.",
        "Ana has a cat.",
    ),
    "Bo": ("Bo repaired the church organ in Lund.", "Bo has four daughters.", "Bo fears the dentist."),
}
TUESDAY_EVENING = datetime(2026, 5, 5, 20, 15)


def situation(*before: tuple[str, str], **given: Any) -> Situation:
    here = {"known": KNOWN, "place": "a bakery in Lund", "time": TUESDAY_EVENING}
    return Situation("Ana", ["Ana", "Bo"], before, **{**here, **given})


@pytest.mark.parametrize(
    ("text", "before", "faults"),
    [
        # the other's memory as one's own
        ("I repaired the organ of the church.", (), ("memory",)),
        ("My four daughters fear the dentist.", (), ("memory",)),
        ("Have I told you of the church organ?", (), ()),
        ("Did you repair the church organ?", (), ()),
        ("You repaired the church organ.", (), ()),
        ("I lost the watch of my father.", (), ()),
        ("I heard that you repaired the church organ.", (), ()),
        ("I repaired the organ of the church.", (("Bo", "The church organ plays again."),), ("memory",)),
        ("I like the organ.", (("Bo", "I repaired the church organ."),), ()),
        # numbers, days, hours, places
        ("I sold seven baskets that day.", (), ("facts",)),
        ("I sold eleven baskets that day.", (), ()),
        ("I have eleven cats.", (), ("facts",)),
        ("I sold eleven baskets, and I have a cat.", (), ()),
        ("I have a cat since Tuesday, or Friday.", (), ()),
        ("I sold baskets on Friday.", (), ("facts",)),
        ("I sold baskets on Tuesday.", (), ()),
        ("I sold baskets at ten.", (), ("facts",)),
        ("Could I sell baskets on Friday?", (), ()),
        ("I will sell more baskets on Friday.", (), ()),
        ("Good morning, I need bread.", (), ("facts",)),
        ("Good evening, I need bread.", (), ()),
        ("It's Friday, so we rest.", (), ("facts",)),
        ("It's Tuesday, so we rest.", (), ()),
        ("Tomorrow is Friday.", (), ("facts",)),
        ("Tomorrow is Wednesday.", (), ()),
        ("Here in the library we are quiet.", (), ("facts",)),
        ("Here in the bakery it is warm.", (), ()),
        ("I was in the library.", (), ()),
        ("I lost the watch in the train.", (("Ana", "I lost the watch in the harbour."),), ("facts",)),
        ("I swim in May.", (("Ana", "I swim in June."),), ("facts",)),
        ("I swim in summer.", (("Ana", "I swim in winter."),), ("facts",)),
        ("I swim every morning.", (("Ana", "I swim every evening."),), ("facts",)),
        ("I swim at night.", (("Ana", "I swim every evening."),), ()),
        ("I swim at half past six.", (("Ana", "I swim at 6:30."),), ()),
        ("I swim at half past six.", (("Ana", "I swim at six."),), ("facts",)),
        ("My sister swims in Lund.", (("Ana", "My brother swims in Lund."),), ("facts",)),
        ("What a lovely morning.", (), ("facts",)),
        ("It's four o'clock already.", (), ("facts",)),
        ("It's eight o'clock already.", (), ()),
        ("It's July now.", (), ("facts",)),
        ("Welcome to the library.", (), ("facts",)),
        # nearly word for word what another one remembers, or as the prompt has it
        ("I have four daughters.", (), ("memory",)),
        ("I have daughters too.", (), ()),
        ("Ana sold eleven baskets on Tuesday at nine.", (), ("misnames", "echo")),
        # a question that is not taken up
        ("The sea is cold.", (("Bo", "Where did you put the key?"),), ("reply",)),
        ("Under the mat.", (("Bo", "Where did you put the key?"),), ()),
        ("I don't know.", (("Bo", "Where did you put the key?"),), ()),
        ("Which key?", (("Bo", "Where did you put the key?"),), ()),
        ("The sea looks cold.", (("Bo", "How many keys do you need?"),), ("reply",)),
        ("Three.", (("Bo", "How many keys do you need?"),), ()),
        ("The sea looks cold.", (("Bo", "Do you need the key?"),), ("reply",)),
        ("Yes, please.", (("Bo", "Do you need the key?"),), ()),
        ("The sea looks cold.", (("Bo", "I need the key."),), ()),
        ("The sea looks cold.", (("Ana", "Do you need the key?"),), ()),
        ("船はもう直りました。", (("Bo", "船は直りましたか。"),), ()),
        ("42", (("Bo", "What is it?"),), ()),
    ],
)
def test_what_is_against_what_is_known(
    text: str, before: tuple[tuple[str, str], ...], faults: tuple[Fault, ...]
) -> None:
    assert faults_of(text, situation(*before)) == faults


def test_the_prompt_is_not_said_again() -> None:
    shown = ("Say what you would say next, in one or two sentences.", "The sum adds up, but the letter should go out.")
    for text in ("I should say what you would say next.", "The sum adds up, so the letter should go out today."):
        assert faults_of(text, situation(shown=shown)) == ("echo",)
        assert faults_of(text, situation()) == ()
    assert faults_of("The letter is here.", situation(shown=shown)) == ()


def test_without_anything_known_nothing_is_held_against_a_line() -> None:
    for text in (
        "I repaired the organ of the church.",
        "I sold seven baskets.",
        "Good morning.",
        "Here in the library.",
    ):
        assert faults_of(text, Situation("Ana", ["Ana", "Bo"])) == ()


# --- scenes, and faults planted in them -----------------------------------------------------------------------------


def scenes() -> Iterator[DialogueScene]:
    for file in sorted((Path(__file__).parents[2] / "tertulia" / "worlds" / "scenes").glob("plain_*.jsonl")):
        for scene in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            yield DialogueScene.model_validate(scene)


def told_in(scene: DialogueScene, at: int, speaker: str) -> Situation:
    known = {
        person.name: (*person.memories, *filter(None, (person.background, person.traits, person.activity)))
        for person in scene.people
    }
    return Situation(speaker, list(known), scene.lines[:at], known, scene.place, scene.began)


def as_own(memory: str, person: ScenePerson) -> str:
    """Return a memory as its owner would say it, near enough."""
    said = memory.replace(f"{person.name}'s", "my").replace(person.name, "I")
    return re.sub(r"\b(?:her|his)\b", "my", said[0].upper() + said[1:])


def test_good_scenes_have_hardly_any_fault() -> None:
    lines = flagged = 0
    for scene in scenes():
        for at, (speaker, text) in enumerate(scene.lines):
            lines += 1
            flagged += bool(faults_of(text, told_in(scene, at, speaker)))
    assert lines > 5000
    assert flagged <= 0.03 * lines


def test_memories_of_the_other_one_are_found_where_they_are_planted() -> None:
    planted = found = 0
    for number, scene in enumerate(scenes()):
        drawn = keyed_generator(1, round=number, node="planted")
        at = drawn.randrange(1, 4)
        speaker = scene.lines[at][0]
        (other,) = (person for person in scene.people if person.name != speaker)
        planted += 1
        found += "memory" in faults_of(as_own(drawn.choice(other.memories), other), told_in(scene, at, speaker))
    assert found >= 0.75 * planted


def test_other_days_than_are_known_are_found_where_they_are_planted() -> None:
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    planted = found = false = 0
    for number, scene in enumerate(scenes()):
        for person in scene.people:
            for memory in (text for text in person.memories if sum(day in text for day in days) == 1):
                (day,) = (day for day in days if day in memory)
                another = keyed_generator(1, round=number, node="planted").choice(
                    [name for name in days if name != day]
                )
                line, here = as_own(memory, person), told_in(scene, 0, person.name)
                planted += 1
                found += "facts" in faults_of(line.replace(day, another), here)
                false += "facts" in faults_of(line, here)
    assert planted > 500
    assert found >= 0.7 * planted
    assert not false
