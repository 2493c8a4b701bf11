"""Checks of arguments in Python: a value of a wrong type is refused under the name of its argument."""

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from tertulia.state.errors import SettingError, nearest_hint
from tertulia.state.language_model import REHEARSAL
from tertulia.state.parameters import ALIASES
from tertulia.state.records import RunStatus
from tertulia.state.wrong_arguments import check_argument, check_texts, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tertulia.runs.driving.limits import Limits
    from tertulia.state.budget import Budget

#: Descriptions of a model, and the function that asks the person in a seat, for messages.
MODEL = "a model is named by a text"
ASK = "a function is expected, from an Invitation to an Answer; it may be async"

#: The arguments with other names than the parameters that they set.
_ARGUMENTS = {"max_turns": "rounds", "max_minutes": "minutes"}


def check_names(model: object, seat: object, label: object) -> None:
    """Raise `SettingError` for a model, a seat or a label that is not a text, or an empty name of a model."""
    check_argument("model", model, str, MODEL)
    check_argument("seat", seat, str, "a seat is the name of a participant")
    check_argument("label", label, str, "a label is a text")
    if model == "":
        raise refusal("model", model, "a model has a name; leave it out for the default")


def check_status(status: object) -> None:
    """Raise `SettingError` with the nearest one for a status that no run has; `None` is any."""
    if status is not None and status not in get_args(RunStatus):
        raise SettingError("status", status, f": unknown{nearest_hint(str(status), get_args(RunStatus))}")


def speaking_model(model: str | None, rehearse: bool, default: str | None = None) -> str | None:
    """Return the name of the model that speaks; `SettingError` if another than the default is given beside a stand-in.

    Args:
        default: The value of `model` if it is not given.
    """
    if rehearse and model not in (default, REHEARSAL):
        raise refusal("model", model, "a stand-in speaks, as rehearse=True says; give one of them")
    return REHEARSAL if rehearse else model


def check_given_once(settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise `SettingError` for a parameter that two settings set, or a setting and an argument.

    Args:
        given: The values of arguments by the parameters that they set; `None`: not given.
    """
    names: dict[str, str] = {}
    for name, value in settings.items():
        parameter = ALIASES.get(name, name)
        if parameter in names:
            raise refusal(name, value, f"the settings have {names[parameter]} too, which is the same; give it once")
        names[parameter] = name
    for parameter, value in given.items():
        if value is not None and parameter in names:
            argument = _ARGUMENTS.get(parameter, parameter)
            among = "it" if argument == parameter else f"{names[parameter]}, which is the same,"
            raise refusal(argument, value, f"{among} is among the settings too; give it once")


def check_changes(say: object, **changes: object) -> None:
    """Raise `SettingError` for changes of a fork that are not texts by name, or words that are not a text."""
    check_argument("say", say, str, "what is said instead is a text")
    for name, values in changes.items():
        check_texts(name, values, "a dict is expected, by the name of a person")
        for key, value in values.items() if isinstance(values, Mapping) else ():
            check_argument(f"{name}.{key}", value, str, "a text is expected", optional=False)


def limits_of(budget: "Budget | None") -> "Limits":
    """Return the limits of a budget, or none; `SettingError` for anything else."""
    from tertulia.runs.driving.limits import Limits
    from tertulia.state.budget import NO_BUDGET, Budget

    check_argument("budget", budget, Budget, "a budget is a tertulia.Budget: budget=tertulia.Budget(max_calls=200)")
    return Limits(budget or NO_BUDGET)


@contextmanager
def named_as_arguments(given: Mapping[str, Any]) -> "Iterator[None]":
    """Name a refused parameter as the argument that set it: `rounds`, not `max_turns`.

    Args:
        given: The values of arguments by the parameters that they set; `None`: not given.
    """
    try:
        yield
    except SettingError as error:
        argument = _ARGUMENTS.get(error.setting)
        if argument is None or given.get(error.setting) is None:
            raise
        raise SettingError(argument, error.value, error.problem.replace(error.setting, argument)) from None
