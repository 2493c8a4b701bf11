"""The formats in which dialogues leave and enter: one dialogue an object, or all records of a run.

| format | an object | case |
|---|---|---|
| `dialogues` | `{"case", "dialogue": [[speaker, text], …]}` | `case` |
| `messages` | `{"messages": [{"role", "name", "content"}, …]}`, as of chat models | `case`, else the file's name |
| `sdialog` | `{"turns": [{"speaker", "text"}, …], …}`, of SDialog | `scenario`, else the folder's name |
| `jsonl` | a record with its `kind`: `run` begins a dialogue, `turn` follows | `scenario` |

Files of this program in the first three formats name the run too, under `run` (in SDialog's, under `notes`), so that
runs can be told apart by their parameters, and one that is given twice is counted once. The given line with which a
meeting opens stands beside the utterances, as `opening`: it is not the run's, and no measure counts it.

1. A message counts if its role is `user` or `assistant`, and its content a text, or parts of which some are texts. Its
   speaker is its `name`, else its role.
2. A speaker in SDialog's dialogues may have no name; a turn with neither speaker nor text is passed over.

Source: SDialog (https://github.com/idiap/sdialog), `sdialog.Dialog` of version 0.4.
"""

import json
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from tertulia.metrics.diversity import Dialogue
from tertulia.nodes.shared.line_faults import FAULTS, Fault
from tertulia.state.errors import UsageError
from tertulia.state.records import Record, RunRecord, Utterance

#: A JSON object of a file, after its file and line in words.
Entry = tuple[str, dict[str, Any]]

SHAPE = 'each line is {"case": …, "dialogue": [["Ana", "Hello."], …]}'
EXPORT = "give the file as `tertulia export RUN --jsonl FILE` wrote it"

_MESSAGES = 'each line is {"messages": [{"role": "user", "name": "Ana", "content": "Hello."}, …]}'
_SDIALOG = 'a dialogue of SDialog is {"turns": [{"speaker": "Ana", "text": "Hello."}, …]}'

#: Roles of messages that nobody speaks.
_SILENT_ROLES = ("system", "developer", "tool", "function")


class ExportedRun(Record):
    """The run of an exported dialogue, with the fields that distinguish runs."""

    run: str
    created: datetime
    scenario: str
    model: str
    seed: int
    parameters: dict[str, Any]


class FileDialogue(NamedTuple):
    """A dialogue of a file, and its run; `None` if it is from elsewhere, or the record lacks something.

    Attributes:
        faults: The faults of each line, if the export of a run names them; else empty.
    """

    case: str
    dialogue: Dialogue
    rehearsed: bool = False
    run: ExportedRun | None = None
    faults: Sequence[tuple[Fault, ...]] = ()


#: Yields the dialogues of a file from its objects.
Reader = Callable[[Iterable[Entry], Path], Iterator[FileDialogue]]


def reader_of(first: Mapping[str, Any]) -> Reader:
    """Return the reader for a file with this first object."""
    if "dialogue" in first:
        return _listed
    if "kind" in first:
        return _exported
    if "messages" in first:
        return _of_messages
    return _of_sdialog if "turns" in first else _listed


# --- writing --------------------------------------------------------------------------------------------------------


def as_dialogue(run: RunRecord, dialogue: Dialogue, opening: Utterance | None = None) -> dict[str, Any]:
    """Return the dialogue of a run as the `dialogues` format has it."""
    lines = [[speaker, text] for speaker, text in dialogue]
    return {"case": run.scenario, "dialogue": lines, **_about(run, opening)}


def as_messages(run: RunRecord, dialogue: Dialogue, opening: Utterance | None = None) -> dict[str, Any]:
    """Return the dialogue of a run as chat messages: the first speaker is the user, all others the assistant."""
    first = dialogue[0][0]
    messages = [
        {"role": "user" if speaker == first else "assistant", "name": speaker, "content": text}
        for speaker, text in dialogue
    ]
    return {"messages": messages, "case": run.scenario, **_about(run, opening)}


def as_sdialog(
    run: RunRecord,
    dialogue: Dialogue,
    personas: Mapping[str, Mapping[str, Any]],
    opening: Utterance | None = None,
) -> dict[str, Any]:
    """Return the dialogue of a run, at least one utterance, as SDialog has it, with the persona of each speaker."""
    return {
        "timestamp": f"{run.created.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "model": run.model,
        "seed": run.seed,
        "id": run.run,
        "parentId": run.parent[0] if run.parent else None,
        "complete": run.status == "finished",
        "personas": {name: dict(persona) for name, persona in personas.items()},
        "scenario": run.scenario,
        "turns": [{"speaker": speaker, "text": text} for speaker, text in dialogue],
        "notes": {"tertulia": _about(run, opening)},
    }


def _about(run: RunRecord, opening: Utterance | None) -> dict[str, Any]:
    """Return what is told of a run beside its utterances: `ExportedRun`, whether it is rehearsed, and its opening."""
    identity = run.model_dump(mode="json", include=set(ExportedRun.model_fields))
    return {"rehearsed": run.rehearsed, "run": identity, "opening": opening and opening.model_dump(mode="json")}


# --- dialogues, one an object ---------------------------------------------------------------------------------------


def _listed(entries: Iterable[Entry], path: Path) -> Iterator[FileDialogue]:
    for where, entry in entries:
        for field in ("case", "dialogue"):
            if field not in entry:
                raise UsageError(f"{where}: {field} is missing; {SHAPE}")
        yield FileDialogue(
            _case(entry, where), _dialogue(entry, where), entry.get("rehearsed") is True, _written(entry)
        )


def _of_messages(entries: Iterable[Entry], path: Path) -> Iterator[FileDialogue]:
    for where, entry in entries:
        messages = _list(entry, "messages", where, _MESSAGES)
        lines = [_message(message, f"{where}: messages[{at}]") for at, message in enumerate(messages)]
        dialogue = [line for line in lines if line is not None]
        if not dialogue:
            raise UsageError(f"{where}: nobody speaks in these messages; leave them out")
        case = _case(entry, where) if entry.get("case") is not None else path.stem
        yield FileDialogue(case, dialogue, entry.get("rehearsed") is True, _written(entry))


def _message(message: object, where: str) -> tuple[str, str] | None:
    """Return the utterance of a message; `None` if nobody speaks."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise UsageError(f"{where} {reprlib.repr(message)} is no object with a role; {_MESSAGES}")
    content = message.get("content")
    if message["role"] in _SILENT_ROLES or content is None:  # without content it calls a tool, as with an empty one
        return None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    name = message.get("name")
    speaker = message["role"] if name is None else name
    if not isinstance(content, str) or not isinstance(speaker, str):
        raise UsageError(f"{where} {reprlib.repr(message)}: name or content is not a text; {_MESSAGES}")
    return (speaker, content) if content.strip() else None


def _of_sdialog(entries: Iterable[Entry], path: Path) -> Iterator[FileDialogue]:
    found = list(entries)
    place = path.resolve().parent.name if len(found) == 1 else path.stem
    for where, entry in found:
        turns = _list(entry, "turns", where, _SDIALOG)
        lines = [_turn(turn, f"{where}: turns[{at}]") for at, turn in enumerate(turns)]
        dialogue = [line for line in lines if line is not None]
        if not dialogue:
            raise UsageError(f"{where}: nobody speaks in this dialogue; leave it out")
        notes = entry.get("notes")
        ours = notes.get("tertulia") if isinstance(notes, dict) else None
        made = ours if isinstance(ours, dict) else {}
        rehearsed = made.get("rehearsed") is True
        yield FileDialogue(_scenario(entry, place), dialogue, rehearsed, _written(made))


def _turn(turn: object, where: str) -> tuple[str, str] | None:
    """Return the utterance of a turn; `None` if there is none."""
    match turn:
        case {"text": str(text), "speaker": str(speaker)}:
            return speaker, text
        case {"text": str(text), **further} if further.get("speaker") is None:
            return ("", text) if text.strip() else None
        case _:
            raise UsageError(f"{where} {reprlib.repr(turn)} has no text, or a speaker that is none; {_SDIALOG}")


def _scenario(entry: Mapping[str, Any], otherwise: str) -> str:
    """Return the case that a scenario of SDialog names: a text, or an object of any kind."""
    scenario = entry.get("scenario")
    if not scenario:
        return otherwise
    return scenario if isinstance(scenario, str) else json.dumps(scenario, ensure_ascii=False, sort_keys=True)


def _list(entry: Mapping[str, Any], field: str, where: str, shape: str) -> Sequence[object]:
    if not isinstance(found := entry.get(field), list):
        raise UsageError(f"{where}: {field} {reprlib.repr(found)} is not a list; {shape}")
    return found


def _written(entry: Mapping[str, Any]) -> ExportedRun | None:
    """Return the run that an object of this program is of; `None` for one of elsewhere."""
    run = entry.get("run")
    return _run(run) if isinstance(run, dict) else None


def _case(entry: dict[str, Any], where: str) -> str:
    case = entry["case"]
    if isinstance(case, bool) or not isinstance(case, str | int):
        raise UsageError(f"{where}: case {reprlib.repr(case)} is neither a text nor an integer")
    return str(case)


def _dialogue(entry: dict[str, Any], where: str) -> Dialogue:
    dialogue = entry["dialogue"]
    if not isinstance(dialogue, list):
        raise UsageError(f"{where}: dialogue {reprlib.repr(dialogue)} is not a list of [speaker, text]")
    if not dialogue:
        raise UsageError(f"{where}: dialogue is empty; leave the line out, or give it an utterance")
    return [_utterance(line, f"{where}: dialogue[{at}]") for at, line in enumerate(dialogue)]


def _utterance(line: object, where: str) -> tuple[str, str]:
    match line:
        case [str(speaker), str(text)]:
            return speaker, text
        case _:
            raise UsageError(f"{where} {reprlib.repr(line)} is not [speaker, text], two texts")


# --- exported runs --------------------------------------------------------------------------------------------------


def _exported(entries: Iterable[Entry], path: Path) -> Iterator[FileDialogue]:
    runs: list[tuple[str, FileDialogue, list[tuple[str, str]]]] = []
    faults: list[list[tuple[Fault, ...]]] = []
    for where, entry in entries:
        kind = entry.get("kind")
        if not isinstance(kind, str):
            raise UsageError(f"{where}: kind {reprlib.repr(kind)} is not the kind of a record; {EXPORT}")
        if kind == "run":
            lines: list[tuple[str, str]] = []
            case, rehearsed = _field(entry, "scenario", where), entry.get("rehearsed") is True
            runs.append((where, FileDialogue(case, lines, rehearsed, _run(entry)), lines))
            faults.append([])
        elif kind == "turn" and not runs:
            raise UsageError(f"{where}: a turn stands before its run; {EXPORT}")
        elif kind == "turn" and entry.get("speaker", "") is not None:
            parts = entry.get("parts")
            answer = parts.get("answer") if isinstance(parts, dict) else None  # an album chat's turn has one
            for utterance in [entry, answer] if isinstance(answer, dict) else [entry]:
                runs[-1][2].append((_field(utterance, "speaker", where), _field(utterance, "text", where)))
                faults[-1] += _faults(utterance)
    for (where, run, lines), found in zip(runs, faults, strict=True):
        if not lines:
            raise UsageError(f"{where}: nobody speaks in this run; leave it out")
        yield run._replace(faults=found) if len(found) == len(lines) else run


def _faults(utterance: Mapping[str, Any]) -> list[tuple[Fault, ...]]:
    """Return the faults that an utterance's record names; empty if it names none."""
    found = utterance.get("line_faults")
    return [tuple(fault for fault in FAULTS if fault in found)] if isinstance(found, list) else []


def _run(entry: Mapping[str, Any]) -> ExportedRun | None:
    """Return the run of a record; `None` if a part of it is missing, or not in the form that export writes."""
    try:
        return ExportedRun.model_validate({name: entry.get(name) for name in ExportedRun.model_fields})
    except ValidationError:
        return None


def _field(entry: dict[str, Any], field: str, where: str) -> str:
    if field not in entry:
        raise UsageError(f"{where}: {field} is missing; {EXPORT}")
    text = entry[field]
    if not isinstance(text, str):
        raise UsageError(f"{where}: {field} {reprlib.repr(text)} is not a text; {EXPORT}")
    return text
