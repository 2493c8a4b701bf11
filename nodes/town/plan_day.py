"""The day of a resident, composed from the log's entries on them: no model is asked.

1. Its frame is a day of the log, these in turn: sleep, activities of an hour and a half, and those with a time in their
   words (`steering the 10:00 crossing`) are at their times.
2. Minor things between them vary: those that follow each other under one roof come in another order, and begin up to
   ten minutes earlier or later.

It is drawn by the seed of the case, so days are the same in all trials of a town, and follow from the stored data.
"""

import re
from collections.abc import Sequence

from tertulia.state.randomness import keyed_generator
from tertulia.state.town import Habit, Resident

#: An activity that lasts less, in minutes, is a minor one; and by how much it begins earlier or later, in which steps.
_MINOR, _SHIFT, _STEP = 90, 10, 5
_HAS_TIME = re.compile(r"\d[:.]\d\d|\b\d{1,2} ?(?:am|pm|o['’]clock)\b|\b(?:noon|midnight)\b", re.IGNORECASE)


def planned_day(resident: Resident, day: int, seed: int | None) -> tuple[Habit, ...]:
    """Return a resident's activities on a day, in order of time; nothing if the log does not show them.

    Args:
        day: From 1.
        seed: Of the case; `None`: the days of the log are repeated as they are.
    """
    if not resident.days:
        return ()
    frame = resident.days[(day - 1) % len(resident.days)]
    if seed is None:
        return frame
    generator = keyed_generator(seed, round=day, agent=resident.persona.name, node="plan_day")
    planned: list[Habit] = []
    at = 0
    while at < len(frame):
        past = at + 1
        while (
            _is_minor(frame, at) and past < len(frame) and _is_minor(frame, past) and _same_roof(frame[at], frame[past])
        ):
            past += 1
        lengths = [_end(frame, index) - frame[index].minute for index in range(at, past)]
        order = generator.sample(range(past - at), past - at)
        minute = frame[at].minute
        for index in order:
            planned.append(frame[at + index].model_copy(update={"minute": minute}))
            minute += lengths[index]
        at = past
    shifted: list[Habit] = []
    for index, habit in enumerate(planned):
        minute = habit.minute + generator.randrange(-_SHIFT, _SHIFT + 1, _STEP)
        is_free = index > 0 and minute >= shifted[-1].minute + _STEP and minute <= _end(planned, index) - _SHIFT - _STEP
        moves = is_free and _is_minor(planned, index)
        shifted.append(habit.model_copy(update={"minute": minute}) if moves else habit)
    return tuple(shifted)


def _is_minor(habits: Sequence[Habit], index: int) -> bool:
    habit = habits[index]
    lasts = _end(habits, index) - habit.minute
    return not habit.asleep and lasts < _MINOR and not _HAS_TIME.search(habit.activity)


def _end(habits: Sequence[Habit], index: int) -> int:
    return habits[index + 1].minute if index + 1 < len(habits) else 24 * 60


def _same_roof(first: Habit, second: Habit) -> bool:
    return first.place is not None and first.place.rpartition(" at ")[2] == (second.place or "").rpartition(" at ")[2]
