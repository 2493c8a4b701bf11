"""The base of every group of parameters."""

from typing import Any, get_args

from pydantic import ConfigDict, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from tertulia.state.records import Record


class ParameterGroup(Record):
    """Parameters that belong together. The first line of a group's docstring is its title in listings."""

    model_config = ConfigDict(allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_truth_value(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse `true` for a number: pydantic would take it as 1."""
        annotation = cls.model_fields[str(info.field_name)].annotation
        kinds = {annotation, *get_args(annotation)}
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            raise PydanticCustomError("float_type", "a number is expected")
        return value
