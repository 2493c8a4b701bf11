"""Runs as MLflow's: a folder that MLflow opens, with an experiment, and a run in it for each of ours.

| in MLflow | of the run |
|---|---|
| experiment | the experiment that the run is a trial of, else `tertulia` |
| parameters | its parameters, scenario, model and seed; in an experiment its setting, case and trial |
| metrics | its figures (`RecordedRun.figures`), its costs, and by turn (`step`) the removals |
| tags, artifact | its id, kind and label; `transcript.md` |

Written without MLflow, whose file store it is: a file per value. Ids follow from our names, so that runs can be added
to a folder, and the same run is the same. Numbers that a run does not have are left out.

Source: MLflow 3.17, `mlflow.store.tracking.file_store`; it opens such a folder if MLFLOW_ALLOW_FILE_STORE is `true`,
and `mlflow migrate-filestore` makes a database of it.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tertulia.lab.exports.folder_file import FolderFile
from tertulia.lab.exports.recorded import RecordedRun
from tertulia.state.documents import Document
from tertulia.views.wording.transcript import transcript

#: MLflow's numbers of statuses.
_STATUS = {"running": 1, "finished": 3, "failed": 4, "interrupted": 5}

#: Characters of a parameter and of a tag that MLflow takes.
_PARAMETER, _TAG = 6000, 8000


def tracking_files(runs: Sequence[RecordedRun], folder: Path) -> Iterator[FolderFile]:
    """Yield the files of a folder with these runs.

    Args:
        folder: The folder, which its files name as an absolute address.
    """
    known: set[str] = set()
    for run in runs:
        name = run.run.trial.experiment if run.run.trial else "tertulia"
        experiment = _experiment_id(name)
        place = f"{experiment}/{_run_id(run.run.run)}"
        if experiment not in known:
            known.add(experiment)
            yield FolderFile(f"{experiment}/meta.yaml", [_experiment(name, experiment, run, folder)], is_shared=True)
        yield FolderFile(f"{place}/meta.yaml", [_meta(run, experiment, folder / place)])
        for parameter, value in _parameters(run).items():
            yield FolderFile(f"{place}/params/{parameter}", [_text(value)[:_PARAMETER]])
        for metric, points in _metrics(run).items():
            yield FolderFile(f"{place}/metrics/{metric}", points)
        for tag, text in _tags(run).items():
            yield FolderFile(f"{place}/tags/{tag}", [text[:_TAG]])
        lines = (f"{line}\n" for line in transcript(run.store, run.run, run.start, False))
        yield FolderFile(f"{place}/artifacts/transcript.md", lines)


def _experiment_id(name: str) -> str:
    """Return the id of an experiment: 18 digits, as MLflow has them."""
    number = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest())
    return str(10**17 + number % (9 * 10**17))


def _run_id(run: str) -> str:
    return hashlib.blake2b(run.encode(), digest_size=16).hexdigest()


def _experiment(name: str, id: str, run: RecordedRun, folder: Path) -> str:
    created = _milliseconds(run.created.timestamp())
    return _yaml(
        {
            "artifact_location": (folder / id).as_uri(),
            "creation_time": created,
            "experiment_id": id,
            "last_update_time": created,
            "lifecycle_stage": "active",
            "name": name,
        }
    )


def _meta(run: RecordedRun, experiment: str, place: Path) -> str:
    ends = [call.ends for calls in run.calls().values() for call in calls]
    begin = run.created.timestamp()
    return _yaml(
        {
            "artifact_uri": (place / "artifacts").as_uri(),
            "end_time": None if run.run.status == "running" else _milliseconds(max(ends, default=begin)),
            "entry_point_name": "",
            "experiment_id": experiment,
            "lifecycle_stage": "active",
            "run_id": _run_id(run.run.run),
            "run_name": run.run.run,
            "source_name": "tertulia",
            "source_type": 4,  # local
            "source_version": "",
            "start_time": _milliseconds(begin),
            "status": _STATUS[run.run.status],
            "tags": [],
            "user_id": "",
        }
    )


def _yaml(document: Document) -> str:
    return yaml.safe_dump(document, allow_unicode=True)


def _parameters(run: RecordedRun) -> dict[str, object]:
    record = run.run
    named = {"scenario": record.scenario, "model": record.model, "embedder": record.embedder, "seed": record.seed}
    place = {name: value for name, value in run.place().items() if name != "experiment"}
    values = {**record.parameters, **named, **place}
    return {name: value for name, value in values.items() if value is not None}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _metrics(run: RecordedRun) -> dict[str, list[str]]:
    """Return the points of each metric as lines: milliseconds, value, and step: the turn, or 0 of the whole run."""
    at = _milliseconds(run.created.timestamp())
    calls = [timed.call for of_round in run.calls().values() for timed in of_round]
    whole = {
        **run.figures,
        "turns": run.run.turns,
        "calls": len(calls),
        "prompt_tokens": sum(call.prompt_tokens or 0 for call in calls),
        "reply_tokens": sum(call.reply_tokens or 0 for call in calls),
        "model_seconds": sum(call.seconds or 0.0 for call in calls),
    }
    points = {metric: [f"{at} {value} 0\n"] for metric, value in whole.items()}
    for line in run.lines():
        record, chosen = line.details.record, line.chosen
        by_turn = {
            "removed_units": len(line.details.removed) if record.scores is not None else None,
            "removal_factor_reached": line.details.removal_factor_reached,
            "rollbacks": record.rollbacks if record.scores is not None else None,
            "inconsistency": chosen.inconsistency if chosen else None,
        }
        for metric, value in by_turn.items():
            if value is not None:
                name = f"{line.part or 'turn'}.{metric}"
                points.setdefault(name, []).append(f"{at} {value} {line.turn}\n")
    return points


def _tags(run: RecordedRun) -> dict[str, str]:
    record = run.run
    tags = {
        "mlflow.runName": record.run,
        "tertulia.run": record.run,
        "tertulia.kind": record.kind,
        "tertulia.rehearsed": str(record.rehearsed).lower(),
        "tertulia.label": record.label,
        "tertulia.parent": f"{record.parent[0]}@{record.parent[1]}" if record.parent else None,
        "tertulia.ended_by": record.ended_by,
        "tertulia.error": record.error,
    }
    return {name: text for name, text in tags.items() if text}


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
