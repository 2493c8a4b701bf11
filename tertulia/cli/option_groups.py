"""Groups of options that several commands have: a command gets the values of each group as one object."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from tertulia.cli import options
from tertulia.cli.environment import additions
from tertulia.cli.option_values import read_model, read_seed, read_settings
from tertulia.runs.planning.request import RunRequest


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the fields of its parameters' dataclasses as options, in the place of each."""
    declared = signature(command)
    groups: dict[str, Any] = {
        name: each.annotation for name, each in declared.parameters.items() if is_dataclass(each.annotation)
    }

    @wraps(command)
    def called(**given: Any) -> None:
        found = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group) if each.name in given})
            for name, group in groups.items()
        }
        command(**given, **found)

    parameters = [each for parameter in declared.parameters.values() for each in _parameters(parameter)]
    called.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _parameters(parameter: Parameter) -> Iterator[Parameter]:
    """Yield a parameter, or those of its group; by name alone, so that no order of defaults is asked for."""
    named = parameter.replace(kind=Parameter.KEYWORD_ONLY)
    if not is_dataclass(parameter.annotation):
        yield named
        return
    each: Field[Any]
    for each in fields(parameter.annotation):
        default = Parameter.empty if each.default is MISSING else each.default
        yield named.replace(name=each.name, annotation=each.type, default=default)


@dataclass(frozen=True)
class RequestOptions:
    """What is asked of every conversation: λ, seed, model and parameters."""

    removal_factor: options.LambdaOption = None
    seed: options.SeedOption = None
    model: options.ModelOption = None
    rehearse: options.RehearseOption = False
    settings: options.SettingsOption = None

    def request(self, **further: Any) -> RunRequest:
        """Return the request; `further` are parameters with options of their declared."""
        chosen = read_settings(self.settings, seed=self.seed, **further)
        seed = read_seed(chosen)
        return RunRequest(chosen, self.removal_factor, read_model(self.model, self.rehearse), seed)


@dataclass(frozen=True)
class DriveOptions:
    """How a run is driven and shown."""

    trust_remote_code: options.CodeOption = None
    thoughts: options.ThoughtsOption = False
    store: options.StoreOption = None
    as_json: options.JsonOption = False


@dataclass(frozen=True)
class RunOptions:
    """Options of a run that is begun."""

    label: options.LabelOption = None
    seat: options.SeatOption = None
    extension: options.ExtensionOption = None

    def added_to(self, request: RunRequest, *scenarios: str) -> RunRequest:
        """Return a request with these options; the files of the scenarios are remembered as the user's."""
        return replace(request, seat=self.seat, additions=additions(self.extension, scenarios), label=self.label)
