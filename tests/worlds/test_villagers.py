"""Populations: the shipped villagers, files of both formats, dealt pictures, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tertulia.state.album import Population
from tertulia.state.errors import NotFoundError, ScenarioError, UsageError
from tertulia.state.parameters import ALBUM_CHAT, Parameters
from tertulia.worlds.catalog import describe, list_cases, resolve, settings_of
from tertulia.worlds.changes import with_mechanisms, with_memory, with_people
from tertulia.worlds.villagers import read_population


def population(**settings: Any) -> Population:
    return read_population("villagers", Parameters(**settings), {})


def write(at: Path, content: Any) -> str:
    at.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(at)


def public(name: str, *items: str, **properties: Any) -> dict[str, Any]:
    return {"Name": name, "Species": "Deer", **properties, "Furniture List": ";".join(items)}


def own(name: str, *album: Any) -> dict[str, Any]:
    return {"name": name, "properties": {"Trade": "baker"}, "album": list(album)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of 12 pictures."""
    at = tmp_path / "pictures"
    at.mkdir()
    for number in range(12):
        Image.new("RGB", (20, 20), (20 * number, 40, 90)).save(at / f"red_door_{number}.png")
    return at


# --- the shipped set ------------------------------------------------------------------------------------------------


def test_the_shipped_villagers_have_albums_of_ten_of_sixty_pictures() -> None:
    shipped = population()
    assert len(set(shipped.names)) == 32
    assert len(shipped.pictures) == 60
    assert {len(set(villager.album)) for villager in shipped.villagers} == {10}
    assert {picture.id for picture in shipped.pictures} == {id for v in shipped.villagers for id in v.album}
    assert all(picture.file and picture.variant and picture.file.colours for picture in shipped.pictures)
    assert len({tuple(name for name, _ in villager.properties) for villager in shipped.villagers}) == 1
    assert shipped.picture("teapot.png").described == "a round teapot: blue"


def test_what_is_to_be_stored_are_the_pictures_of_the_albums() -> None:
    copies: dict[str, bytes] = {}
    two = read_population("villagers", Parameters(agents=2), copies)
    assert {picture.file.hash for picture in two.pictures if picture.file} == set(copies)
    assert len(copies) == len(two.pictures) <= 20


def test_more_villagers_are_made_the_first_always_the_same() -> None:
    many = population(agents=4096)
    assert len({name.casefold() for name in many.names}) == 4096
    assert {len(set(villager.album)) for villager in many.villagers} == {10}
    assert population(agents=40).villagers == many.villagers[:40]
    assert population().villagers == many.villagers[:32]
    values = {pair for villager in population().villagers for pair in villager.properties}
    assert {pair for villager in many.villagers for pair in villager.properties} == values
    assert len({villager.album for villager in many.villagers}) > 4000


# --- the public format ----------------------------------------------------------------------------------------------


def test_captions_are_read_from_the_items_of_a_furniture_list(tmp_path: Path) -> None:
    items = [
        "exit sign_→_Image_9619_h2Qa.png",
        "judge's bell__Image_1456_Gxom.png",
        "bathrobe_Black_Closet Image_7821_Hpg2.png",
        "my_own_hat__Album Image_12_a.png",
        "salt; pepper_White_Image_13_b.png",
        "judge's bell__Image_1456_Gxom.png",
        "bathrobe_Black_Image_99_other.png",
        "hat.png",
        "",
    ]
    file = write(tmp_path / "v.json", [public("Xar", *items, Hobby="Play", Age=3), public("Omarquy", items[1])])
    read = population(villagers=file)
    assert [(p.caption, p.variant, p.file) for p in read.pictures] == [
        ("exit sign", "→", None),
        ("judge's bell", None, None),
        ("bathrobe", "Black", None),
        ("my_own_hat", None, None),
        ("salt; pepper", "White", None),
        ("bathrobe", "Black", None),
        ("hat", None, None),
    ]
    assert read.villagers[0].properties == (("Species", "Deer"), ("Hobby", "Play"), ("Age", "3"))
    assert read.pictures[2].id == "bathrobe: Black", "shorter than the name of its file"
    assert read.pictures[5].id == "bathrobe_Black_Image_99_other.png", "as that is another's"
    assert read.villagers[1].album == ("judge's bell",)


def test_pictures_of_the_public_format_that_are_there_are_read(tmp_path: Path) -> None:
    there, absent = "utility pole_No ads_Image_9619_h2Qa.png", "tub_White_Image_1_a.png"
    Image.new("RGB", (5, 5), "#d62f2f").save(tmp_path / there)
    file = write(tmp_path / "v.json", [public("Xar", there, absent), public("Omarquy", absent)])
    read = population(villagers=file, pictures=str(tmp_path))
    assert [(p.described, p.file and p.file.colours) for p in read.pictures] == [
        ("utility pole: No ads", ("red",)),
        ("tub: White", None),
    ]
    assert all(picture.file is None for picture in population(villagers=file).pictures)


# --- the project's own format ---------------------------------------------------------------------------------------

YAML = """\
title: The harbour
time: 2025-03-01 08:00:00
place: the quay
villagers:
  - name: Ada Bell
    properties: {Trade: baker, Age: 41, Birthday: 3/13}
    album:
      - red_door_1.png
      - "hanging terrarium: black"
      - {file: red_door_2.png, caption: the door of the bakery, variant: at night}
      - red_door_1.png
  - name: भुपिंदर‌ सिंह
    album: [red_door_2.png, a breaker]
"""


def test_the_own_format(folder: Path) -> None:
    read = population(villagers=write(folder / "v.yaml", YAML))
    assert (read.title, f"{read.time:%Y-%m-%d}", read.place) == ("The harbour", "2025-03-01", "the quay")
    assert read.villagers[0].properties == (("Trade", "baker"), ("Age", "41"), ("Birthday", "3/13"))
    assert read.villagers[0].album == ("red_door_1.png", "hanging terrarium: black", "red_door_2.png")
    assert [(p.described, p.file is not None) for p in read.pictures] == [
        ("red door 1", True),
        ("hanging terrarium: black", False),
        ("the door of the bakery: at night", True),
        ("a breaker", False),
    ]


@pytest.mark.parametrize("around", ["list", "mapping"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_json_and_yaml_say_the_same(tmp_path: Path, around: str, bom: str) -> None:
    villagers = [own("Ada", "a cup: blue"), own("Ben", {"caption": "a cup", "variant": "blue"})]
    content = json.dumps(villagers if around == "list" else {"villagers": villagers})
    read = [population(villagers=write(tmp_path / name, bom + content)) for name in ("v.json", "v.yaml", "v.txt")]
    assert read[0] == read[1] == read[2]
    assert read[0].villagers[0].album == read[0].villagers[1].album == ("a cup: blue",)


def test_pictures_are_looked_for_in_the_folder(tmp_path: Path, folder: Path) -> None:
    (folder / "captions.yaml").write_text('red_door_1.png: "a gate: iron"\n')
    file = write(tmp_path / "v.json", [own("Ada", "red_door_1.png"), own("Ben", "./red_door_1.png", "a cup")])
    read = population(villagers=file, pictures=str(folder))
    assert [(p.id, p.described, p.file is not None) for p in read.pictures] == [
        ("red_door_1.png", "a gate: iron", True),
        ("a cup", "a cup", False),
    ]
    with pytest.raises(NotFoundError, match=r"there is no picture .*red_door_1.png \(in the album of 'Ada'\)"):
        population(villagers=file)


# --- dealing --------------------------------------------------------------------------------------------------------


def test_a_folder_is_dealt_evenly_and_nobody_has_a_picture_twice(folder: Path) -> None:
    dealt = population(pictures=str(folder), album_pictures=5)
    albums = [villager.album for villager in dealt.villagers]
    assert {len(set(album)) for album in albums} == {5}
    times = [sum(picture.id in album for album in albums) for picture in dealt.pictures]
    assert len(times) == 12
    assert max(times) - min(times) <= 2
    assert len(set(albums)) > 20
    assert population(pictures=str(folder), album_pictures=5, agents=4).villagers == dealt.villagers[:4]
    assert {picture.caption for picture in dealt.pictures} == {f"red door {number}" for number in range(12)}


def test_few_pictures_are_everybodys(folder: Path) -> None:
    for number in range(3, 12):
        (folder / f"red_door_{number}.png").unlink()
    assert {len(villager.album) for villager in population(pictures=str(folder)).villagers} == {3}


@pytest.mark.parametrize(
    "entries",
    [
        [{"name": "Ada"}, {"name": "Ben"}],
        [own("Ada", "a cup"), own("Ben", "a pot")],
        [public("Xar", "tub_White_Image_1_a.png"), public("Omarquy", "tub_White_Image_1_a.png")],
    ],
)
def test_a_folder_is_dealt_to_those_whose_file_names_none_of_it(tmp_path: Path, folder: Path, entries: Any) -> None:
    read = population(villagers=write(tmp_path / "v.json", entries), pictures=str(folder))
    assert {villager.persona.name for villager in read.villagers} == {e.get("name") or e["Name"] for e in entries}
    assert all(picture.file for picture in read.pictures)
    assert {len(villager.album) for villager in read.villagers} == {10}


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([own("Ada", "x"), own("Ben")], "'Ben' has no album; list captions or pictures there, or set pictures=FOLDER"),
        ([public("Xar", "a_b_Image_1_c.png"), public("Omarquy")], "'Omarquy' has no album"),
        ([public("Xar", "a_b_Image_1_c.png"), {"Name": "Omarquy"}], "'Omarquy' has no album"),
        ([own("Ada", "x")], "has one villager; an album chat needs two or more"),
        ([], "has no villagers; an album chat needs two or more"),
        ([own("Ada", "x"), public("Xar", "a_b_Image_1_c.png")], "villager 2 is not of the format of villager 1"),
        ([own("Ada", "x"), own("a" * 201)], "[1].name: takes 200 characters at most, not 201"),
        ([own("Ada", "x"), own("a\nb")], "[1].name: has a line break or a control character: 'a\\nb'"),
        ([own("Ada", "x"), own("\ud800")], "[1].name: is not in UTF-8"),
        ([own("Ada", "x"), own("Ben", {"variant": "red"})], "[1].album[0]: takes a caption, or a file"),
        ([own("Ada", "x"), {"name": "Ben", "properties": {"Age": None}}], "[1].properties.Age: takes a text"),
        ([public("Xar", "a"), {"Name": "Y", "Furniture List": 5}], "[1].Furniture List: takes a list, not 5"),
        (
            [own("Ada", {"file": "a.png", "caption": "x"}), own("Ben", {"file": "a.png", "caption": "y"})],
            "[1].album[0]: 'a.png' has the caption 'x' elsewhere; give it one",
        ),
        ({"people": []}, "takes a list of villagers, or a mapping that has one as `villagers`"),
        ("[1,", "not JSON: "),
        ('[{"name": "A", "name": "B"}]', "not JSON: 'name' stands twice in an object"),
        ("[" * 100_000, "not JSON: "),
    ],
)
def test_files_that_are_refused(tmp_path: Path, entries: Any, words: str) -> None:
    file = write(tmp_path / "v.json", json.dumps("text") if entries == "text" else entries)
    with pytest.raises(ScenarioError) as caught:
        population(villagers=file)
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_an_error_in_yaml_names_the_line(folder: Path) -> None:
    file = write(folder / "v.yaml", YAML.replace("Age: 41", "Age: [4, 1]"))
    with pytest.raises(ScenarioError) as caught:
        population(villagers=file)
    assert str(caught.value).startswith(f"{file}:6: villagers[0].properties.Age: takes a text")
    assert str(caught.value).endswith("(villager 1, 'Ada Bell')")
    listed = "- name: Ada\n  album: [x]\n- name: Ben\n  album: x\n"
    with pytest.raises(
        ScenarioError,
        match=r"v\.yml:4: \[1\]\.album: takes a list, not 'x' \(did you mean \[x\]\?\) \(villager 2, 'Ben'\)",
    ):
        population(villagers=write(folder / "v.yml", listed))


def test_a_picture_that_is_none_names_whose_it_is(tmp_path: Path) -> None:
    (tmp_path / "cup.png").write_text("no picture")
    file = write(tmp_path / "v.json", [own("Ada", "a pot"), own("Ben", "cup.png")])
    with pytest.raises(ScenarioError, match=r"cup\.png: is no picture of the kinds .* \(in the album of 'Ben'\)"):
        population(villagers=file)
    outside = write(tmp_path / "w.json", [own("Ada", "a pot"), own("Ben", "../cup.png")])
    with pytest.raises(ScenarioError, match="lies outside the folder"):
        population(villagers=outside)


# --- the catalogue, and forks ---------------------------------------------------------------------------------------


def test_the_catalogue_knows_villagers(tmp_path: Path) -> None:
    pictures: dict[str, bytes] = {}
    file = write(tmp_path / "v.json", [own("Ada", "x"), own("Ben", "x")])
    assert resolve("villagers", None, Parameters(villagers=file)).names == ("Ada", "Ben")
    assert resolve("villagers", None, Parameters(agents=2), pictures) == population(agents=2)
    assert pictures
    assert settings_of("villagers") == ALBUM_CHAT
    (row,) = describe(list_cases("villagers"))["cases"]
    assert (row["scenario"], row["title"], row["time"]) == (
        "villagers",
        "Villagers and their albums",
        "2026-05-16 10:00:00",
    )
    assert len(row["participants"]) == 32
    with pytest.raises(ScenarioError, match="a population is a single case; write villagers"):
        resolve("villagers:1")
    with pytest.raises(NotFoundError, match="did you mean 'villagers'"):
        resolve("vilagers")


def test_a_fork_changes_a_property_of_a_villager() -> None:
    start = population(agents=2)
    changed = with_people(start, [("amaru quispe.hobby", "rowing: at night")])
    assert dict(changed.participant("Amaru Quispe").properties)["Hobby"] == "rowing: at night"  # type: ignore[attr-defined]
    assert changed.names == start.names
    for path, value, words in [
        ("Amaru Quispe.Hoby", "x", r"unknown property \(did you mean 'Hobby'\?\)"),
        ("Amaru Quispe.album", "x", "unknown property"),
        ("Amaru Quispe.Hobby", "", "is empty"),
    ]:
        with pytest.raises(UsageError, match=words):
            with_people(start, [(path, value)])
    with pytest.raises(UsageError, match=r"both change Amaru Quispe\.Hobby; keep one of the two"):
        with_people(start, [("Amaru Quispe.Hobby", "rowing"), ("amaru quispe.hobby", "chess")])
    with pytest.raises(UsageError, match="a villager remembers the exchanges they had"):
        with_memory(start, "Noor Rahmani", "x")
    with pytest.raises(UsageError, match="an album chat has no mechanisms"):
        with_mechanisms(start, ["x"], ["x"])
