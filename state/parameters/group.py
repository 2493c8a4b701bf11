"""The base of every group of parameters."""

from pydantic import ConfigDict

from state.records import Record


class ParameterGroup(Record):
    """Parameters that belong together. The first line of a group's docstring is its title in listings."""

    # A group is only inherited from: its validator is not built.
    model_config = ConfigDict(allow_inf_nan=False, defer_build=True)
