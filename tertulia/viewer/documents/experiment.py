"""An experiment for the viewer: its design, how far it is, and the conversations behind each of its figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, StorageError, nearest_hint
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.experiment_progress import notes_of, progress_document, read_progress
from tertulia.viewer.documents.measures import offered_measures
from tertulia.views.reading.run_lines import RunLine, run_lines

if TYPE_CHECKING:
    from tertulia.lab.experiments.experiment import Experiment
    from tertulia.lab.experiments.reached import Progress

#: Conversations behind a figure that are listed.
_LISTED = 400


def experiments_page(store: SqlStore) -> Document:
    """Return all experiments, newest first, those without a run too, and how far each is.

    An unreadable definition is replaced by its name and the `error`.
    """
    from tertulia.lab.experiments.listing import listed_experiment

    listed: list[Document] = []
    for record in store.experiments.all():
        try:
            listed.append(listed_experiment(store, record) | {"error": None})
        except StorageError as error:
            listed.append({"experiment": record.experiment, "error": str(error)})
    return {"schema_version": SCHEMA_VERSION, "experiments": listed}


def experiment_page(store: SqlStore, name: str) -> Document:
    """Return the design of an experiment and how far it is; its figures are documents of their own.

    Raises:
        NotFoundError: There is none of that name.
        StorageError: Its definition can't be read, as a newer version may have written it.
    """
    from tertulia.lab.experiments.axes import axes_of, differing

    reached = read_progress(store, name)
    experiment, runs = reached.experiment, reached.runs
    first = {setting: run for (_, setting, _), run in reversed([*runs.items()])}

    def actual(setting: str, parameter: str) -> Any:
        return first[setting].parameters.get(parameter) if setting in first else None

    own = differing(experiment)
    common = {key: value for key, value in next(iter(experiment.settings.values())).items() if _is_common(key, own)}
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": name,
        "description": experiment.description,
        "model": experiment.model,
        "rehearsed": any(run.rehearsed for run in runs.values()),
        "cases": list(experiment.cases),
        "trials": experiment.trials,
        "rounds": experiment.rounds,
        "seed": experiment.seed,
        "baseline": experiment.compared_with,
        "common": common,
        "settings": [_setting(reached, setting, own[setting]) for setting in experiment.settings],
        "axes": [axis.model_dump() for axis in axes_of(experiment, actual)],
        "progress": progress_document(store, reached),
        "plan": _plan_document(experiment),
        "notes": notes_of(reached),
        "measures": offered_measures(),
        **_beside(store, name),
    }


def trials_page(store: SqlStore, name: str, query: Mapping[str, str]) -> Document:
    """Return the conversations behind a figure: those of a setting and case, or of all cases, beside the baseline's.

    Raises:
        NotFoundError: There is no such experiment, setting or case.
    """
    reached = read_progress(store, name)
    experiment = reached.experiment
    setting, case = query.get("setting", ""), query.get("case") or None
    if setting not in experiment.settings:
        hint = nearest_hint(setting, [*experiment.settings])
        raise NotFoundError(f"experiment {name!r} has no setting {setting!r}{hint}")
    if case is not None and case not in experiment.cases:
        raise NotFoundError(f"experiment {name!r} has no case {case!r}{nearest_hint(case, [*experiment.cases])}")
    baseline = experiment.compared_with
    places = [p for p in experiment.places() if p[1] == setting and case in (None, p[0]) and p in reached.runs]
    shown = {place: reached.runs[place] for place in places[:_LISTED]}
    beside = {place: reached.runs.get((place[0], baseline, place[2])) for place in shown}
    lines = run_lines(store, [run.run for run in shown.values()])
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": name,
        "setting": setting,
        "case": case,
        "baseline": baseline,
        "trials": [
            _trial_document(place, run, lines.get(run.run), beside[place] if setting != baseline else None)
            for place, run in shown.items()
        ],
        "more": len(places) - len(shown),
    }


def _trial_document(
    place: tuple[str, str, int], run: RunRecord, line: RunLine | None, beside: RunRecord | None
) -> Document:
    return {
        "case": place[0],
        "trial": place[2],
        "run": run.run,
        "status": run.status,
        "turns": run.turns,
        "speaker": None if line is None else line.speaker,
        "first_line": None if line is None else line.text,
        "beside": None if beside is None else beside.run,
    }


# --- the design ------------------------------------------------------------------------------------------------------


def _is_common(parameter: str, own: Mapping[str, Mapping[str, Any]]) -> bool:
    from tertulia.state.parameters import ALIASES

    return not any(ALIASES.get(parameter, parameter) in values for values in own.values())


def _setting(reached: "Progress", setting: str, own: Mapping[str, Any]) -> Document:
    runs = [run for (_, of_setting, _), run in reached.runs.items() if of_setting == setting]
    return {
        "setting": setting,
        "parameters": dict(own),
        "finished": sum(run.status == "finished" for run in runs),
        "failed": sum(run.status == "failed" for run in runs),
    }


def _plan_document(experiment: "Experiment") -> Document:
    """Return the plan's digest and text, and the departures of the experiment from the plan."""
    import yaml

    from tertulia.lab.experiments.plan import departures, plan_digest, plan_of

    if not experiment.plan:
        return {"digest": None, "text": None, "departures": departures("", "")}
    planned, now = yaml.safe_load(experiment.plan), yaml.safe_load(plan_of(experiment))
    of_report = planned if isinstance(planned, dict) else {}  # a report names departures that only it can have
    changed = departures(experiment.plan, yaml.safe_dump({**of_report, **now}, allow_unicode=True))
    return {"digest": plan_digest(experiment.plan), "text": experiment.plan, "departures": changed}


def _beside(store: SqlStore, name: str) -> Document:
    """Return the names of the control of an experiment, and of the experiment that it is the control of."""
    from tertulia.lab.experiments.controls import control_name, controlled_name

    known = {record.experiment for record in store.experiments.all()}
    control, controlled = control_name(name), controlled_name(name)
    return {
        "control": control if control in known else None,
        "control_of": controlled if controlled in known else None,
    }
