"""The shipped scenes: whole, of their own names and matters, and taught without reciting."""

from itertools import pairwise

import pytest

from tertulia.metrics.recitation import recites
from tertulia.worlds.catalog import SHIPPED, TOWNS, list_cases, resolve
from tertulia.worlds.scenes import (
    AlbumScene,
    DialogueScene,
    DraftsScene,
    MeetingScene,
    PairScene,
    Scene,
    read_scenes,
    shipped_scenes,
)


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return read_scenes([shipped_scenes()])


@pytest.fixture(scope="module")
def dialogues(scenes: list[Scene]) -> list[DialogueScene]:
    return [scene for scene in scenes if isinstance(scene, DialogueScene)]


def names_of(scene: Scene) -> list[str]:
    """Return the names of a scene's people."""
    match scene:
        case DialogueScene() | DraftsScene() | MeetingScene():
            return [person.name for person in scene.people]
        case AlbumScene():
            return [scene.asker.name, scene.answerer.name]
        case PairScene():
            return [scene.speaker, scene.listener]
    return []


def test_none_is_about_people_whom_the_project_ships(scenes: list[Scene]) -> None:
    starts = [listed.case for town in TOWNS for listed in list_cases(town).cases]
    starts += [resolve(name) for name in SHIPPED if name not in TOWNS]
    known = {word for start in starts for name in start.names for word in name.split()}
    assert len(known) > 40
    used = {word for scene in scenes for name in names_of(scene) for word in name.split()}
    assert used & known == set()


def test_every_person_of_a_dialogue_remembers_and_speaks(dialogues: list[DialogueScene]) -> None:
    for scene in dialogues:
        assert all(len(person.memories) >= 6 for person in scene.people), scene.people
        assert 8 <= len(scene.lines) <= 12
        speakers = [speaker for speaker, _ in scene.lines]
        assert all(a != b for a, b in pairwise(speakers))


def test_drafts_are_graded_differently_and_are_of_conversations_that_are_not_held_out(scenes: list[Scene]) -> None:
    graded = [scene for scene in scenes if isinstance(scene, DraftsScene)]
    assert len(graded) > 1_000
    grades = [grade for scene in graded for _, grade in scene.drafts]
    assert all(grades.count(grade) > 1_000 for grade in (0, 1, 2))
    held_out = {name for scene in read_scenes([shipped_scenes() / "held_out"]) for name in names_of(scene)}
    assert not held_out & {name for scene in graded for name in names_of(scene)}
    for scene in graded:
        texts = [text for text, _ in scene.drafts]
        assert len(set(texts)) == len(texts)


def test_lines_recite_memories_seldom(dialogues: list[DialogueScene]) -> None:
    recited = [
        recites(text, person.memories)
        for scene in dialogues
        for person in scene.people
        for speaker, text in scene.lines
        if speaker == person.name
    ]
    assert sum(recited) < 0.05 * len(recited)


def test_what_is_held_out_is_not_taught() -> None:
    taught = {scene.memory for scene in read_scenes([shipped_scenes()]) if isinstance(scene, PairScene)}
    held_out = [scene for scene in read_scenes([shipped_scenes() / "held_out"]) if isinstance(scene, PairScene)]
    assert len(held_out) >= 100
    assert not taught & {scene.memory for scene in held_out}
