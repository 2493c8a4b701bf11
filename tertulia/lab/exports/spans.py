"""Runs as OpenTelemetry spans, in OTLP's JSON: a trace per run, and in it a span per turn, agent and call of a model.

| span | named | attributes |
|---|---|---|
| the run | `invoke_workflow SCENARIO` | `gen_ai.conversation.id`: the run; λ, seed and the like as `tertulia.*` |
| a turn | `turn N` | speaker, line and its origin, how much was removed; turn 0 is the preparation |
| an agent in it | `invoke_agent NAME` | `gen_ai.agent.name` |
| a call | `chat MODEL` | prompt, replies, sampling and tokens as `gen_ai.*`; the step that asked as `tertulia.node` |

1. Ids follow from the run's: a run that is exported twice is the same trace.
2. A fork has the spans of its own turns, and a link to the trace of its parent.
3. A call that generates nothing is named after its act, such as `log_likelihood MODEL`.

Source: OTLP 1.x, JSON encoding (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding); semantic conventions
for generative AI as of `opentelemetry-semantic-conventions` 0.66.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence

from tertulia.lab.exports.recorded import Line, RecordedRun, TimedCall, prompt_messages
from tertulia.lab.reports.provenance import installed_versions
from tertulia.state.documents import Document

_TOOL = "tertulia"
_INTERNAL, _CLIENT, _FAILED = 1, 3, 2

#: Makers of models as the conventions call them, by the text before the colon of a model's name.
_PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "ollama": "ollama"}

#: Sampling by the name that the conventions have for it.
_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "choice.count": "replies"}

#: Values that an attribute can have here.
Value = str | int | float | bool | None


def span_lines(runs: Sequence[RecordedRun]) -> Iterator[str]:
    """Yield the spans of each run as a line: the body of a request to a collector's `/v1/traces`."""
    version = installed_versions().get(_TOOL, "unknown")  # a checkout that is not installed
    resource = {"attributes": _attributes({"service.name": _TOOL, "service.version": version})}
    for run in runs:
        scope = {"scope": {"name": _TOOL, "version": version}, "spans": list(_spans(run))}
        request = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
        yield json.dumps(request, ensure_ascii=False)


def _spans(run: RecordedRun) -> Iterator[Document]:
    calls, record, begin = run.calls(), run.run, run.created.timestamp()
    lines: dict[int, list[Line]] = {}
    for line in run.lines():
        if not run.inherits(line.turn):
            lines.setdefault(line.turn, []).append(line)
    end = max((call.ends for of_round in calls.values() for call in of_round), default=begin)
    root = _span(run, (), f"invoke_workflow {record.scenario}", begin, end, _of_run(run))
    if record.status == "failed":
        root["status"] = {"code": _FAILED, "message": record.error or "the run failed"}
    if record.parent is not None:
        root["links"] = [{"traceId": _id(16, record.parent[0]), "spanId": _id(8, record.parent[0])}]
    yield root
    now = begin
    for number in sorted({*lines, *calls}):
        made = calls.get(number, [])
        first, now = (made[0].begins, made[-1].ends) if made else (now, now)
        yield _span(run, (number,), f"turn {number}", first, now, _of_turn(number, lines.get(number, [])))
        by_agent: dict[str, list[TimedCall]] = {}
        for call in made:
            by_agent.setdefault(call.call.agent, []).append(call)
        for agent, of_agent in by_agent.items():
            yield from _of_agent(run, number, agent, of_agent)


def _of_agent(run: RecordedRun, number: int, agent: str, calls: Sequence[TimedCall]) -> Iterator[Document]:
    """Yield the span of an agent in a turn, and those of its calls; calls without an asker have none of an agent."""
    place: tuple[int | str, ...] = (number, agent) if agent else (number,)
    if agent:
        of_agent: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
        of_agent |= {"gen_ai.provider.name": _provider(calls[0].call.model), "gen_ai.conversation.id": run.run.run}
        yield _span(run, place, f"invoke_agent {agent}", calls[0].begins, calls[-1].ends, of_agent)
    for timed in calls:
        call = timed.call
        operation = "chat" if call.replies else call.kind
        span = (*place, call.node, call.attempt)
        name = f"{operation} {call.model}"
        yield _span(run, span, name, timed.begins, timed.ends, _of_call(run, timed, operation), place, _CLIENT)


def _span(
    run: RecordedRun,
    place: tuple[int | str, ...],
    name: str,
    begin: float,
    end: float,
    attributes: dict[str, Value],
    parent: tuple[int | str, ...] | None = None,
    kind: int = _INTERNAL,
) -> Document:
    """Return a span by its place in the run; its parent is the place without its last, unless that is given."""
    ids = {"traceId": _id(16, run.run.run), "spanId": _id(8, run.run.run, *place)}
    if place:
        ids["parentSpanId"] = _id(8, run.run.run, *(place[:-1] if parent is None else parent))
    times = {"startTimeUnixNano": str(round(begin * 1e9)), "endTimeUnixNano": str(round(end * 1e9))}
    return {**ids, "name": name, "kind": kind, **times, "attributes": _attributes(attributes)}


def _id(size: int, *place: int | str) -> str:
    """Return an id of so many bytes, in hexadecimal."""
    return hashlib.blake2b(json.dumps(place).encode(), digest_size=size).hexdigest()


def _attributes(values: dict[str, Value]) -> list[Document]:
    return [{"key": name, "value": _value(value)} for name, value in values.items() if value is not None]


def _value(value: Value) -> Document:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}  # 64 bits, which JSON's numbers do not keep
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}


# --- attributes of a span ---------------------------------------------------------------------------------------------


def _of_run(run: RecordedRun) -> dict[str, Value]:
    record = run.run
    factor = record.parameters.get("removal_factor")
    return {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": record.scenario,
        "gen_ai.conversation.id": record.run,
        "gen_ai.provider.name": _provider(record.model),
        "gen_ai.request.model": record.model,
        "tertulia.kind": record.kind,
        "tertulia.status": record.status,
        "tertulia.ended_by": record.ended_by,
        "tertulia.error": record.error,
        "tertulia.rehearsed": record.rehearsed,
        "tertulia.seed": str(record.seed),  # it may have more than 64 bits
        "tertulia.removal_factor": float(factor) if isinstance(factor, int | float) else None,
        "tertulia.label": record.label,
        **{f"tertulia.{name}": value for name, value in run.place().items()},
    }


def _of_turn(number: int, lines: Sequence[Line]) -> dict[str, Value]:
    turn = next((line for line in lines if line.part is None), None)
    attributes: dict[str, Value] = {"tertulia.turn": number}
    if turn is None:
        return attributes
    reached = turn.details.removal_factor_reached
    aloud = [_message("assistant", line.text, name=line.speaker) for line in lines if line.is_aloud]
    return attributes | {
        "tertulia.speaker": turn.speaker,
        "tertulia.origin": turn.origin,
        "tertulia.sim_time_s": turn.details.record.turn.sim_time_s,
        "tertulia.removed_units": len(turn.details.removed),
        "tertulia.removal_factor_reached": None if reached is None else float(reached),
        "tertulia.rollbacks": turn.details.record.rollbacks,
        "gen_ai.output.messages": json.dumps(aloud, ensure_ascii=False) if aloud else None,
    }


def _of_call(run: RecordedRun, timed: TimedCall, operation: str) -> dict[str, Value]:
    call = timed.call
    prompt = prompt_messages(run.store.prompt(call.prompt)) if call.prompt else []
    messages = [_message(message["role"], message["content"]) for message in prompt]
    replies = [_message("assistant", reply.text, finish_reason="stop") for reply in call.replies]
    sampling = {f"gen_ai.request.{name}": call.sent(ours) for name, ours in _SAMPLING.items()}
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _provider(call.model),
        "gen_ai.request.model": call.model,
        "gen_ai.response.model": call.model,
        "gen_ai.conversation.id": run.run.run,
        "gen_ai.agent.name": call.agent or None,
        **{name: value for name, value in sampling.items() if isinstance(value, int | float)},
        "gen_ai.usage.input_tokens": call.prompt_tokens,
        "gen_ai.usage.output_tokens": call.reply_tokens,
        "gen_ai.input.messages": json.dumps(messages, ensure_ascii=False) if messages else None,
        "gen_ai.output.messages": json.dumps(replies, ensure_ascii=False) if replies else None,
        "tertulia.node": call.node,
        "tertulia.attempt": call.attempt,
        "tertulia.kind": call.kind,
        "tertulia.prompt": call.prompt,
    }


def _message(role: str, text: str, **further: str | None) -> Document:
    return {"role": role, "parts": [{"type": "text", "content": text}], **further}


def _provider(model: str) -> str:
    """Return the server of a model; this program, if it is no provider that the conventions name."""
    return _PROVIDERS.get(model.partition(":")[0], _TOOL)
