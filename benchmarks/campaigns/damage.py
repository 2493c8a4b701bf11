"""Damage stores and ask them: each answers what it answered before, or one line that says what is wrong.

1. A whole store holds every kind of conversation, a town, experiments, a calibration and annotations.
2. Copies of it are damaged: bits, pages, foreign objects, and by SQL (benchmarks/campaigns/sql_damage.py).
3. Each is asked (benchmarks/campaigns/questions.py) in a process of its own, so that one which hangs or dies is seen.
"""

import json
import random
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from support.tally import Tally
from support.zygote import READING, REHEARSED, ForkedCommand, Zygote

from benchmarks.campaigns.questions import IMPORTS, MAKING, STORE, answer, questions
from benchmarks.campaigns.sql_damage import ALTERATIONS

#: Seconds of computing that an answer may take; seconds that a store may be asked for.
LIMIT_S, ASKED_FOR_S = 5.0, 180

#: Questions that a damaged store is asked, beside the first.
ASKED = 12

#: For the files that commands write, beside the store.
FILES = Path("files")

#: Kept stores, at most, of a part.
KEPT = 5

PAGE = 4096

#: Stands between an answer and the one that was expected.
_OTHER = " where it was "


class Untold(NamedTuple):
    """What no reader can tell: the damage and the question, as patterns of their words, and why (docs/runs.md)."""

    damage: str
    question: str
    reason: str


UNTOLD = (
    Untold(r"contents: (id )?exchanged", "", "rows point to texts by number, and either has its hash"),
    Untold(r"(runs|calls): (id |exchanged)", "", "a merge may change the order of rows, so no checksum covers it"),
    Untold(r"(checkpoints|writes): ", "gc", "`gc` says how much would be dropped of what is there"),
    Untold(
        r"memories: deleted",
        "days .* --agent|document towns/.*/people",
        "of whom nobody has met, nothing says how much they remember",
    ),
    Untold(
        r"(calls|steps): deleted",
        "(show .* --cost|export|days|lab compare|document .*(cost|opening|agents|towns))",
        "nothing counts those of no turn: before the first, and behind the last",
    ),
    Untold(r"traces: deleted", "export .* --html|show .* --node", "with a trace go the counts of its turn"),
)

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
    "foreign objects": add_foreign_objects,
    **ALTERATIONS,
}


def damaged_stores(count: int, kind: str, seed: int, folder: Path, asked: int = ASKED) -> Tally:
    """Damage a whole store so many times; ask each a dozen questions, in a process of its own.

    Args:
        count: How many.
        kind: One of `DAMAGES`.
        seed: Of the damages.
        folder: For the stores; those with problems are kept.
        asked: How many questions each is asked.
    """
    tally = Tally()
    folder.mkdir(parents=True)
    with Zygote(*REHEARSED, *READING, *IMPORTS) as zygote:
        whole = _whole_store(zygote, folder, seed)
        for number in range(count):
            drawn = random.Random(f"{seed} {kind} {number}")
            place = folder / str(number)
            place.mkdir()
            shutil.copy(whole, place / STORE)
            damage = DAMAGES[kind](place / STORE, drawn)
            asking = _start(zygote, place, "ask", folder / "answers.json", drawn.random(), asked)
            code = asking.wait(ASKED_FOR_S)
            asking.kill()
            found = json.loads((place / "stdout.txt").read_text()) if code == 0 else [f"exit code {code}"]
            problems = [problem for problem in found if not _is_untold(damage, problem)]
            tally.untold += bool(found) and not problems
            tally.count([f"{damage}: {problem} (kept: {place})" for problem in problems])
            if not problems or len(tally.problems) > KEPT:
                shutil.rmtree(place)
    return tally


def _whole_store(zygote: Zygote, folder: Path, seed: int) -> Path:
    """Make the store that is damaged, and note what it answers to one question of each group; return it."""
    place = folder / "whole"
    place.mkdir()
    for arguments in MAKING:
        made = zygote.start(arguments, place / "stderr.txt", folder=place)
        assert (code := made.wait(ASKED_FOR_S)) == 0, (arguments, code, (place / "stderr.txt").read_text())
    store = place / STORE
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # all of it in one file
        connection.execute("PRAGMA journal_mode = WAL")
    noting = _start(zygote, place, "note", folder / "answers.json", seed)
    assert (code := noting.wait(ASKED_FOR_S)) == 0, (code, (place / "stderr.txt").read_text())
    return store


def _is_untold(damage: str, problem: str) -> bool:
    """Return whether a problem is an answer that can't be told from the right one."""
    return _OTHER in problem and any(
        re.match(untold.damage, damage) and re.match(untold.question, problem.removeprefix("merged "))
        for untold in UNTOLD
    )


def _start(zygote: Zygote, place: Path, *arguments: object) -> ForkedCommand:
    """Start this program in the folder of a store."""
    stderr, stdout = place / "stderr.txt", place / "stdout.txt"
    return zygote.start(arguments, stderr, stdout=stdout, folder=place, program="benchmarks.campaigns.damage:main")


# --- in the folder of a store ---------------------------------------------------------------------------------------


def main() -> None:
    """Note what the store of the current folder answers, or ask it and print what is wrong as JSON."""
    match sys.argv[1:]:
        case ["note", reference, seed]:
            FILES.mkdir()
            drawn = random.Random(seed)
            asked = [drawn.choice(group) for group in questions(Path(STORE))]
            Path(reference).write_text(json.dumps([(question, answer(question, FILES)) for question in asked]))
        case ["ask", reference, seed, count]:
            first, *others = json.loads(Path(reference).read_text())
            chosen = random.Random(seed).sample(others, min(int(count), len(others)))
            print(json.dumps(problems_of([first, *chosen])))


def problems_of(asked: Sequence[tuple[Sequence[str], str]]) -> list[str]:
    """Return what is wrong with what the damaged store in the current folder answers.

    Args:
        asked: Questions, each with what was answered before the store was damaged.
    """
    found = []
    FILES.mkdir()
    for question, expected in asked:
        asked_at = time.process_time()
        try:
            said = answer(tuple(question), FILES)
            if said != expected and not said.startswith("error: "):
                found.append(f"{' '.join(question)}: {_difference(expected, said)}")
        except BaseException as error:
            found.append(f"{' '.join(question)}: {type(error).__name__}: {error!s:.600}")
        if (seconds := time.process_time() - asked_at) > LIMIT_S:
            found.append(f"{' '.join(question)}: {seconds:.1f} s")
    return found


def _difference(expected: str, said: str) -> str:
    """Return where an answer begins to be another one."""
    at = next((n for n, pair in enumerate(zip(expected, said, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, at - 80)
    return f"{said[begin : at + 150]!r}{_OTHER}{expected[begin : at + 150]!r}"


if __name__ == "__main__":
    main()
