"""`simulate` and `days` as other programs and people rely on them."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.ga_builder import RunBuilder, event

from tertulia.metrics.diversity import metrics_of_cases, n_grams
from tertulia.metrics.variety import distinct_of_sample
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.state.errors import ModelError
from tertulia.storage.store import SqlStore

SHORT = ("simulate", "tidewell", "--rehearse", "--encounters-per-day", "2", "--set", "max_turns=2")


def dump(path: Path, simulation: str) -> list[list[Any]]:
    """What two simulations that are the same have in common, without their ids."""
    with SqlStore.open(path) as store:
        held = store.simulations.encounters(simulation)
        people = [resident.persona.name for resident in store.simulations.town(simulation).residents]
        found = store.simulations.get(simulation)
        memories = [store.remembered(store.simulations.stream(found, name)) for name in people]
        calls = [[call.model_dump(exclude={"seconds"}) for call in store.calls(encounter.run)] for encounter in held]
        return [
            [encounter.model_dump(exclude={"run"}) for encounter in held],
            [store.turns(encounter.run) for encounter in held],
            calls,
            memories,
        ]


# --- simulate -------------------------------------------------------------------------------------------------------


def test_it_tells_who_met_again_too_and_every_conversation_is_a_run(cli: Cli) -> None:
    result = cli(*SHORT, "--days", "2")
    assert result.code == 0
    simulation = result.err.split()[1]
    lines = result.out.splitlines()
    assert lines[0] == "tidewell: 2 days, 2 encounters a day"
    assert "rehearsed: a stand-in speaks, not a model" in lines[1]
    runs = cli("runs", "--json").json["runs"]
    assert [(run["run"], run["status"]) for run in runs] == [
        (f"{simulation}-{key}", "finished") for key in ("2-2", "2-1", "1-2", "1-1")
    ]
    for line, run in zip(lines[3:], reversed(runs), strict=True):
        assert line.startswith(f"day {run['run'].split('-')[1]} ")
        assert line.endswith(f"({run['run']})")
    assert len(cli("show", f"{simulation}-1-1", "--json").json["turns"]) == runs[-1]["turns"]
    assert cli("replay", f"{simulation}-1-1", "--speed", "0").code == 0
    assert cli("days", simulation, "--encounters").out.splitlines() == lines[3:]
    rows = cli("days", simulation, "--encounters", "--json").json["encounters"]
    assert [(row["day"], row["number"]) for row in rows] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert {row["run"]: row["turns"] for row in rows} == {run["run"]: run["turns"] for run in runs}


def test_a_conversation_that_a_kill_kept_from_its_encounter_is_no_run_of_its_own(cli: Cli) -> None:
    simulation = cli(*SHORT, "--days", "1", "--json").json["simulation"]
    listed = cli("runs").out
    with SqlStore.open(Path("tertulia.db")) as store:
        last = store.run(f"{simulation}-1-2")
        begun = last.model_copy(update={"run": f"{simulation}-2-1", "status": "running"})
        store.create_run(begun, store.start(last.run))
    assert cli("runs").out == listed.replace("2 conversations", "3 conversations")


def test_more_days_are_those_that_would_have_come_and_another_seed_has_others(cli: Cli, tmp_path: Path) -> None:
    long, short, seeded = (tmp_path / f"{name}.db" for name in ("long", "short", "seeded"))
    whole = cli(*SHORT, "--days", "2", "--store", str(long), "--json").json
    begun = cli(*SHORT, "--days", "1", "--store", str(short), "--json").json
    resumed = cli("simulate", "--resume", begun["simulation"], "--days", "2", "--store", str(short), "--json").json
    assert {**resumed, "simulation": ""} == {**whole, "simulation": ""}
    expected = dump(long, whole["simulation"])
    assert expected == dump(short, begun["simulation"])
    other = cli(*SHORT, "--seed", "4", "--store", str(seeded), "--json").json
    _, turns, *_ = dump(seeded, other["simulation"])  # who meets when is the same in all trials of a town
    assert turns != expected[1][: len(turns)]


def test_a_conversation_that_takes_long_lets_the_next_one_wait(cli: Cli, tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "log")
    for name in ("Ann", "Bea"):
        run.person(name, event("08:00:00", name, "waking up"))
    run.talk("12:00:00", "Ann", "Bea", [["Ann", "Hello."]]).talk("12:00:10", "Bea", "Ann", [["Bea", "Again?"]])
    # At a word a minute, the first conversation takes longer than ten seconds.
    arguments = ("--from-log", "--rehearse", "--set", "speaking_rate_wpm=1", "--json")
    simulation = cli("simulate", f"ga:{run.write()}", *arguments).json["simulation"]
    with SqlStore.open("tertulia.db") as store:
        first, second = store.simulations.encounters(simulation)
        ann = store.simulations.stream(store.simulations.get(simulation), "Ann")
        kept = [memory for memory in store.remembered(ann) if memory.id.startswith("day_1_1")]
        assert all(first.time < memory.created < second.time for memory in kept)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("simulate",), 2, ("no town", "tidewell")),
        (("simulate", "tidewel"), 3, ("unknown town 'tidewel'", "did you mean 'tidewell'")),
        (("simulate", "ga:nowhere"), 3, ("nowhere", "there is no such folder")),
        (("simulate", "tidewell", "--days", "0"), 2, ("0", "--days")),
        (("simulate", "tidewell", "--rehearse", "--set", "seat=Priya Nambiar"), 2, ("seat=Priya", "fork")),
        (("simulate", "tidewell", "--encounters-per-day", "100001"), 2, ("100001",)),
        (("simulate", "tidewell", "--from-log", "--encounters-per-day", "3"), 2, ("leave out --encounters-per-day",)),
        (("simulate", "tidewell", "--lambda", "2"), 2, ("--lambda 2: ",)),
        (("simulate", "tidewell", "--set", "reflection_threshold=0"), 2, ("reflection_threshold=0",)),
        (("simulate", "--resume", "k3f9"), 3, ("no simulation 'k3f9'",)),
        (("simulate", "tidewell", "--resume", "k3f9"), 2, ("leave out TOWN",)),
        (("simulate", "--resume", "k3f9", "--lambda", "0.1"), 2, ("leave out --lambda",)),
        (("simulate", "--resume", "k3f9", "--rehearse"), 2, ("leave out --rehearse",)),
        (("days", "k3f9"), 3, ("no simulation 'k3f9'",)),
    ],
)
def test_bad_input(cli: Cli, arguments: tuple[str, ...], code: int, words: tuple[str, ...]) -> None:
    cli(*arguments).complains(code, *words)


def test_a_finished_one_says_how_to_have_more_and_refuses_bad_input(cli: Cli) -> None:
    said = cli(*SHORT, "--days", "2", "--json").json
    simulation, turns = said["simulation"], [run["turns"] for run in cli("runs", "--json").json["runs"]]
    expected = {"simulation": simulation, "status": "finished", "days": 2, "encounters": 4, "turns": sum(turns)}
    assert said == expected | {"ended_by": "days"}
    result = cli("simulate", "--resume", "@last")
    assert result.code == 0
    assert f"tertulia simulate --resume {simulation} --days 3" in result.err
    cli("simulate", "--resume", simulation, "--days", "1").complains(2, "--days 1", "has 2 already")
    cli("days", simulation, "--agent", "Nobody").complains(3, "nobody named 'Nobody'")
    cli("days", simulation, "--agent", "p").complains(3, "several people in tidewell", "Piotr", "Priya", "write more")
    cli("days", simulation, "--agent", "Priya", "--encounters").complains(2, "leave out one of them")
    for command in ("show", "resume", "replay", "stats"):
        cli(command, simulation).complains(2, f"{simulation} is a simulation", f"tertulia days {simulation}")
    with SqlStore.open("tertulia.db") as store, store.drive_lock(simulation):
        cli("simulate", "--resume", simulation, "--days", "3").complains(1, "is being driven by another thread")
    left = cli("days", simulation, "--json").json
    (listed,) = cli("days", "--json").json["simulations"]
    assert (left["status"], len(left["days"]), listed["days"]) == ("finished", 2, 2)
    assert cli("simulate", "--resume", simulation, "--days", "3", "--json").json["days"] == 3


def test_one_that_was_stopped_goes_on_where_it_was_after_a_clean_up(cli: Cli) -> None:
    stopped = cli(*SHORT, "--days", "3", "--max-calls", "40")
    assert stopped.code == 130
    assert "day 2 " in stopped.out
    (simulation,) = cli("days", "--json").json["simulations"]
    cleaned = cli("gc", "--yes", "--json").json
    assert cleaned["threads"] == []
    rest = cli("simulate", "--resume", simulation["simulation"])
    assert rest.code == 0
    first = next(line for line in rest.out.splitlines() if line.startswith("day "))
    assert not first.startswith("day 1 08:00")


# --- days -----------------------------------------------------------------------------------------------------------


def test_the_figures_of_a_day_are_those_of_its_conversations(cli: Cli) -> None:
    simulation = cli(*SHORT, "--days", "2", "--json").json["simulation"]
    document = cli("days", simulation, "--json").json
    assert (document["schema_version"], document["simulation"], document["status"]) == (1, simulation, "finished")
    assert [row["day"] for row in document["days"]] == [1, 2]
    memories = calls = 0
    spoken = []
    with SqlStore.open("tertulia.db") as store:
        for row in document["days"]:
            assert row["runs"] == [f"{simulation}-{row['day']}-{number}" for number in (1, 2)]
            dialogues = [[(t.speaker or "", t.text) for t in store.turns(run)] for run in row["runs"]]
            figures = metrics_of_cases({"": dialogues}, RehearsalEmbedder())[""].model_dump()
            assert {name: row[name] for name in figures} == figures
            spoken.append(dialogues)
            assert row["calls"] == sum(len(store.calls(run)) for run in row["runs"])
            memories, calls = memories + row["memories"], calls + row["calls"]
        (everything,) = store.file.rows("SELECT count(*) AS n FROM calls")
        (formed,) = store.file.rows("SELECT count(*) AS n FROM memories WHERE memory LIKE 'day!_%' ESCAPE '!'")
        assert (calls, memories) == (everything["n"], formed["n"])
    for n in (1, 2, 3):
        fewest = min(len(n_grams(dialogues, n)) for dialogues in spoken)
        equal = [distinct_of_sample(dialogues, n, fewest) for dialogues in spoken]
        assert [row[f"dist{n}_equal"] for row in document["days"]] == equal
    shown = cli("days", simulation).out
    assert [line.split()[0] for line in shown.splitlines()[4:6]] == ["1", "2"]


def test_simulations_are_compared_encounter_by_encounter(cli: Cli) -> None:
    days = ("--from-log", "--days", "2")
    tidewell = ("simulate", "tidewell", "--rehearse", "--set", "max_turns=1")
    found = [cli(*tidewell, *days, "--seed", seed, "--json").json["simulation"] for seed in "12"]
    document = cli("days", *found, found[0], "--json").json
    assert document["simulations"] == found
    assert [(row["day"], row["encounters"]) for row in document["days"]] == [(1, 5), (2, 3)]
    with SqlStore.open("tertulia.db") as store:
        cases = {
            str(number): [
                [(t.speaker or "", t.text) for t in store.turns(f"{simulation}-2-{number}")] for simulation in found
            ]
            for number in (1, 2, 3)
        }
    assert all(isinstance(row["without_sense"], float) for row in document["days"])
    assert "flagged by rules" in cli("days", *found).out
    figures = metrics_of_cases(cases, RehearsalEmbedder()).values()
    assert document["days"][1]["sim"] == pytest.approx(sum(figure.sim or 0 for figure in figures) / 3)
    drawn = cli(*SHORT, "--set", "case_seed=2", "--json").json["simulation"]
    cli("days", drawn, found[0]).complains(2, "their --encounters-per-day differs (2, --from-log)")
    other = cli(*SHORT, "--set", "case_seed=3", "--json").json["simulation"]
    cli("days", drawn, other).complains(2, "their case_seed differs (2, 3)", "begin them with the same")
    longer = cli(*SHORT, "--set", "case_seed=2", "--seed", "5", "--days", "2", "--json").json["simulation"]
    assert [row["day"] for row in cli("days", drawn, longer, "--json").json["days"]] == [1]
    cli("days", *found, "--agent", "Piotr").complains(2, "--agent is about one simulation")
    cli("days", "--encounters").complains(2, "--encounters is about one simulation")


def test_what_somebody_remembers_and_why(cli: Cli) -> None:
    simulation = cli(*SHORT, "--set", "reflection_threshold=5", "--json").json["simulation"]
    with SqlStore.open("tertulia.db") as store:
        name = store.simulations.encounters(simulation)[0].initiator
    document = cli("days", simulation, "--agent", name.split()[0].lower(), "--json").json
    assert document["agent"] == name
    assert document["before"] > 100
    resting = [memory for memory in document["memories"] if memory["evidence"]]
    assert resting
    shown = cli("days", simulation, "--agent", name).out
    assert shown.count("rests on: ") == sum(len(memory["evidence"]) for memory in resting)
    assert all(memory["text"] in shown for memory in document["memories"])
    for name in ("rate_importance", "importance_by_words"):
        cli("show", f"{simulation}-1-1", "--node", name).complains(3, name, f"tertulia days {simulation} --agent NAME")


def test_before_anybody_has_met(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ModelError("no model today")

    monkeypatch.setattr("tertulia.nodes.town.encounter.start_of", fails)
    cli(*SHORT).complains(1, "no model today")
    shown = cli("days", "@last").out
    assert "failed: no model today; to go on: tertulia simulate --resume" in shown
    assert "nobody has met yet" in shown
    assert cli("days", "@last", "--json").json["days"] == []


def test_without_simulations(cli: Cli) -> None:
    assert cli("days", "--json").json == {"schema_version": 1, "simulations": []}
    assert "begin with: tertulia simulate tidewell" in cli("days").out
    assert not Path("tertulia.db").exists()
