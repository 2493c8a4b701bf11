"""Populations of album chats as objects: the same runs as of their files, and wrong values in words."""

from collections.abc import Callable
from pathlib import Path

import pytest

import tertulia as tt
from tertulia.state.errors import ScenarioError


def villagers() -> list[tt.Villager]:
    album = ["a red door: blue", {"caption": "x: y", "variant": "z"}]
    names = ("Ada", "Bo", "Cleo", "Dov")
    return [tt.Villager(name=name, properties={"Age": 4}, album=[f"the boat of {name}", *album]) for name in names]


def test_a_run_of_a_population_is_the_run_of_its_file(tmp_path: Path) -> None:
    made = tt.Population((each for each in villagers()), title="The harbour", time="2026-05-16 10:00", place="the quay")
    store = tmp_path / "t.db"
    given = {"rounds": 2, "rehearse": True, "progress": False, "store": store}
    run = tt.run(made, **given)
    file = made.write(tmp_path / "harbour.yaml")
    read = tt.Population.read(file)
    of_file = tt.run("villagers", settings={"villagers": str(file)}, **given)
    assert read == made
    assert [each.name for each in read.villagers] == ["Ada", "Bo", "Cleo", "Dov"]
    assert [list(run.turns), list(of_file.turns)] == [list(tt.run(read, **given).turns)] * 2
    assert run.record.scenario == "object:The harbour"
    assert [tt.run(each, **given).record.scenario for each in (made, read)] == [str(file)] * 2, "its runs have its name"
    fork = tt.open_store(store).run(run.id).fork(2, progress=False)
    assert list(fork.turns) == list(run.turns)


Call = Callable[[], object]

WRONG: list[tuple[Call, str]] = [
    (lambda: tt.Villager("Ada"), "Villager: takes its fields by name: Villager(name='Ada', …)"),  # type: ignore[misc]
    (lambda: tt.Villager(name="Ada", age=3), "Villager 'Ada': age: is not a field here; that is a field of"),  # type: ignore[call-arg]
    (lambda: tt.Villager(name="Ada", albums=[]), "albums: is not a field here (did you mean 'album'?)"),  # type: ignore[call-arg]
    (lambda: tt.Population(villagers()[0]), "Population: villagers: takes a list of villagers"),  # type: ignore[arg-type]
    (lambda: tt.Population([*villagers(), villagers()[1]]), "villagers[4].name: 'Bo' is there already"),
    (lambda: tt.Population(tt.generate_people(2)), "takes villagers, not a Person: tertulia.Villager(name="),  # type: ignore[arg-type]
    (lambda: tt.Population([]), "Population: villagers: takes two or more, who meet in pairs, not 0"),
    (lambda: tt.Population(villagers()[:1]), "takes two or more, who meet in pairs, not 1"),
    (lambda: tt.Population(villagers(), titel="x"), "titel: is not a field here (did you mean 'title'?)"),
    (lambda: tt.Population(villagers(), time="noon"), "time: takes a time such as"),
    (lambda: tt.Person(name="A", album=["x"]), "people of an album chat are tertulia.Villager, in a tertulia.Popu"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("call", "words"), WRONG, ids=[words[:40] for _, words in WRONG])
def test_what_is_wrong_is_said_in_words(call: Call, words: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        call()
    assert words in str(raised.value)


def test_a_population_has_its_own_villagers_and_is_swept_by_its_file(tmp_path: Path) -> None:
    made = tt.Population(villagers(), title="The harbour")
    with pytest.raises(tt.SettingError, match="they are those of the Population"):
        tt.run(made, settings={"villagers": "x.yaml"}, rehearse=True, store=tmp_path / "t.db")
    with pytest.raises(tt.SettingError, match="Population 'The harbour' has 4 villagers"):
        tt.run(made, agents=9, rehearse=True, store=tmp_path / "t.db")
    with pytest.raises(tt.UsageError, match="from its file: population"):
        tt.sweep(made, rehearse=True, store=tmp_path / "t.db")
