"""`--diversity`: calibrate λ for a level of diversity, before a conversation is steered to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import model_access, print_note
from tertulia.cli.opening import open_embedding_model
from tertulia.cli.terminal.output import plain, progress
from tertulia.cli.terminal.status_line import StatusLine, status_line
from tertulia.runs.access.named_files import files_named, folder_of_store, require_files
from tertulia.runs.driving.events import Event, RunEnded, TurnFinished
from tertulia.runs.planning.request import DEFAULT_MODEL, RunRequest
from tertulia.state.errors import SettingError, StoppedError, UsageError
from tertulia.state.language_model import EMBEDDER
from tertulia.state.records import RunRecord
from tertulia.state.setpoint import DiversityMetric, Setpoint
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.runs.driving.limits import Limits

_METRICS: tuple[DiversityMetric, ...] = get_args(DiversityMetric)

DiversityOption = Annotated[
    str | None,
    typer.Option(
        "--diversity",
        metavar="X",
        help="Instead of λ: the diversity that is wanted, a figure of the metric, or low, medium or high. λ is "
        "calibrated for it by a pilot first, and steered in the course of the conversation (docs/diversity.md).",
    ),
]
MetricOption = Annotated[
    str,
    typer.Option("--diversity-metric", metavar="NAME", help="Of --diversity: dist1, dist2, dist3 or sim."),
]
PilotOption = Annotated[
    int, typer.Option("--pilot", metavar="N", help="Of --diversity: the pilot's conversations at each of five λ.")
]


def read_metric(name: str) -> DiversityMetric:
    """Return the metric of that name, or raise `SettingError`."""
    for metric in _METRICS:
        if metric == name:
            return metric
    raise SettingError("diversity_metric", name, f": it is one of {', '.join(_METRICS)}")


@dataclass(frozen=True)
class SteeringOptions:
    """The level of diversity that is asked for, its metric, and the pilot's conversations at each λ."""

    diversity: DiversityOption = None
    diversity_metric: MetricOption = "dist3"
    pilot: PilotOption = 4

    @property
    def is_asked(self) -> bool:
        """Whether a level is asked for."""
        return self.diversity is not None


def steered_fork(
    store: SqlStore,
    parent: RunRecord,
    request: RunRequest,
    steering: SteeringOptions,
    limits: "Limits",
    with_code: Sequence[str] | None,
) -> RunRequest:
    """Return the request of a fork that is steered to a level (see `steered`).

    A parent that is steered by this metric has a calibration; else its scenario is calibrated.

    Raises:
        TrustError: The scenario is a file that only the store names.
    """
    from tertulia.lab.experiments.setpoint import pilot_settings, setpoint_of

    model = request.model or parent.model
    known = setpoint_of(parent, read_metric(steering.diversity_metric), model)
    if known is None:
        named_by = f"run {parent.run} of {store.path}"
        files = files_named([parent.scenario], {})
        require_files(files, named_by, folder_of_store(store.path), request.additions.trust)
    piloted = replace(request, settings=pilot_settings(parent, request.settings), model=model)
    found = steered(store, parent.scenario, piloted, steering, limits, with_code, known)
    return replace(request, settings={**request.settings, **found})


def steered(
    store: SqlStore,
    scenario: str,
    request: RunRequest,
    steering: SteeringOptions,
    limits: "Limits",
    with_code: Sequence[str] | None = None,
    setpoint: Setpoint | None = None,
) -> dict[str, Any]:
    """Return the settings of a conversation that is steered to a level; run the pilot first if there is no calibration.

    Raises:
        TertuliaError: λ can't be steered there, or no λ gives the level; the message has the range.
        typer.Exit: The pilot was interrupted; the same command goes on with it.
    """
    from tertulia.lab.experiments.running import InProcessExecutor
    from tertulia.lab.experiments.setpoint import (
        CalibrationTask,
        Pilot,
        calibrate,
        calibration_lines,
        known_calibration,
        read_asked,
        steering_settings,
    )

    if request.removal_factor is not None or {"removal_factor", "lambda"} & request.settings.keys():
        raise UsageError("--diversity chooses λ, and --lambda sets it; leave one of the two out")
    level, model = read_asked(steering.diversity or ""), request.model or DEFAULT_MODEL
    metric, added = read_metric(steering.diversity_metric), request.additions
    task = CalibrationTask(scenario, request.settings, model, metric, Pilot(steering.pilot), added)
    if setpoint is None and (setpoint := known_calibration(store, task)) is None:
        plan = task.plan()
        pilot = task.fitted_pilot(plan)
        progress().print(
            plain(f"calibrating λ: {len(pilot.removal_factors)} × {pilot.trials} conversations", "dim"), highlight=False
        )
        named, asked = request.settings.get("embedder"), plan.parameters.embedder or EMBEDDER
        embed = open_embedding_model(named, asked).embed if task.metric == "sim" else None
        with exit_when_interrupted(), status_line("calibrating λ") as line:
            shown = PilotProgress(line, pilot.utterances)
            access = model_access(line, [model], with_code)
            executor = InProcessExecutor(store, access, added, limits)
            try:
                setpoint = calibrate(store, task, executor, shown.event, embed)
            except StoppedError as error:
                progress().print(plain(f"{error}, while λ was calibrated; the same command goes on with that"))
                raise
    for text in calibration_lines(setpoint):
        progress().print(plain(text, "dim"), highlight=False)
    return steering_settings(setpoint, level)


class PilotProgress:
    """Shows the progress of a pilot, of at most so many utterances if that is known."""

    def __init__(self, line: StatusLine, utterances: int | None = None) -> None:
        self._line, self._spoken = line, 0
        self._of = "" if utterances is None else f" of at most {utterances}"

    def event(self, event: Event) -> None:
        """Show an event."""
        match event:
            case TurnFinished():
                self._spoken += 1
                self._line.show(f"calibrating λ: utterance {self._spoken}{self._of}")
            case RunEnded() if event.status == "failed":
                with self._line.pause():
                    print_note(f"run {event.run} failed: {event.error}")
