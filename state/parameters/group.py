"""The base of every group of parameters."""

from pydantic import ConfigDict

from tertulia.state.records import Record


class ParameterGroup(Record):
    """Parameters that belong together. The first line of a group's docstring is its title in listings."""

    model_config = ConfigDict(allow_inf_nan=False)
