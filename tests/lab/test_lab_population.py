"""`tertulia lab report population`: people become one another, or not, in a meeting, town, album."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.commands import Cli
from support.group_stored import a_group_run
from support.letters import LetterEmbedder
from support.meeting_case import a_meeting_of

from tertulia.lab.annotations.self_inventory import self_inventory_requests, self_ratings
from tertulia.lab.population import OF_LINES, gather, measure_population
from tertulia.metrics.population import tells_people_apart
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.state.annotation import Annotation
from tertulia.state.cognition import Character
from tertulia.state.records import Turn, TurnRecord
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.population import traits_given

_EMBEDDED = ("--embedder", "rehearsal")

#: What each of three people talks about.
_SUBJECTS = (
    ("rope", "mast", "anchor", "harbour", "sail", "tide", "keel", "oar"),
    ("dough", "oven", "flour", "yeast", "crust", "loaf", "butter", "rye"),
    ("ledger", "tax", "invoice", "coin", "debt", "interest", "account", "bank"),
)


@pytest.fixture
def store(cli: Cli) -> SqlStore:
    """The store of the folder that commands run in."""
    return SqlStore.open(Path("tertulia.db"), create=True)


def write_meeting(store: SqlStore, lines: Sequence[tuple[int, str]], run: str = "m33t", **changes: object) -> None:
    """Store a meeting of three in which a person, by number from 0, says a line in each round; nobody was rehearsed."""
    meeting = a_meeting_of(3)
    store.create_run(a_group_run(run, status="finished", rehearsed=False, model="small", **changes), meeting)
    for at, name in enumerate(meeting.names):
        poles = ("extroverted", "open") if at % 2 else ("introverted", "open")
        store.save_step(run, 0, name, "prepare", Character(big_five=poles, descriptions=(), plan=()))
    for number, (person, text) in enumerate(lines, 1):
        said = Turn(
            turn=number, round=number, speaker=meeting.names[person], text=text, sim_time_s=9 * number, ended=False
        )
        store.save_turn(run, TurnRecord(turn=said))


def about(subject: int, number: int) -> str:
    """Return a line about a subject; the next ones share words with it, and none is equal."""
    words = _SUBJECTS[subject]
    return (
        f"Well, {words[number % 8]} and {words[(number * 3 + 1) % 8]}, then the {words[(number * 5 + 2) % 8]} {number}."
    )


# --- stored conversations ---------------------------------------------------------------------------------------------


def test_people_who_keep_to_their_subjects_are_told_apart_and_those_who_take_one_over_are_pulled(
    cli: Cli, store: SqlStore
) -> None:
    write_meeting(store, [(at % 3, about(at % 3, at)) for at in range(48)])
    write_meeting(store, [(at % 3, about(at % 3 if at < 24 else 0, at)) for at in range(48)], "pull")
    write_meeting(store, [(at % 3, about(at // 16, at)) for at in range(48)], "drft")
    document = cli("lab", "report", "population", "m33t", "pull", "drft", *_EMBEDDED, "--json").json
    own, pulled, drift = document["conversations"]
    assert [of["conversation"] for of in (own, pulled, drift)] == ["m33t", "pull", "drft"]
    assert own["told_apart"]
    assert own["attribution"] > 0.9
    assert own["pull_p"] > 0.05
    assert pulled["pull"] > 0.1
    assert pulled["pull_p"] < 0.05
    assert pulled["attribution_change"] < -0.3
    assert not drift["told_apart"]  # the subject changes for all: nobody is anybody, and nothing pulls
    assert drift["pull_p"] > 0.05
    assert (document["rehearsed"], document["experiment"]) == (False, "m33t, pull, drft")
    assert document["means"]["apart"]["cases"] == 3
    assert {*document["meanings"]} >= {*OF_LINES} - {"coverage"}  # all were given the same


def test_what_recites_a_persona_does_not_count(cli: Cli, store: SqlStore) -> None:
    """Who are given a boat and speak of nothing but it, in the words that they were given, are no people."""
    recited = [f"You know, {name} speaks of boats before anything else, {at}." for at, name in enumerate("ABC")]
    write_meeting(store, [(at % 3, recited[at % 3]) for at in range(12)])
    write_meeting(store, [(at % 3, recited[at % 3] if at < 12 else about(at % 3, at)) for at in range(48)], "half")
    cli("lab", "report", "population", "m33t", *_EMBEDDED).complains(2, "what is recited")
    (found,) = cli("lab", "report", "population", "half", *_EMBEDDED, "--json").json["conversations"]
    assert (found["recited"], found["lines"]) == (0.25, 36)


def test_a_rehearsed_meeting_is_nobody_and_is_written_as_page_tables_and_plots(cli: Cli) -> None:
    run = cli("run", "team_building", "--rehearse", "--rounds", "12", "--json").json["run"]
    result = cli("lab", "report", "population", run, *_EMBEDDED, "--out", "found")
    assert result.code == 0, result.err
    written = {file.name for file in Path("found/population").iterdir()}
    assert {f"population.{ending}" for ending in ("md", "html", "json")} <= written
    assert {"population_conversations.csv", "population_halves.csv", "population_moments.svg"} <= written
    text = (Path("found/population") / "population.md").read_text()
    assert "its people are nobody" in text
    assert "In 0 of 1 conversations people are told apart" in text
    assert result.out[:300] == text[:300]
    (row,) = csv.DictReader((Path("found/population") / "population_conversations.csv").open())
    assert (row["conversation"], row["told_apart"]) == (run, "no")


def test_rehearsed_meetings_do_not_pass_for_people_by_their_figures_either(store: SqlStore, cli: Cli) -> None:
    runs = [
        cli("run", "mothers_house", "--rehearse", "--rounds", "18", "--seed", str(seed), "--json").json["run"]
        for seed in range(1, 6)
    ]
    report = measure_population(gather(store, runs), RehearsalEmbedder(), "rehearsal")
    assert sum(tells_people_apart(of.figures) for of in report.measured) <= 1


def test_a_small_town_is_one_conversation_by_day(cli: Cli) -> None:
    town = cli("simulate", "tidewell", "--rehearse", "--days", "2", "--encounters-per-day", "3", "--json")
    assert town.code == 0, town.err
    simulation = cli("days", "--json").json["simulations"][0]["simulation"]
    (found,) = cli("lab", "report", "population", simulation, *_EMBEDDED, "--json").json["conversations"]
    assert (found["conversation"], found["case"], found["rehearsed"]) == (simulation, "tidewell", True)
    assert [(moment["first"], moment["last"]) for moment in found["moments"]] == [(1, 1), (2, 2)]
    assert found["people"] >= 3
    assert found["told_apart"] is False


def test_an_album_chat_is_measured_with_its_answers(cli: Cli) -> None:
    run = cli("run", "villagers", "--rehearse", "--set", "agents=4", "--rounds", "4", "--json").json["run"]
    (found,) = cli("lab", "report", "population", run, *_EMBEDDED, "--json").json["conversations"]
    assert (found["people"], found["lines"]) == (4, 16)  # two exchanges a round, each a question and an answer
    assert found["coverage"] is not None  # villagers have properties
    assert [moment["first"] for moment in found["moments"]] == [1, 3]


# --- the questionnaire ------------------------------------------------------------------------------------------------


def answered(agent: str, last: int, rating: int) -> Annotation:
    from tertulia.prompts.annotation import inventory_items

    answers: dict[str, int | str] = dict.fromkeys(inventory_items().values(), rating)
    return Annotation(
        instrument="self_inventory",
        model="small",
        agent=agent,
        first=last + 1,
        last=last,
        part=0,
        prompt="",
        answers=answers,
        prompt_tokens=1,
        reply_tokens=1,
        seconds=0.0,
    )


def test_people_are_asked_about_themselves_before_and_after_with_what_was_said_only_after() -> None:
    meeting = a_meeting_of(2)
    characters = {name: Character(big_five=("open",), descriptions=("hums",), plan=()) for name in meeting.names}
    turns = [
        Turn(turn=at, round=at, speaker="Person 1", text=f"Line {at}.", sim_time_s=at, ended=False)
        for at in range(1, 41)
    ]
    requests = self_inventory_requests(meeting, characters, turns)
    assert [(of.agent, of.first, of.last, of.part) for of in requests] == [
        *[(name, 1, 0, part) for name in meeting.names for part in (0, 1)],
        *[(name, 41, 40, part) for name in meeting.names for part in (0, 1)],
    ]
    before, after = ("\n".join(unit.text for unit in requests[at].prompt.units) for at in (0, 4))
    assert "Line" not in before
    assert "Person 1: Line 11." in after
    assert "Line 10." not in after  # the last 30 turns
    for text in (before, after):
        assert "Character: open" in text
        assert "- hums" in text
        assert "Answer as Person 1 would" in text
    ratings = self_ratings([answered("Person 1", 0, 5), answered("Person 1", 40, 3)])
    assert ratings.after["Person 1"]["openness"] == 3
    assert ratings.before["Person 1"]["openness"] == pytest.approx((8 * 5 + 2 * 1) / 10)


def test_given_traits_are_at_the_ends_of_the_scale() -> None:
    characters = {"Ana": Character(big_five=("introverted", "open", "sleepy"), descriptions=(), plan=())}
    assert traits_given(characters) == {"Ana": {"extraversion": 1.0, "openness": 5.0}}


def test_the_questionnaire_leaves_no_trace_in_the_conversation_and_is_asked_once(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = cli("run", "team_building", "--rehearse", "--rounds", "6", "--json").json["run"]
    before = cli("show", run, "--json").out
    (found,) = cli("lab", "report", "population", run, "--rehearse", *_EMBEDDED, "--json").json["conversations"]
    assert found["coverage_before"] is not None
    assert found["dispersion_before"] > 0
    assert cli("show", run, "--json").out == before
    inventory = cli("inventory", run, "--rehearse", "--json").json
    assert all(segment["first"] <= segment["last"] for segment in inventory["segments"])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was asked for")

    monkeypatch.setattr("tertulia.cli.terminal.asking.open_language_model", refuse)
    (again,) = cli("lab", "report", "population", run, "--rehearse", *_EMBEDDED, "--json").json["conversations"]
    assert again == found


# --- what can't be measured -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([(0, about(0, at)) for at in range(6)], "one person alone"),
        ([(0, "Hello there.")], "one person alone"),
        ([], "nobody speaks in m33t"),
        ([(at % 3, f"Person {at % 3 + 1}!") for at in range(6)], "nothing is said but names"),
    ],
)
def test_a_conversation_without_people_to_compare_is_refused_in_a_sentence(
    cli: Cli, store: SqlStore, lines: list[tuple[int, str]], words: str
) -> None:
    write_meeting(store, lines)
    cli("lab", "report", "population", "m33t", *_EMBEDDED).complains(2, words)


def test_people_are_not_compared_by_an_embedder_that_can_not_read_them(
    cli: Cli, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.cli.lab.reports_of_runs.open_embedding_model", lambda *_: LetterEmbedder())
    write_meeting(store, [(at % 3, about(at % 3, at)) for at in range(18)])
    write_meeting(store, [(at % 3, f"第{at}天我们在码头看见了很多渔船。") for at in range(18)], "zh3t")
    alone = cli("lab", "report", "population", "zh3t")
    alone.complains(2, "zh3t: as letters can't read their language")
    assert "longer" not in alone.err
    found = cli("lab", "report", "population", "zh3t", "m33t", "--json").json
    assert any(note.startswith("zh3t: as letters can't read their language") for note in found["notes"])
    assert found["means"]["apart"]["cases"] == 1


def test_what_else_is_refused(cli: Cli, store: SqlStore) -> None:
    write_meeting(store, [(at % 3, about(at % 3, at)) for at in range(12)])
    cli("lab", "report", "population", "nope", *_EMBEDDED).complains(3, "no run or simulation 'nope'", "tertulia runs")
    one_round = cli("run", "villagers", "--rehearse", "--set", "agents=4", "--rounds", "1", "--json").json["run"]
    cli("lab", "report", "population", one_round, *_EMBEDDED).complains(2, "all is said in one round")
    cli("lab", "report", "population", one_round, "--rehearse", *_EMBEDDED).complains(
        2, "--model fills in what people of meetings say"
    )
    cli("sweep", "mothers_house", "--lambda", "0", "--trials", "1", "--rounds", "1", "--rehearse", "--name", "swept")
    cli("lab", "report", "population", "swept", *_EMBEDDED).complains(2, "tertulia lab compare 'swept'")
    found = cli("lab", "report", "population", one_round, "m33t", *_EMBEDDED, "--json").json
    assert any("all is said in one round" in note for note in found["notes"])
    assert found["means"]["apart"]["cases"] == 1
