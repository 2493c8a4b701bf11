"""Runs as a log of Inspect: a sample per run, with a message per utterance, a span per turn, and every call of a model.

| in the log | of the run |
|---|---|
| `sample.id`, `sample.metadata` | its id; its parameters, and its place in an experiment |
| `sample.messages` | its lines: the first speaker is the user, everybody else the assistant |
| `sample.scores` | its figures (`RecordedRun.figures`), which `results` has as means |
| `sample.events` | a span per turn, and in it a `model` event per call, and `info`: units, scores, candidates |
| `sample.model_usage` | the tokens of its calls; those before a fork are in its parent's sample, events and tokens |

The source of a message is `operator` if a person wrote it, else `generate`.

Written without Inspect, which reads it: as `.eval`, a ZIP file, or as JSON.

Source: Inspect (https://inspect.aisi.org.uk), `inspect_ai.log.EvalLog` of version 2, as of release 0.3.285.
"""

import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from tertulia.lab.exports.recorded import Line, RecordedRun, TimedCall, prompt_messages
from tertulia.metrics.diversity import mean
from tertulia.state.documents import Document
from tertulia.views.reading.documents import leaned_on, parent_document, unit_documents

#: The version of the format, and the name of whatever makes, speaks and measures.
_VERSION, _TOOL = 2, "tertulia"

#: The status of a log, or a sample, that ended like this; the earlier counts for a log of several.
_STATUS = {"failed": "error", "interrupted": "cancelled", "running": "started", "finished": "success"}


def log_document(runs: Sequence[RecordedRun]) -> Document:
    """Return a log with a sample for each run, at least one, each once."""
    samples = [_sample(run) for run in runs]
    return _header(runs, samples) | {"samples": samples}


def log_archive(runs: Sequence[RecordedRun]) -> bytes:
    """Return the same log as the bytes of an `.eval` file."""
    document = log_document(runs)
    samples = document.pop("samples")
    kept = ("id", "epoch", "input", "target", "metadata", "scores", "model_usage", "started_at", "completed_at")
    summaries = [{name: sample[name] for name in kept} | {"completed": True} for sample in samples]
    start = {name: document[name] for name in ("version", "eval", "plan")}
    members: dict[str, Document | list[Document]] = {"_journal/start.json": start}
    members |= {f"samples/{sample['id']}_epoch_{sample['epoch']}.json": sample for sample in samples}
    members |= {"summaries.json": summaries, "header.json": document}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, member in members.items():
            entry = zipfile.ZipInfo(name)  # without a date: the same runs are the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(entry, json.dumps(member, ensure_ascii=False).encode("utf-8", "replace"))
    return archive.getvalue()


# --- the log ----------------------------------------------------------------------------------------------------------


def _header(runs: Sequence[RecordedRun], samples: Sequence[Document]) -> Document:
    first = runs[0]
    models = list(dict.fromkeys(run.run.model for run in runs))
    scenarios = list(dict.fromkeys(run.run.scenario for run in runs))
    experiments = {run.run.trial.experiment if run.run.trial else None for run in runs}
    task = experiments.pop() if len(experiments) == 1 else None
    usage: dict[str, Counter[str]] = {}
    for sample in samples:
        for model, used in sample["model_usage"].items():
            usage.setdefault(model, Counter()).update(used)
    return {
        "version": _VERSION,
        "status": next(status for name, status in _STATUS.items() if any(run.run.status == name for run in runs)),
        "eval": {
            "eval_id": first.run.run,
            "run_id": first.run.run,
            "created": _moment(min(run.created.timestamp() for run in runs)),
            "task": task or (scenarios[0] if len(scenarios) == 1 else _TOOL),
            "task_id": first.run.run,
            "dataset": {"name": ", ".join(scenarios), "samples": len(runs), "sample_ids": [r.run.run for r in runs]},
            "model": ", ".join(models),
            "config": {"epochs": 1},
            "scorers": [{"name": _TOOL}],
            "metadata": {"rehearsed": any(run.run.rehearsed for run in runs)},
        },
        "plan": {"name": "conversation", "steps": [{"solver": f"{_TOOL}/{kind}"} for kind in _kinds(runs)]},
        "results": {"total_samples": len(runs), "completed_samples": len(runs), "scores": _means(samples)},
        "stats": {
            "started_at": _moment(min(run.created.timestamp() for run in runs)),
            "completed_at": max(sample["completed_at"] for sample in samples),
            "model_usage": usage,
        },
    }


def _kinds(runs: Sequence[RecordedRun]) -> list[str]:
    return list(dict.fromkeys(run.run.kind for run in runs))


def _means(samples: Sequence[Document]) -> list[Document]:
    """Return the mean of every figure over the samples that have it."""
    metrics = dict.fromkeys(metric for sample in samples for metric in sample["scores"])
    values = {m: [s["scores"][m]["value"] for s in samples if m in s["scores"]] for m in metrics}
    return [
        {
            "name": metric,
            "scorer": _TOOL,
            "scored_samples": len(found),
            "unscored_samples": len(samples) - len(found),
            "metrics": {"mean": {"name": "mean", "value": mean(found)}},
        }
        for metric, found in values.items()
    ]


def _sample(run: RecordedRun) -> Document:
    lines, calls, record = list(run.lines()), run.calls(), run.run
    made = [call for of_round in calls.values() for call in of_round]
    begins = run.created.timestamp()
    ends = max((call.ends for call in made), default=begins)
    messages = _messages(record.run, lines)
    return {
        "id": record.run,
        "epoch": 1,
        "input": run.situation(),
        "target": "",
        "messages": messages,
        "output": _output(record.model, [messages[-1]["content"]], messages[-1]["source"]),
        "scores": {metric: {"value": value} for metric, value in run.figures.items()},
        "metadata": {
            **record.model_dump(mode="json", exclude={"run", "trial", "parent", "turns"}),
            "parent": parent_document(record),
            **run.place(),
            "turns": len({line.turn for line in lines}),
            "participants": list(run.start.names),
        },
        "events": list(_events(run, lines, calls)),
        "model_usage": _usage(made),
        "started_at": _moment(begins),
        "completed_at": _moment(ends),
        "total_time": ends - begins,
        "working_time": ends - begins,
        "uuid": record.run,
        "error": _error(record.error) if record.status == "failed" else None,
    }


def _messages(run: str, lines: Sequence[Line]) -> list[Document]:
    aloud = [line for line in lines if line.is_aloud]
    return [
        {
            "id": f"{run}-{line.turn}{f'-{line.part}' if line.part else ''}",
            "role": "user" if line.speaker == aloud[0].speaker else "assistant",
            "source": "operator" if line.origin == "by_hand" else "generate",
            "content": line.text,
            "metadata": {
                "speaker": line.speaker,
                "turn": line.turn,
                "origin": line.origin,
                "sim_time_s": line.details.record.turn.sim_time_s,
            },
        }
        for line in aloud
    ]


def _error(message: str | None) -> Document:
    return {"message": message or "the run failed", "traceback": "", "traceback_ansi": ""}


# --- events -----------------------------------------------------------------------------------------------------------


def _events(run: RecordedRun, lines: Sequence[Line], calls: Mapping[int, Sequence[TimedCall]]) -> Iterator[Document]:
    """Yield a span for the preparation, for each turn, and for calls that never came to a turn."""
    begin = now = run.created.timestamp()
    by_turn: dict[int, list[Line]] = {}
    for line in lines:
        by_turn.setdefault(line.turn, []).append(line)
    for number in sorted({*by_turn, *calls}):
        in_turn, made = by_turn.get(number, []), calls.get(number, ())
        now = made[0].begins if made else now
        span = {"span_id": f"{run.run.run}-turn-{number}"}
        name = _name(number, in_turn)
        head = {"event": "span_begin", "id": span["span_id"], "type": "turn", "name": name}
        yield head | span | _at(f"{span['span_id']}-begin", now, begin)
        for place, call in enumerate(made):
            yield _model_event(run, call) | span | _at(f"{span['span_id']}-call-{place}", call.begins, begin)
        now = made[-1].ends if made else now
        for place, line in enumerate(in_turn):
            info = {"event": "info", "source": _TOOL, "data": _making(line)}
            yield info | span | _at(f"{span['span_id']}-line-{place}", now, begin)
        yield {"event": "span_end", "id": span["span_id"]} | span | _at(f"{span['span_id']}-end", now, begin)


def _name(number: int, lines: Sequence[Line]) -> str:
    if not lines:
        return "preparation" if number == 0 else f"round {number}, which did not end"
    speaker = next((line.speaker for line in lines if line.part is None), None)
    return f"turn {number}: {speaker or 'silence'}"


def _at(id: str, moment: float, begin: float) -> Document:
    return {"uuid": id, "timestamp": _moment(moment), "working_start": moment - begin}


def _making(line: Line) -> Document:
    """Return an utterance and how it came about."""
    record = line.details.record
    return {
        **record.turn.model_dump(mode="json"),
        "part": line.part,
        "origin": line.origin,
        "removal_factor": line.details.removal_factor,
        "removal_factor_reached": line.details.removal_factor_reached,
        "leaned_on": leaned_on(line.details),
        "line_scored_by": record.line_scored_by,
        "scored_by": record.scored_by,
        "judged_by": record.judged_by,
        "rollbacks": record.rollbacks,
        "inconsistency": line.chosen.inconsistency if line.chosen else None,
        "candidates": [candidate.text for candidate in line.details.candidates],
        "units": unit_documents(line.details),
    }


def _model_event(run: RecordedRun, timed: TimedCall) -> Document:
    call = timed.call
    prompt = prompt_messages(run.store.prompt(call.prompt)) if call.prompt else []
    sampling = {name: call.sent(name) for name in ("temperature", "top_p", "top_k", "seed")}
    return {
        "event": "model",
        "model": call.model,
        "role": call.agent or None,
        "input": prompt,
        "tools": [],
        "tool_choice": "none",
        "config": {name: value for name, value in sampling.items() if isinstance(value, int | float)},
        "output": _output(call.model, [reply.text for reply in call.replies])
        | {"usage": _used(call.prompt_tokens, call.reply_tokens), "time": call.seconds},
        "completed": _moment(timed.ends),
        "working_time": timed.ends - timed.begins,
        "metadata": {"node": call.node, "attempt": call.attempt, "kind": call.kind, "values": list(call.values)},
    }


def _output(model: str, texts: Sequence[str], source: str = "generate") -> Document:
    by = {"source": source, "model": model if source == "generate" else None}
    choices = [{"message": {"role": "assistant", "content": text, **by}, "stop_reason": "stop"} for text in texts]
    return {"model": model, "choices": choices, "completion": texts[0] if texts else ""}


def _used(read: int | None, written: int | None) -> Document:
    read, written = read or 0, written or 0
    return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}


def _usage(calls: Sequence[TimedCall]) -> dict[str, Document]:
    usage: dict[str, Counter[str]] = {}
    for timed in calls:
        used = _used(timed.call.prompt_tokens, timed.call.reply_tokens)
        usage.setdefault(timed.call.model, Counter()).update(used)
    return {model: dict(used) for model, used in usage.items()}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
