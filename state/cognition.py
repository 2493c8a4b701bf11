"""Records of what goes on in an agent during a round of group chat; one for each step. Source: ChatAgents §III."""

import json
from typing import Any, Literal

from pydantic import Field, field_validator

from state.records import Record, Reply


class SubGoal(Record):
    """One step of a plan. Source: ChatAgents App. A (planning module)."""

    goal: int = Field(ge=0, description="index of the goal that it serves")
    text: str
    share: float = Field(ge=0, le=1, description="its share of all that the agent wants; they sum to 1")


class Character(Record):
    """An agent as they enter the meeting: drawn or given traits, ten descriptions, a plan. Stored under round 0."""

    big_five: tuple[str, ...]
    descriptions: tuple[str, ...]
    plan: tuple[SubGoal, ...]


class Perception(Record):
    """Whether the last message got through. Source: ChatAgents §III-A, perceptual filtering."""

    turn: int = Field(ge=0, description="the turn that is perceived; 0: how the meeting opened")
    similarities: dict[str, float] = Field(description="cosine of the message to profile, background and emotion")
    relevance: float = Field(ge=0, le=1)
    named: bool
    noticed: bool = Field(description="whether it entered working memory")
    importance: float = Field(ge=0, le=10)


class MechanismChoice(Record):
    """Whether a mechanism is switched on, and why."""

    active: bool
    reason: str


class InformationNeed(Record):
    """Which mechanisms an agent wants. Source: ChatAgents §III-A, Fig. 6."""

    key_information: str
    mechanisms: dict[str, MechanismChoice]


class Finding(Record):
    """What a mechanism returned.

    Attributes:
        lines: Sentences for the prompts that follow, each an item of its own.
        data: The same as structured data, JSON only; the mechanism finds its last one again in the next round.
        problem: Why there is none, if the mechanism failed or took too long.
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
    """What an agent makes of it all. Source: ChatAgents §III-A, contextual assessment."""

    situation: str
    thought: str = Field(description="private")
    emotion: str
    emotion_strength: float = Field(ge=0, le=1)
    done: tuple[bool, ...] = Field(description="by step of the plan, whether it is done, as the agent sees it")


class WillingnessParts(Record):
    """The four parts of willingness. Source: ChatAgents App. B, Eq. 1."""

    topic: float = Field(ge=0, le=1)
    goal: float = Field(ge=0, le=1)
    emotion: float = Field(ge=0, le=1)
    personality: float = Field(ge=0, le=1)


class Bid(Record):
    """An agent in the competition for the floor. Source: ChatAgents App. B, Eq. 1 to 6.

    Attributes:
        parts: The parts of willingness when they were last looked at, the silence so far included; `None` for a person.
        willingness: W, their weighted sum; `None` for a person.
        willing: Whether W reached θ; for a person, whether they wanted to say something.
        similarity: S̄, the mean weighted similarity of the thought to earlier ones above the cut-off; 0: none was.
        similarity_max: S_max of Eq. 3; `None` without an earlier thought.
        latency_scale_s, latency_spread_s: μ and σ of Eq. 4 and 5.
        persistence: The factor on the draw: 1, or less for who was willing before and not heard.
        latency_s: The draw with its factor, or the time that a person took; `None` for who did not draw.
        won: Whether they got the floor.
    """

    parts: WillingnessParts | None
    willingness: float | None = Field(ge=0)
    willing: bool
    similarity: float = Field(ge=0, le=1)
    similarity_max: float | None
    latency_scale_s: float = Field(gt=0)
    latency_spread_s: float = Field(ge=0)
    persistence: float = Field(gt=0, le=1)
    latency_s: float | None
    won: bool


class Floor(Record):
    """How the floor was given in a round; stored once a round, for nobody's agent.

    Attributes:
        order: The speaking order.
        waited_s: Seconds from the round's beginning to the first word; `None` in a round of silence.
        looks: How often willingness was looked at.
        tied: Who tied for the floor, where there was a tie.
        reason: Why, where somebody chose.
    """

    order: str
    waited_s: float | None
    looks: int = 1
    tied: tuple[str, ...] = ()
    reason: str | None = None


CallKind = Literal["generate", "generate_scored", "score", "log_likelihood", "probabilities"]


class Call(Record):
    """A call of a model with what it returned; its key is (run, round, agent, node, attempt).

    Attributes:
        round, agent, node: Who asked, and in which step.
        attempt: Which call of that step in that round it is, from 0.
        kind: What was asked of the model.
        model: Its id.
        prompt: Content hash of the prompt.
        parameters: What was asked for besides: the fields of the reply, sampling, options.
        replies: What was generated.
        values: What was computed: a score for each unit, a log-likelihood, probabilities.
        prompt_tokens, reply_tokens: Read, and written in all replies together; `None` where it is not known.
        seconds: Its share of the time that its batch took; `None` where it is not known.
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
        """Whether the two asked the same of the same model."""
        mine, theirs = (call.model_dump(include={"kind", "model", "prompt", "parameters"}) for call in (self, other))
        return mine == theirs


class Visit(Record):
    """One execution of a node in a turn: the state that it was given, and its update. All of it is plain JSON.

    Attributes:
        node: The node, under its name in the graph.
        agent: Whose cognition, or preparation, it was part of; empty for the whole conversation's.
        before: The state that it was given.
        update: What it returned; `None` if it returned nothing.
    """

    node: str
    agent: str
    before: dict[str, Any]
    update: dict[str, Any] | None


class Trace(Record):
    """Everything that was executed in a turn, in the order in which it was begun.

    Attributes:
        visits: The executions.
        after: The state of the conversation after the turn.
    """

    visits: tuple[Visit, ...]
    after: dict[str, Any]
