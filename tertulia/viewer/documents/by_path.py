"""The documents of the viewer by their paths, as the server answers them and exported files contain them.

store                               the words by which a command names the store
runs                                all runs and simulations; ?first=N: the newest N runs
runs/RUN                            a run without its turns
runs/RUN/turns                      its turns, each with its bids, and how a meeting opened; ?after=N&to=M: N+1 to M
runs/RUN/thoughts                   the thoughts behind the turns of a meeting
runs/RUN/turns/N                    how a turn came about
runs/RUN/turns/N/states             the state before and after every node of the turn
runs/RUN/turns/N/cost               the cost of its model calls
runs/RUN/cost                       the cost of all calls
runs/RUN/opening                    how a meeting opened
runs/RUN/agents/NAME                an agent through the whole run
runs/RUN/album                      an album chat: the pictures that each person has seen, by round
runs/RUN/figures                    diversity, length and participation
runs/RUN/actions                    the commands that fork it or go on with it
runs/RUN/edits                      the changes that a fork may have besides parameters: people and their memories
diff/A/B                            the parting of two runs, and which turns differ
diff/A/B/turns                      how turns differ; ?of=3,4,7: which
experiments                         all experiments, and how far each is
experiments/NAME                    the design of an experiment, and how far it is
experiments/NAME/trials             the conversations behind a figure; ?setting=S&case=C, or of all cases
experiments/NAME/measures/METRIC    a measure in every setting and case, with intervals
pictures/RUN/ID                     a picture of an album chat; a file has them in runs/RUN/album
strips/RUN                          the pictures that an album chat was about first, for the list of runs
towns/SIMULATION                    the days of a town, and its encounters
towns/SIMULATION/days/N             where people are on a day
towns/SIMULATION/people/NAME        a person's memories
"""

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

from tertulia.state.documents import Document
from tertulia.state.errors import NotFoundError, SettingError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents import (
    actions,
    comparison,
    conversation,
    edits,
    experiment,
    figures,
    measures,
    minds,
    population,
    runs,
    town,
    turn,
    whereabouts,
)

#: Takes the store, the variable parts of the path, and the query.
Reader = Callable[[SqlStore, Sequence[str], Mapping[str, str]], Document]

#: The number of a turn, as an address has it.
_NUMBER = re.compile("[0-9]{1,9}")

#: The most turns that are compared at once.
_SEVERAL = 60

#: The readers of documents by path; `*` is a variable part.
READERS: dict[str, Reader] = {
    "store": lambda store, _parts, _query: actions.store_page(store),
    "runs": lambda store, _parts, query: runs.runs_page(store, _limit(query, "first")),
    "runs/*": lambda store, parts, _query: conversation.run_page(store, parts[0]),
    "runs/*/turns": lambda store, parts, query: conversation.turns_page(
        store, parts[0], _after(query), _limit(query, "to")
    ),
    "runs/*/thoughts": lambda store, parts, _query: conversation.thoughts_page(store, parts[0]),
    "runs/*/turns/*": lambda store, parts, _query: turn.turn_page(store, parts[0], _numbered(parts[1])),
    "runs/*/turns/*/states": lambda store, parts, _query: turn.states_page(store, parts[0], _numbered(parts[1])),
    "runs/*/turns/*/cost": lambda store, parts, _query: turn.cost_page(store, parts[0], _numbered(parts[1])),
    "runs/*/cost": lambda store, parts, _query: turn.cost_page(store, parts[0]),
    "runs/*/opening": lambda store, parts, _query: minds.opening_page(store, parts[0]),
    "runs/*/agents/*": lambda store, parts, _query: minds.agent_page(store, parts[0], parts[1]),
    "runs/*/album": lambda store, parts, _query: population.album_page(store, parts[0]),
    "runs/*/figures": lambda store, parts, _query: figures.figures_page(store, parts[0]),
    "runs/*/actions": lambda store, parts, _query: actions.actions_page(store, parts[0]),
    "runs/*/edits": lambda store, parts, _query: edits.edits_page(store, parts[0]),
    "diff/*/*": lambda store, parts, _query: comparison.comparison_page(store, parts[0], parts[1]),
    "diff/*/*/turns": lambda store, parts, query: comparison.turns_page(store, parts[0], parts[1], _several(query)),
    "experiments": lambda store, _parts, _query: experiment.experiments_page(store),
    "experiments/*": lambda store, parts, _query: experiment.experiment_page(store, parts[0]),
    "experiments/*/trials": lambda store, parts, query: experiment.trials_page(store, parts[0], query),
    "experiments/*/measures/*": lambda store, parts, _query: measures.measure_page(store, parts[0], parts[1]),
    "pictures/*/*": lambda store, parts, _query: population.picture_page(store, parts[0], parts[1]),
    "strips/*": lambda store, parts, _query: population.strip_page(store, parts[0]),
    "towns/*": lambda store, parts, _query: town.town_page(store, parts[0]),
    "towns/*/days/*": lambda store, parts, _query: whereabouts.day_page(store, parts[0], _numbered(parts[1], "day")),
    "towns/*/people/*": lambda store, parts, _query: town.person_page(store, parts[0], parts[1]),
}

#: Those that are read in an instant, however long a run is; of its turns, so many at most.
_SHORT = frozenset(
    {"store", "runs", "runs/*", "runs/*/opening", "runs/*/actions", "runs/*/edits", "pictures/*/*", "strips/*"}
    | {"runs/*/turns/*", "runs/*/turns/*/states", "runs/*/turns/*/cost", "experiments"}
)
_FEW = 301


def document_at(store: SqlStore, path: str, query: Mapping[str, str] | None = None) -> Document:
    """Return the document of a path.

    Args:
        path: One of those above, with its parts percent-encoded.

    Raises:
        NotFoundError: There is no such path, run, turn, agent or simulation.
        UsageError: The run has no such document, as an album chat has no race; or the query has an invalid number.
        StorageError: The store can't be read.
    """
    parts = parts_of(path)
    pattern = _pattern_of(parts)
    if pattern is None:
        raise NotFoundError(f"there is no page {path!r}")
    variable = [part for name, part in zip(pattern.split("/"), parts, strict=True) if name == "*"]
    return READERS[pattern](store, variable, query or {})


def is_long(path: str, query: Mapping[str, str]) -> bool:
    """Return whether it takes the longer to read a document, the more turns there are."""
    pattern = _pattern_of(parts_of(path))
    if pattern == "runs/*/turns" and (last := _limit(query, "to")) is not None:
        return last - _after(query) > _FEW
    return pattern not in _SHORT


def _pattern_of(parts: Sequence[str]) -> str | None:
    """Return the path of `READERS` with these parts; `None` if there is none."""
    for pattern in READERS:
        expected = pattern.split("/")
        if len(expected) == len(parts) and all(name in ("*", part) for name, part in zip(expected, parts, strict=True)):
            return pattern
    return None


def parts_of(path: str) -> list[str]:
    """Return the parts of a path, decoded."""
    return [unquote(part) for part in path.split("/")]


def _numbered(part: str, what: str = "turn") -> int:
    if not _NUMBER.fullmatch(part):
        raise NotFoundError(f"there is no {what} {part!r}; {what}s count from 1")
    return int(part)


def _after(query: Mapping[str, str]) -> int:
    value = query.get("after", "-1")  # how a meeting opened comes before turn 1, and counts as turn 0
    if value != "-1" and not _NUMBER.fullmatch(value):
        raise SettingError("after", repr(value), " is no number of a turn")
    return int(value)


def _limit(query: Mapping[str, str], name: str) -> int | None:
    value = query.get(name)
    if value is not None and not _NUMBER.fullmatch(value):
        raise SettingError(name, repr(value), " is no number")
    return None if value is None else int(value)


def _several(query: Mapping[str, str]) -> list[int]:
    numbers = [number for number in query.get("of", "").split(",") if number]
    if len(numbers) > _SEVERAL or not all(map(_NUMBER.fullmatch, numbers)):
        raise SettingError("of", repr(query.get("of", "")), f" is no list of at most {_SEVERAL} numbers of turns")
    return sorted(set(map(int, numbers)))
