"""A pause before the next line: its document for the page, and the page's answers in the store.

The process that drives the run reads both from the store, whichever process has started it
(`tertulia.runs.driving.held_line`).
"""

from typing import Any, NamedTuple

from tertulia.state.cognition import Bid
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.line_edit import EDITED, HELD, PAUSED, HeldLine, LineEdit, Pause, pause_is_due
from tertulia.state.records import RunRecord
from tertulia.state.seat import LONGEST, in_one_line
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.seat import ConflictError, is_driven, round_under_way


class Passed(NamedTuple):
    """The page's answer about a held line.

    Attributes:
        words: The words said instead; `None`: the line as it is.
        again: Whether the line after it is to be held too.
    """

    turn: int
    words: str | None
    again: bool


def pause_page(store: SqlStore, run: str) -> Document:
    """Return whether a pause was asked for, and the line that is held, if any, with the events before it."""
    record = store.run(run)
    line = _held(store, record)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "status": record.status,
        "driven": is_driven(store, record),
        "pausable": record.kind != "album_chat" and record.status != "finished",
        "wanted": _is_due(store, record),
        "held": None if line is None else _line_document(store, record, line),
        "longest": LONGEST,
    }


def set_pause(store: SqlStore, run: str, wanted: bool) -> Document:
    """Store that the run is to stop before its next line, or that it is not; return the document of `pause_page`.

    Raises:
        ConflictError: The run is finished, or the line is held already.
        UsageError: It is an album chat, with exchanges that take place side by side.
    """
    with store.transaction():
        record = store.run(run)
        if record.kind == "album_chat":
            raise UsageError("Exchanges of an album chat take place side by side; it can't be paused before a line.")
        if record.status == "finished":
            raise ConflictError("The conversation is over; there is no next line.")
        if _held(store, record) is not None and not wanted:
            raise ConflictError("The line is held already. Let it pass, or rewrite it.")
        if wanted != _is_due(store, record):
            store.save_step(record.run, round_under_way(store, record), "", PAUSED, Pause(wanted=wanted))
    return pause_page(store, run)


def let_pass(store: SqlStore, run: str, passed: Passed) -> Document:
    """Store the answer about a held line, once, and return it; an unchanged line is stored as no change.

    Raises:
        UsageError: The words are too many, or none.
        ConflictError: No line of that turn is held, or something else was stored of it.
    """
    words = None if passed.words is None else in_one_line(passed.words)
    if words == "":
        raise UsageError("The line is empty. Type what is said, or let the line pass as it is.")
    if words is not None and len(words) > LONGEST:
        raise UsageError(f"The line has {len(words):,} characters; one line has at most {LONGEST:,}. Shorten it.")
    with store.transaction():
        record = store.run(run)
        round = round_under_way(store, record)
        line = store.step(record.run, round, "", HELD, HeldLine)
        if line is None or line.turn != passed.turn or record.status == "finished":
            raise ConflictError(f"No line of turn {passed.turn} is held; the conversation has gone on.")
        if words == _text(store, record, line):
            words = None
        before = store.step(record.run, round, "", EDITED, LineEdit)
        if before is not None and before.words != words:
            raise ConflictError(f"Turn {passed.turn} has gone on with other words already.")
        store.save_step(record.run, round, "", EDITED, LineEdit(words=words))
        if passed.again:
            store.save_step(record.run, round + 1, "", PAUSED, Pause())
    return {"turn": passed.turn, "words": words, "again": before is not None}


def _is_due(store: SqlStore, record: RunRecord) -> bool:
    """Return whether the line of the round that is under way is held, or of the one after it by a later wish."""
    round = round_under_way(store, record)
    is_passed = store.step(record.run, round, "", EDITED, LineEdit) is not None
    return record.status != "finished" and pause_is_due(store, record.run, round + is_passed)


def _held(store: SqlStore, record: RunRecord) -> HeldLine | None:
    """Return the line that waits; `None` if none does."""
    round = round_under_way(store, record)
    line = store.step(record.run, round, "", HELD, HeldLine)
    if line is None or record.status == "finished" or not pause_is_due(store, record.run, round):
        return None
    return line if store.step(record.run, round, "", EDITED, LineEdit) is None else None


def _text(store: SqlStore, record: RunRecord, line: HeldLine) -> str:
    return next(made.text for made in store.candidates(record.run, line.turn) if made.attempt == line.attempt)


def _line_document(store: SqlStore, record: RunRecord, line: HeldLine) -> dict[str, Any]:
    """Return a held line with its candidates, the chosen one first, and the race, the fastest first."""
    made = [candidate for candidate in store.candidates(record.run, line.turn) if candidate.origin != "vetoed"]
    numbers = {candidate.attempt: number for number, candidate in enumerate(made, 1)}
    bids = store.steps(record.run, "bid", Bid, line.round, line.round)
    raced = sorted(
        ({"agent": agent, "latency_s": bid.latency_s, "won": bid.won} for (_, agent), bid in bids.items()),
        key=lambda bid: (bid["latency_s"] is None, bid["latency_s"] or 0.0),
    )
    return {
        "turn": line.turn,
        "speaker": line.speaker,
        "text": _text(store, record, line),
        "ended": line.ended,
        "candidates": [
            {
                **candidate.model_dump(mode="json", include={"attempt", "text", "origin", "inconsistency"}),
                "number": numbers[candidate.attempt],
                "chosen": candidate.attempt == line.attempt,
            }
            for candidate in sorted(made, key=lambda candidate: (candidate.attempt != line.attempt, candidate.attempt))
        ],
        "race": raced,
    }
