"""A store with rehearsed runs of each kind, a fork and an experiment, for tests of exports."""

from pathlib import Path
from typing import Any, NamedTuple

import tertulia as tt


class Rehearsed(NamedTuple):
    """Ids of runs in a store, and the name of its experiment."""

    path: Path
    dialogue: str
    fork: str
    meeting: str
    album: str
    experiment: str

    @property
    def store(self) -> tt.Store:
        return tt.open_store(str(self.path))


def rehearse_all(path: Path) -> Rehearsed:
    """Rehearse a dialogue, a fork of it, a meeting, an album chat, and two cases at two λ."""
    given: dict[str, Any] = {"rehearse": True, "store": str(path), "progress": False}
    dialogue = tt.run("tidewell", removal_factor=0.5, rounds=3, seed=2**70, **given)
    fork = dialogue.fork(at=3, removal_factor=0.9, progress=False)
    meeting = tt.run("team_building", rounds=3, label="the day out", **given)
    album = tt.run("villagers", agents=4, rounds=1, **given)
    experiment = tt.sweep(
        ["tidewell:0", "tidewell:1"],
        removal_factor=[0, 1],
        trials=1,
        rounds=2,
        rehearse=True,
        store=str(path),
        workers=1,
    )
    return Rehearsed(path, dialogue.id, fork.id, meeting.id, album.id, experiment.name)


def said(run: tt.Run) -> list[list[str | None]]:
    """Return who said what; in an album chat each question is followed by its answer."""
    if run.exchanges:
        answers = [[[met.turn.speaker, met.turn.text], [met.answer.speaker, met.answer.text]] for met in run.exchanges]
        return [line for both in answers for line in both]
    return [[turn.speaker, turn.text] for turn in run.turns if turn.speaker is not None]
