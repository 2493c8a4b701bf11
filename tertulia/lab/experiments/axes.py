"""Differences between the settings of an experiment, and the parameters along which its figures can be drawn."""

from collections.abc import Callable, Mapping
from typing import Any

from tertulia.lab.experiments.experiment import Experiment
from tertulia.state.parameters import ALIASES
from tertulia.state.records import Record

#: The parameter along which figures are drawn if it differs.
_FIRST = "removal_factor"

#: The value of a parameter that a setting does not name.
_NONE = object()


class Axis(Record):
    """A numeric parameter that differs between settings.

    Attributes:
        parameter: Its name.
        values: Its value in every setting that has a number for it.
        series: By setting, its other parameters; settings in which they are the same are one line.
    """

    parameter: str
    values: dict[str, float]
    series: dict[str, str]


def differing(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Return by setting the parameters that not all settings give the same value, under their own names."""
    named = {
        setting: {ALIASES.get(name, name): value for name, value in values.items() if value is not None}
        for setting, values in experiment.settings.items()
    }
    names = dict.fromkeys(name for values in named.values() for name in values)
    first = next(iter(named.values()))
    shared = {
        name for name in names if all(values.get(name, _NONE) == first.get(name, _NONE) for values in named.values())
    }
    return {
        setting: {name: value for name, value in values.items() if name not in shared}
        for setting, values in named.items()
    }


def axes_of(experiment: Experiment, actual: Callable[[str, str], Any] = lambda setting, parameter: None) -> list[Axis]:
    """Return the axes of an experiment, λ first, then those with more values.

    Args:
        actual: The value that a setting's conversations have of a parameter that the setting does not name, as far as
            it is known: a default of the scenario or the program.
    """
    settings = differing(experiment)
    numeric = dict.fromkeys(name for values in settings.values() for name, value in values.items() if _is_number(value))
    axes = [_axis(name, settings, actual) for name in numeric]
    drawn = [axis for axis in axes if len(set(axis.values.values())) > 1]
    return sorted(drawn, key=lambda axis: (axis.parameter != _FIRST, -len(set(axis.values.values()))))


def _axis(parameter: str, settings: Mapping[str, Mapping[str, Any]], actual: Callable[[str, str], Any]) -> Axis:
    values = {
        setting: value
        for setting, given in settings.items()
        if _is_number(value := given.get(parameter, actual(setting, parameter)))
    }
    series = {
        setting: ", ".join(
            f"{name}={value_in_words(value)}" for name, value in sorted(settings[setting].items()) if name != parameter
        )
        for setting in values
    }
    return Axis(parameter=parameter, values=values, series=series)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_in_words(value: object) -> str:
    """Return the value of a parameter as the name of a setting has it: `0.5`, `on`, `minilm`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
