"""The tree of forks, and simulations folded into one row."""

from datetime import timedelta

from support.stored import NOW, a_run

from tertulia.state.records import RunRecord
from tertulia.state.town import Simulation
from tertulia.views.reading.listing import RunList


def runs(**parents: str | None) -> list[RunRecord]:
    """Runs by name, the first the newest; a parent is that of a fork."""
    return [
        a_run(name, parent=None if parent is None else (parent, 2), turns=3, created=NOW - timedelta(seconds=at))
        for at, (name, parent) in enumerate(parents.items())
    ]


def rows(listed: RunList) -> list[tuple[str, int, int]]:
    return [(row.run.run, row.depth, row.conversations) for row in listed.rows]


def test_forks_stand_under_their_parents() -> None:
    listed = RunList(runs=runs(d="b", c="a", b="a", a=None, z=None))
    assert rows(listed) == [("a", 0, 0), ("c", 1, 0), ("b", 1, 0), ("d", 2, 0), ("z", 0, 0)]


def test_a_fork_whose_parent_is_not_listed_stands_by_itself() -> None:
    assert rows(RunList(runs=runs(d="b", c="gone"))) == [("d", 0, 0), ("c", 0, 0)]


def test_the_conversations_of_a_simulation_are_one_row_and_their_forks_stand_under_it() -> None:
    known = {"simulation": "5cu8", "status": "finished", "town": "tidewell", "model": "m", "embedder": "e", "seed": 1}
    more = {"rehearsed": True, "days": 1, "encounters_per_day": 2, "parameters": {}, "created": NOW}
    simulation = Simulation.model_validate({**known, **more})
    conversations = {"5cu8-1-2": "5cu8", "5cu8-1-1": "5cu8"}
    stored = runs(f="5cu8-1-1", **dict.fromkeys(conversations), a=None)
    listed = RunList(runs=stored, simulations=[simulation], conversations=conversations)
    assert rows(listed) == [("5cu8", 0, 2), ("f", 1, 0), ("a", 0, 0)]
    (folded, *_) = listed.rows
    assert (folded.run.status, folded.run.turns) == ("finished", 6)
