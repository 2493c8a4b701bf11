"""Damage stores and read them: each command gives what it gave before, or one line that says what is wrong.

`python -m benchmarks.damage STORE REFERENCE` reads one store by all commands and prints what is wrong as JSON; it is
forked for every damaged store (`make nightly`), so that one which hangs or dies is seen.
"""

import json
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from benchmarks.in_process import check_terminal, command, complaint
from benchmarks.tally import Tally
from benchmarks.zygote import READING, REHEARSED, Zygote

#: Seconds that a command may take.
LIMIT_S = 5.0

#: Kept stores, at most, of a part.
KEPT = 5

PAGE = 4096

Damage = Callable[[Path, random.Random], str]


def flip_bits(store: Path, drawn: random.Random) -> str:
    """Flip one to eight bits; some of the damages hit the header."""
    content = bytearray(store.read_bytes())
    size = 100 if drawn.random() < 0.05 else len(content)
    places = [drawn.randrange(size) for _ in range(drawn.choice((1, 1, 1, 2, 8)))]
    for at in places:
        content[at] ^= 1 << drawn.randrange(8)
    store.write_bytes(content)
    return f"bits flipped at {places}"


def cut_off(store: Path, drawn: random.Random) -> str:
    """Cut the file off, mostly near the border of a page."""
    size = store.stat().st_size
    border = drawn.randrange(size // PAGE) * PAGE + drawn.choice((-1, 0, 1, 9, PAGE // 2))
    length = max(1, drawn.choice((border, drawn.randrange(size))))
    with store.open("r+b") as opened:
        opened.truncate(length)
    return f"cut off at {length} of {size} bytes"


def swap_pages(store: Path, drawn: random.Random) -> str:
    """Swap two pages, or repeat one in the place of another, or fill one with zeros."""
    content = bytearray(store.read_bytes())
    first, second = (drawn.randrange(len(content) // PAGE) * PAGE for _ in range(2))
    how = drawn.choice(("swapped", "repeated", "zeroed"))
    pages = {"swapped": (second, first), "repeated": (first, first), "zeroed": (None, second)}[how]
    taken = [bytes(PAGE) if at is None else bytes(content[at : at + PAGE]) for at in pages]
    for at, page in zip((first, second), taken, strict=True):
        content[at : at + PAGE] = page
    store.write_bytes(content)
    return f"pages at {first} and {second} {how}"


_VALUES = (
    None,
    0,
    -1,
    2**62,
    1.5,
    "",
    "x",
    "\x1b[31m",
    "null",
    "[]",
    "{}",
    "[" * 5000,
    "9" * 5000,
    "k3f9",
    b"\xff\x00",
    b"",
)


def alter_columns(store: Path, drawn: random.Random) -> str:
    """Write another value into a column of some rows, or delete some rows."""
    with closing(sqlite3.connect(store)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        filled = [name for name in names if _count(connection, name)]
        table = drawn.choice([name for name in filled if not name.startswith(("passages_fts", "sqlite"))])
        column = drawn.choice([row[1] for row in connection.execute(f"PRAGMA table_info({table})")])
        key = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]) or "rowid"
        count = drawn.choice((1, 1, 3, 1000))
        (size,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        rows = f"({key}) IN (SELECT {key} FROM {table} LIMIT {count} OFFSET {drawn.randrange(size)})"
        connection.execute("PRAGMA foreign_keys = OFF")
        value = drawn.choice(_VALUES)
        try:
            if drawn.random() < 0.2:
                connection.execute(f"DELETE FROM {table} WHERE {rows}")
                value = "deleted"
            else:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {rows}", (value,))
        except sqlite3.IntegrityError:
            connection.execute(f"DELETE FROM {table} WHERE {rows}")
            value = "deleted"
        connection.commit()
    return f"{table}.{column} of {count} rows: {value!r:.40}"


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


_FOREIGN = (
    "CREATE TRIGGER foreign_one AFTER INSERT ON turns BEGIN DELETE FROM turns; END",
    "CREATE TRIGGER foreign_one AFTER UPDATE ON runs BEGIN SELECT randomblob(1000000000); END",
    """CREATE VIEW foreign_one AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT count(*) AS run FROM n""",
    "CREATE TABLE foreign_one (a, b)",
    "CREATE TABLE foreign_one (a GENERATED ALWAYS AS (zeroblob(1000000)) VIRTUAL, b)",
    "CREATE INDEX foreign_one ON turns (length(run))",
    "CREATE VIRTUAL TABLE foreign_one USING fts5 (a)",
)


def add_foreign_objects(store: Path, drawn: random.Random) -> str:
    """Add a trigger, a view, a table or an index that no store has."""
    sql = drawn.choice(_FOREIGN)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(sql)
    return " ".join(sql.split())[:80]


DAMAGES: Mapping[str, Damage] = {
    "bits flipped": flip_bits,
    "cut off": cut_off,
    "pages moved": swap_pages,
    "columns altered": alter_columns,
    "foreign objects": add_foreign_objects,
}

_DIALOGUE = ("run", "tidewell", "--rehearse", "--rounds", "4")
_MEETING = ("run", "team_building", "--rehearse", "--rounds", "3", "--lambda", "0.4")
_TOWN = ("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1")


def make_whole_store(store: Path) -> None:
    """Make a store with a dialogue, a fork of it, a meeting and a day of a town; in this process."""
    for arguments in (_DIALOGUE, ("fork", "@last", "--at", "2", "--lambda", "0.9"), _MEETING, _TOWN):
        result = command(*arguments, "--store", store)
        assert result.code == 0, result
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # all of it in one file
        connection.execute("PRAGMA journal_mode = WAL")


def reading_commands(runs: list[str]) -> list[tuple[str, ...]]:
    """Return the reading commands: those of the whole store, and those of each of its runs."""
    asked: list[tuple[str, ...]] = [("runs", "--json"), ("runs",), ("search", "the"), ("days",), ("gc",)]
    asked += [("diff", runs[0], runs[1])]
    for run in runs:
        asked += [("export", run, "--jsonl", "-"), ("stats", run), ("timeline", run), ("replay", run, "--speed", "0")]
        asked += [("show", run, "--turn", "1"), ("show", run, "--cost"), ("show", run, "--node", "all")]
        asked += [("show", run, "--json")]
    return asked


def runs_of(store: Path) -> list[str]:
    """Return the ids of a store's runs, oldest first."""
    with closing(sqlite3.connect(store)) as connection:
        return [row[0] for row in connection.execute("SELECT run FROM runs ORDER BY id")]


def answers(store: Path, asked: list[tuple[str, ...]]) -> list[str]:
    """Return what each command says of a store: its output, or a line that begins with `error: `."""
    printed = []
    for arguments in asked:
        result = command(*arguments, "--store", store)
        printed.append(complaint(result) or result.out)
    return printed


def problems_of(store: Path, asked: list[tuple[str, ...]], before: list[str]) -> list[str]:
    """Return what is wrong with what commands say of a damaged store.

    Args:
        store: The store.
        asked: The commands.
        before: What they said before it was damaged.
    """
    found = []
    for arguments, expected in zip(asked, before, strict=True):
        started = time.perf_counter()
        try:
            result = command(*arguments, "--store", store)
            check_terminal(result)
            if complaint(result) is None and result.out != expected:
                found.append(f"{' '.join(arguments)}: {result.out[:300]!r}")
        except BaseException as error:
            found.append(f"{' '.join(arguments)}: {type(error).__name__}: {error!s:.600}")
        if (seconds := time.perf_counter() - started) > LIMIT_S:
            found.append(f"{' '.join(arguments)}: {seconds:.1f} s")
    return found


def damaged_stores(count: int, kind: str, seed: int, folder: Path) -> Tally:
    """Damage a whole store so many times; read each by a dozen commands, in a process of its own.

    Args:
        count: How many.
        kind: One of `DAMAGES`.
        seed: Of the damages.
        folder: For the stores; those with problems are kept.
    """
    tally = Tally()
    folder.mkdir(parents=True)
    whole, reference = folder / "whole.db", folder / "reference.json"
    make_whole_store(whole)
    asked = reading_commands(runs_of(whole))
    reference.write_text(json.dumps([asked, answers(whole, asked)]))
    with Zygote(*REHEARSED, *READING, "benchmarks.damage") as zygote:
        for number in range(count):
            drawn = random.Random(f"{seed} {kind} {number}")
            place = folder / str(number)
            place.mkdir()
            store = place / "damaged.db"
            shutil.copy(whole, store)
            damage = DAMAGES[kind](store, drawn)
            read = zygote.start(
                [store, reference, str(drawn.random())],
                place / "stderr.txt",
                stdout=place / "stdout.txt",
                program="benchmarks.damage:main",
            )
            code = read.wait(120)
            read.kill()
            problems = json.loads((place / "stdout.txt").read_text()) if code == 0 else [f"exit code {code}"]
            tally.count([f"{damage}: {problem} (kept: {place})" for problem in problems])
            if not problems or len(tally.problems) > KEPT:
                shutil.rmtree(place)
    return tally


def main() -> None:
    """Read one store by a dozen of the commands; print what is wrong as JSON."""
    store, reference, seed = sys.argv[1:]
    asked, before = json.loads(Path(reference).read_text())
    drawn = random.Random(seed)
    chosen = [0, *drawn.sample(range(1, len(asked)), 12)]
    print(json.dumps(problems_of(Path(store), [tuple(asked[n]) for n in chosen], [before[n] for n in chosen])))


if __name__ == "__main__":
    main()
