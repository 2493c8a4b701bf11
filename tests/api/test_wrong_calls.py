"""Wrong calls in Python: each is told in a sentence with what was given and what to do."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

import tertulia as tt

PEOPLE = [
    tt.Person(name="Ana", memories=["Ana sold her boat in March."]),
    tt.Person(name="Bo", memories=["Bo likes rain."]),
]
STAND_IN: dict[str, Any] = {"rehearse": True, "progress": False}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tt.run("tidewell", people=PEOPLE, **STAND_IN), "people make a scenario: run(tertulia.Meeting("),
        (lambda: tt.sweep("tidewell", participants=PEOPLE, **STAND_IN), "a scenario: sweep(tertulia.Meeting("),
        (lambda: tt.run(PEOPLE, **STAND_IN), "tertulia.Case, tertulia.Meeting or tertulia.Population"),  # type: ignore[arg-type]
        (lambda: tt.run(["tidewell"], **STAND_IN), "tertulia.sweep takes several"),  # type: ignore[arg-type]
        (lambda: tt.Case("x", people=PEOPLE, time="2026-05-14 18:00"), "people: is not a field here (did you mean 'pa"),
        (lambda: tt.Meeting("x", agents=PEOPLE, time="2026-05-14 18:00", description="x"), "mean 'participants'?)"),
        (lambda: tt.Person("Ana"), "Person: takes its fields by name: Person(name='Ana', …)"),  # type: ignore[misc]
        (lambda: tt.Person(name="Ana", album=["a boat"]), "album: is not a field here; people of an album chat are"),  # type: ignore[call-arg]
        (lambda: tt.Question("Why?"), "takes its fields by name: Question(text='Why?')"),  # type: ignore[misc]
        (lambda: tt.Question(text="x", scale=7), "as in (1, 7), not 7"),  # type: ignore[arg-type]
        (lambda: tt.run("tidewell", model="other", **STAND_IN), "model=other: a stand-in speaks, as rehearse=True says"),
        (lambda: tt.sweep("tidewell", model="smollm2", **STAND_IN), "a stand-in speaks, as rehearse=True says; give one"),
        (
            lambda: tt.run("tidewell", removal_factor=0.2, settings={"λ": 0.3}, **STAND_IN),
            "removal_factor=0.2: it is among the settings too; give it once",
        ),
        (
            lambda: tt.run("team_building", order="random", settings={"order": "designated"}, **STAND_IN),
            "order=random: it is among the settings too; give it once",
        ),
        (
            lambda: tt.run("tidewell", rounds=3, settings={"max_rounds": 4}, **STAND_IN),
            "rounds=3: max_rounds, which is the same, is among the settings too; give it once",
        ),
        (
            lambda: tt.sweep("tidewell", settings={"lambda": [0, 1], "removal_factor": 0.5}, **STAND_IN),
            "removal_factor=0.5: the settings have lambda too, which is the same; give it once",
        ),
        (lambda: tt.Question(text="x", scale=(1, 2, 3)), "not (1, 2, 3)"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_call_is_told_in_a_sentence(call: Callable[[], object], words: str) -> None:
    with pytest.raises(tt.UsageError) as raised:
        call()
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_fork_and_a_stream_are_told_the_same() -> None:
    run = tt.run("tidewell", rounds=1, **STAND_IN)
    with pytest.raises(tt.SettingError, match=r"removal_factor=0\.2: it is among the settings too"):
        run.fork(at=1, removal_factor=0.2, settings={"removal_factor": 0.3}, progress=False)
    with pytest.raises(tt.SettingError, match="model=other: a stand-in speaks"):
        anyio.run(anext, tt.stream("tidewell", model="other", rehearse=True))


def test_a_backup_and_the_runs_of_an_experiment_name_arguments_and_statuses() -> None:
    experiment = tt.sweep("tidewell", trials=1, rounds=1, **STAND_IN)
    with pytest.raises(tt.SettingError, match=r"^status=Finished: unknown \(did you mean 'finished'\?\)$"):
        experiment.runs.where(status="Finished")
    assert (len(experiment.runs.where(status="finished")), len(experiment.runs.where(status="failed"))) == (1, 0)
    store = tt.open_store("tertulia.db")
    store.backup("copy.db")
    with pytest.raises(tt.UsageError, match="exists already; overwrite it with force=True, or give another name"):
        store.backup("copy.db")
    assert store.backup("copy.db", force=True).name == "copy.db"


def test_every_turn_tells_how_it_came_about() -> None:
    run = tt.run("tidewell", removal_factor=0.5, rounds=2, **STAND_IN)
    for turn in run.turns:
        whole = run.turn(turn.turn)
        assert (turn.why, turn.units, turn.candidates) == (whole.why, whole.units, whole.candidates)
        assert (turn.removed_share, turn.rollbacks, turn.parts) == (whole.removed_share, whole.rollbacks, {})
        assert (turn.agents, turn.exchange, turn.document()) == ((), None, whole.document())
        assert (turn.round, turn.sim_time_s, turn.ended) == (whole.round, whole.sim_time_s, whole.ended)
        assert turn == whole
        assert hash(turn) == hash(whole)
    meeting = tt.run("team_building", rounds=1, **STAND_IN)
    assert len(meeting.turns[0].agents) == 5
