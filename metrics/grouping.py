"""Group the dialogues of stored runs, for figures by case or by the value of a setting."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from metrics.diversity import Dialogue
from state.errors import UsageError, nearest_hint
from state.parameters import ALIASES, SETTABLE
from state.records import RunRecord, Turn

#: What runs can be grouped by besides parameters: fields of their record.
RECORD_FIELDS = ("scenario", "seed", "model", "embedder")


def dialogue_of(turns: Iterable[Turn]) -> Dialogue:
    """Return the utterances of a run as pairs of speaker and text, without recorded silences."""
    return [(turn.speaker, turn.text) for turn in turns if turn.speaker is not None]


def group_dialogues(
    runs: Iterable[tuple[RunRecord, Sequence[Turn]]], key: Callable[[RunRecord], Any]
) -> dict[Any, dict[str, list[Dialogue]]]:
    """Return the dialogues of runs by a key, and within it by case: the figures of a group are means over its cases.

    Args:
        runs: The record and the turns of each run. Runs of the same scenario are of the same case.
        key: Returns the group of a run, such as `value_of(run, "lambda")`.

    Returns:
        By group, in ascending order where all keys are numbers and else as they first occur, the dialogues by case, as
        `metrics.diversity.figures_of` takes them.

    Raises:
        UsageError: Nobody speaks in a run.
    """
    groups: dict[Any, dict[str, list[Dialogue]]] = {}
    for run, turns in runs:
        dialogue = dialogue_of(turns)
        if not dialogue:
            raise UsageError(f"nobody speaks in run {run.run}; leave it out")
        groups.setdefault(key(run), {}).setdefault(run.scenario, []).append(dialogue)
    if all(isinstance(value, int | float) for value in groups):
        return dict(sorted(groups.items()))
    return groups


def value_of(run: RunRecord, name: str) -> Any:
    """Return the value that a run has for a setting.

    Args:
        run: The run.
        name: A parameter by name or alias (`lambda`), or one of `RECORD_FIELDS`.

    Returns:
        The value, as JSON has it; `None` for a parameter that did not exist when the run was made.

    Raises:
        UsageError: There is no such setting.
    """
    if name in RECORD_FIELDS:
        return getattr(run, name)
    if name not in SETTABLE:
        known: Sequence[str] = (*SETTABLE, *RECORD_FIELDS)
        raise UsageError(f"unknown parameter {name!r}{nearest_hint(name, known)}; group by a parameter, seed or model")
    parameters: Mapping[str, Any] = run.parameters
    return parameters.get(ALIASES.get(name, name))
