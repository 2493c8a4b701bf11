"""Cut the power at any moment of a conversation: the store that is left opens whole, and the run goes on as it was.

1. A rehearsed conversation is held, and every write, truncation and sync of SQLite is recorded.
2. The recording is cut at any point. What a file was asked to keep by then is there; of what came later, each sector
   may have reached the disk or not, in any order: nothing of it, all of it, a beginning, or any sectors. The file
   system is taken to have a journal: with any sync it keeps which files there are.
3. The store that this leaves is opened and resumed by the command line, and all that it then holds is compared with the
   undisturbed one. Where not even the run was kept, the store says that it has none.

`python -m benchmarks.campaigns.power_loss FILE ARGUMENTS…` records a command to a file.
"""

import pickle
import random
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.store_checks import faults
from support.store_content import content, differences
from support.tally import Tally
from support.write_recorder import Event, WriteRecorder
from support.zygote import REHEARSED, Zygote

from tertulia.state.errors import TertuliaError
from tertulia.storage.store import SqlStore

#: What a disk writes whole.
SECTOR = 512

#: What becomes of writes that the disk was not yet asked to keep.
FATES = ("lost", "kept", "beginning", "sectors", "sectors")

_CONVERSATIONS = (
    ("run", "team_building", "--rehearse", "--rounds", "5"),
    ("run", "tidewell", "--rehearse", "--rounds", "8"),
)

#: Kept states, at most, of a part.
_KEPT = 5


def files_after_cut(events: Sequence[Event], cut: int, drawn: random.Random, fate: str) -> dict[str, bytes]:
    """Return the files that a power cut leaves.

    Args:
        events: What was done, in order.
        cut: How many of the events came before the cut.
        drawn: Draws what has reached the disk.
        fate: One of `FATES`.
    """
    files: dict[str, bytes] = {}
    before = list(enumerate(events[:cut]))
    last_sync = max((at for at, event in before if event.kind == "sync"), default=-1)
    for name in dict.fromkeys(event.file for _, event in before):
        of_file = [(at, event) for at, event in before if event.file == name]
        # A file system with a journal keeps, with any sync, all names that were given and taken before.
        kept = [event.kind == "sync" or (event.kind == "delete" and at < last_sync) for at, event in of_file]
        first = len(kept) - kept[::-1].index(True) if True in kept else 0
        done = [event for _, event in of_file]
        if (content := _content_after(done[:first], done[first:], drawn, fate)) is not None:
            files[name] = content
    return files


def _content_after(kept: Sequence[Event], later: Sequence[Event], drawn: random.Random, fate: str) -> bytes | None:
    """Return the content of a file after a power cut; `None` where the file itself is not there."""
    content: bytearray | None = None
    for event in kept:
        content = _applied(content, event)
    if fate == "lost":
        return None if content is None else bytes(content)
    reached = drawn.randint(0, len(later)) if fate == "beginning" else len(later)
    for event in later[:reached]:
        if fate != "sectors" or event.kind in ("create", "sync"):
            content = _applied(content, event)
        elif event.kind == "write":
            for part in _sectors(event):
                if drawn.random() < 0.5:
                    content = _applied(content, part)
        elif drawn.random() < 0.5:
            content = _applied(content, event)
    if fate == "beginning" and reached < len(later) and later[reached].kind == "write":
        for part in _sectors(later[reached])[: drawn.randint(0, 8)]:
            content = _applied(content, part)
    return None if content is None else bytes(content)


def _applied(content: bytearray | None, event: Event) -> bytearray | None:
    if event.kind == "delete":
        return None
    content = bytearray() if content is None else content
    if event.kind == "write":
        content.extend(bytes(max(0, event.offset - len(content))))
        content[event.offset : event.offset + len(event.data)] = event.data
    elif event.kind == "truncate":
        del content[event.offset :]
    return content


def _sectors(event: Event) -> list[Event]:
    """Return a write as one write for each sector that it touches."""
    parts, at, end = [], event.offset, event.offset + len(event.data)
    while at < end:
        border = min(end, (at // SECTOR + 1) * SECTOR)
        parts.append(Event("write", event.file, at, event.data[at - event.offset : border - event.offset]))
        at = border
    return parts


def problems_after_cut(files: dict[str, bytes], undisturbed: Any, place: Path, zygote: Zygote) -> list[str]:
    """Return what is wrong with the files that a power cut left: the store must open, and its run go on to the same."""
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name).write_bytes(data)
    store, stderr = place / "tertulia.db", place / "stderr.txt"
    try:
        with SqlStore.open(store) as opened:
            runs = [run.run for run in opened.runs()]
        if not runs:
            return []
        if zygote.start(["resume", runs[0], "--store", store], stderr).wait(120) != 0:
            return [stderr.read_text()[-500:]]
        with SqlStore.open(store) as opened:
            return faults(opened) + differences(undisturbed, content(store))
    except (TertuliaError, sqlite3.Error) as error:
        return [f"{type(error).__name__}: {error}"]


def record(place: Path, arguments: Sequence[str], zygote: Zygote) -> tuple[list[Event], Any]:
    """Run a command; return what it did to its store's files, and what the store holds then."""
    place.mkdir(parents=True)
    store, recording = place / "tertulia.db", place / "recording"
    process = zygote.start(
        [recording, *arguments, "--store", store], place / "stderr.txt", program="benchmarks.campaigns.power_loss:main"
    )
    if process.wait(300) != 0:
        raise ChildProcessError((place / "stderr.txt").read_text())
    events = [event for event in pickle.loads(recording.read_bytes()) if event.file.startswith(store.name)]
    return events, content(store)


def power_cuts(count: int, seed: int, folder: Path) -> Tally:
    """Cut the power at so many moments of two conversations, spread over all that was done to their files."""
    tally = Tally()
    with Zygote(*REHEARSED, "benchmarks.campaigns.power_loss") as zygote:
        recorded = [record(folder / f"recorded-{at}", command, zygote) for at, command in enumerate(_CONVERSATIONS)]
        for number in range(count):
            drawn = random.Random(f"{seed} {number}")
            events, undisturbed = recorded[number % len(recorded)]
            cut, fate = drawn.randint(1, len(events)), drawn.choice(FATES)
            place = folder / str(number)
            problems = problems_after_cut(files_after_cut(events, cut, drawn, fate), undisturbed, place, zygote)
            tally.count([f"cut after {cut} of {len(events)} events, {fate}: {line} ({place})" for line in problems])
            if not problems or len(tally.problems) > _KEPT:
                shutil.rmtree(place)
    return tally


def main() -> None:
    """Run a command of the command line, and write what was done to files to the one named first."""
    from tertulia.cli import main as program

    target, *sys.argv[1:] = sys.argv[1:]
    recorder = WriteRecorder()
    try:
        program.main()
    finally:
        Path(target).write_bytes(pickle.dumps(recorder.events))


if __name__ == "__main__":
    main()
