"""Every parameter of a run, in groups: its default, and the source of the default."""

from tertulia.state.parameters.album import AGENTS, Setting
from tertulia.state.parameters.conversation import NodeSetting
from tertulia.state.parameters.group_chat import Hearing, Order
from tertulia.state.parameters.listing import GroupDescription, ParameterDescription, parameter_groups
from tertulia.state.parameters.model import (
    LONG,
    MEDIUM,
    SHORT,
    TEMPERATURE,
    Actions,
    Choices,
    Ending,
    Judge,
    Lengths,
)
from tertulia.state.parameters.parameters import ALBUM_CHAT, ALIASES, GROUP_CHAT, LISTED, SETTABLE, Parameters
from tertulia.state.parameters.preset import PRESETS
from tertulia.state.parameters.prompt import (
    MEMORY_ITEMS,
    REMOVAL_TOLERANCE,
    FocalLines,
    GenerationWay,
    Layout,
    Reducer,
    RemovalOrder,
    Walk,
    Wording,
)

__all__ = [
    "AGENTS",
    "ALBUM_CHAT",
    "ALIASES",
    "GROUP_CHAT",
    "LISTED",
    "LONG",
    "MEDIUM",
    "MEMORY_ITEMS",
    "PRESETS",
    "REMOVAL_TOLERANCE",
    "SETTABLE",
    "SHORT",
    "TEMPERATURE",
    "Actions",
    "Choices",
    "Ending",
    "FocalLines",
    "GenerationWay",
    "GroupDescription",
    "Hearing",
    "Judge",
    "Layout",
    "Lengths",
    "NodeSetting",
    "Order",
    "ParameterDescription",
    "Parameters",
    "Reducer",
    "RemovalOrder",
    "Setting",
    "Walk",
    "Wording",
    "parameter_groups",
]
