"""Read a meeting from a scenario file in YAML: its participants, their goals, and when they come and go.

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
      - {goal: have hot water by tonight, sub_goals: [find out what is broken, settle the bill]}
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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from datetime import time as clock_time
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PlainValidator

from tertulia.state.errors import ScenarioError
from tertulia.state.meeting import EMOTIONS, Attendee, LatencyClass, Meeting, WillingnessWeights
from tertulia.state.parameters import GROUP_CHAT, Order, Parameters
from tertulia.state.records import Utterance
from tertulia.state.wrong_values import shown
from tertulia.worlds.scenario_parts import (
    Composed,
    Name,
    Part,
    ScenarioGoal,
    ScenarioPerson,
    Text,
    Time,
    bad_parameters,
    duplicate_names,
    late_memories,
    odd_people,
    read_time,
    without_aliases,
)
from tertulia.worlds.yaml_file import Problem, complete_problem, hint, one_of, unknown

#: The highest number of participants of a meeting. Nothing breaks beyond: but each of them is asked twice or more in
#: every round, and a stranger's file should not begin a run whose first round never ends.
MAX_PARTICIPANTS = 1000

#: The lowest and the highest scale of a latency, in seconds.
_LATENCY_S = (0.001, 3600.0)

#: The tolerance for rounding in a comparison of a sum of weights with a threshold.
_ROUNDING = 1e-9

#: Fields that make a file a meeting; so do more than two participants.
_FIELDS_OF_A_MEETING = ("kind", "order", "mechanisms", "goals")

#: Fields of a person that the record of an attendee has too, with the same name and value.
_SAME_IN_RECORD = ("emotion", "latency", "weights", "propensity", "silence_discomfort", "model")

_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")


def is_meeting(values: Any) -> bool:
    """Whether the values of a file describe a meeting rather than a dialogue of two."""
    if not isinstance(values, dict):
        return False
    people = values.get("participants")
    return any(field in values for field in _FIELDS_OF_A_MEETING) or (isinstance(people, list) and len(people) > 2)


def meeting_schema_condition() -> dict[str, Any]:
    """Return `is_meeting` as JSON Schema."""
    many = {"properties": {"participants": {"minItems": 3, "type": "array"}}, "required": ["participants"]}
    return {"anyOf": [*({"required": [field]} for field in _FIELDS_OF_A_MEETING), many]}


def _read_scheduled_time(value: Any) -> datetime | clock_time:
    clock = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if clock is None:
        return read_time(value, like="15:15 or 2024-05-14 15:15:00")
    hour, minute, second = map(int, clock.groups("0"))
    try:
        return clock_time(hour, minute, second)
    except ValueError:
        raise ValueError("takes a time of day from 00:00 to 23:59") from None


def _read_latency(value: Any) -> LatencyClass | tuple[float, float]:
    classes = get_args(LatencyClass)
    if isinstance(value, list):
        if len(value) != 2 or not all(isinstance(part, int | float) and not isinstance(part, bool) for part in value):
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


Emotion = Annotated[str, one_of("emotion", EMOTIONS)]
OrderName = Annotated[str, one_of("order", get_args(Order))]
ScheduledTime = Annotated[datetime | clock_time, PlainValidator(_read_scheduled_time, json_schema_input_type=str)]
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


class OwnedGoal(ScenarioGoal):
    """A goal under the meeting's `goals`, with its owner."""

    owner: Name


class Schedule(Part):
    """When a participant comes and goes: times on the day of the meeting, or times with a date."""

    joins: ScheduledTime | None = None
    leaves: ScheduledTime | None = None
    reason: Text | None = Field(default=None, description="why they have to leave")


class Opening(Part):
    """A line that a participant says before the first round."""

    speaker: Name
    text: Text


class Limits(Part):
    """When a meeting ends at the latest."""

    rounds: int | None = Field(default=None, ge=1)
    minutes: float | None = Field(default=None, gt=0, description="simulated minutes")


class MeetingPerson(ScenarioPerson):
    """A participant of a meeting: a person, and how they come, wait and speak up."""

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
    model: Text | None = Field(default=None, description="the model that speaks for them; the run's where left out")

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of an `Attendee` besides persona, memories and schedule."""
        return {**super().record_fields(), **{field: getattr(self, field) for field in _SAME_IN_RECORD}}


class MeetingScenario(Composed):
    """A scenario file of a meeting."""

    kind: Annotated[Literal["group_chat"], one_of("kind", ["group_chat"])] = "group_chat"
    name: Text
    description: Text = Field(description="the situation, as everybody knows it")
    time: Time
    ends: Time | None = Field(default=None, description="the scheduled end that everybody knows of")
    place: Text | None = None
    opening: Opening | None = Field(default=None, description="without one, everybody perceives the description")
    participants: tuple[MeetingPerson, ...] = Field(min_length=2, max_length=MAX_PARTICIPANTS)
    goals: tuple[OwnedGoal, ...] = Field(default=(), description="goals by owner, beside those under a participant")
    mechanisms: tuple[Text, ...] | None = Field(
        default=None, description="what agents may switch on, in order; all where left out"
    )
    order: OrderName | None = Field(default=None, description="who speaks next")
    removal_factor: float | None = Field(default=None, alias="lambda", ge=0, le=1)
    limits: Limits = Limits()

    def meeting(self, scenario: str, mechanisms: Collection[str] | None = None) -> Meeting:
        """Return the meeting that the file describes, with the given mechanisms if the file names none."""
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
        """Return `GROUP_CHAT` with the settings of the file over it, for `Parameters.with_settings`.

        If the file has an end of the meeting, there is no limit in minutes unless the file sets it too.
        """
        until = {"max_minutes": None} if self.ends else {}
        fields = {name: value for name, (_, value) in self._fields_of_parameters().items()}
        return {**GROUP_CHAT, **until, **without_aliases(self.parameters), **self.composition(), **fields}

    def problems(self, mechanisms: Collection[str] | None) -> Iterator[Problem]:
        """Yield the problems that no field shows by itself, with their location in the file.

        Those after the first may follow from it.

        Args:
            mechanisms: Names of the known mechanisms; with `None`, any name is accepted.
        """
        names = [person.name for person in self.participants]
        for number, words in duplicate_names(names):
            yield ("participants", number, "name"), words
        for number, words in odd_mechanisms(self.mechanisms or (), mechanisms):
            yield ("mechanisms", number), words
        yield from self._setting_problems()
        yield from late_memories(self.participants, self.time)
        yield from odd_people(self.participants)
        for number, goal in enumerate(self.goals):
            if goal.owner not in names:
                yield ("goals", number, "owner"), _not_a_participant(goal.owner, names)
        yield from self._time_problems()
        if self.opening and self.opening.speaker not in names:
            yield ("opening", "speaker"), _not_a_participant(self.opening.speaker, names)
        yield from self._attendance_problems()

    def _attendee(self, person: MeetingPerson) -> Attendee:
        joins, leaves = self._stay(person)
        fields = person.record_fields()
        fields["goals"] += tuple(goal.record() for goal in self.goals if goal.owner == person.name)
        return Attendee(
            persona=person.persona(),
            memories=person.remembered(self.time),
            joins=joins,
            leaves=leaves,
            leaves_for=person.schedule.reason,
            **fields,
        )

    def _stay(self, person: MeetingPerson) -> tuple[datetime | None, datetime | None]:
        joins, leaves = (
            datetime.combine(self.time.date(), moment) if isinstance(moment, clock_time) else moment
            for moment in (person.schedule.joins, person.schedule.leaves)
        )
        return joins, leaves

    def _fields_of_parameters(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        """Return the parameters that the file sets by other fields: the location of each, and its value."""
        given = {
            "order": (("order",), self.order),
            "removal_factor": (("lambda",), self.removal_factor),
            "max_turns": (("limits", "rounds"), self.limits.rounds),
            "max_minutes": (("limits", "minutes"), self.limits.minutes),
        }
        return {name: field for name, field in given.items() if field[1] is not None}

    def _setting_problems(self) -> Iterator[Problem]:
        yield from bad_parameters(self.parameters, GROUP_CHAT)
        for name, (location, _) in self._fields_of_parameters().items():
            if name in without_aliases(self.parameters):
                yield location, "is set under parameters too; keep one of the two"
        parameters = Parameters().with_settings(self.settings())
        weights = {person.name: person.weights for person in self.participants}
        problem = _out_of_reach(weights, parameters.willingness_threshold)
        if problem and parameters.order == "self_driven":
            yield ("participants",), problem

    def _time_problems(self) -> Iterator[Problem]:
        start = self.time
        if self.ends and self.ends <= start:
            yield ("ends",), f"{self.ends} is not after the start, {start}"
        minutes = Parameters().with_settings(self.settings()).max_minutes
        until_end_s = (self.ends - start).total_seconds() if self.ends else math.inf
        length_s = min(until_end_s, 60 * minutes if minutes else math.inf)
        for number, person in enumerate(self.participants):
            joins, leaves = self._stay(person)
            location = ("participants", number, "schedule")
            dated = "for another day, give the date as well"
            if joins and joins < start:
                yield (*location, "joins"), f"{joins} is before the start, {start}; {dated}"
            if leaves and leaves <= start:
                yield (*location, "leaves"), f"{leaves} is not after the start, {start}; {dated}"
            if joins and (joins - start).total_seconds() >= length_s:
                words = f"at {joins} the meeting is over; it begins at {start} and takes {length_s / 60:g} minutes"
                yield (*location, "joins"), words
            if joins and leaves and leaves <= joins:
                yield (*location, "leaves"), f"{leaves} is not after {person.name!r} joins, {joins}"
            if person.schedule.reason and not leaves:
                yield (*location, "reason"), "says why they leave, but there is no leaves that says when"

    def _attendance_problems(self) -> Iterator[Problem]:
        present = [person.name for person in self.participants if (self._stay(person)[0] or self.time) <= self.time]
        if len(present) < 2:
            yield ("participants",), f"at the start there {'is one' if present else 'is nobody'}; it takes two to begin"
        if self.opening and self.opening.speaker not in present:
            yield ("opening", "speaker"), f"{self.opening.speaker!r} is not there yet; let one of those open who are"


def odd_mechanisms(names: Sequence[str], known: Collection[str] | None) -> Iterator[tuple[int, str]]:
    """Yield the names of mechanisms that stand twice, or are not known, by place; with `None`, any name is known."""
    for number, name in enumerate(names):
        if name in names[:number]:
            yield number, f"{name!r} stands twice"
        elif known is not None and name not in known:
            yield number, unknown("mechanism", name, known)


def check_weights(meeting: Meeting, threshold: float) -> None:
    """Raise `ScenarioError` if no participant's weights can reach a threshold of willingness."""
    weights = {attendee.persona.name: attendee.weights for attendee in meeting.participants}
    if problem := _out_of_reach(weights, threshold):
        raise ScenarioError(f"{meeting.scenario}: {problem}")


def _out_of_reach(weights: Mapping[str, WillingnessWeights], threshold: float) -> str | None:
    highest = max(weights, key=lambda name: weights[name].total)
    if weights[highest].total + _ROUNDING >= threshold:
        return None
    return (
        f"nobody can reach willingness_threshold={threshold:g}: the highest weights, those of {highest!r}, add up to "
        f"{weights[highest].total:g}; raise them, or lower it"
    )


def _not_a_participant(name: str, names: Iterable[str]) -> str:
    return f"{shown(name)} is no participant{hint(name, names)}"
