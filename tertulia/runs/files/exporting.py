"""Runs as files: all records as JSON lines, turns as a table, and dialogues in formats of other tools."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from tertulia.state.cognition import Call
from tertulia.state.csv_rows import csv_rows
from tertulia.state.documents import Document
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import RunRecord
from tertulia.state.store import Store
from tertulia.state.written_files import STANDARD_OUTPUT
from tertulia.views.measuring.costs import calls_and_payers
from tertulia.views.measuring.dialogues import dialogue_of_run
from tertulia.views.reading.documents import run_document, start_document, turn_document
from tertulia.views.reading.exchanges import each_line
from tertulia.views.reading.platforms import platforms_document
from tertulia.views.reading.rounds import read_characters
from tertulia.views.reading.shared_turns import stretch_among, stretches
from tertulia.views.reading.turns import read_turn

#: The formats in which runs are exported (`tertulia.views.measuring.dialogue_formats`).
Format = Literal["jsonl", "csv", "dialogues", "messages", "sdialog"]
FORMATS: tuple[Format, ...] = get_args(Format)

#: Columns of the table of turns, beside λ: fields of a run, of its place in an experiment, and of a turn.
_RUN_COLUMNS = ("run", "scenario", "kind", "model", "rehearsed", "seed")
_TRIAL_COLUMNS = ("experiment", "setting", "case", "trial")
_TURN_COLUMNS = ("turn", "round", "speaker", "text", "sim_time_s", "ended")


def files_of(format: Format, runs: Sequence[RunRecord], out: Path) -> dict[Path, Sequence[RunRecord]]:
    """Return the runs of each file: all in one, but SDialog's format has one run a file, `RUN.json` in a folder.

    Args:
        runs: The runs, each once.
        out: The file, or for SDialog's dialogues a folder (`is_of_files`); `-` for standard output.

    Raises:
        UsageError: Several runs would go into one file of SDialog's.
    """
    if is_of_files(format, out):
        return {out / f"{run.run}.json": [run] for run in runs}
    if format == "sdialog" and len(runs) > 1:
        remedy = "give --out FOLDER" if out == STANDARD_OUTPUT else f"give a folder, such as {out.with_suffix('')}"
        raise UsageError(f"a file of SDialog's has one dialogue, and {len(runs)} runs are given; {remedy}")
    return {out: runs}


def is_of_files(format: str, out: Path) -> bool:
    """Whether a path is that of a folder with a file per run: in SDialog's format all but `-` and names in `.json`."""
    return format == "sdialog" and out != STANDARD_OUTPUT and (out.is_dir() or out.suffix.lower() != ".json")


def exported_lines(store: Store, runs: Iterable[RunRecord], format: Format) -> Iterator[str]:
    """Yield the lines of a file of runs (one run in SDialog's format).

    Raises:
        UsageError: Nobody speaks in a run, and the format is one of dialogues.
    """
    from tertulia.views.measuring.dialogue_formats import as_dialogue, as_messages, as_sdialog

    if format == "csv":
        yield from (f"{row}\r" for row in csv_rows(_table(store, runs)))  # RFC 4180: lines end with CR LF
        return
    for run in runs:
        start = store.start(run.run)
        if format == "jsonl":
            yield from map(json.dumps, run_records(store, run, start))
            continue
        dialogue = dialogue_of_run(store, run)
        opening = start.opening if isinstance(start, Meeting) else None
        if format == "dialogues":
            yield json.dumps(as_dialogue(run, dialogue, opening))
        elif format == "messages":
            yield json.dumps(as_messages(run, dialogue, opening))
        else:
            personas = _personas(start, {name for name, _ in dialogue})
            yield json.dumps(as_sdialog(run, dialogue, personas, opening), indent=2)


def _table(store: Store, runs: Iterable[RunRecord]) -> Iterator[Sequence[object]]:
    """Yield the names of the columns, and a row per turn of each run; in an album chat one for the answer, too."""
    yield *_RUN_COLUMNS, "removal_factor", *_TRIAL_COLUMNS, *_TURN_COLUMNS
    for run in runs:
        trial = [None if run.trial is None else getattr(run.trial, name) for name in _TRIAL_COLUMNS]
        found = stretches(store, run)
        for turn in each_line(store, run.run, store.start(run.run)):
            was = stretch_among(found, turn.turn).run
            made_with = [*(getattr(was, name) for name in _RUN_COLUMNS), was.parameters.get("removal_factor")]
            yield *made_with, *trial, *(getattr(turn, name) for name in _TURN_COLUMNS)


def _personas(start: Start, speakers: Collection[str]) -> dict[str, Document]:
    """Return the personas of all speakers, by their names."""
    return {
        name: start.participant(name).persona.model_dump(mode="json", exclude_none=True)
        for name in start.names
        if name in speakers
    }


def run_records(store: Store, run: RunRecord, start: Start) -> Iterator[Document]:
    """Yield all records of a run, each with its kind.

    First the run, its start and the characters; then turn by turn the new prompts, the model calls and the turn as in
    `show --turn`. Calls of a round that never ended in a turn come last.
    """
    platforms = platforms_document(store, run.run)
    yield {"kind": "run", **run_document(store, run, start), "platforms": platforms, **_made_with(run)}
    yield {"kind": "start", **start_document(start)}
    for agent, character in read_characters(store, run.run).items():
        yield {"kind": "character", "agent": agent, **character.model_dump(mode="json")}
    calls: dict[int, list[tuple[Call, bool]]] = {}
    for call, inherited in calls_and_payers(store, run):
        calls.setdefault(call.round, []).append((call, inherited))
    written: set[str] = set()
    yield from _call_records(store, calls.pop(0, []), written)
    for turn in store.turns(run.run):
        yield from _call_records(store, calls.pop(turn.turn, []), written)
        yield {"kind": "turn", **turn_document(store, read_turn(store, run, start, turn.turn))}
    for round in sorted(calls):
        yield from _call_records(store, calls[round], written)


def _made_with(run: RunRecord) -> Document:
    document = run.model_dump(mode="json", include={"participant_models", "extensions", "created"})
    return {"voices": document.pop("participant_models"), **document}


def _call_records(store: Store, calls: Iterable[tuple[Call, bool]], written: set[str]) -> Iterator[Document]:
    """Yield model calls and whether the parent made them, each after its prompt unless that was written already."""
    for call, inherited in calls:
        if call.prompt is not None and call.prompt not in written:
            written.add(call.prompt)
            yield {"kind": "prompt", "prompt": call.prompt, **store.prompt(call.prompt).model_dump(mode="json")}
        document = call.model_dump(mode="json")
        yield {"kind": "call", "asked_for": document.pop("kind", "generate"), **document, "inherited": inherited}
