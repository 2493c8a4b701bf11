"""Read everybody's activities of a Generative Agents run, step by step, from either form of its folder.

| folder | its beginning and its step | activities |
|---|---|---|
| `compressed_storage/RUN` | `meta.json` | `master_movement.json`: people at the steps at which they change |
| `storage/RUN` | `reverie/meta.json` | `movement/N.json`: everybody at step N, with the time of the step |

Source: the public format of Park et al. (2023); the first form is made of the second by `compress_sim_storage.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter

from tertulia.state.errors import ScenarioError
from tertulia.worlds.ga_json import Json, checked, is_led_to, is_there, load
from tertulia.worlds.log_words import is_made_up, without_made_up

#: How versions of the program write a day, and a moment.
_DATES = ("%B %d, %Y", "%Y年%m月%d日")
_MOMENTS = ("%B %d, %Y, %H:%M:%S", "%Y年%m月%d日, %H:%M:%S")

#: The activities of a compressed run; those of a run in `storage/`, a file a step; and the facts of a run.
_COMPRESSED, _STEPS = "master_movement.json", "movement"
_META_FILES = ("meta.json", "reverie/meta.json")


@dataclass(frozen=True)
class Action:
    """A person's action from a time on: the activity, the address it is meant for, and the chat it belongs to.

    Attributes:
        activity: Empty if the program made it up for a failed reply.
    """

    since: datetime
    activity: str
    address: str
    chat: object


@dataclass(frozen=True)
class Movement:
    """The activities of a run.

    Attributes:
        actions: By name, oldest first.
        begins: When the run begins; `None` if no file says so.
        made_up: By name, how many activities the program made up.
        notes: Gaps, in words for people.
        links: Files that were passed over because a link leads to them.
    """

    actions: dict[str, list[Action]]
    begins: datetime | None = None
    made_up: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    links: tuple[Path, ...] = ()


class _Meta(Json):
    start_date: str
    sec_per_step: float = Field(gt=0, le=3600)
    curr_time: str | None = None
    step: int | None = Field(default=None, ge=0, lt=10**7)


class _Entry(Json):
    description: str
    chat: Any = None


class _StepFacts(Json):
    curr_time: str | None = None


class _Step(Json):
    persona: dict[str, _Entry]
    meta: _StepFacts = _StepFacts()


_MOVEMENT = TypeAdapter(dict[str, dict[str, _Entry]])


def read_movement(folder: Path) -> Movement:
    """Read the activities of a run folder of either form.

    Raises:
        ScenarioError: A file of them is broken.
    """
    compressed, steps = folder / _COMPRESSED, folder / _STEPS
    found = [folder / name for name in (*_META_FILES, _COMPRESSED)]
    links = {file for file in found if is_led_to(file, folder)}
    meta = _read_meta(folder)
    begins = meta[0] if meta else None
    if is_there(compressed, folder):
        if meta is None:
            note = f"meta.json is not there, so the steps of {_COMPRESSED} have no time: it is not used"
            return Movement({}, notes=(note,), links=tuple(sorted(links)))
        moments = _compressed_moments(compressed, *meta)
    elif steps.is_dir() and not steps.is_symlink():
        files = [file for file in steps.iterdir() if re.fullmatch(r"\d{1,7}\.json", file.name, re.ASCII)]
        links |= {file for file in files if is_led_to(file, folder)}
        written = [file for file in files if file not in links and file.stat().st_size]  # base towns have an empty one
        moments = _moments(sorted(written, key=lambda file: int(file.stem)), meta)
    else:
        links |= {steps} if steps.is_symlink() else set()
        moments = iter(())
    actions, made_up = _actions(moments)
    note = (
        f"{_COMPRESSED} is not there, nor {_STEPS}/ with a file a step: activities are from the people's own memories"
    )
    return Movement(actions, begins, made_up, () if actions else (note,), tuple(sorted(links)))


def _actions(moments: Iterator[tuple[datetime, dict[str, _Entry]]]) -> tuple[dict[str, list[Action]], dict[str, int]]:
    actions: dict[str, list[Action]] = {}
    made_up: dict[str, int] = {}
    for since, people in moments:
        for name, entry in people.items():
            written, _, address = entry.description.partition(" @ ")
            activity = "" if is_made_up(written, name) else written
            action = Action(since=since, activity=activity, address=address, chat=_spoken(entry.chat))
            earlier = actions.setdefault(name, [])
            # A walking person has an entry at every step: only changes since the step before are kept.
            if not earlier or replace(earlier[-1], since=since) != action:
                earlier.append(action)
                if written.strip() and not activity:
                    made_up[name] = made_up.get(name, 0) + 1
    return actions, made_up


def _spoken(chat: Any) -> Any:
    """Return the lines of a chat as its record has them, without those that the program made up."""
    is_dialogue = isinstance(chat, list) and all(isinstance(line, list) and len(line) == 2 for line in chat)
    return without_made_up(chat) if is_dialogue else chat


def _compressed_moments(file: Path, begins: datetime, step_s: float) -> Iterator[tuple[datetime, dict[str, _Entry]]]:
    movement = checked(_MOVEMENT, load(file), file)
    for step in movement:
        if not re.fullmatch(r"\d{1,7}", step, re.ASCII):
            raise ScenarioError(f"{file}: {step!r} is not the number of a step")
    for step in sorted(movement, key=int):
        yield _later(begins, int(step) * step_s, file), movement[step]


def _moments(files: list[Path], meta: tuple[datetime, float] | None) -> Iterator[tuple[datetime, dict[str, _Entry]]]:
    """Yield the steps of `movement/` in order; a step without a time of its own has that of its number."""
    for file in files:
        step = checked(TypeAdapter(_Step), load(file), file)
        moment = _moment_of(step.meta.curr_time)
        if moment is None and meta is not None:
            begins, step_s = meta
            moment = _later(begins, int(file.stem) * step_s, file)
        if moment is not None:
            yield moment, step.persona


def _read_meta(folder: Path) -> tuple[datetime, float] | None:
    """Return when a run begins, and the length of a step in seconds; `None` if no file says so.

    A town may begin in the morning, while `start_date` names only the day: the end of the run and its number of steps
    tell the time.
    """
    file = next((folder / name for name in _META_FILES if is_there(folder / name, folder)), None)
    if file is None:
        return None
    meta = checked(TypeAdapter(_Meta), load(file), file)
    begins = _parsed(meta.start_date, _DATES)
    if begins is None:
        raise ScenarioError(f"{file}: start_date: {meta.start_date!r} is not a date of the form 'February 13, 2023'")
    ends = _moment_of(meta.curr_time)
    if ends is not None and meta.step is not None:
        by_steps = _later(ends, -meta.step * meta.sec_per_step, file)
        begins = by_steps if by_steps.date() == begins.date() else begins
    return begins, meta.sec_per_step


def _later(moment: datetime, seconds: float, file: Path) -> datetime:
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        raise ScenarioError(f"{file}: {seconds:g} seconds from {moment} is no date") from None


def _moment_of(text: str | None) -> datetime | None:
    return _parsed(text, _MOMENTS) if text else None


def _parsed(text: str, forms: tuple[str, ...]) -> datetime | None:
    for form in forms:
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            continue
    return None
