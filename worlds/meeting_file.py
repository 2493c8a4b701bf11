"""A group scenario as a YAML file: who meets, what they want, who comes late and who has to go.

```yaml
kind: group_chat
name: the broken boiler
description: The hostel has no hot water, and three people have to say what is to be done about it.
time: 2024-05-14 09:30:00
ends: 2024-05-14 10:00:00
opening: {speaker: Ida Falk, text: "The boiler is dead. What do we do?"}
participants:
  - name: Ida Falk
    traits: [extroverted, conscientious]      # the other dimensions are drawn by the seed
    goals:
      - {goal: have hot water by tonight, sub_goals: [find out what is broken, settle who pays]}
    latency: proactive
    weights: {goal: 0.5}
  - name: Jonas Brandt
    relations: {Ida Falk: He owes her money.}
    schedule: {leaves: "09:45", reason: his train goes at ten}
  - name: Runa
    schedule: {joins: "09:40"}
    latency: [4.5, 2.0]                       # scale and spread in seconds
order: self_driven
lambda: 0.3
limits: {rounds: 40}
```
"""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from datetime import time as clock_time
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, PlainValidator

from state.errors import ScenarioError
from state.meeting import BIG_FIVE, EMOTIONS, Attendee, Goal, LatencyClass, Meeting, WillingnessWeights
from state.parameters import GROUP_CHAT, Order, Parameters
from state.records import Utterance
from worlds.scenario_parts import (
    Composed,
    Part,
    ScenarioPerson,
    Text,
    Time,
    bad_parameters,
    late_memories,
    named,
    read_time,
)
from worlds.yaml_file import Problem, complete_problem, hint, one_of, shown, unknown

#: Most participants of a meeting.
MOST = 64

#: The shortest and the longest scale of a latency, in seconds.
_LATENCY_S = (0.001, 3600.0)

#: What a sum of weights may fall short of a threshold by for rounding.
_ROUNDING = 1e-9

#: Fields that only a meeting has and that make a file one; so do more than two participants.
_TELLING = ("kind", "order", "mechanisms", "goals")

_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
_POLES = tuple(pole for poles in BIG_FIVE.values() for pole in poles)


def is_meeting(values: Any) -> bool:
    """Whether the values of a file are those of a meeting, not of a dialogue of two."""
    if not isinstance(values, dict):
        return False
    people = values.get("participants")
    return any(field in values for field in _TELLING) or (isinstance(people, list) and len(people) > 2)


def meeting_schema_condition() -> dict[str, Any]:
    """Return `is_meeting` as JSON Schema."""
    many = {"properties": {"participants": {"minItems": 3, "type": "array"}}, "required": ["participants"]}
    return {"anyOf": [*({"required": [field]} for field in _TELLING), many]}


def _read_name(value: Any) -> Any:
    if isinstance(value, str):
        odd = next((char for char in value.strip() if unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs")), None)
        if odd is not None:
            what = (
                "a line break" if odd in "\n\r\x0b\x0c\x85\u2028\u2029" else f"the control character U+{ord(odd):04X}"
            )
            raise complete_problem(
                f"a name stands on one line, without control characters; this has {what}: {shown(value)}"
            )
    return value


def _read_goal(value: Any) -> Any:
    return {"goal": value} if isinstance(value, str) else value


def _read_moment(value: Any) -> datetime | clock_time:
    clock = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if clock is None:
        return read_time(value, like="15:15 or 2024-05-14 15:15:00")
    hour, minute, second = map(int, clock.groups("0"))
    return clock_time(hour, minute, second)


def _read_latency(value: Any) -> LatencyClass | tuple[float, float]:
    classes = get_args(LatencyClass)
    if isinstance(value, list):
        if len(value) != 2 or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
            raise ValueError("takes two numbers, [scale, spread] in seconds")
        scale, spread = value
        shortest, longest = _LATENCY_S
        if not shortest <= scale <= longest:
            raise complete_problem(f"the scale is from {shortest:g} to {longest:g} seconds, not {shown(scale)}")
        if not 0 <= spread <= longest:
            raise complete_problem(f"the spread is from 0 to {longest:g} seconds, not {shown(spread)}")
        return float(scale), float(spread)
    if value not in classes:
        raise complete_problem(f"takes {', '.join(classes)}, or [scale, spread] in seconds: {shown(value)}")
    found: LatencyClass = value
    return found


Name = Annotated[Text, BeforeValidator(_read_name)]
Pole = Annotated[str, one_of("trait", _POLES)]
Emotion = Annotated[str, one_of("emotion", EMOTIONS)]
OrderName = Annotated[str, one_of("order", get_args(Order))]
Moment = Annotated[datetime | clock_time, PlainValidator(_read_moment, json_schema_input_type=str)]
Latency = Annotated[
    LatencyClass | tuple[float, float],
    PlainValidator(
        _read_latency,
        json_schema_input_type=LatencyClass
        | tuple[
            Annotated[float, Field(ge=_LATENCY_S[0], le=_LATENCY_S[1])], Annotated[float, Field(ge=0, le=_LATENCY_S[1])]
        ],
    ),
]


class ScenarioGoal(Part):
    """Something that somebody wants of the meeting; a plain string is a goal without a plan."""

    goal: Text
    sub_goals: tuple[Text, ...] = Field(default=(), description="the plan, in order; the model makes it where empty")

    def record(self) -> Goal:
        """Return the goal as agents have it."""
        return Goal(text=self.goal, sub_goals=self.sub_goals)


class OwnedGoal(ScenarioGoal):
    """A goal that stands under the meeting's `goals`, with whose it is."""

    owner: Text


class Schedule(Part):
    """When somebody comes and goes: times of day on the day of the meeting, or with their date."""

    joins: Moment | None = None
    leaves: Moment | None = None
    reason: Text | None = Field(default=None, description="why they have to leave")


class Opening(Part):
    """A line that somebody says before the first round."""

    speaker: Text
    text: Text


class Limits(Part):
    """When a meeting ends at the latest."""

    rounds: int | None = Field(default=None, ge=1)
    minutes: float | None = Field(default=None, gt=0, description="simulated minutes")


GoalEntry = Annotated[ScenarioGoal, BeforeValidator(_read_goal, json_schema_input_type=Text | ScenarioGoal)]


class MeetingPerson(ScenarioPerson):
    """A participant of a meeting; every field but the name may be left out."""

    name: Name
    traits: tuple[Pole, ...] = Field(
        default=(), description="poles of the Big Five, one of a dimension at most; the others are drawn by the seed"
    )
    character: Text | None = Field(default=None, description="in words; the traits where left out")
    descriptions: tuple[Text, ...] = Field(
        default=(), max_length=10, description="how they think and talk; the model writes ten where left out"
    )
    setting: Text | None = Field(default=None, description="what is special about them in this meeting")
    goals: tuple[GoalEntry, ...] = ()
    interests: tuple[Text, ...] = Field(default=(), description="topics that their role cares about")
    relations: dict[Text, Text] = Field(default={}, description="how they stand to others, by name")
    emotion: Emotion = Field(default="calm", description="what they feel at the start")
    schedule: Schedule = Schedule()
    latency: Latency | None = Field(
        default=None, description="how fast they answer: a class, or scale and spread in seconds"
    )
    weights: WillingnessWeights = Field(
        default=WillingnessWeights(), description="how much each part counts in their willingness to speak"
    )
    propensity: float | None = Field(default=None, ge=0, le=1, description="how readily they speak at all")
    silence_discomfort: float | None = Field(
        default=None, ge=0, le=1, description="how much silence urges them to speak"
    )
    model: Text | None = Field(default=None, description="a model of their own")


class MeetingScenario(Composed):
    """A scenario file of a meeting."""

    kind: Annotated[Literal["group_chat"], one_of("kind", ["group_chat"])] = "group_chat"
    name: Text
    description: Text = Field(description="the situation, as everybody knows it")
    time: Time
    ends: Time | None = Field(default=None, description="the scheduled end that everybody knows of")
    place: Text | None = None
    opening: Opening | None = Field(default=None, description="without one, everybody perceives the description")
    participants: tuple[MeetingPerson, ...] = Field(min_length=2, max_length=MOST)
    goals: tuple[OwnedGoal, ...] = Field(default=(), description="goals by owner, beside those under a participant")
    mechanisms: tuple[Text, ...] | None = Field(
        default=None, description="what agents may switch on, in order; all where left out"
    )
    order: OrderName | None = Field(default=None, description="who speaks next")
    removal_factor: float | None = Field(default=None, alias="lambda", ge=0, le=1)
    limits: Limits = Limits()

    def meeting(self, scenario: str, mechanisms: Collection[str] | None = None) -> Meeting:
        """Return the meeting that the file describes.

        Args:
            scenario: The name under which it is found again.
            mechanisms: Those of a meeting whose file names none.
        """
        return Meeting(
            scenario=scenario,
            title=self.name,
            description=self.description,
            time=self.time,
            ends=self.ends,
            place=self.place,
            opening=Utterance(speaker=self.opening.speaker, text=self.opening.text) if self.opening else None,
            participants=tuple(self._attendee(person) for person in self.participants),
            mechanisms=tuple(mechanisms or ()) if self.mechanisms is None else self.mechanisms,
        )

    def settings(self) -> dict[str, Any]:
        """Return what the file sets over `GROUP_CHAT`, for `Parameters.with_settings`.

        A file that says when the meeting ends has no other limit in minutes, unless it says so too.
        """
        until = {"max_minutes": None} if self.ends else {}
        fields = {name: value for name, (_, value) in self._fields_of_parameters().items()}
        return {**GROUP_CHAT, **until, **named(self.parameters), **self.composition(), **fields}

    def problems(self, mechanisms: Collection[str] | None) -> Iterator[Problem]:
        """Yield what each field by itself can't show, with its place in the file; after the first, in no sure state.

        Args:
            mechanisms: Names of the known mechanisms; `None`: any name is taken.
        """
        names = [person.name for person in self.participants]
        yield from _twins(names)
        for number, name in enumerate(self.mechanisms or ()):
            if name in (self.mechanisms or ())[:number]:
                yield ("mechanisms", number), f"{name!r} stands twice"
            elif mechanisms is not None and name not in mechanisms:
                yield ("mechanisms", number), unknown("mechanism", name, mechanisms)
        yield from self._bad_settings()
        yield from late_memories(self.participants, self.time)
        for number, person in enumerate(self.participants):
            yield from _opposed(person.traits, number)
            for other in person.relations:
                if other == person.name:
                    yield ("participants", number, "relations", other), "stands for a relation to oneself"
                elif other not in names:
                    yield ("participants", number, "relations", other), _nobody(other, names)
        for number, goal in enumerate(self.goals):
            if goal.owner not in names:
                yield ("goals", number, "owner"), _nobody(goal.owner, names)
        yield from self._bad_times()
        if self.opening and self.opening.speaker not in names:
            yield ("opening", "speaker"), _nobody(self.opening.speaker, names)
        yield from self._nobody_there()

    def _attendee(self, person: MeetingPerson) -> Attendee:
        joins, leaves = self._stay(person)
        return Attendee(
            persona=person.persona(person.character or ", ".join(person.traits) or None),
            memories=person.remembered(self.time),
            activity=person.activity,
            big_five=person.traits,
            descriptions=person.descriptions,
            setting=person.setting,
            goals=tuple(goal.record() for goal in (*person.goals, *self.goals) if _belongs(goal, person)),
            interests=person.interests,
            relations=tuple(person.relations.items()),
            emotion=person.emotion,
            joins=joins,
            leaves=leaves,
            leaves_for=person.schedule.reason,
            latency=person.latency,
            weights=person.weights,
            propensity=person.propensity,
            silence_discomfort=person.silence_discomfort,
            model=person.model,
        )

    def _stay(self, person: MeetingPerson) -> tuple[datetime | None, datetime | None]:
        joins, leaves = (
            datetime.combine(self.time.date(), moment) if isinstance(moment, clock_time) else moment
            for moment in (person.schedule.joins, person.schedule.leaves)
        )
        return joins, leaves

    def _fields_of_parameters(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        """Return the parameters that have a field of their own: where it stands, and its value."""
        given = {
            "order": (("order",), self.order),
            "removal_factor": (("lambda",), self.removal_factor),
            "max_turns": (("limits", "rounds"), self.limits.rounds),
            "max_minutes": (("limits", "minutes"), self.limits.minutes),
        }
        return {name: field for name, field in given.items() if field[1] is not None}

    def _bad_settings(self) -> Iterator[Problem]:
        yield from bad_parameters(self.parameters, GROUP_CHAT)
        for name, (location, _) in self._fields_of_parameters().items():
            if name in named(self.parameters):
                yield location, "is set under parameters too; keep one of the two"
        threshold = Parameters().with_settings(self.settings()).willingness_threshold
        for number, person in enumerate(self.participants):
            if problem := _out_of_reach(person.name, person.weights, threshold):
                yield ("participants", number, "weights"), problem

    def _bad_times(self) -> Iterator[Problem]:
        start = self.time
        if self.ends and self.ends <= start:
            yield ("ends",), f"{self.ends} is not after the start, {start}"
        minutes = Parameters().with_settings(self.settings()).max_minutes
        length_s = min(
            (self.ends - start).total_seconds() if self.ends else math.inf, 60 * minutes if minutes else math.inf
        )
        for number, person in enumerate(self.participants):
            joins, leaves = self._stay(person)
            location = ("participants", number, "schedule")
            dated = "for another day, give the date as well"
            if joins and joins < start:
                yield (*location, "joins"), f"{joins} is before the start, {start}; {dated}"
            if leaves and leaves <= start:
                yield (*location, "leaves"), f"{leaves} is not after the start, {start}; {dated}"
            if joins and (joins - start).total_seconds() >= length_s:
                yield (
                    (*location, "joins"),
                    f"at {joins} the meeting is over; it begins at {start} and takes {length_s / 60:g} minutes",
                )
            if joins and leaves and leaves <= joins:
                yield (*location, "leaves"), f"{leaves} is not after {person.name!r} joins, {joins}"
            if person.schedule.reason and not leaves:
                yield (*location, "reason"), "says why they leave, but there is no leaves that says when"

    def _nobody_there(self) -> Iterator[Problem]:
        here = [person.name for person in self.participants if (self._stay(person)[0] or self.time) <= self.time]
        if len(here) < 2:
            yield ("participants",), f"at the start there {'is one' if here else 'is nobody'}; it takes two to begin"
        if self.opening and self.opening.speaker not in here:
            yield ("opening", "speaker"), f"{self.opening.speaker!r} is not there yet; let one of those open who are"


def check_weights(meeting: Meeting, threshold: float) -> None:
    """Check that everybody's willingness can reach a threshold.

    Args:
        meeting: The meeting.
        threshold: θ, as the run has it.

    Raises:
        ScenarioError: Somebody could never speak; the message names the first of them.
    """
    for one in meeting.participants:
        if problem := _out_of_reach(one.persona.name, one.weights, threshold):
            raise ScenarioError(f"{meeting.scenario}: {problem}")


def _out_of_reach(name: str, weights: WillingnessWeights, threshold: float) -> str | None:
    if weights.total + _ROUNDING >= threshold:
        return None
    return (
        f"the weights of {name!r} add up to {weights.total:g}, so that they can't reach "
        f"willingness_threshold={threshold:g}; raise them, or lower it"
    )


def _twins(names: Iterable[str]) -> Iterator[Problem]:
    """Yield the names that stood before, letter case and kinds of spaces and of composed letters aside."""
    seen: dict[str, str] = {}
    for number, name in enumerate(names):
        folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        if folded in seen:
            yield (
                ("participants", number, "name"),
                f"{name!r} is there already, as {seen[folded]!r}; give them names that differ",
            )
        seen[folded] = name


def _opposed(poles: Iterable[str], person: int) -> Iterator[Problem]:
    """Yield the poles of a dimension that has one already."""
    seen: dict[str, str] = {}
    for index, pole in enumerate(poles):
        dimension = next(dimension for dimension, both in BIG_FIVE.items() if pole in both)
        if dimension in seen:
            yield (
                ("participants", person, "traits", index),
                f"{pole!r} and {seen[dimension]!r} are both of {dimension}; keep one",
            )
        seen[dimension] = pole


def _belongs(goal: ScenarioGoal, person: MeetingPerson) -> bool:
    return not isinstance(goal, OwnedGoal) or goal.owner == person.name


def _nobody(name: str, names: Iterable[str]) -> str:
    return f"{shown(name)} is no participant{hint(name, names)}"
