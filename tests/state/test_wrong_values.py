"""What a wrong value should have been: in words of ours for every kind of error that pydantic has."""

from typing import Any, Literal, get_args

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_core.core_schema import ErrorType

from tertulia.state.wrong_values import _TAKES, problems_of, wrong_value


class Thing(BaseModel, extra="forbid"):
    name: str = Field(min_length=1, max_length=4)
    count: int = Field(1, ge=1, le=9)
    part: float = Field(0.5, gt=0, lt=1)
    ready: bool = True
    level: Literal["low", "high"] = "low"
    listed: tuple[str, ...] = Field(("a",), min_length=1, max_length=2)
    values: dict[str, bool | int | float | str | None] = {}
    inner: "Thing | None" = None


def errors_of(**values: Any) -> list[str]:
    given = {"name": "a"} | values
    with pytest.raises(ValidationError) as raised:
        Thing.model_validate(given)
    problems = problems_of(raised.value.errors(), given)
    return [f"{'.'.join(map(str, place))} {wrong_value(details)}" for place, details in problems.items()]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"count": "x"}, "count takes a whole number, not 'x'"),
        ({"count": 2.5}, "count takes a whole number, not 2.5"),
        ({"count": 0}, "count takes 1 or more, not 0"),
        ({"count": 10}, "count takes 9 at most, not 10"),
        ({"part": "0,5"}, "part takes a number, not '0,5' (did you mean 0.5?)"),
        ({"part": 0}, "part takes more than 0, not 0"),
        ({"part": 1.5}, "part takes less than 1, not 1.5"),
        ({"ready": "maybe"}, "ready takes true or false, not 'maybe'"),
        ({"level": "hig"}, "level takes 'low' or 'high', not 'hig' (did you mean 'high'?)"),
        ({"listed": []}, "listed is empty; it needs 1 or more"),
        ({"listed": ["a"] * 3}, "listed takes 2 at most, not 3"),
        ({"listed": "Ana"}, "listed takes a list, not 'Ana' (did you mean [Ana]?)"),
        ({"name": ""}, "name is empty; it takes 1 or more characters"),
        ({"name": "abcde"}, "name takes 4 characters at most, not 'abcde'"),
        ({"name": 5}, "name takes a text, not 5 (if this is one, put it in quotes)"),
        ({"nam": "b"}, "nam is not a field here"),
        ({"inner": {}}, "inner.name is missing; add it"),
        ({"inner": 3}, "inner takes fields, each with its value, not 3"),
        ({"values": {"a": [1]}}, "values.a takes true or false, a number or a text, not [1]"),
        ({"values": "a"}, "values takes fields, each with its value, not 'a'"),
    ],
)
def test_a_wrong_value_is_told_in_one_sentence(values: dict[str, Any], said: str) -> None:
    """What it takes, which it is, and what was probably meant; of a value that may be of several types once."""
    assert errors_of(**values) == [said]


def test_two_fields_with_one_wrong_value_are_two_problems() -> None:
    assert errors_of(count=0, part=0) == ["count takes 1 or more, not 0", "part takes more than 0, not 0"]


def test_the_table_has_nothing_that_pydantic_does_not_know_and_none_of_its_words() -> None:
    assert set(_TAKES) <= set(get_args(ErrorType))
    assert not any("must be" in words or "should" in words or "valid" in words for words in _TAKES.values())
