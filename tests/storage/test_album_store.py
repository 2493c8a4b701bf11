"""Album chats in the store: parts of turns, pictures, populations, and one transaction for a round."""

from pathlib import Path

import pytest
from support.album_stored import a_population, an_album_run, write_album_run
from support.stored import a_turn_record, stored_rows

from tertulia.state.album import PictureFile, Population
from tertulia.state.cognition import Trace, Visit
from tertulia.state.errors import StorageError
from tertulia.state.records import Prompt, TurnRecord, Unit
from tertulia.storage.schema import TABLES
from tertulia.storage.store import SqlStore

PNG = b"\x89PNG\r\n\x1a\n\x00 not a text \xff"


@pytest.fixture
def album(store: SqlStore) -> SqlStore:
    """A store with an album chat of four exchanges."""
    write_album_run(store, an_album_run("k3f9"))
    for turn in (1, 2, 3, 4):
        store.save_trace("k3f9", turn, Trace(visits=(Visit(node="n", agent="", before={}, update=None),), after={}))
    return store


def an_exchange(store: SqlStore, turn: int) -> tuple[TurnRecord, dict[str, TurnRecord]]:
    """The question of the second exchange, and its parts, as those of another turn."""

    def moved(record: TurnRecord) -> TurnRecord:
        return record.model_copy(update={"turn": record.turn.model_copy(update={"turn": turn})})

    parts = store.parts("k3f9", 2).items()
    return moved(store.turn_record("k3f9", 2)), {part: moved(record) for part, record in parts}


def with_files(*hashes: str) -> Population:
    """A population the first of whose pictures have files of these hashes."""
    population = a_population()
    files = [PictureFile(hash=hash, width=8, height=8, colours=("red",)) for hash in hashes]
    pictures = enumerate(population.pictures)
    given = tuple(picture.model_copy(update={"file": dict(enumerate(files)).get(at)}) for at, picture in pictures)
    return population.model_copy(update={"pictures": given})


def rows(store: SqlStore) -> dict[str, int]:
    return {name: store.file.rows(f"SELECT count(*) AS n FROM {name}")[0]["n"] for name in TABLES}


# --- parts ------------------------------------------------------------------------------------------------------------


def test_written_twice_an_exchange_stays_as_it_was(album: SqlStore) -> None:
    before = stored_rows(album)
    question, parts = an_exchange(album, 2)
    album.save_turn("k3f9", question, parts)
    album.save_turn("k3f9", question, {"plan": parts["answer"]})
    assert stored_rows(album) == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE parts SET speaker = 'Eve' WHERE turn = 2 AND part = 'plan'",
        "UPDATE parts SET part = 'answers' WHERE turn = 2 AND part = 'answer'",
        "UPDATE parts SET turn = 9 WHERE turn = 2 AND part = 'answer'",
        "UPDATE parts SET content_id = 999 WHERE turn = 2 AND part = 'answer'",
        "DELETE FROM parts WHERE turn = 2 AND part = 'answer'",
        "DELETE FROM parts WHERE turn = 2",
        "UPDATE contents SET text = 'The tub: Black.' WHERE text = 'The tub: White.'",
    ],
)
def test_a_damaged_part_is_refused(album: SqlStore, damage: str) -> None:
    album.file.write(damage)
    for read in (lambda: album.parts("k3f9", 2), lambda: album.part_turns("k3f9")):
        with pytest.raises(StorageError, match="damaged or was altered"):
            read()
    assert len(album.parts("k3f9", 1)) == 2


TURN, PLAN = "WHERE turn = 2 AND part = ''", "WHERE turn = 2 AND part = 'plan'"


@pytest.mark.parametrize(
    ("read", "damages"),
    [
        ("parts", [f"DELETE FROM unit_scores {TURN}", f"UPDATE unit_scores SET part = '' {PLAN}"]),
        ("parts", [f"UPDATE unit_scores SET score = 9 {PLAN}"]),
        ("parts", [f"DELETE FROM unit_scores {PLAN}"]),
        ("turn_record", [f"DELETE FROM candidates {PLAN}", f"UPDATE candidates SET part = 'plan' {TURN}"]),
    ],
)
def test_what_belongs_to_a_part_stays_with_it(album: SqlStore, read: str, damages: list[str]) -> None:
    for damage in damages:
        album.file.write(damage)
    with pytest.raises(StorageError, match="damaged or was altered"):
        getattr(album, read)("k3f9", 2)


# --- transactions -----------------------------------------------------------------------------------------------------


def _save_and_fail(store: SqlStore, question: TurnRecord, parts: dict[str, TurnRecord]) -> None:
    with store.transaction():
        store.save_turn("k3f9", question, parts)
        store.set_label("k3f9", "gone")
        raise AssertionError


def test_a_round_is_stored_whole_or_not_at_all_inside_another_transaction_too(album: SqlStore) -> None:
    question, parts = an_exchange(album, 5)
    stored = stored_rows(album)
    with pytest.raises(AssertionError):
        _save_and_fail(album, question, parts)
    assert stored_rows(album) == stored
    with album.transaction():
        album.set_label("k3f9", "kept")
        with pytest.raises(AssertionError):
            _save_and_fail(album, question, parts)
        album.set_status("k3f9", "interrupted")
    assert (album.run("k3f9").turns, album.run("k3f9").label, album.run("k3f9").status) == (4, "kept", "interrupted")


def test_a_run_is_created_inside_a_transaction(path: Path) -> None:
    with SqlStore.open(path, create=True) as store:
        with store.transaction():
            start = with_files(store.save_picture(PNG))
            store.create_run(an_album_run("k3f9"), start)
        assert store.start("k3f9") == start
    with SqlStore.open(path) as store:
        assert store.start("k3f9") == start


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_pictures_come_back_and_are_stored_once(store: SqlStore) -> None:
    hashes = {store.save_picture(picture): picture for picture in (PNG, PNG, PNG + b"\0", b"plain", b"")}
    assert len(hashes) == rows(store)["pictures"] == 4
    assert {content: store.picture(content) for content in hashes} == hashes


@pytest.mark.parametrize("damage", ["image = 'text'", "hash = hash || '0'"])
def test_a_damaged_picture_is_refused(store: SqlStore, damage: str) -> None:
    content = store.save_picture(PNG)
    store.file.write(f"UPDATE pictures SET {damage}")
    with pytest.raises(StorageError, match=f"damaged or was altered .(the picture {content} |.* image of pictures)"):
        store.picture(content)


def test_a_picture_too_large_is_told(store: SqlStore) -> None:
    with pytest.raises(StorageError, match="more than 64 MB"):
        store.save_picture(bytes((64 << 20) + 1))
    assert rows(store)["pictures"] == 0


def test_a_unit_with_a_picture_comes_back(store: SqlStore) -> None:
    content = store.save_picture(PNG)
    plain = Unit(id="picture.image", block="picture", kind="item", text="a heron")
    prompts = [
        Prompt(units=(unit,), speaker="Ada", layout="l")
        for unit in (plain, plain.model_copy(update={"picture": content}))
    ]
    hashes = [store.save_prompt(prompt) for prompt in prompts]
    assert [store.prompt(hash) for hash in hashes] == prompts
    store.file.write("UPDATE units SET picture = NULL")
    assert store.prompt(hashes[0]) == prompts[0]
    with pytest.raises(StorageError, match="damaged or was altered"):
        store.prompt(hashes[1])


def test_pictures_go_with_the_last_run_that_needs_them(store: SqlStore) -> None:
    in_both, in_one, in_prompt, of_nobody = (store.save_picture(bytes([i])) for i in range(4))
    store.create_run(an_album_run("a"), with_files(in_both, in_one))
    store.create_run(an_album_run("b"), with_files(in_both))
    unit = Unit(id="picture.image", block="picture", kind="item", text="a heron", picture=in_prompt)
    for run in ("a", "b"):
        prompt = store.save_prompt(Prompt(units=(unit,), speaker="Ada", layout="l"))
        store.save_turn(run, a_turn_record(prompt=prompt))
    store.create_run(an_album_run("c", parent=("b", 2)), with_files(in_both))

    def held() -> set[str]:
        return {row["hash"] for row in store.file.rows("SELECT hash FROM pictures")}

    store.remove_run("a")
    assert held() == {in_both, in_prompt, of_nobody}
    store.remove_run("c")
    assert held() == {in_both, in_prompt, of_nobody}
    assert store.picture(in_both)
    store.remove_run("b")
    assert held() == {of_nobody}, "nobody has removed a run that pointed to it"
    assert {name for name, count in rows(store).items() if count} == {"pictures"}
