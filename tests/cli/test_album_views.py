"""What people see of album chats: exchanges, diaries, journeys of pictures, totals; what other commands make of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.album_stored import EXCHANGES, Encounter, an_album_run, write_album_run
from support.commands import Cli, rehearse

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
