"""The runs of a store as the viewer lists them: the people in each, and its first line, beside the rest."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from tertulia.state.documents import Document
from tertulia.state.records import Trial
from tertulia.state.text import first_line, shortened
from tertulia.storage.run_list import RunListing
from tertulia.storage.store import SqlStore
from tertulia.views.reading.listing import names_of_files

#: Characters of a line that a list shows, and cases whose people are kept.
_SHOWN, _KEPT = 160, 20_000

#: Runs up to this many are asked for by name; for more, all lines are read at once.
_NAMED_AT_MOST = 500

#: The people of a case by the hash of its text, and the first lines of runs by their ids: neither ever changes.
_people: dict[str, list[str]] = {}
_lines: WeakKeyDictionary[SqlStore, "dict[str, RunLine]"] = WeakKeyDictionary()


@dataclass(frozen=True)
class RunLine:
    """The first utterance of a run: its speaker and words, cut."""

    speaker: str
    text: str


def run_lines(store: SqlStore, runs: Collection[str]) -> dict[str, RunLine]:
    """Return the first line of these runs by the id of each; a run in which nobody has spoken has none."""
    known = _lines.setdefault(store, {})
    unknown = [run for run in runs if run not in known]
    found = RunListing(store).first_lines(unknown if len(unknown) <= _NAMED_AT_MOST else None)
    known |= {run: RunLine(speaker, shortened(first_line(text), _SHOWN)) for run, (speaker, text) in found.items()}
    return {run: known[run] for run in runs if run in known}


def count_runs(store: SqlStore) -> int:
    """Return how many runs a store has."""
    return RunListing(store).count()


def listed_runs(store: SqlStore, first: int | None = None) -> list[Document]:
    """Return every run as `runs_document` has it, newest first, with its people and its first line.

    Args:
        first: The most runs, the newest; `None`: all.
    """
    listing = RunListing(store)
    rows = listing.rows(first)
    lines = run_lines(store, [row["run"] for row in rows])
    conversations, names = (
        store.simulations.conversations(),
        names_of_files(store, ((row["run"], row["kind"], row["scenario"]) for row in rows)),
    )
    people = _people_of(listing, {row["start"] for row in rows if row["start"] is not None})
    return [
        _document(row, lines.get(row["run"]), people.get(row["start"], []))
        | {
            "simulation": conversations.get(row["run"]),
            "name": names.get(row["scenario"], row["scenario"]),
        }
        for row in rows
    ]


def _document(row: dict[str, Any], line: RunLine | None, people: Sequence[str]) -> Document:
    trial = None
    if row["experiment"] is not None:
        trial = {field: row["trial_case" if field == "case" else field] for field in Trial.model_fields}
    return {
        "run": row["run"],
        "status": row["status"],
        "ended_by": row["ended_by"],
        "kind": row["kind"],
        "scenario": row["scenario"],
        "order": row["order"] if row["kind"] == "group_chat" else None,
        "model": row["model"],
        "seed": int(row["seed"]),
        "turns": row["turns"],
        "parent": None if row["parent_run"] is None else {"run": row["parent_run"], "turn": row["parent_turn"]},
        "removal_factor": row["removal_factor"],
        "rehearsed": bool(row["rehearsed"]),
        "created": row["created"],
        "error": row["error"],
        "label": row["label"],
        "trial": trial,
        "date": _date(row["created"]),
        "people": people,
        "speaker": None if line is None else line.speaker,
        "first_line": None if line is None else line.text,
    }


@lru_cache(maxsize=20_000)
def _date(created: str) -> str:
    return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"


def _people_of(listing: RunListing, hashes: Iterable[str]) -> dict[str, list[str]]:
    """Return the people of stored starts by the hash of each, in the order of the scenario."""
    if len(_people) > _KEPT:
        _people.clear()
    wanted = {*hashes}
    for hash, text in listing.texts(wanted - _people.keys()):
        _people[hash] = _names(json.loads(text))
    return {hash: _people[hash] for hash in wanted if hash in _people}


def _names(start: dict[str, Any]) -> list[str]:
    """Return the names in a stored start: a case, a meeting, or a population."""
    of_case = [start[role] for role in ("initiator", "partner") if role in start]
    people = of_case or start.get("participants") or start.get("villagers") or []
    return [person["persona"]["name"] for person in people]
