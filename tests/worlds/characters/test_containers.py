"""Files around a card: PNG and CHARX, whole, damaged and hostile; files of no known kind."""

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from support.character_files import BOOK, CARD_V2, CARD_V3, FIELDS, encoded, json_file, png, zipped

from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.worlds.characters import containers
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import read_people


def imported(content: bytes, folder: Path, name: str = "card.bin") -> ImportedPerson:
    file = folder / name
    file.write_bytes(content)
    return read_people(file)[0]


def refusal(content: bytes, folder: Path, name: str = "card.bin") -> str:
    with pytest.raises(ScenarioError) as error:
        imported(content, folder, name)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt", b"iTXt"])
def test_a_card_is_read_from_any_text_chunk_behind_the_pixels(kind: bytes, tmp_path: Path) -> None:
    assert imported(png({"Chara": encoded(CARD_V2)}, kind), tmp_path).values["name"] == "Mirela Stan"


def test_of_two_cards_in_a_picture_version_3_is_taken_and_the_difference_told(tmp_path: Path) -> None:
    older = json.loads(json.dumps(CARD_V2))
    older["data"]["personality"] = "merry"
    person = imported(png({"chara": encoded(older), "ccv3": encoded(CARD_V3)}), tmp_path)
    assert person.values["character"] == "exact, wary"
    assert ("personality (chunk chara)", "merry") in {(left.field, left.value) for left in person.not_taken}


@pytest.mark.parametrize("broken", [b"!!!", b"{broken", b"\xff\xfe" * 9, b"x", b"A" * 40_000_000])
def test_of_two_cards_in_a_picture_the_one_that_can_be_read_is_taken_and_the_other_told(
    broken: bytes, tmp_path: Path
) -> None:
    for good, bad in (("ccv3", "chara"), ("chara", "ccv3")):
        person = imported(png({bad: broken, good: encoded(CARD_V2)}), tmp_path)
        assert person.values["name"] == "Mirela Stan"
        [told] = [left for left in person.not_taken if left.field == "the picture"]
        assert f"chunk {bad}" in told.value
        assert told.goes_to == f"{good} is taken"
        assert str(tmp_path) not in told.value


def test_a_zip_is_read_without_extracting_and_its_other_files_are_listed(tmp_path: Path) -> None:
    content = zipped({"../../escape.txt": b"x", "/etc/x": b"y", "card.json": json.dumps(CARD_V3).encode()})
    person = imported(content, tmp_path)
    assert person.values["name"] == "Mirela Stan"
    assert [left.value for left in person.not_taken if left.field == "files of the zip"] == ["../../escape.txt; /etc/x"]
    assert [file.name for file in tmp_path.iterdir()] == ["card.bin"]


def test_a_picture_of_50_mb_is_read(tmp_path: Path) -> None:
    assert imported(png({"ccv3": encoded(CARD_V3)}, after=b"\0" * 50_000_000), tmp_path).values["name"] == "Mirela Stan"


def test_texts_that_unpack_to_more_than_the_limit_are_refused(tmp_path: Path) -> None:
    bomb = b"A" * 40_000_000
    assert "holds more than 16 MB of text" in refusal(png({"chara": bomb}, b"zTXt"), tmp_path)
    assert "holds more than 16 MB of text" in refusal(zipped({"card.json": bomb}), tmp_path)
    assert "larger than 16 MB" in refusal(b"{" + bomb, tmp_path)


def test_two_streams_in_a_chunk_are_not_unpacked_without_end(tmp_path: Path) -> None:
    """A text of exactly the limit, then another block, slips past readers that pass a limit of 0 on."""
    packer = zlib.compressobj()
    most = 2 * containers.MOST_TEXT
    body = (
        packer.compress(b"A" * most) + packer.flush(zlib.Z_FULL_FLUSH) + packer.compress(b"B" * 10**8) + packer.flush()
    )
    with pytest.raises(ScenarioError, match="holds more than"):
        containers._unpacked(body, b"chara", "card")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (png({}), "a PNG picture without a card; known are: cards"),
        (png({"chara": b"!!!"}), "broken JSON"),
        (png({"chara": b"\xff\xfe" * 9}), "chunk chara"),
        (png({"chara": encoded(CARD_V2)})[:60], "a PNG picture without a card"),
        (zipped({"a.txt": b"x"}), "a zip file without card.json"),
        (zipped({"card.json": b"{}"}), "no people are found"),
        (zipped({"card.json": json.dumps(CARD_V3).encode()})[:200], "the zip file can't be read"),
        (b"\xff\xd8\xff\xe0" + b"x" * 99, "a picture without a card"),
        (b"%PDF-1.7\nx", "no people are found in it; known are: cards"),
        (b"\x7fELF\0\0\0", "no people are found in it"),
        (b"name,age\nJo\xe3o,3\n", "row 2: not text in UTF-8"),
        (b'{"name": "a-package", "version": "1.0", "description": "x", "main": "a.js"}', "no people are found"),
        (b'[{"role": "user", "content": "hello"}]', "no people are found"),
        (b'{"user_name": "A", "x": 1}\n{"name": "A", "is_user": true, "mes": "hello"}', "no people are found"),
        (b'{"name": ', "broken JSON in line 1"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "levels deep"),
        (b'{"name": "A", "age": ' + b"1" * 6000 + b"}", "number too long"),
        (json.dumps({**FIELDS, "name": " "}).encode(), "without a name"),
        (json.dumps({**FIELDS, "name": None}).encode(), "without a name"),
        (b"name\n", "has a header and no people"),
        (b"a text, with a comma", "no people are found"),
        (b"[tool]\r\nx = 1\r\n", "no people are found in it; known are: cards"),
        (b'\n[[people]]\nname = "Ida"\n', "no people are found in it; known are: cards"),
        (b"# People\n\nIda paints.\n", "no people are found in it; known are: cards"),
        (b'[null, {"name": "Ida}]', "broken JSON in line 1"),
        (b'[\n{"name": "Ida"}\n', "broken JSON in line 3"),
    ],
    ids=range(29),
)  # fmt: skip
def test_a_file_that_is_none_is_refused_in_one_line(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in refusal(content, tmp_path)


def test_a_missing_file_and_a_folder_without_people_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no file"):
        read_people(tmp_path / "none.png")
    with pytest.raises(ScenarioError, match="a folder without"):
        read_people(tmp_path)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("card.json", "{}")
    marked = bytearray(content.getvalue())
    marked[6] |= 1
    marked[content.getvalue().index(b"PK\1\2") + 8] |= 1
    assert "the zip file can't be read" in refusal(bytes(marked), tmp_path)


def test_2_000_entries_of_a_lorebook_are_taken(tmp_path: Path) -> None:
    entries = [{**BOOK["entries"][0], "keys": [f"key {n}"], "content": f"Fact {n}."} for n in range(2000)]
    card: dict[str, Any] = {**CARD_V2, "data": {**CARD_V2["data"], "character_book": {"entries": entries}}}
    person = read_people(json_file(tmp_path, card))[0]
    assert len(person.values["memories"]) == 2000
    assert len(person.not_taken) < 40
