"""What people see of album chats: exchanges, diaries, journeys of pictures, totals; what other commands make of it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.album_stored import EXCHANGES, Encounter, an_album_run, write_album_run
from support.commands import Cli, rehearse

from tertulia.metrics.album import AlbumExchange
from tertulia.metrics.diversity import words as words_of
from tertulia.state.errors import StorageError
from tertulia.storage.store import SqlStore
from tertulia.views.reading.exchanges import read_exchanges


@pytest.fixture
def store(cli: Cli) -> Iterator[SqlStore]:
    """A store with an album chat `a1b2`, in the folder in which commands run."""
    with SqlStore.open(Path("tertulia.db")) as opened:
        opened.make_file()
        write_album_run(opened, an_album_run())
        yield opened


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def changed(at: int, **changes: object) -> tuple[Encounter, ...]:
    """The exchanges, one of them with something changed."""
    return tuple(
        encounter._replace(**changes) if number == at else encounter  # type: ignore[arg-type]
        for number, encounter in enumerate(EXCHANGES, start=1)
    )


# --- show -----------------------------------------------------------------------------------------------------------


def test_show_prints_rounds_pairs_pictures_plans_and_what_was_said(cli: Cli, store: SqlStore) -> None:
    out = cli("show", "a1b2").out
    assert "A village, Saturday 21 November 2026, 09:30, the green\n5 villagers" in out
    assert "low setting" in out
    first, second = out[out.index("round 1") :].split("round 2")
    assert first.splitlines()[1:6] == [
        "  1  00:00  Ada → Ben  [picture: pot, Beige, 64×48, brown and white; captioned, not seen]",
        "     plan: I choose the pot.",
        "     Ada: What is in it?",
        "     Ben: A plant, Ada.",
        "     → goes into the album of Ben, in the place of: old map",
    ]
    assert "Dev" in first
    assert "Eva" in second
    assert "Eva" not in first
    assert not CONTROL.search(out)
    assert "�[31mred" in out


def test_a_plan_is_shortened_where_exchanges_are_listed_and_whole_in_its_turn(cli: Cli, store: SqlStore) -> None:
    plan = " ".join(f"reason{number}" for number in range(100))
    write_album_run(store, an_album_run("c3d4"), changed(2, plan=plan))
    assert plan[:100] in cli("show", "c3d4").out
    assert "reason99" not in cli("show", "c3d4").out
    assert plan in cli("show", "c3d4", "--turn", "2").out


def test_show_turn_prints_how_each_utterance_came_about(cli: Cli, store: SqlStore) -> None:
    out = cli("show", "a1b2", "--turn", "3").out
    plan, question, answer = (out.index(f"{call}, by ") for call in ("plan", "question", "answer"))
    assert plan < question < answer
    assert "picture: named in the plan" in out[:plan]
    assert "Ben is an owl, asked for plan." in out[plan:question]
    assert "1 of 2 removable items were removed" in out[question:answer]
    assert "Something else." in out[answer:]  # the candidate that was rolled back
    assert "1 rolled back" in out[answer:]
    assert "0 rolled back" in out[plan:question]
    similar = cli("show", "a1b2", "--turn", "4").out
    assert "not named in the plan: the most similar picture of the album (0.43)" in similar
    assert not CONTROL.search(similar)


def test_show_turn_of_an_agent_prints_their_calls(cli: Cli, store: SqlStore) -> None:
    out = cli("show", "a1b2", "--turn", "2", "--agent", "dev").out
    assert "generate answer: a call of m" in out
    assert "generate plan" not in out
    cli("show", "a1b2", "--turn", "2", "--agent", "Ada").complains(3, "Ada was not there in turn 2")


def test_what_another_lambda_would_remove_is_shown_of_all_three(cli: Cli, store: SqlStore) -> None:
    document = cli("show", "a1b2", "--turn", "1", "--lambda", "1", "--json").json
    for made in (document, document["parts"]["plan"], document["parts"]["answer"]):
        assert [unit["id"] for unit in made["units"] if unit["removed"]] == ["album.0", "album.1"]
    assert document["what_if"] == 1


def test_a_diary_has_role_picture_words_and_what_entered_or_left(cli: Cli, store: SqlStore) -> None:
    out = cli("show", "a1b2", "--agent", "Ben").out
    assert "Species: Owl" in out
    assert "round 1, turn 1: is asked by Ada about [picture: pot" in out
    assert "goes into the album of Ben, in the place of: old map" in out
    assert "round 2, turn 3: asks Eva about [picture: pot" in out
    assert "album of Eva" not in out  # that is in Eva's diary
    assert "Cleo" not in out


def test_a_journey_tells_who_had_a_picture_who_got_it_and_who_has_it(cli: Cli, store: SqlStore) -> None:
    out = cli("show", "a1b2", "--picture", "POT").out
    lines = [line.strip() for line in out.splitlines()]
    assert lines[1:] == [
        "at first: in the albums of Ada",
        "round 1, turn 1: Ada asks Ben about it, and it goes into the album of Ben",
        "round 2, turn 3: Ben asks Eva about it, and it goes into the album of Eva",
        "turn 4: leaves the album of Ada for another picture",
        "in the end: in the albums of Ben, Eva",
        "seen by, after each round: before: 1, 1: 2, 2: 3",
    ]
    document = cli("show", "a1b2", "--picture", "pot.png", "--json").json
    assert document["seen_by"] == [1, 2, 3]
    assert document["holders"] == ["Ben", "Eva"]
    assert document["lost"] == [{"turn": 4, "agent": "Ada"}]
    assert [step["turn"] for step in document["exchanges"]] == [1, 3]


def test_a_picture_is_found_by_id_or_caption_and_errors_help(cli: Cli, store: SqlStore) -> None:
    assert "White" in cli("show", "a1b2", "--picture", "tub: white").out
    cli("show", "a1b2", "--picture", "tub").complains(2, "tub-white", "tub-black")
    cli("show", "a1b2", "--picture", "pott").complains(3, "did you mean 'pot'?")
    cli("show", "a1b2", "--picture", "pot", "--turn", "1").complains(2, "--picture")
    dialogue = rehearse(cli)
    cli("show", dialogue, "--picture", "pot").complains(2, "album chat", dialogue)


def test_the_json_of_a_run_and_of_a_turn(cli: Cli, store: SqlStore) -> None:
    document = cli("show", "a1b2", "--json").json
    assert [turn["turn"] for turn in document["turns"]] == [1, 2, 3, 4]
    assert [villager["name"] for villager in document["population"]["villagers"]] == [
        "Ada",
        "Ben",
        "Cleo",
        "Dev",
        "Eva",
    ]
    exchange = document["turns"][0]["exchange"]
    assert exchange == {
        "asker": "Ada",
        "answerer": "Ben",
        "picture": {
            "id": "pot.png",
            "caption": "pot",
            "variant": "Beige",
            "file": {"hash": "0" * 32, "width": 64, "height": 48, "colours": ["brown", "white"]},
        },
        "found": "named",
        "similarity": None,
        "sight": "captioned, not seen",
        "passed": True,
        "dropped": "map",
        "plan": "I choose the pot.",
        "question": "What is in it?",
        "answer": "A plant, Ada.",
    }
    turn = cli("show", "a1b2", "--turn", "1", "--json").json
    assert turn["exchange"] == exchange
    assert (turn["speaker"], turn["text"]) == ("Ada", "What is in it?")
    assert turn["units"][0]["text"] == "Ada is an owl, asked for question."
    assert list(turn["parts"]) == ["plan", "answer"]
    assert (turn["parts"]["answer"]["speaker"], turn["parts"]["answer"]["text"]) == ("Ben", "A plant, Ada.")
    assert turn["parts"]["plan"]["units"][0]["text"] == "Ada is an owl, asked for plan."
    diary = cli("show", "a1b2", "--agent", "Eva", "--json").json
    assert [met["exchange"]["answerer"] for met in diary["turns"]] == ["Eva"]


def test_a_damaged_exchange_is_an_error_in_one_line(cli: Cli, store: SqlStore) -> None:
    store.file.database["steps"].delete_where("node = 'exchange' AND round = 2")  # type: ignore[union-attr]
    with pytest.raises(StorageError):
        read_exchanges(store, "a1b2", store.start("a1b2"))  # type: ignore[arg-type]
    cli("show", "a1b2").complains(1)


# --- other commands -------------------------------------------------------------------------------------------------


def test_stats_count_exchanges_and_who_has_seen_what(cli: Cli, store: SqlStore) -> None:
    document = cli("stats", "a1b2", "--json").json
    agents = {agent.pop("agent"): agent for agent in document["agents"]}
    assert agents["Ben"] == {
        "asked": 1,
        "answered": 1,
        "words": 3 + 4,
        "pictures_shown": 1,
        "pictures_received": 1,
        "partners": 2,
    }
    assert agents["Cleo"]["asked"] == 2
    pictures = {picture.pop("picture"): picture for picture in document["pictures"]}
    assert pictures["pot.png"]["seen_by"] == [1, 2, 3]
    assert pictures["tub-black"] == {
        "caption": "tub",
        "variant": "Black",
        "first_holders": 2,
        "exchanges": 0,
        "passed": 0,
        "holders": 2,
        "seen_by": [2, 2, 2],
    }
    assert pictures["map"]["holders"] == 1
    out = cli("stats", "a1b2").out
    assert "pot: Beige\t1\t2\t3\t2\t2\t2\n" in out
    assert re.search(r"^Cleo\t2\t0\t\d+\t1\t0\t2$", out, re.MULTILINE)


def test_diff_sees_plan_picture_and_answer(cli: Cli, store: SqlStore) -> None:
    write_album_run(store, an_album_run("same"))
    assert cli("diff", "a1b2", "same", "--exit-code").code == 0
    for name, changes, aspect in (
        ("plan", {"plan": "The pot, if I must."}, "plan"),
        ("pict", {"picture": "tub-black"}, "exchange"),
        ("answ", {"answer": "A big plant."}, "answer"),
    ):
        write_album_run(store, an_album_run(name), changed(3, **changes))
        document = cli("diff", "a1b2", name, "--json").json
        assert document["first_divergence"]["turn"] == 3
        assert aspect in document["first_divergence"]["differs"]
        assert [turn["turn"] for turn in document["turns"]] == [3]
    assert "plan\tThe pot again. | The pot, if I must.\n" in cli("diff", "a1b2", "plan").out
    assert "pot.png (named, passed) | Ben → Eva: tub-black (named, passed)" in cli("diff", "a1b2", "pict").out
    assert "answer\tA small plant. | A big plant.\n" in cli("diff", "a1b2", "answ").out


def test_questions_and_answers_are_measured_stored_or_exported(cli: Cli, store: SqlStore) -> None:
    cli("export", "a1b2", "--jsonl", "run.jsonl")
    stored = cli("metrics", "a1b2", "--json").json["cases"]["villagers"]
    exported = cli("metrics", "run.jsonl", "--json").json["cases"]["villagers"]
    assert stored == exported
    words = [len(words_of(text)) for met in EXCHANGES for text in (met.question, met.answer)]
    assert stored["len"] == pytest.approx(sum(words) / len(words))


def test_an_export_has_every_call_before_its_turn_and_all_three_utterances(cli: Cli, store: SqlStore) -> None:
    cli("export", "a1b2", "--jsonl", "run.jsonl")
    records = [json.loads(line) for line in Path("run.jsonl").read_text().splitlines()]
    turn = 0
    for record in records:
        if record["kind"] == "call":
            assert record["round"] == turn + 1
        elif record["kind"] == "turn":
            turn = record["turn"]
            assert {"exchange", "parts"} <= record.keys()
    assert turn == 4
    assert sum(record["kind"] == "call" for record in records) == 12


def test_a_transcript_can_be_read_and_broken_by_nothing(cli: Cli, store: SqlStore) -> None:
    cli("export", "a1b2", "--markdown", "run.md", "--thoughts")
    text = Path("run.md").read_text()
    assert "### Round 2" in text
    assert "- **Ben:** A plant, Ada." in text
    assert "- *plan:* I choose the pot." in text
    assert r"\*Ada\*? \<b\>" in text
    assert "Removed from the prompt" in text
    assert "Set aside, conflict 7.00: Something else." in text
    assert "\x1b" not in text


def test_replay_plays_exchanges_back(cli: Cli, store: SqlStore) -> None:
    out = cli("replay", "a1b2", "--from", "2", "--to", "3").out
    assert out.index("round 1") < out.index("Cleo → Dev") < out.index("round 2") < out.index("Ben → Eva")
    assert "Ada → Ben" not in out
    document = cli("replay", "a1b2", "--from", "2", "--to", "3", "--json").json
    assert [turn["exchange"]["answer"] for turn in document["turns"]] == ["Nobody does.", "A small plant."]


def test_a_timeline_has_answers_behind_questions(cli: Cli, store: SqlStore) -> None:
    document = cli("timeline", "a1b2", "--json").json
    assert [turn["speaker"] for turn in document["turns"]][:4] == ["Ada", "Ben", "Cleo", "Dev"]
    assert "A plant, Ada." in cli("timeline", "a1b2").out


@pytest.mark.parametrize("command", ["behaviour", "inventory"])
def test_what_makes_no_sense_for_an_album_chat_says_so(cli: Cli, store: SqlStore, command: str) -> None:
    cli(command, "a1b2").complains(2, "album chat", command)


def test_stats_of_the_paper_are_of_other_people_though_they_have_the_same_name(cli: Cli, store: SqlStore) -> None:
    cli("stats", "a1b2", "--paper").complains(3, "nothing is published")


def test_a_fork_is_seen_with_what_it_shares_and_what_is_its_own(cli: Cli) -> None:
    parent = cli("run", "villagers", "--rehearse", "--set", "agents=6", "--rounds", "2", "--json").json["run"]
    fork = cli("fork", parent, "--at", "5", "--seed", "9", "--json").json["run"]
    turns, of_fork = (cli("show", run, "--json").json["turns"] for run in (parent, fork))
    assert len(turns) == len(of_fork) == 6
    assert turns[:4] == of_fork[:4]
    assert turns[4:] != of_fork[4:]
    assert cli("diff", parent, fork, "--json").json["first_divergence"]["turn"] == 5
    same = cli("fork", parent, "--at", "4", "--json").json["run"]
    assert cli("diff", parent, same, "--exit-code").code == 0
    assert cli("stats", parent, "--json").json["agents"] == cli("stats", same, "--json").json["agents"]


# --- Python ---------------------------------------------------------------------------------------------------------


def test_python_has_exchanges_and_parts(cli: Cli, store: SqlStore) -> None:
    import tertulia as tt
    from tertulia.state.errors import UsageError

    run = tt.open_store("tertulia.db").run("a1b2")
    turn = run.turn(3)
    assert turn.exchange is not None
    assert (turn.exchange.exchange.answerer, turn.exchange.plan) == ("Eva", "The pot again.")
    assert turn.parts["answer"].rollbacks == 1
    assert [candidate.text for candidate in turn.parts["answer"].candidates] == ["Something else.", "A small plant."]
    assert [exchange.measured() for exchange in run.exchanges][1] == AlbumExchange(
        turn=2,
        round=1,
        asker="Cleo",
        answerer="Dev",
        picture="tub-white",
        plan="The tub: White.",
        question="Who bathes in it?",
        answer="Nobody does.",
    )
    assert "Ada: What is in it?" in repr(run)
    assert "Ben: A plant, Ada." in repr(run)
    with pytest.raises(UsageError, match="album chat"):
        run.participation()
    dialogue = tt.open_store("tertulia.db").run(rehearse(cli))
    assert dialogue.turn(1).exchange is None
    assert dialogue.turn(1).parts == {}
    assert list(dialogue.exchanges) == []
