"""A town of any size, made from a seed in the format of a Generative Agents run, for `tertulia simulate ga:FOLDER`.

Everybody has a name that nobody else has, a trade, a home among a dozen neighbours, a day of their own hours, and has
talked with one neighbour the evening before. The same seed makes the same files, and a smaller town is no part of a
larger one.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

#: The day that the town's log shows.
_DAY = datetime(2025, 3, 4)
_SECONDS_A_STEP = 60
#: How many live in one street.
_NEIGHBOURS = 12

#: What names are made of: a hundred first names, and five hundred last ones.
_FIRST_PARTS = (
    ("Al", "Bri", "Ca", "Do", "El", "Fa", "Gio", "Ha", "Ju", "Ma"),
    ("bin", "dora", "lis", "mar", "na", "nek", "rio", "sha", "tess", "vel"),
)
_LAST_PARTS = (
    ("Ash", "Bel", "Cor", "Dun", "Esk", "Far", "Gar", "Hol", "Lin", "Nor"),
    ("a", "en", "i", "o", "er"),
    ("by", "dal", "feld", "ham", "kov", "mont", "ric", "sen", "wick", "zaro"),
)
_TRADES = (
    ("baker", "bakery", "sweep the oven"),
    ("teacher", "school", "mark the spelling tests"),
    ("ferry pilot", "harbour", "check the mooring lines"),
    ("nurse", "clinic", "count the bandages"),
    ("joiner", "workshop", "plane an oak door"),
    ("gardener", "nursery", "prick out seedlings"),
    ("librarian", "library", "mend a torn atlas"),
    ("postal clerk", "post office", "sort the parcels"),
)
_TRAITS = ("patient", "curious", "blunt", "generous", "anxious", "orderly", "playful", "stubborn", "shy", "ambitious")
_PLANS = ("paint the boat house", "start a choir", "fix the clock", "hold a plum fair", "dig a second well")


@dataclass(frozen=True)
class _Person:
    """Somebody of the town; hours are minutes after midnight."""

    name: str
    neighbour: str
    speaks_first: bool
    age: int
    traits: tuple[str, ...]
    trade: tuple[str, str, str]
    plan: str
    street: int
    rises: int
    retires: int


def make_town(folder: Path, people: int, seed: int = 1) -> None:
    """Write a town.

    Args:
        folder: A folder that is not there yet.
        people: How many live there, 2 or more.
        seed: Of all that is drawn.

    Raises:
        ValueError: So few, or more than there are names.
        FileExistsError: The folder is there.
    """
    first_names, last_names = (["".join(parts) for parts in product(*lists)] for lists in (_FIRST_PARTS, _LAST_PARTS))
    names = [f"{first} {last}" for first, last in product(first_names, last_names)]
    if not 2 <= people <= len(names):
        raise ValueError(f"a town of {people}: it takes 2 to {len(names)} people")
    folder.mkdir(parents=True)
    drawn = random.Random(seed)
    residents = [_person(number, pair, drawn) for number, pair in _in_pairs(drawn.sample(names, people))]
    for person in residents:
        memory = folder / "personas" / person.name / "bootstrap_memory"
        (memory / "associative_memory").mkdir(parents=True)
        _write(memory / "scratch.json", _scratch(person))
        _write(memory / "associative_memory" / "nodes.json", _nodes(person))
    steps: dict[int, dict[str, Any]] = {}
    for person in residents:
        for minute, entry in _movement(person):
            steps.setdefault(minute, {})[person.name] = entry
    _write(folder / "master_movement.json", {str(step): steps[step] for step in sorted(steps)})
    _write(folder / "meta.json", {"start_date": f"{_DAY:%B %d, %Y}", "sec_per_step": _SECONDS_A_STEP})


def _in_pairs(names: list[str]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield everybody's number and name with the name of their neighbour; the last of an odd number has the first."""
    for number, name in enumerate(names):
        yield number, (name, names[number ^ 1] if number ^ 1 < len(names) else names[0])


def _person(number: int, names: tuple[str, str], drawn: random.Random) -> _Person:
    return _Person(
        name=names[0],
        neighbour=names[1],
        speaks_first=number % 2 == 0,
        age=drawn.randint(18, 88),
        traits=tuple(drawn.sample(_TRAITS, 3)),
        trade=drawn.choice(_TRADES),
        plan=drawn.choice(_PLANS),
        street=number // _NEIGHBOURS,
        rises=drawn.randint(5 * 60, 8 * 60),
        retires=drawn.randint(20 * 60, 23 * 60),
    )


def _scratch(person: _Person) -> dict[str, Any]:
    trade, place, _ = person.trade
    return {
        "name": person.name,
        "age": person.age,
        "innate": ", ".join(person.traits),
        "learned": f"{person.name} is a {trade} at the {place}, and wants to {person.plan} with {person.neighbour}.",
        "lifestyle": f"{person.name} gets up at {_clock(person.rises)} and goes to bed at {_clock(person.retires)}.",
        "living_area": f"Madeton:Street {person.street + 1}:main room",
    }


def _nodes(person: _Person) -> dict[str, Any]:
    """Return a memory stream: what the day held, the talk of the evening before bed, and a thought about it."""
    trade, place, duty = person.trade
    evening = 19 * 60
    first, second = (person.name, person.neighbour) if person.speaks_first else (person.neighbour, person.name)
    lines = [
        [first, f"{second}, will you help me on Street {person.street + 1} tomorrow?"],
        [second, f"If it is about the plan, {first}, then yes, after work."],
    ]
    name, plan = person.name, person.plan
    entries = [
        ("event", person.rises, "gets up", "house", f"{name} is opening the shutters at {_clock(person.rises)}", 2),
        ("event", person.rises + 90, "works", place, f"{name} is about to {duty} at the {place}", 3),
        ("event", 13 * 60, "eats", "lunch", f"{name} is eating lunch with the other {trade}s", 2),
        ("event", 17 * 60, "plans", "plan", f"{name} is thinking of how to {plan}", 5),
        ("chat", evening, "chat with", person.neighbour, f"conversing about the plan of {first}", 6),
        ("thought", evening + 30, "trusts", person.neighbour, f"{person.neighbour} may be relied on to {plan}", 7),
    ]
    return {
        f"node_{number}": {
            "type": kind,
            "created": f"{_DAY + timedelta(minutes=minute):%Y-%m-%d %H:%M:%S}",
            "subject": person.name,
            "predicate": predicate,
            "object": about,
            "description": text,
            "poignancy": poignancy,
            "filling": lines if kind == "chat" else ["node_5"] if kind == "thought" else [],
        }
        for number, (kind, minute, predicate, about, text, poignancy) in enumerate(entries, start=1)
    }


def _movement(person: _Person) -> Iterator[tuple[int, dict[str, Any]]]:
    trade, place, duty = person.trade
    home, work = f"Madeton:Street {person.street + 1}:main room", f"Madeton:{place}:{place}"
    for minute, activity, address in (
        (0, "sleeping soundly", home),
        (person.rises, "having breakfast by the window", home),
        (person.rises + 90, f"busy to {duty}", work),
        (13 * 60, f"eating lunch with the other {trade}s", work),
        (17 * 60, f"planning to {person.plan}", home),
        (person.retires, "sleeping with a window open", home),
    ):
        yield minute, {"description": f"{activity} @ {address}", "chat": None}


def _clock(minute: int) -> str:
    return f"{minute // 60}:{minute % 60:02}"


def _write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")
