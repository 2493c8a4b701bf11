"""Parameters of the conversation as a whole: its limits, a person's seat, a town's days, and chosen nodes."""

from typing import Literal

from pydantic import Field

from tertulia.state.parameters.group import ParameterGroup

#: The value of a parameter of a node or a mechanism.
NodeSetting = bool | int | float | str


class TownParameters(ParameterGroup):
    """Days of a town."""

    agreements: bool = Field(
        True,
        description="whether a model is asked after each conversation what was agreed on: the two meet then, and "
        "remember it; not with a model that fills in no forms (choices=probabilities)",
    )
    day_plans: Literal["varied", "log"] = Field(
        "varied",
        description="what people do, where encounters are drawn; varied: the log's days in turn, with minor things in "
        "another order, earlier or later; log: its days as they are",
    )
    reflection_threshold: float | None = Field(
        None,
        gt=0,
        description="summed importance of new memories from which an agent reflects (GA §4.2: 150, with observations); "
        "unset: 40, or 20 where words rate (docs/towns.md)",
    )


class SeatParameters(ParameterGroup):
    """A seat for a person (docs/runs.md)."""

    seat: str | None = Field(
        None,
        description="the participant whose words a person types, or several with commas between them; unset: nobody",
    )
    seat_clock: Literal["waits", "runs"] = Field(
        "waits",
        description="runs: the time that the person takes counts; waits: a latency is drawn, as for agents",
    )


class LimitParameters(ParameterGroup):
    """Limits of a conversation, and its clock."""

    max_turns: int = Field(
        16, ge=1, description="most turns: 16 as in the logs (APP Table 8), 100 rounds of group chat (CA App. C)"
    )
    max_minutes: float | None = Field(None, gt=0, description="simulated minutes after which a conversation ends")
    speaking_rate_wpm: float = Field(150.0, gt=0, description="words per minute of speech")


class NodeParameters(ParameterGroup):
    """Nodes and mechanisms (docs/extending.md); set as `nodes.PLACE=NAME` and `NAME.PARAMETER=VALUE`."""

    nodes: dict[str, str] = Field({}, description="by place, the node that stands there, where it is not the default")
    node_settings: dict[str, dict[str, NodeSetting | None]] = Field(
        {}, description="by node or mechanism, its own parameters, where they are not the defaults"
    )
