"""Records of an agent's cognition during a round of group chat, one for each step. Source: ChatAgents §III."""

import json
from typing import Any, Literal

from pydantic import Field, field_validator

from tertulia.state.records import Record, Reply


class SubGoal(Record):
    """A step of a plan. Source: ChatAgents App. A (planning module)."""

    goal: int = Field(ge=0, description="index of the goal that it serves")
    text: str
    share: float = Field(ge=0, le=1, description="its share of all that the agent wants; they sum to 1")


class Character(Record):
    """An agent's personality and plan as they enter the meeting, stored under round 0. Traits are given or drawn."""

    big_five: tuple[str, ...]
    descriptions: tuple[str, ...]
    plan: tuple[SubGoal, ...]


class Perception(Record):
    """The relevance of the last message, and whether it is noticed. Source: ChatAgents §III-A, perceptual filtering."""

    turn: int | None = Field(
        ge=0, description="the turn that is perceived; 0: how the meeting opened; None: the agent has heard nothing yet"
    )
    similarities: dict[str, float] = Field(description="cosine of the message to what it was compared with, by aspect")
    relevance: float = Field(ge=0, le=1)
    named: bool
    noticed: bool = Field(description="whether it entered working memory")
    reason: str | None = Field(default=None, description="why it is noticed whatever its relevance; None: by relevance")
    importance: float = Field(ge=0, le=10)


class MechanismChoice(Record):
    """The choice whether a mechanism is switched on, and the reason."""

    active: bool
    reason: str


class InformationNeed(Record):
    """The mechanisms that an agent chooses in a round. Source: ChatAgents §III-A, Fig. 6.

    Attributes:
        situation_summary: The current context that the agent was shown: their last situation; empty at first.
        key_information: The most important part of the talk.
        character_analysis: How it sits with the agent's character.
    """

    situation_summary: str = ""
    key_information: str
    character_analysis: str = ""
    decision_reason: str = ""
    mechanisms: dict[str, MechanismChoice]


class Finding(Record):
    """The result of a mechanism.

    Attributes:
        lines: Sentences for the prompts that follow; each becomes an item.
        data: The same as structured data, JSON only; in the next round the mechanism can read it again.
        problem: Why there is no result, if the mechanism failed or took too long.
    """

    lines: tuple[str, ...] = ()
    data: dict[str, Any] = Field(default_factory=dict)
    problem: str | None = None

    @field_validator("data")
    @classmethod
    def _is_json(cls, data: dict[str, Any]) -> dict[str, Any]:
        if json.loads(json.dumps(data, allow_nan=False)) != data:
            raise ValueError("data would not come back equal from JSON: lists for tuples, and texts as keys")
        return data


class Assessment(Record):
    """An agent's view of the situation, and their thought. Source: ChatAgents §III-A, contextual assessment."""

    situation: str
    thought: str = Field(description="private")
    emotion: str
    emotion_strength: float = Field(ge=0, le=1)
    done: tuple[bool, ...] = Field(description="by step of the plan, whether it is done, as the agent sees it")


#: The highest rating of a part of willingness; the lowest is 0.
HIGHEST_RATING = 10


class Rating(Record):
    """A model's rating of a part of its agent's willingness, with the reason."""

    rating: int = Field(description="as it was given; what is outside 0 to 10 counts as the nearer end")
    reason: str


class WillingnessRatings(Record):
    """The parts of willingness as a model rates them: the parameter `willingness=rated`."""

    topic: Rating
    goal: Rating
    emotion: Rating
    personality: Rating

    @property
    def values(self) -> tuple[int, ...]:
        """The four ratings as they were given."""
        return tuple(rated.rating for rated in (self.topic, self.goal, self.emotion, self.personality))

    @property
    def is_off_scale(self) -> bool:
        """Whether one of them is outside the scale."""
        return any(not 0 <= value <= HIGHEST_RATING for value in self.values)


class Touch(Record):
    """How much the latest lines touch an agent: the parameter `willingness=heard` (`nodes/meeting/touch.py`).

    Attributes:
        turn: The line that touches their matters most; 0 is the opening, `None` the meeting's subject, or nothing.
        about: The text about them that it is nearest to.
        topic, goal, emotion: How much their matters, their goals and their feelings are touched, faded.
    """

    turn: int | None
    about: str | None = None
    topic: float = Field(ge=0, le=1)
    goal: float = Field(ge=0, le=1)
    emotion: float = Field(ge=0, le=1)


class WillingnessParts(Record):
    """The four parts of willingness. Source: ChatAgents App. B, Eq. 1."""

    topic: float = Field(ge=0, le=1)
    goal: float = Field(ge=0, le=1)
    emotion: float = Field(ge=0, le=1)
    personality: float = Field(ge=0, le=1)


#: The causes of an agent's willingness to speak: the matter and their character, being addressed, or a long time
#: without a word.
WillingFor = Literal["content", "asked", "waiting"]


class Bid(Record):
    """An agent's bid in the competition for the floor. Source: ChatAgents App. B, Eq. 1 to 6.

    Attributes:
        parts: The parts of willingness at the last evaluation, with all that moves them; `None` for a person.
        willingness: W, their weighted sum; `None` for a person.
        willing: Whether W reached θ; for a person, whether they wanted to say something.
        address: How much the last line speaks to them, in [0, 1]; 1 if it asks them by name.
        need: Their need to speak, in [0, 1]; `None` for a person.
        similarity: S̄, the mean weighted similarity of the thought to earlier ones above the cut-off; 0: none was.
        similarity_max: S_max of Eq. 3; `None` without an earlier thought.
        latency_scale_s, latency_spread_s: μ and σ of Eq. 4 and 5.
        persistence: The factor on the draw: below 1 for an agent that was willing before and did not get the floor.
        yielded_s: Seconds for which they waited for another agent, asked by name.
        latency_s: The draw with its factor, or the time that a person took, and `yielded_s`; `None` if nothing was
            drawn.
    """

    parts: WillingnessParts | None
    willingness: float | None = Field(ge=0)
    willing: bool
    address: float = Field(default=0.0, ge=0, le=1)
    need: float | None = None
    similarity: float = Field(ge=0, le=1)
    similarity_max: float | None
    latency_scale_s: float = Field(gt=0)
    latency_spread_s: float = Field(ge=0)
    persistence: float = Field(gt=0, le=1)
    yielded_s: float = Field(default=0.0, ge=0)
    latency_s: float | None
    won: bool


#: The order of a floor that another program gives: the graph around a hosted conversation.
BY_GRAPH = "by_the_graph"


class Floor(Record):
    """The decision on the floor in a round; stored once a round, without an agent.

    Attributes:
        waited_s: Seconds from the round's beginning to the first word; `None` in a round of silence.
        looks: How often willingness was evaluated.
        tied: The agents that tied for the floor, if there was a tie.
        gone: Those that would have been faster, and had to leave before their first word.
        reason: Why an agent chose the speaker, or the first of `gone` who was to speak; if `drawn`, why none did.
        drawn: Whether that one was drawn, as nobody named one.
    """

    order: str
    waited_s: float | None
    looks: int = 1
    tied: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    reason: str | None = None
    drawn: bool = False


CallKind = Literal["generate", "generate_scored", "score", "log_likelihood", "probabilities", "token_figures"]


class Call(Record):
    """A call of a model with its result; its key is (run, round, agent, node, attempt).

    Attributes:
        round, agent, node: The asker, and the step.
        attempt: The number of the call within that step and round, from 0.
        kind: The method of the model that was called.
        prompt: Content hash of the prompt.
        parameters: The arguments besides: the fields of the reply, sampling, options.
        values: The figures that were computed: a score for each unit, a log-likelihood, probabilities, or those of each
            token.
        prompt_tokens, reply_tokens: Read, and written in all replies together; `None` if it is not known.
        seconds: Its share of the time that its batch took; `None` if it is not known.
    """

    round: int = Field(ge=0)
    agent: str
    node: str
    attempt: int = Field(default=0, ge=0)
    kind: CallKind = "generate"
    model: str
    prompt: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    replies: tuple[Reply, ...] = ()
    values: tuple[dict[str, float] | float, ...] = ()
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float | None = None

    def is_same_question(self, other: "Call") -> bool:
        """Whether both calls asked the same of the same model."""
        fields = {"kind", "model", "prompt", "parameters"}
        return self.model_dump(include=fields) == other.model_dump(include=fields)

    def sent(self, parameter: str) -> Any:
        """Return the value of a parameter; `None` if it is unknown, as the model's server did not take it."""
        is_unsent = any(parameter in reply.unsent for reply in self.replies)
        return None if is_unsent else self.parameters.get(parameter)


class Visit(Record):
    """An execution of a node in a turn: the state that it was given, and its update, as plain JSON.

    Attributes:
        agent: Whose cognition, or preparation, it was part of; empty for the whole conversation's.
        update: Its return value; `None` if it returned nothing.
    """

    node: str
    agent: str
    before: dict[str, Any]
    update: dict[str, Any] | None


class Trace(Record):
    """Everything that was executed in a turn, in the order in which it began, and the state `after` the turn."""

    visits: tuple[Visit, ...]
    after: dict[str, Any]


#: The step under which it is stored that a graph of a user's own has begun an utterance, or some rounds.
ENTERED = "entered"


class Entered(Record):
    """The beginning of an utterance in a turn.

    Attributes:
        speaker: Its speaker; "": whoever gets the floor.
        unheard: First and last turn of each part of the run that is not heard any more.
    """

    speaker: str
    unheard: tuple[tuple[int, int], ...] = ()
