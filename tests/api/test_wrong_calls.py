"""Wrong calls in Python: each is told in a sentence with what was given and what to do."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from inspect import isasyncgen, signature
from types import MethodType
from typing import Any

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
        (
            lambda: tt.run("tidewell", model="other", **STAND_IN),
            "model=other: a stand-in speaks, as rehearse=True says",
        ),
        (
            lambda: tt.sweep("tidewell", model="smollm2", **STAND_IN),
            "a stand-in speaks, as rehearse=True says; give one",
        ),
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


A_PATH = "a path is a text, or a pathlib.Path"
VILLAGERS = [tt.Villager(name=name, album=["a boat"]) for name in ("Ada", "Bo")]


def a_case() -> tt.Case:
    return tt.Case("x", PEOPLE, time="2026-05-14 18:00", description="It rains.")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tt.Budget(max_cost=10**400), "max_cost=1000000000000000000000000000...0000"),
        (lambda: tt.Budget(max_minutes=10**400), "a number of minutes above 0 is expected"),
        (lambda: tt.Budget(prices={"m": (1, 10**400)}), "prices of a million tokens"),
        (lambda: tt.Budget(max_cost=float("nan")), "max_cost=nan: a number above 0"),
        (lambda: tt.Answer(words=5), "Answer: words: takes a text, not 5"),
        (lambda: tt.Answer(words="a", seconds=-5), "Answer: seconds: takes 0 or more, not -5"),
        (lambda: tt.Answer(wrods="a"), "Answer: wrods: is not a field here (did you mean 'words'?)"),
        (lambda: tt.Answer(), "Answer: words: is missing; add it"),
        (lambda: tt.Answer("a"), "Answer: takes its fields by name: Answer(words='a')"),
        (lambda: tt.generate_people(1, without=5), "without=5: a list of texts is expected"),
        (lambda: tt.generate_people(1, without=[5]), "without=5: each is a text"),
        (lambda: tt.generate_people(1, without=PEOPLE), "each is a text"),
        (lambda: tt.generate_people(1, without="Anna"), "without='Anna': a list of texts is expected"),
        (lambda: tt.generate_people(1, seed=1.5), "seed=1.5: a seed is an integer"),
        (lambda: tt.generate_people(1, seed="x"), "seed='x': a seed is an integer"),
        (lambda: tt.generate_people(1, seed=None), "seed=None: a seed is an integer"),
        (lambda: tt.generate_people(1, seed=True), "seed=True: a seed is an integer"),
        (lambda: tt.generate_people(10**400), "...0000"),
        (lambda: tt.Case.read(5), f"path=5: {A_PATH}"),
        (lambda: tt.Meeting.read(None), f"path=None: {A_PATH}"),
        (lambda: tt.Population.read(5), f"path=5: {A_PATH}"),
        (lambda: tt.people_from(None), f"path=None: {A_PATH}"),
        (lambda: tt.people_from("x", user=5), "user=5: a name is a text"),
        (lambda: tt.people_from("x", columns=["name"]), "fields are given by column"),
        (lambda: a_case().write(5), f"path=5: {A_PATH}"),
        (lambda: a_case().write("x\0.yaml"), A_PATH),
        (lambda: a_case().write("x.yaml", overwrite="no"), "overwrite='no': overwrite is True or False"),
        (lambda: tt.Population(VILLAGERS).write("x\0.yaml"), A_PATH),
        (lambda: tt.Population(VILLAGERS, folder=5), f"folder=5: {A_PATH}"),
        (lambda: tt.Population(VILLAGERS, folder=None), f"folder=None: {A_PATH}"),
        (lambda: tt.mentions(None, ["a"]), "text=None: a text is expected"),
        (lambda: tt.mentions("a", None), "names=None: a list of texts is expected"),
        (lambda: tt.mentions("Ann", [5]), "names=5: each is a text"),
        (lambda: tt.sweep(PEOPLE[0], **STAND_IN), "tertulia.Case or tertulia.Meeting"),
        (lambda: tt.sweep(PEOPLE, **STAND_IN), "a scenario is a name, a file, or a tertulia.Case"),
        (lambda: tt.run("tidewell", removal_factor=10**400, **STAND_IN), "00...0000"),
        (lambda: tt.Run(tt.Store("none.db"), "none").frame(None), "of=None: a frame is named by a text"),
    ],
)
def test_a_value_of_another_kind_is_told_in_a_sentence(call: Any, words: str) -> None:
    with pytest.raises(tt.UsageError) as raised:
        call()
    assert words in str(raised.value)
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


def test_answers_that_are_wrong_are_told_in_a_seat() -> None:
    def ask(invitation: tt.Invitation) -> tt.Answer:
        return tt.Answer(words="Hello.", seconds=-1)

    with pytest.raises(tt.UsageError, match=r"^Answer: seconds: takes 0 or more, not -1"):
        tt.run(a_case(), seat="Ana", ask=ask, rounds=1, **STAND_IN)


#: What a user is given, and makes none of.
GIVEN = ("Event", "Invitation", "Noted", "RunEnded", "RunStarted", "StepStarted", "Turn", "TurnFinished")


#: Whose methods users call, and the methods that the library calls.
OBJECTS = (tt.Case, tt.Experiment, tt.Meeting, tt.Population, tt.Run, tt.Store)
INNER = ("model", "replace", "start", "text_in")  # and one that takes fields, which are refused as such


def called_by_users() -> Iterator[Any]:
    """Every function and class that a user calls, and their methods that take something."""
    public = {name: getattr(tt, name) for name in tt.__all__ if name not in GIVEN}
    for name, each in public.items():
        if not (isinstance(each, type) and issubclass(each, Exception)):
            yield pytest.param(each, id=name)
    for kind in OBJECTS:
        for name in sorted(set(dir(kind)) - {*INNER}):
            method = getattr(kind, name)
            if name.startswith("_") or not callable(method):
                continue
            if isinstance(method, MethodType):  # of the class
                yield pytest.param(method, id=f"{kind.__name__}.{name}")
            elif [*signature(method).parameters][1:]:
                yield pytest.param(partial(method, None), id=f"{kind.__name__}.{name}")


async def awaited_if_need_be(called: Any) -> None:
    result = called(nonsense=1)
    await (anext(result) if isasyncgen(result) else result)


@pytest.mark.parametrize("called", [*called_by_users()])
async def test_an_argument_that_there_is_not_is_told(called: Any) -> None:
    with pytest.raises(tt.UsageError, match="nonsense"):
        await awaited_if_need_be(called)


async def first_of(stream: AsyncIterator[object]) -> object:
    return await anext(stream)


def test_a_fork_and_a_stream_are_told_the_same() -> None:
    run = tt.run("tidewell", rounds=1, **STAND_IN)
    with pytest.raises(tt.SettingError, match=r"removal_factor=0\.2: it is among the settings too"):
        run.fork(at=1, removal_factor=0.2, settings={"removal_factor": 0.3}, progress=False)
    with pytest.raises(tt.SettingError, match="model=other: a stand-in speaks"):
        asyncio.run(first_of(tt.stream("tidewell", model="other", rehearse=True)))


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
