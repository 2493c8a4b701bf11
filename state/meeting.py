"""Records of a group chat: its participants, their goals, and the meeting. Source: ChatAgents §III, App. A to D."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, field_validator

from tertulia.state.album import Population
from tertulia.state.records import Case, HasWithheld, Participant, Record, RunKind, Turn, Utterance
from tertulia.state.wrong_values import number_checked

#: The two poles of each dimension of personality, the one that scores high first. Source: ChatAgents App. D.
BIG_FIVE = {
    "extraversion": ("extroverted", "introverted"),
    "agreeableness": ("agreeable", "antagonistic"),
    "conscientiousness": ("conscientious", "unconscientious"),
    "neuroticism": ("neurotic", "emotionally stable"),
    "openness": ("open", "closed"),
}

#: The feelings of an agent; the feeling has a strength beside it.
EMOTIONS = ("calm", "glad", "curious", "eager", "amused", "worried", "annoyed", "impatient", "sad", "afraid")

LatencyClass = Literal["proactive", "neutral", "cautious"]

#: Log-mean and log-deviation of the response latency in seconds, by class. Source: ChatAgents App. B, Eq. 2.
LATENCY_CLASSES: dict[LatencyClass, tuple[float, float]] = {
    "proactive": (0.3, 0.2),
    "neutral": (0.6, 0.3),
    "cautious": (1.0, 0.4),
}


class WillingnessWeights(Record):
    """The weights of the parts of an agent's willingness. Source: ChatAgents App. B, Eq. 1 (α, β, γ, δ)."""

    topic: float = Field(default=0.25, ge=0, le=1)
    goal: float = Field(default=0.25, ge=0, le=1)
    emotion: float = Field(default=0.25, ge=0, le=1)
    personality: float = Field(default=0.25, ge=0, le=1)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value_for_a_number(cls, value: Any) -> Any:
        return number_checked(value, float)

    @property
    def total(self) -> float:
        """The highest willingness that these weights allow."""
        return self.topic + self.goal + self.emotion + self.personality


class Attendee(Participant):
    """A participant in a group chat, as the scenario has them: a person, and how they come, wait and speak up."""

    emotion: str = Field(default="calm", description="what they feel at the start, one of EMOTIONS")
    joins: datetime | None = Field(default=None, description="when they come; None: they are there from the start")
    leaves: datetime | None = Field(default=None, description="when they have to go; None: they stay to the end")
    leaves_for: str | None = Field(default=None, description="why they have to go")
    latency: LatencyClass | tuple[float, float] | None = Field(
        default=None, description="a class, or scale and spread in seconds; None: those of the run's parameters"
    )
    weights: WillingnessWeights = Field(default_factory=WillingnessWeights)
    propensity: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="how readily they speak at all; None: by extraversion",
    )
    silence_discomfort: float | None = Field(
        default=None, ge=0, le=1, description="how much of the rest to 1 ten silent seconds add; None: by extraversion"
    )
    model: str | None = Field(default=None, description="a model of their own; None: that of the run")


class AttendanceChange(Record):
    """A person that comes or leaves while a meeting goes on."""

    agent: str
    sim_time_s: float = Field(description="seconds since the meeting began")
    joined: bool
    reason: str | None = Field(default=None, description="why they leave")


class Meeting(HasWithheld):
    """One starting point of a group chat. Source: ChatAgents §IV-B, Fig. 3."""

    scenario: str = Field(description="the name under which a user runs it again")
    title: str
    description: str = Field(description="the situation, as everybody knows it")
    time: datetime
    ends: datetime | None = Field(default=None, description="the scheduled end that everybody knows of")
    place: str | None = None
    opening: Utterance | None = Field(
        default=None, description="a line that stands before the first round; None: the description is perceived"
    )
    participants: tuple[Attendee, ...] = Field(min_length=2)
    mechanisms: tuple[str, ...] = Field(description="names of the mechanisms that agents may switch on, in order")

    def participant(self, name: str) -> Attendee:
        """Return the participant of that name (`KeyError` if there is none)."""
        for attendee in self.participants:
            if attendee.persona.name == name:
                return attendee
        raise KeyError(name)

    @property
    def kind(self) -> RunKind:
        """The kind of run that starts here."""
        return "group_chat"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all participants, in the scenario's order."""
        return tuple(attendee.persona.name for attendee in self.participants)

    def present(self, sim_time_s: float) -> tuple[str, ...]:
        """Return the names of the people there after so many seconds, in the scenario's order."""
        return tuple(
            attendee.persona.name
            for attendee in self.participants
            if self.offset_s(attendee.joins, 0.0) <= sim_time_s < self.offset_s(attendee.leaves, float("inf"))
        )

    def moments_s(self) -> list[float]:
        """Return the times of arrivals and departures, in seconds from the start, ascending."""
        times = (time for attendee in self.participants for time in (attendee.joins, attendee.leaves))
        return sorted({0.0, *(self.offset_s(time, 0.0) for time in times if time is not None)})

    def attendance_changes(self, after_s: float, until_s: float) -> tuple[AttendanceChange, ...]:
        """Return arrivals and departures after one time and up to another, in order; both in seconds from the start.

        A person there from the start does not come.
        """
        changes = []
        for attendee in self.participants:
            name = attendee.persona.name
            joins_s, leaves_s = self.offset_s(attendee.joins, 0.0), self.offset_s(attendee.leaves, float("inf"))
            if joins_s > 0:
                changes.append(AttendanceChange(agent=name, sim_time_s=joins_s, joined=True))
            if leaves_s < float("inf"):
                changes.append(
                    AttendanceChange(agent=name, sim_time_s=leaves_s, joined=False, reason=attendee.leaves_for)
                )
        within = (change for change in changes if after_s < change.sim_time_s <= until_s)
        return tuple(sorted(within, key=lambda change: change.sim_time_s))

    @property
    def opening_turn(self) -> Turn | None:
        """The opening as turn 0; `None` if the meeting has no opening line."""
        if self.opening is None:
            return None
        return Turn(turn=0, round=0, speaker=self.opening.speaker, text=self.opening.text, sim_time_s=0.0, ended=False)

    def offset_s(self, moment: datetime | None, default: float) -> float:
        """Return a time in seconds from the start of the meeting; `default` if there is none."""
        return default if moment is None else (moment - self.time).total_seconds()


#: The start of a run: a case of two people, a meeting, or a population that meets in pairs.
Start = Case | Meeting | Population
