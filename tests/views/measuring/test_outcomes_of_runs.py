"""What came of stored runs: who heard what, what people know, a secret in the scenario, and what is refused."""

from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import Cli
from support.group_stored import a_group_run
from support.meeting_case import a_meeting_of
from support.stored import NOW, a_case, a_run

import tertulia as tt
from tertulia.metrics.outcome_records import Outcomes
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.state.cognition import Perception
from tertulia.state.meeting import Goal
from tertulia.state.records import Memory, RunRecord, Turn, TurnRecord
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.outcomes import read_outcomes

NEWS = "The caretaker changes all locks on the 9th of June."
SECRET = "Ana crashed the red van into the harbour wall."


@pytest.fixture
def store() -> SqlStore:
    return SqlStore.open(":memory:", create=True)


def say(store: SqlStore, run: str, *lines: tuple[str | None, str]) -> None:
    for number, (speaker, text) in enumerate(lines, start=1):
        turn = Turn(turn=number, round=number, speaker=speaker, text=text, sim_time_s=10.0 * number, ended=False)
        store.save_turn(run, TurnRecord(turn=turn))


def found_in(store: SqlStore, run: RunRecord) -> Outcomes:
    return read_outcomes(store, run, store.start(run.run), RehearsalEmbedder())


def test_what_somebody_remembers_is_no_news_to_them(store: SqlStore) -> None:
    case = a_case()
    memory = Memory(id="m1", kind="thought", text=NEWS, created=NOW - timedelta(days=1), importance=5)
    knowing = case.model_copy(update={"initiator": case.initiator.model_copy(update={"memories": (memory,)})})
    for name, start in (("k3f9", case), ("k3fa", knowing)):
        store.create_run(a_run(name), start)
        say(store, name, ("Bo", NEWS), ("Ana", "I see."))
    without, with_memory = (found_in(store, a_run(name)).people[0] for name in ("k3f9", "k3fa"))
    assert [fact.text for fact in without.learned] == [NEWS]
    assert with_memory.learned == ()
    assert without.goal is None  # people of a dialogue have none


def test_who_missed_a_line_learns_nothing_from_it_and_the_opening_is_nobodys(store: SqlStore) -> None:
    run, meeting = a_group_run("m33t"), a_meeting_of(3)
    store.create_run(run, meeting)
    first, second, third = meeting.names
    say(store, run.run, (first, NEWS), (second, "I see."), (None, ""))
    missed = Perception(turn=1, similarities={}, relevance=0.0, named=False, noticed=False, importance=1)
    store.save_step(run.run, 2, second, "perceive", missed)
    people = {person.agent: person for person in found_in(store, run).people}
    assert [len(people[name].learned) for name in (first, second, third)] == [0, 0, 1]
    assert [people[name].lines for name in (first, second, third)] == [1, 1, 0]
    assert people[third].believability is None


def test_a_goal_of_the_scenario_is_scored_with_its_steps(store: SqlStore) -> None:
    meeting = a_meeting_of(2)
    goal = Goal(text="mend the boiler", sub_goals=("borrow the ladder from the neighbour",))
    owner = meeting.participants[0].model_copy(update={"goals": (goal,)})
    run = a_group_run("m33t")
    store.create_run(run, meeting.model_copy(update={"participants": (owner, meeting.participants[1])}))
    first, second = meeting.names
    say(store, run.run, (first, "Could I borrow your ladder for an hour?"), (second, "Of course, take the ladder."))
    (outcome,) = found_in(store, run).people[0].goals
    assert outcome.text == "mend the boiler"
    assert outcome.score is not None
    assert outcome.score > 5
    assert outcome.turns == (2,)


def test_of_a_run_in_another_language_only_believability_is_scored(store: SqlStore) -> None:
    run = a_run(parameters={"language": "de"})
    store.create_run(run, a_case())
    say(store, run.run, ("Ana", "Thank you, dear Bo."), ("Bo", NEWS))
    found = found_in(store, run)
    assert [person.believability for person in found.people] == [10, 10]
    assert {(person.relationship, person.knowledge) for person in found.people} == {(None, None)}
    assert found.pairs == ()


DIALOGUE = f"""
name: the van
time: 2024-05-14 09:30:00
participants:
  - name: Ana
    secret: {SECRET}
    memories: [Ana has driven for ten years.]
  - name: Bo
    memories: [Bo repairs cars.]
"""
MEETING = f"""
kind: group_chat
name: the van
description: Three people have to say who pays for the van.
time: 2024-05-14 09:30:00
participants:
  - name: Ana
    secret: {SECRET}
  - name: Bo
  - name: Cy
"""


@pytest.mark.parametrize("text", [DIALOGUE, MEETING])
def test_a_secret_is_told_to_its_owner_alone(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "van.yaml").write_text(text, encoding="utf-8")
    cli("run", "van.yaml", "--rehearse", "--rounds", "4", "--seed", "1")
    told: dict[str, set[bool]] = {}
    with SqlStore.open(tmp_path / "tertulia.db", create=False) as store:
        (run,) = store.runs()
        assert store.start(run.run).participant("Ana").secret == SECRET
        for call in store.calls(run.run):
            units = store.prompt(call.prompt).units
            told.setdefault(call.agent, set()).add(any(SECRET in unit.text for unit in units))
    assert True in told["Ana"]
    assert told["Bo"] == {False}
    ana, *others = tt.open_store(tmp_path / "tertulia.db").run(run.run).outcomes("rehearsal").people
    assert (ana.secret is None) == (ana.lines == 0)
    assert {person.secret for person in others} == {None}


def test_a_fork_changes_a_secret(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "van.yaml").write_text(DIALOGUE, encoding="utf-8")
    cli("run", "van.yaml", "--rehearse", "--rounds", "2")
    cli("fork", "@last", "--at", "2", "--person", "Ana.secret=Ana can't swim.")
    with SqlStore.open(tmp_path / "tertulia.db", create=False) as store:
        newest, parent = store.runs()
        assert store.start(newest.run).participant("Ana").secret == "Ana can't swim."
        assert store.start(parent.run).participant("Ana").secret == SECRET
