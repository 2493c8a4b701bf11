"""A store that was cut off, or in which bits were flipped, gives what it gave before, or says that it is damaged."""

import contextlib
import json
import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import settings
from support.hostile_replies import DUO, TRIO
from support.in_process import CommandResult, command, write_files
from support.scripted import ScriptedModel
from support.stored import STEPS

from tertulia.state.errors import StorageError, TertuliaError
from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.full

#: Bits that are flipped, one after the other; `make nightly` damages stores by the thousand.
FLIPS = 30 if settings.default.max_examples < 2000 else 5000
PAGE = 4096


class Sound:
    """A whole store: a dialogue, a fork of it, and a meeting that stopped in its third round."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sound.db"
        write_files(folder, duo=DUO, trio=TRIO)
        how = ("--rehearse", "--json", "--store", self.path)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)  # names and ids are the same in every test, so that every byte has its place
            patch.setattr("tertulia.storage.parts.runs.secrets.choice", random.Random(0).choice)
            self.duo = _run(command("run", "duo.yaml", "--lambda", "0.5", "--rounds", "3", *how))
            self.fork = _run(command("fork", self.duo, "--at", "2", "--set", "removal_factor=0.8", *how[1:]))
            model = ScriptedModel(fails_at=30)
            model.id = "rehearsal"
            patch.setattr("tertulia.models.loading.open_model", lambda *_, **__: model)
            stopped = command("run", "trio.yaml", "--lambda", "0.5", "--rounds", "4", *how[1:])
            assert "the model went away" in stopped.err
        self.trio = json.loads(stopped.out)["run"]
        assert json.loads(stopped.out)["turns"] >= 1
        self.content = self.path.read_bytes()
        self.records = records(self.path)


def _run(result: CommandResult) -> str:
    assert result.code == 0, result
    return str(json.loads(result.out)["run"])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return Sound(tmp_path_factory.mktemp("store"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "damaged.db"


def records(path: Path) -> list[object]:
    """Everything that is stored, as the project's own code reads it."""
    found: list[object] = []
    with SqlStore.open(path) as store:
        for run in store.runs():
            found += [store.run(run.run), store.start(run.run), store.turns(run.run)]
            for turn in range(1, run.turns + 1):
                record = store.turn_record(run.run, turn)
                found += [record, store.candidates(run.run, turn), store.trace(run.run, turn)]
                found.append(store.prompt(record.prompt) if record.prompt else None)
            steps = ((node, store.steps(run.run, node, kind)) for node, kind in STEPS.items())
            # A round that has not ended starts over: nobody reads what was thought in it.
            found += [(node, {key: record for key, record in of.items() if key[0] <= run.turns}) for node, of in steps]
            calls = store.calls(run.run)
            found += [calls, {call.prompt: store.prompt(call.prompt) for call in calls}]
    return found


def read_again(path: Path, before: list[object]) -> tuple[bool, list[str]]:
    """Whether it is told that a store is damaged, and what is different without being told."""
    try:
        now = records(path)
    except StorageError as error:
        return _is_one_line(str(error), path), []
    except TertuliaError as error:
        return False, [str(error)]
    silent = [f"{found!r:.200}" for found, sound in zip(now, before, strict=False) if found != sound]
    return False, silent + [f"{len(now)} records"] * (len(now) != len(before))


def _is_one_line(reported: str, path: Path) -> bool:
    return len(reported.splitlines()) == 1 and str(path) in reported


def test_a_store_that_is_cut_off_is_told(sound: Sound, path: Path) -> None:
    size = len(sound.content)
    lengths = {1, 15, 16, 18, 40, 99, 100, 101, 512, size - 1, size - 100}
    lengths |= {page + at for page in range(0, size, PAGE) for at in (-1, 0, 1, 9, PAGE // 2) if 0 < page + at < size}
    drawn = random.Random(0)
    for length in drawn.sample(sorted(lengths), min(len(lengths), FLIPS)):
        path.write_bytes(sound.content[:length])
        reported, silent = read_again(path, sound.records)
        assert not silent, f"cut off at {length} of {size} bytes"
        assert reported or length > size - PAGE  # of the last page nothing may have been in use


def flipped(content: bytes, at: int, drawn: random.Random) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << drawn.randrange(8)]) + content[at + 1 :]


def test_flipped_bits_are_told_or_make_no_difference(sound: Sound, path: Path) -> None:
    drawn = random.Random(1)
    size = len(sound.content)
    problems = []
    noticed = 0
    for number in range(FLIPS):
        at = drawn.randrange(100) if number % 20 == 0 else drawn.randrange(size)
        path.write_bytes(flipped(sound.content, at, drawn))
        reported, silent = read_again(path, sound.records)
        noticed += reported
        problems += [f"byte {at} (page {at // PAGE + 1}): {problem}" for problem in silent]
    assert not problems, f"{len(problems)} of {FLIPS}, e.g. " + "\n".join(problems[:40])
    assert noticed > FLIPS / 4


def test_a_trace_that_its_index_lacks_is_told(sound: Sound, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(sound.path)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_traces_1'"
        ).fetchone()
    start, end = (root - 1) * PAGE, root * PAGE
    index = sound.content[start:end].replace(sound.duo.encode(), b"none")
    path.write_bytes(sound.content[:start] + index + sound.content[end:])
    with SqlStore.open(path) as store, pytest.raises(StorageError, match="the index of traces lacks turn 1"):
        store.trace(sound.duo, 1)
