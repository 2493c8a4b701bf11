"""`Run.ask`: in notebooks and beside event loops, at any turn, and without a trace in the conversation."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import tertulia as tt
from tertulia.storage.schema import TABLES
from tertulia.storage.store import SqlStore
from tertulia.views.reading.turn_documents import turn_documents

ENDLESS: dict[str, Any] = {"settings": {"ending": "continuation", "ending_threshold": 1}, "rehearse": True}


async def interrupted(scenario: Any, rounds: int) -> tt.Run:
    """Stop a run after its second turn."""
    events = tt.stream(scenario, rounds=rounds, **(ENDLESS if scenario == "tidewell" else {"rehearse": True}))
    async for event in events:
        if isinstance(event, tt.TurnFinished) and event.turn.turn == 2:
            break
    await events.aclose()  # type: ignore[attr-defined]
    return tt.open_store("tertulia.db").run()


def everything_of(store: str, run: str) -> Any:
    """All that is stored of a run but what is annotated: documents, which have no times of the clock, and counts."""
    with SqlStore.open(store) as opened:
        of_runs = [
            name
            for name, table in TABLES.items()
            if any(column.name == "run" for column in table.columns) and name != "annotations"
        ]
        counted = {
            table: opened.file.rows(f"SELECT count(*) AS rows FROM {table} WHERE run = ?", run) for table in of_runs
        }
        return turn_documents(opened, run), counted, opened.run(run)


@pytest.mark.parametrize("scenario", ["tidewell", "team_building"])
async def test_a_run_that_was_asked_about_goes_on_as_one_that_never_was(scenario: str) -> None:
    run = await interrupted(scenario, 6)
    for name in ("tertulia.db", "tertulia.db-wal", "tertulia.db-shm"):
        if Path(name).exists():
            shutil.copy(name, name.replace("tertulia", "never"))
    before = everything_of("tertulia.db", run.id)
    name = run.turns[0].speaker or run.turns[1].speaker or ""
    for at in (0, 1, None):
        await run.aask(name, ["What do you hope for?", tt.Question(text="Go on?", options=["yes", "no"])], at=at)
        await run.aask(name, "inventory", at=at)
    assert everything_of("tertulia.db", run.id) == before
    assert len(run.asked) == 3 * (2 + 44)
    assert run.status == "interrupted"
    await run.aresume()
    never = await tt.open_store("never.db").run(run.id).aresume()
    assert everything_of("tertulia.db", run.id) == everything_of("never.db", run.id)
    assert run.turns == never.turns
    assert len(run.turns) == 6
    assert never.asked == ()
    fork, other = run.fork(at=2, seed=9), never.fork(at=2, seed=9)
    assert fork.turns == other.turns
    assert len(fork.asked) == 2 * (2 + 44)  # what was asked before they part


def test_answers_have_what_was_prompted_and_become_a_frame() -> None:
    run = tt.run("team_building", rounds=3, rehearse=True)
    answers = run.ask("Bob", ["Why?", {"text": "Content?", "scale": (1, 5)}], at=2)
    why, content = answers
    assert (why.person, why.at, why.question, why.probabilities, why.model) == ("Bob", 2, "Why?", None, "rehearsal")
    assert isinstance(why.answer, str)
    assert isinstance(content.answer, int)
    assert "Question: Content?" in content.prompt
    assert list(answers.frame()["question"]) == ["Why?", "Content?"]
    assert repr(answers).splitlines()[0] == f"Bob, after turn 2: Why? — {why.answer}"
    assert repr(run.ask("Bob", "Why?", at=0)).startswith("Bob, before the first turn: Why? — ")
    assert run.ask(tt.Person(name="Bob"), "Why?", at=2) == (why,)
    assert answers.traits == {}
    assert 1 <= run.ask("Bob", "inventory").traits["openness"] <= 5


def test_villagers_are_asked_with_their_role_album_and_exchanges() -> None:
    run = tt.run("villagers", rounds=2, agents=4, rehearse=True)
    before = everything_of("tertulia.db", run.id)
    first = run.exchanges[0]
    name = first.exchange.asker
    other = next(each for each in run.exchanges[1:] if not each.concerns(name))
    at_first, after = (run.ask(name, "What do you hope for?", at=at)[0].prompt for at in (0, first.turn.turn))
    assert first.picture.described in at_first  # the album
    assert first.answer.text not in at_first
    assert first.turn.text in after
    assert f"{first.exchange.answerer} said: {first.answer.text}" in after
    assert "Trade: " in after
    content = run.ask(name, tt.Question(text="Content?", scale=(1, 5)))[0]
    assert content.at == len(run.turns)
    assert other.turn.text not in content.prompt
    assert 1 <= run.ask(name, "inventory").traits["openness"] <= 5
    assert everything_of("tertulia.db", run.id) == before
    with pytest.raises(tt.NotFoundError, match="nobody named 'Bob' takes part"):
        run.ask("Bob", "Why?")
    with pytest.raises(tt.UsageError, match="give one of them"):
        run.ask(name, "Why?", model="smollm2", rehearse=True)
