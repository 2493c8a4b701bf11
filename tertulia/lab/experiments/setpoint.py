"""Asking for a diversity: λ is calibrated by a pilot of the scenario, which is stored and not run again.

The pilot is an experiment: a few conversations at each of a few λ. A level asks for the metric over as many
conversations, of as many utterances, as the pilot has at one λ: dist-N of more, or of longer ones, is another figure.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tertulia.lab.experiments.calibration import LEAST_DIALOGUES, PilotDialogue, fit_setpoint
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results, TrialRun, read_results
from tertulia.lab.experiments.running import Executor, run_experiment
from tertulia.metrics.legibility import Embed
from tertulia.runs.driving.events import Emit
from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import RunPlan, plan_run
from tertulia.state.case_seed import case_seed_of
from tertulia.state.errors import ModelError, SettingError, UsageError
from tertulia.state.parameters import ALIASES, Parameters
from tertulia.state.records import RunRecord
from tertulia.state.setpoint import LEVELS, DiversityMetric, Setpoint
from tertulia.state.text import counted
from tertulia.storage.store import SqlStore

#: Grows when the method of calibration changes, so that stored calibrations are made again, of the same conversations.
_VERSION = 2

#: The parts of a pilot's name, whatever its metric and its number of trials, so that a smaller one goes on.
_PILOT_VERSION, _PILOT_TRIALS = 1, 4

#: The seeds of pilots and landings, far from those that people choose.
_PILOT_SEED, _LANDING_SEED, _SEEDS = 700_001, 500_001, 1_000_000

#: Parameters that say nothing of how λ acts: λ, its target, the length of a conversation, its seat, and server
#: requests.
_NOT_CALIBRATED = {
    *("removal_factor", "diversity", "setpoint", "max_turns", "seat", "record_scores", "preset", "label"),
    *("request_timeout_s", "max_retries", "max_concurrency", "requests_per_minute"),
}

#: Parameters of a run that follow from its scenario, and can't be set for another kind.
_OF_THE_RUN = {"order", "agents", "setting", "villagers", "pictures", "case_seed", "language"}

#: Parameters that are written by dotted names.
_DOTTED = {"nodes", "node_settings"}


@dataclass(frozen=True)
class Pilot:
    """The conversations by which λ is calibrated: at least 3 trials at each λ, of at most so many rounds."""

    trials: int = 4
    rounds: int = 6
    removal_factors: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    @property
    def utterances(self) -> int:
        """The most utterances in all."""
        return len(self.removal_factors) * self.trials * self.rounds


@dataclass(frozen=True)
class CalibrationTask:
    """A metric to calibrate, for a scenario as `tertulia run` takes it, with parameters over its own."""

    scenario: str
    settings: Mapping[str, Any]
    model: str
    metric: DiversityMetric = "dist3"
    pilot: Pilot = Pilot()
    additions: Additions = NOTHING_ADDED

    def plan(self) -> RunPlan:
        """Return the plan of a conversation, and refuse one in which λ can't be steered.

        Raises:
            TertuliaError: There is no such scenario, it can't be run like that, or λ can't be steered in it.
        """
        settings = {ALIASES.get(name, name): value for name, value in self.settings.items()}
        settings = {name: value for name, value in settings.items() if name not in _NOT_CALIBRATED - {"max_turns"}}
        plan = plan_run(self.scenario, RunRequest(settings, model=self.model, additions=self.additions))
        if plan.start.kind == "album_chat":
            raise UsageError(
                f"{self.scenario} is an album chat, whose exchanges are held side by side: λ can't be steered in the "
                "course of one; give --lambda"
            )
        plan.parameters.check_steerable()
        if self.pilot.trials < LEAST_DIALOGUES:
            raise SettingError(
                "pilot", self.pilot.trials, f": at each λ there must be at least {LEAST_DIALOGUES} conversations"
            )
        return plan

    def fitted_pilot(self, plan: RunPlan) -> Pilot:
        """Return the pilot with no more rounds than the conversation is to have."""
        return Pilot(self.pilot.trials, min(self.pilot.rounds, plan.parameters.max_turns), self.pilot.removal_factors)

    def key(self, plan: RunPlan) -> str:
        """Return the digest under which the calibration is stored: model, content of the scenario, and parameters."""
        return self._digest(plan, _VERSION, self.metric, self.fitted_pilot(plan))

    def _digest(self, plan: RunPlan, version: int, metric: DiversityMetric, pilot: Pilot) -> str:
        parameters = plan.parameters.model_dump(mode="json", exclude=_NOT_CALIBRATED)
        described = {
            "version": version,
            "model": self.model,
            "start": case_seed_of(plan.start),
            "parameters": parameters,
            "metric": metric,
            "pilot": asdict(pilot),
        }
        written = json.dumps(described, sort_keys=True, default=str)
        return hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    def smaller(self) -> Iterator["CalibrationTask"]:
        """Yield the tasks of all smaller pilots, whose conversations are among those of this one."""
        for trials in range(LEAST_DIALOGUES, self.pilot.trials):
            yield replace(self, pilot=replace(self.pilot, trials=trials))

    def experiment(self, plan: RunPlan) -> Experiment:
        """Return the pilot as an experiment; one of another metric, or a larger one, has the same conversations."""
        pilot = self.fitted_pilot(plan)
        bare = plan_run(self.scenario, RunRequest(model=self.model, additions=self.additions))
        changed = dict(_changed(bare.parameters, plan.parameters))
        name = self._digest(plan, _PILOT_VERSION, "dist3", replace(pilot, trials=_PILOT_TRIALS))
        return Experiment(
            name=f"pilot {name}",
            description=f"calibrates λ for {self.scenario} with {self.model}",
            cases=(self.scenario,),
            settings={f"λ = {factor:g}": {**changed, "removal_factor": factor} for factor in pilot.removal_factors},
            trials=pilot.trials,
            rounds=pilot.rounds,
            seed=seed_of(plan, _PILOT_SEED),
            model=self.model,
        )


def seed_of(plan: RunPlan, first: int = _LANDING_SEED) -> int:
    """Return the first seed of conversations that are held to measure λ.

    It follows from the scenario's content: an edited file has other conversations than those that the store may have.
    """
    return case_seed_of(plan.start) * _SEEDS + first


def _changed(bare: Parameters, wanted: Parameters) -> Iterator[tuple[str, Any]]:
    """Yield the parameters by name that are other than the scenario's, as an experiment's settings have them."""
    for name in type(wanted).model_fields:
        if name not in _NOT_CALIBRATED | _DOTTED and getattr(wanted, name) != getattr(bare, name):
            yield name, getattr(wanted, name)
    yield from ((f"nodes.{place}", node) for place, node in wanted.nodes.items() if bare.nodes.get(place) != node)
    for owner, settings in wanted.node_settings.items():
        of_bare = bare.node_settings.get(owner, {})
        yield from ((f"{owner}.{key}", value) for key, value in settings.items() if of_bare.get(key) != value)


# --- calibrations ---------------------------------------------------------------------------------------------------


def known_calibration(store: SqlStore, task: CalibrationTask) -> Setpoint | None:
    """Return the calibration that a store has; `None` if the pilot, or its failed trials, have to be run first."""
    plan = task.plan()
    curve = store.experiments.calibration(task.key(plan))
    if curve is None or any(
        run.status != "finished" and run.trial is not None and run.trial.trial <= task.pilot.trials
        for run in store.runs(experiment=task.experiment(plan).name)
    ):
        return None
    return Setpoint.model_validate(curve)


def calibrate(
    store: SqlStore,
    task: CalibrationTask,
    executor: Executor,
    emit: Emit,
    embed: Embed | None = None,
    least: int = LEAST_DIALOGUES,
) -> Setpoint:
    """Return the calibration of λ; if the store has none, run the missing trials of the pilot, and store it.

    Conversations that failed are run again each time. Until all have finished nothing is stored, and λ is calibrated by
    the others, as long as each λ has at least `least` of them. For sim, `embed` returns the vectors of texts.

    Raises:
        UsageError: λ can't be steered there.
        ModelError: Too many of the pilot's conversations failed.
        KeyboardInterrupt: It was interrupted; run again, it continues.
    """
    if (known := known_calibration(store, task)) is not None:
        return known
    plan = task.plan()
    experiment = task.experiment(plan)
    run_experiment(store, experiment, executor, emit)
    results = read_results(store, experiment)
    _check_failures(results, least)
    dialogues = [pilot_dialogue(store, trial) for trial in results.runs]
    looks = sum(_was_refused(store, smaller, plan) for smaller in task.smaller())
    setpoint = fit_setpoint(dialogues, task.metric, task.fitted_pilot(plan).rounds, embed, looks)
    if not results.missing:
        store.experiments.save_calibration(task.key(plan), task.metric, setpoint.model_dump(mode="json"))
    return setpoint


def _was_refused(store: SqlStore, task: CalibrationTask, plan: RunPlan) -> bool:
    """Whether a store has this pilot, and it did not show that λ moves the metric."""
    curve = store.experiments.calibration(task.key(plan))
    return curve is not None and not Setpoint.model_validate(curve).evidence.is_shown


def _check_failures(results: Results, least: int) -> None:
    """Refuse a pilot that has too few conversations at a λ because others failed."""
    finished = Counter(trial.setting for trial in results.runs)
    if results.missing and any(finished[setting] < least for setting in results.experiment.settings):
        why = f" ({results.failed[0].error})" if results.failed else ""
        of_all = f"{results.missing} of {len(results.runs) + results.missing} conversations"
        raise ModelError(f"{of_all} of the pilot failed{why}; the same command runs them again")


def pilot_dialogue(store: SqlStore, trial: TrialRun) -> PilotDialogue:
    """Return a trial as a dialogue of a pilot, with the judge's figure of the line of each turn."""
    run = trial.run
    spoken = [turn.turn for turn in store.turns(run.run) if turn.speaker is not None]
    figures = []
    for turn in spoken:
        chosen = store.turn_record(run.run, turn).chosen
        of_turn = {candidate.attempt: candidate.inconsistency for candidate in store.candidates(run.run, turn)}
        figures.append(of_turn.get(chosen))
    factor = run.parameters["removal_factor"]
    assert isinstance(factor, int | float)
    return PilotDialogue(float(factor), tuple(trial.dialogue), tuple(figures), trial.trial)


def setpoint_of(run: RunRecord, metric: DiversityMetric, model: str) -> Setpoint | None:
    """Return the calibration that a steered run has; `None` if it has none of that metric, or of another model."""
    setpoint = Parameters.model_validate(run.parameters).setpoint
    return setpoint if setpoint is not None and setpoint.metric == metric and run.model == model else None


def pilot_settings(parent: RunRecord, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a run that is forked with these changes, as a pilot of its scenario has them."""
    of_parent = _changed(Parameters(), Parameters.model_validate(parent.parameters))
    kept = {name: value for name, value in of_parent if name not in _OF_THE_RUN}
    return {**kept, "max_turns": parent.parameters["max_turns"], **chosen}


def read_asked(asked: str) -> float | str:
    """Return the level that is asked for, a figure or one of `LEVELS`.

    Raises:
        SettingError: It is neither.
    """
    if asked in LEVELS:
        return asked
    try:
        return float(asked)
    except ValueError:
        problem = f": give a figure, or {', '.join(LEVELS)}"
        raise SettingError("diversity", asked, problem) from None


def steering_settings(setpoint: Setpoint, asked: float | str) -> dict[str, Any]:
    """Return the parameters of a conversation that is steered to a level.

    Raises:
        SettingError: No λ gives it; the message has the range.
    """
    figure = setpoint.named(asked) if isinstance(asked, str) else asked
    setpoint.check_reachable(figure)
    return {"diversity": figure, "setpoint": setpoint.model_dump_json()}


def calibration_lines(setpoint: Setpoint) -> list[str]:
    """Return a calibration in words, a line each."""
    what = f"{setpoint.metric} over {setpoint.trials} dialogues of at most {setpoint.rounds} utterances"
    curve = zip(setpoint.removal_factors, setpoint.diversity, setpoint.low, setpoint.high, strict=True)
    gain = setpoint.gains[-1]
    tells = (
        f"of a deviation of dist-{setpoint.n} so far from what it should be, {abs(gain):.2f} shows in {setpoint.metric}"
        if gain
        else f"dist-{setpoint.n} so far tells nothing of {setpoint.metric}: λ stays where it is calibrated"
    )
    return [
        f"{what}, by λ, with its 95 % band:",
        *(f"  λ = {factor:g}: {figure:.3f} ({low:.3f}–{high:.3f})" for factor, figure, low, high in curve),
        tells,
        decision_line(setpoint),
    ]


def decision_line(setpoint: Setpoint) -> str:
    """Return in words whether the pilot shows that λ moves the metric, and the levels that may be asked for."""
    least, most = setpoint.reachable
    range_words = f"{least:.3f} to {most:.3f} can be asked for" if setpoint.can_be_asked else "nothing can be asked for"
    evidence = setpoint.evidence
    by = f"{'all' if evidence.is_exact else 'a draw of'} {evidence.permutations} permutations"
    looked = f", as {counted(evidence.looks, 'smaller pilot')} showed nothing" if evidence.looks else ""
    decided = f"λ {'moves' if evidence.is_shown else 'is not shown to move'} {setpoint.metric}"
    tested = f"{decided}: p = {evidence.p:.2g} by {by}, and at most {evidence.level:g} counts{looked}"
    return f"{tested}; {range_words}{evidence.for_rise}"
