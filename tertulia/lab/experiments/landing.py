"""Measure whether conversations reach the diversity that they are asked for: steered, and at a fixed λ.

For each case λ is calibrated. Then, at each level that is asked for, conversations of other seeds than the pilot's are
held in three ways: steered; at the λ that the calibration has for the level; and at λ as a user without a calibration
would guess it (low 0.25, medium 0.5, high 0.75).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import mean, stdev

from tertulia.lab.experiments.calibration import figure_of, parts_of
from tertulia.lab.experiments.evidence import Figure
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import TrialRun, read_results
from tertulia.lab.experiments.running import Executor, run_experiment
from tertulia.lab.experiments.setpoint import (
    CalibrationTask,
    calibrate,
    decision_line,
    pilot_dialogue,
    seed_of,
    steering_settings,
)
from tertulia.metrics.legibility import Embed
from tertulia.runs.driving.events import Emit
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import SettingError
from tertulia.state.setpoint import LEVELS, DiversityMetric, Setpoint
from tertulia.state.text import number
from tertulia.storage.store import SqlStore

#: How λ is found.
WAYS = ("steered", "calibrated", "guessed")

#: A figure counts as reached within this distance of the asked one.
_TOLERANCE = 0.03


@dataclass(frozen=True)
class Landing:
    """The outcome of conversations of a case that were asked for a level (`LEVELS`) in one way (`WAYS`).

    Attributes:
        asked: The figure of the level.
        reached: The figure over the conversations; `None` with fewer than three.
        error: Its standard error, by the jackknife over conversations.
        removal_factor: The mean λ of their utterances.
        inconsistency: The mean of the judge's figures of chosen candidates; `None` if nothing was judged.
        rollbacks: Backups that were taken, for each utterance.
        trials: How many conversations finished.
    """

    case: str
    level: str
    way: str
    asked: float
    reached: float | None
    error: float | None
    removal_factor: float | None
    inconsistency: float | None
    rollbacks: float | None
    trials: int

    @property
    def missed(self) -> float | None:
        """By how much the figure is above the asked one."""
        return None if self.reached is None else self.reached - self.asked


@dataclass(frozen=True)
class CaseLanding:
    """The landings of a case by level and way, and its calibration.

    There are none if λ reaches no range; `refused` says why. `failed` counts conversations that failed: the same call
    runs them again.
    """

    case: str
    setpoint: Setpoint
    refused: str | None
    landings: tuple[Landing, ...]
    failed: int = 0


def land(
    store: SqlStore,
    task: CalibrationTask,
    levels: Sequence[str],
    trials: int,
    executor: Executor,
    emit: Emit,
    embed: Embed | None = None,
) -> CaseLanding:
    """Calibrate a case, and return the outcome of conversations of it; those in the store are not run again.

    Args:
        levels: Of `state.setpoint.LEVELS`.
        trials: Conversations at each level in each way; the metric is over groups as large as the pilot's.
        embed: For sim, returns the vectors of texts.

    Raises:
        SettingError: A level has another name.
        TertuliaError: λ can't be calibrated for the case, or conversations of the pilot failed: once they have been run
            again, the figures of a level would differ.
    """
    for level in levels:
        if level not in LEVELS:
            raise SettingError("levels", level, f": they are {', '.join(LEVELS)}")
    setpoint = calibrate(store, task, executor, emit, embed, least=task.pilot.trials)
    try:
        steering = {level: steering_settings(setpoint, level) for level in levels}
    except SettingError as error:
        return CaseLanding(task.scenario, setpoint, str(error), ())
    plan = task.plan()
    pilot = task.experiment(plan)
    changed = {name: value for name, value in pilot.settings["λ = 0"].items() if name != "removal_factor"}
    settings = {}
    for level in levels:
        calibrated = setpoint.removal_factor_for(steering[level]["diversity"])
        settings[f"{level}, steered"] = {**changed, **steering[level]}
        settings[f"{level}, calibrated"] = {**changed, "removal_factor": calibrated}
        settings[f"{level}, guessed"] = {**changed, "removal_factor": LEVELS[level]}
    experiment = Experiment(
        name=f"landing {task.key(plan)}",
        description=f"steered to a diversity: {task.scenario} with {task.model}",
        cases=(task.scenario,),
        settings=settings,
        trials=trials,
        rounds=setpoint.rounds,
        seed=seed_of(plan),
        model=task.model,
    )
    run_experiment(store, experiment, executor, emit)
    results = read_results(store, experiment.name)
    landings = []
    for level in levels:
        for way in WAYS:
            runs = results.of(f"{level}, {way}").get(task.scenario, [])
            asked = float(steering[level]["diversity"])
            place = task.scenario, level, way
            landings.append(_landing(store, runs, place, asked, task.metric, setpoint.trials, embed))
    return CaseLanding(task.scenario, setpoint, None, tuple(landings), results.missing)


def _landing(
    store: SqlStore,
    runs: Sequence[TrialRun],
    place: tuple[str, str, str],
    asked: float,
    metric: DiversityMetric,
    pilot_trials: int,
    embed: Embed | None,
) -> Landing:
    dialogues = [pilot_dialogue(store, trial) for trial in runs]
    reached = error = None
    if len(dialogues) > 2:
        parts = parts_of(over_as_many(figure_of(dialogues, metric, embed), pilot_trials), len(dialogues))
        reached, error = mean(parts), stdev(parts) / sqrt(len(parts))
    records = [store.turn_record(trial.run.run, turn) for trial in runs for turn in range(1, trial.run.turns + 1)]
    factors = [record.removal_factor for record in records if record.removal_factor is not None]
    figures = [figure for dialogue in dialogues for figure in dialogue.inconsistency if figure is not None]
    return Landing(
        *place,
        asked=asked,
        reached=reached,
        error=error,
        removal_factor=mean(factors) if factors else None,
        inconsistency=mean(figures) if figures else None,
        rollbacks=mean(record.rollbacks for record in records) if records else None,
        trials=len(runs),
    )


def over_as_many(figure: Figure, size: int) -> Figure:
    """Return a figure as its mean over groups of `size` neighbours, as dist-N of more dialogues is a smaller figure.

    Each dialogue is in as many groups; the figure is over all if there are no more than `size`.
    """

    def mean_figure(chosen: Sequence[int]) -> float:
        if len(chosen) <= size:
            return figure(chosen)
        around = [*chosen, *chosen[: size - 1]]
        return mean(figure(around[first : first + size]) for first in range(len(chosen)))

    return mean_figure


# --- shown ----------------------------------------------------------------------------------------------------------


def landing_document(cases: Sequence[CaseLanding]) -> Document:
    """Return the figures that conversations reached as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "cases": [
            {
                "case": case.case,
                "setpoint": case.setpoint.model_dump(mode="json"),
                "refused": case.refused,
                "failed": case.failed,
                "landings": [asdict(landing) | {"missed": landing.missed} for landing in case.landings],
            }
            for case in cases
        ],
    }


def landing_page(cases: Sequence[CaseLanding]) -> list[str]:
    """Return the figures that conversations reached as Markdown: by case, by way over all, and the pilots' evidence."""
    lines = [
        "| case | level | way | asked | reached (s.e.) | off by | mean λ | inconsistency | rolled back | n |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(landing) for case in cases for landing in case.landings]
    lines += ["", "| way | mean miss | mean absolute miss | within 0.03 |", "|---|---|---|---|", *_over_all(cases)]
    lines += ["", "Pilots:", "", *(f"* {case.case}: {decision_line(case.setpoint)}" for case in cases)]
    refused = [f"* {case.case}: {case.refused}" for case in cases if case.refused is not None]
    return [*lines, *(["", "Where nothing could be asked for:", "", *refused] if refused else [])]


def _row(landing: Landing) -> str:
    reached = "–" if landing.reached is None else f"{landing.reached:.3f} ({landing.error:.3f})"
    missed = "–" if landing.missed is None else f"{landing.missed:+.3f}"
    shares = [number(value, 2) for value in (landing.removal_factor, landing.inconsistency, landing.rollbacks)]
    cells = [landing.case, landing.level, landing.way, f"{landing.asked:.3f}", reached, missed, *shares, landing.trials]
    return f"| {' | '.join(map(str, cells))} |"


def _over_all(cases: Sequence[CaseLanding]) -> Iterator[str]:
    for way in WAYS:
        landings = [landing for case in cases for landing in case.landings if landing.way == way]
        missed = [landing.missed for landing in landings if landing.missed is not None]
        if missed:
            within = sum(abs(miss) <= _TOLERANCE for miss in missed)
            yield f"| {way} | {mean(missed):+.3f} | {mean(map(abs, missed)):.3f} | {within} of {len(missed)} |"
