"""Measure how people behave in a conversation: leading, mediating, proposing, meeting goals (ChatAgents' Fig. 5).

Everything is derived from lines with known speech acts (`metrics.speech_acts`, or a model), with the lines as
evidence. "The next lines" are those of other speakers among the `NEXT` utterances that follow.

1. A line that steers is followed by a next line that is near to it, and nearer than to the topic before.
   Steering is followed when at least half of the next lines do. To lead is to be followed.
2. A line that mediates answers the objections among the `BEFORE` utterances before it, of others than its speaker. It
   settles them when another person agrees next and none objects.
3. A proposal is taken up by agreement next, and refused by an objection. It is the newer, the less it resembles any
   utterance before.
4. A step of a person's plan is met when they say so themselves, in the records of their cognition; the line that shows
   it is the last that they had perceived.

Source: ChatAgents §IV-C (special behaviours) describes these by example; the definitions are the project's own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import Field

from tertulia.metrics.speech_acts import ACTS, THRESHOLD, ActLabel, LineLabels, cosine
from tertulia.state.cognition import Assessment, Character, InformationNeed
from tertulia.state.records import Record, Turn

#: Utterances after a line in which the reactions of others are looked for.
NEXT = 3
#: Utterances before a line that count as the topic, or the quarrel, before it.
BEFORE = 3

#: Cosine to a steering line from which a next line can follow it. With `minilm` 12 of 15 lines that stay with a subject
#: reach it, and 4 of 15 that do not (tests/support/spoken_lines.py).
NEAR = 0.2


class Line(Record):
    """An utterance as evidence."""

    turn: int
    speaker: str
    text: str


class LabelledLine(Line):
    """An utterance and its speech acts."""

    round: int
    acts: tuple[str, ...] = Field(description="speech acts, the strongest first")
    labels: tuple[ActLabel, ...] = Field(default=(), description="of each act how sure it is; none where a model said")
    nearest: float | None = Field(
        default=None, description="cosine to the nearest prototype, of an act or of none; None where a model said"
    )

    @property
    def is_doubtful(self) -> bool:
        """Whether all acts that prototypes gave it are doubtful; a line without an act is not."""
        return bool(self.labels) and all(label.is_doubtful for label in self.labels)

    @property
    def is_near_nothing(self) -> bool:
        """Whether it resembles no prototype at all, not even those of plain statements."""
        return self.nearest is not None and self.nearest < THRESHOLD


class Steering(Line):
    """A line that steers the conversation to a topic."""

    mechanisms: tuple[str, ...] = Field(description="what its speaker had switched on in that round")
    next: int = Field(description="the lines of others that follow")
    followed_by: tuple[Line, ...] = Field(description="those of them that stay with it")

    @property
    def followed(self) -> bool:
        """Whether at least half of the next lines stay with it, and there are any."""
        return bool(self.followed_by) and 2 * len(self.followed_by) >= self.next


class Mediation(Line):
    """A line that mediates between people."""

    objections: tuple[Line, ...] = Field(description="what it answers")
    agreed_by: tuple[Line, ...]
    objected_by: tuple[Line, ...]

    @property
    def settled(self) -> bool:
        """Whether there were objections, a person agrees next, and none objects."""
        return bool(self.objections) and bool(self.agreed_by) and not self.objected_by


class Proposal(Line):
    """A line that makes a proposal."""

    novelty: float = Field(description="1 − the highest cosine to an utterance before; 1 for the first")
    agreed_by: tuple[Line, ...]
    objected_by: tuple[Line, ...]


class PlanStep(Record):
    """A step of a person's plan, and the line after which they considered it done."""

    text: str
    share: float = Field(description="its share of all that the person wants")
    done_in_round: int | None = Field(description="the first round from which on it stays done; None: it is open")
    line: Line | None = Field(description="the last line that they had perceived by then")


class PersonBehaviour(Record):
    """The behaviour of a person in a conversation."""

    agent: str
    utterances: int
    acts: dict[str, int] = Field(description="utterances by speech act; one may do several")
    doubtful: dict[str, int] = Field(description="those of them whose label is doubtful")
    steering: tuple[Steering, ...]
    followed: int = Field(description="steering lines that were followed")
    leadership: float | None = Field(description="their share of all steering that was followed; None where none was")
    mediation: tuple[Mediation, ...]
    proposals: tuple[Proposal, ...]
    plan: tuple[PlanStep, ...] | None = Field(description="None where no plan was made, as in a dialogue of two")
    goals_met: float | None = Field(description="share of what they want that is done at the end; None without a plan")


def behaviour(
    people: Sequence[str],
    lines: Sequence[LabelledLine],
    vectors: Sequence[Sequence[float]],
    characters: Mapping[str, Character] | None = None,
    assessments: Mapping[tuple[int, str], Assessment] | None = None,
    needs: Mapping[tuple[int, str], InformationNeed] | None = None,
) -> tuple[PersonBehaviour, ...]:
    """Return the behaviour of every person.

    Args:
        people: The possible participants.
        vectors: A vector of unit length for each line.
        characters: Everybody as they entered a meeting.
        assessments, needs: By round and agent, their assessment, and the mechanisms that they chose; these and the
            characters are `None` for a dialogue of two.
    """
    steering = [_steering(index, lines, vectors, needs or {}) for index in _indices_of_act("steers", lines) if index]
    mediation = [_mediation(index, lines) for index in _indices_of_act("mediates", lines)]
    proposals = [_proposal(index, lines, vectors) for index in _indices_of_act("proposes", lines)]
    all_followed = sum(steered.followed for steered in steering)
    result = []
    for name in people:
        spoken = [line for line in lines if line.speaker == name]
        counts = Counter(act for line in spoken for act in line.acts)
        doubtful = Counter(label.act for line in spoken for label in line.labels if label.is_doubtful)
        steered = tuple(line for line in steering if line.speaker == name)
        followed = sum(line.followed for line in steered)
        character = (characters or {}).get(name)
        plan = _plan(name, character, assessments or {}, lines) if character and character.plan else None
        result.append(
            PersonBehaviour(
                agent=name,
                utterances=len(spoken),
                acts={act: counts[act] for act in ACTS},
                doubtful={act: doubtful[act] for act in ACTS},
                steering=steered,
                followed=followed,
                leadership=followed / all_followed if all_followed else None,
                mediation=tuple(line for line in mediation if line.speaker == name),
                proposals=tuple(line for line in proposals if line.speaker == name),
                plan=plan,
                goals_met=None if plan is None else min(1.0, sum(s.share for s in plan if s.done_in_round is not None)),
            )
        )
    return tuple(result)


def labelled_line(turn: Turn, acts: Sequence[str] | LineLabels) -> LabelledLine:
    """Return an utterance with its speech acts, as a model or prototypes labelled it; it must not be a silence."""
    assert turn.speaker is not None
    line = LabelledLine(turn=turn.turn, round=turn.round, speaker=turn.speaker, text=turn.text, acts=())
    if isinstance(acts, LineLabels):
        names = tuple(label.act for label in acts.labels)
        return line.model_copy(update={"acts": names, "labels": acts.labels, "nearest": acts.nearest})
    return line.model_copy(update={"acts": tuple(acts)})


def _indices_of_act(act: str, lines: Sequence[LabelledLine]) -> list[int]:
    return [index for index, line in enumerate(lines) if act in line.acts]


def _next_by_others(index: int, lines: Sequence[LabelledLine]) -> list[int]:
    return [i for i in range(index + 1, min(index + 1 + NEXT, len(lines))) if lines[i].speaker != lines[index].speaker]


def _next_lines_of_act(act: str, index: int, lines: Sequence[LabelledLine]) -> tuple[Line, ...]:
    return tuple(_line(lines[i]) for i in _next_by_others(index, lines) if act in lines[i].acts)


def _steering(
    index: int,
    lines: Sequence[LabelledLine],
    vectors: Sequence[Sequence[float]],
    needs: Mapping[tuple[int, str], InformationNeed],
) -> Steering:
    line, before = lines[index], vectors[max(0, index - BEFORE) : index]
    following = []
    for i in _next_by_others(index, lines):
        near = cosine(vectors[i], vectors[index])
        if near >= NEAR and near > sum(cosine(vectors[i], vector) for vector in before) / len(before):
            following.append(_line(lines[i]))
    need = needs.get((line.round, line.speaker))
    active = tuple(name for name, choice in need.mechanisms.items() if choice.active) if need else ()
    return Steering(
        **dict(_line(line)), mechanisms=active, next=len(_next_by_others(index, lines)), followed_by=tuple(following)
    )


def _mediation(index: int, lines: Sequence[LabelledLine]) -> Mediation:
    others = [line for line in lines[max(0, index - BEFORE) : index] if line.speaker != lines[index].speaker]
    return Mediation(
        **dict(_line(lines[index])),
        objections=tuple(_line(line) for line in others if "objects" in line.acts),
        agreed_by=_next_lines_of_act("agrees", index, lines),
        objected_by=_next_lines_of_act("objects", index, lines),
    )


def _proposal(index: int, lines: Sequence[LabelledLine], vectors: Sequence[Sequence[float]]) -> Proposal:
    return Proposal(
        **dict(_line(lines[index])),
        novelty=1 - max((cosine(vectors[index], vector) for vector in vectors[:index]), default=0.0),
        agreed_by=_next_lines_of_act("agrees", index, lines),
        objected_by=_next_lines_of_act("objects", index, lines),
    )


def _plan(
    name: str,
    character: Character,
    assessments: Mapping[tuple[int, str], Assessment],
    lines: Sequence[LabelledLine],
) -> tuple[PlanStep, ...]:
    rounds = sorted(round for round, agent in assessments if agent == name)
    steps = []
    for index, step in enumerate(character.plan):
        since = None
        for round in reversed(rounds):
            done = assessments[round, name].done
            if index >= len(done) or not done[index]:
                break
            since = round
        perceived = [line for line in lines if since is not None and line.round < since]
        evidence = _line(perceived[-1]) if perceived else None
        steps.append(PlanStep(text=step.text, share=step.share, done_in_round=since, line=evidence))
    return tuple(steps)


def _line(line: LabelledLine) -> Line:
    return Line(turn=line.turn, speaker=line.speaker, text=line.text)
