"""How much the lines of a meeting touch a person: their matters, their goals, their feelings (`willingness=heard`).

1. A line is compared with texts about a person (their *matters*): their traits, knowledge and wishes, their way of
   talking, their relations to others. The two nearest count, less the line's nearness to everyone's texts.
2. Whether a line is of any matter, is about a task, or is said with feeling, is its nearness to sentences of each sort
   (`prompts/templates/touch.yaml`). Its words are not looked at: any embedder will do, in any language.
3. Each figure is taken in deviations from a control: the same sentences, said to the same people, none of whom they are
   about. So a part is high if a line touches a person more than such lines do, whatever the embedder's cosines.
4. A touch fades with every line after it, and is answered once they speak. After a silence, the meeting's topic is in
   the room.

The coefficients were chosen on labelled lines, with figures on others in view: docs/measuring.md has both, and those of
lines by another writer. ChatAgents gives no formula for the parts, only their subjects (App. B).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from tertulia.nodes.meeting.view import View, character_of
from tertulia.nodes.shared.memory import Numbers
from tertulia.nodes.shared.names_in_text import is_named, without_names
from tertulia.prompts.templates import template
from tertulia.state.cognition import Character, Touch
from tertulia.state.context import Context
from tertulia.state.meeting import Attendee
from tertulia.state.recall import may_be_recalled
from tertulia.state.records import Turn

#: The memories of a person that count, the most important, and the texts of each in the control.
_MEMORIES = 24
#: Latest lines that can touch a person, and the share of a touch that another line leaves.
_LINES = 3
_FADING = 0.6
#: How many nearest texts of a person, and sentences of a sort, nearness is the mean of.
_OF_A_PERSON, _OF_A_SORT = 2, 3
#: The cosine above which two texts are the same.
_SAME = 1 - 1e-6
#: Deviations above the control at which a part is a half, by part, and the steepness there.
_HALF = {"topic": 0.2, "goal": 0.1, "emotion": 0.15}
_STEEPNESS = 2.0
#: Deviations that a person's name in a line adds to its feeling.
_NAMED = 1.5

_SORTS = ("plain", "feeling", "stake")


@dataclass(frozen=True)
class Matters:
    """The subjects that touch a person.

    Attributes:
        texts: Texts about them, without names.
        vectors: Their vectors `(n, D)`, of unit length.
        charge: How much more each is said with feeling than without any matter `(n,)`, in cosines.
        plan: For each step of their plan, its text and that of the goal that it serves.
    """

    texts: tuple[str, ...]
    vectors: Numbers
    charge: Numbers
    plan: tuple[tuple[str, str], ...]


class Room:
    """The matters of all participants of a meeting, the sorts of sentences, and the control."""

    def __init__(self, context: Context) -> None:
        self._context = context
        texts = template("touch", context.parameters.language)
        self._sorts = {
            sort: self._embedded([texts.fill(entry, {}) for entry in sorted(texts.entries) if entry.startswith(sort)])
            for sort in _SORTS
        }
        people = context.meeting.participants
        self.matters = {
            attendee.persona.name: self._matters(attendee, character_of(context, attendee.persona.name))
            for attendee in people
        }
        self._all = np.concatenate([of_person.vectors for of_person in self.matters.values()])
        self._mean, self._deviation = self._control()

    @classmethod
    def of(cls, view: View) -> "Room":
        """Return the room of a run; it is made once."""
        return view.context.kept.of(cls, lambda: cls(view.context))

    def touches(self, name: str, line: str, is_done: Sequence[bool]) -> dict[str, float]:
        """Return how much a line touches a person, by part, each in [0, 1]; 0 if nothing is known of them.

        Args:
            is_done: For each step of their plan, whether it is done: a finished step touches nobody.
        """
        text = without_names(line, self._context.meeting.names)
        left = self._left(name, is_done)
        if not text or not len(self.matters[name].texts):
            return dict.fromkeys(_HALF, 0.0)
        figures = self._figures(self._embedded([text]), self.matters[name], left)[0]
        deviations = (figures - self._mean) / self._deviation
        deviations[2] += _NAMED if is_named(name, line, self._context.meeting.names) else 0.0
        parts = dict(zip(_HALF, _shares(deviations).tolist(), strict=True))
        return parts if len(left) else {**parts, "goal": 0.0}

    def nearest(self, name: str, line: str) -> str | None:
        """Return the text about a person that a line is nearest to."""
        text, of_person = without_names(line, self._context.meeting.names), self.matters[name]
        if not text or not of_person.texts:
            return None
        return of_person.texts[int(np.argmax(of_person.vectors @ self._embedded([text])[0]))]

    def _left(self, name: str, is_done: Sequence[bool]) -> Numbers:
        """Return the vectors of the steps that are not done, and of the goals that these serve."""
        plan = self.matters[name].plan
        left = [pair for pair, done in zip(plan, is_done, strict=True) if not done]
        return self._embedded([*dict.fromkeys(text for pair in left for text in pair)])

    def _figures(self, lines: Numbers, person: Matters, goals: Numbers, is_control: bool = False) -> Numbers:
        """Return the figures of lines `(m, D)` for a person, in cosines: an array `(m, 3)`.

        Args:
            is_control: Whether the lines are the sentences themselves, none of which is then compared with itself.
        """
        common = (lines @ self._all.T).mean(1)
        plain, feeling, stake = (_nearness(lines, self._sorts[sort], _OF_A_SORT, is_control) for sort in _SORTS)
        cosines = lines @ person.vectors.T
        near, felt = (_mean_of_highest(found, _OF_A_PERSON) for found in (cosines, cosines + 0.5 * person.charge))
        topic = near - 0.75 * common - 0.35 * plain + 0.3 * stake
        goal = _nearness(lines, goals, _OF_A_PERSON) + near + stake - 0.5 * plain - 1.5 * common
        return np.stack([topic, goal, felt + 1.2 * feeling - 0.5 * plain - 0.3 * stake], axis=1)

    def _control(self) -> tuple[Numbers, Numbers]:
        """Return the mean and the deviation, each `(3,)`, of the figures of the sentences for everybody."""
        lines = np.concatenate([*self._sorts.values()])
        found = []
        for name, person in self.matters.items():
            if person.texts:
                goals = self._left(name, [False] * len(person.plan))
                figures = self._figures(lines, person, goals, is_control=True)
                figures[:, 1] = figures[:, 1] if len(goals) else np.nan
                found.append(figures)
        columns = [column[~np.isnan(column)] for column in np.concatenate(found or [np.zeros((1, 3))]).T]
        means = np.array([column.mean() if len(column) else 0.0 for column in columns])
        deviations = np.array([column.std() if len(column) else 0.0 for column in columns])
        return means, np.where(deviations > 0, deviations, 1.0)

    def _matters(self, attendee: Attendee, character: Character) -> Matters:
        names = self._context.meeting.names
        plan = [
            (without_names(step.text, names), without_names(attendee.goals[step.goal].text, names))
            for step in character.plan
        ]
        memories = [memory for memory in attendee.memories if may_be_recalled(memory)]
        memories.sort(key=lambda memory: -memory.importance)
        texts = [
            attendee.persona.known_background,
            attendee.persona.occupation,
            attendee.persona.character,
            attendee.setting,
            *attendee.interests,
            *(text for pair in plan for text in pair),
            *(memory.text for memory in memories[:_MEMORIES]),
            *character.descriptions,
            *(text for _, text in attendee.relations),
        ]
        known = tuple(dict.fromkeys(text for given in texts if given and (text := without_names(given, names))))
        vectors = self._embedded(known)
        feeling, plain = (_nearness(vectors, self._sorts[sort], _OF_A_SORT) for sort in ("feeling", "plain"))
        return Matters(known, vectors, feeling - plain, tuple(plan))

    def _embedded(self, texts: Sequence[str]) -> Numbers:
        if not texts:
            return np.zeros((0, len(self._context.embedder.embed(["."])[0])))
        return np.array(self._context.embedder.embed([text or "." for text in texts]))


def touch_of(view: View) -> Touch:
    """Return how much an agent is touched by the latest lines that they have noticed since they last spoke.

    Before anybody has spoken, and after a silence, the meeting's topic is in the room, as a line of nobody's.
    """
    room, done, latest = Room.of(view), view.done(), view.message()
    lines: list[tuple[int | None, str]] = [(turn.turn, turn.text) for turn in _unanswered(view)]
    if latest is None or latest.speaker is None:
        lines.insert(0, (None, view.meeting.description))
    parts, strongest = dict.fromkeys(_HALF, 0.0), Touch(turn=None, topic=0.0, goal=0.0, emotion=0.0)
    for age, (turn, text) in enumerate(lines):
        found = {part: value * _FADING**age for part, value in room.touches(view.name, text, done).items()}
        if found["topic"] > parts["topic"]:
            strongest = Touch(turn=turn, about=room.nearest(view.name, text), **found)
        parts = {part: max(value, found[part]) for part, value in parts.items()}
    return strongest.model_copy(update=parts)


def _unanswered(view: View) -> list[Turn]:
    """Return the latest lines that the agent has noticed since they last spoke, the last first."""
    lines = [turn for turn in reversed(view.lines()) if turn.speaker is not None]
    return list(takewhile(lambda turn: turn.speaker != view.name, lines))[:_LINES]


def _nearness(lines: Numbers, texts: Numbers, nearest: int, is_control: bool = False) -> Numbers:
    """Return the mean cosine of each line to the texts nearest to it, itself left out in the control."""
    cosines = lines @ texts.T
    return _mean_of_highest(np.where(cosines > _SAME, 0.0, cosines) if is_control else cosines, nearest)


def _mean_of_highest(figures: Numbers, count: int) -> Numbers:
    """Return the mean of the highest figures of each row of `(m, n)`; 0 if there are none."""
    if not figures.shape[1]:
        return np.zeros(len(figures))
    highest: Numbers = np.sort(figures, axis=1)[:, -count:].mean(1)
    return highest


def _shares(deviations: Numbers) -> Numbers:
    """Return parts in [0, 1] for figures in deviations from the control."""
    shares: Numbers = 1 / (1 + np.exp(-_STEEPNESS * np.clip(deviations - np.array([*_HALF.values()]), -30, 30)))
    return shares
