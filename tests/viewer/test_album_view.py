"""An album chat: who has seen which picture, recomputed from the stored exchanges, and the page over it."""

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.album_stored import ALBUMS, EXCHANGES, PICTURES, a_population, an_album_run, write_exchange
from support.viewer_page import serving
from support.viewer_views import watched

from tertulia.state.album import PictureFile, Population, picture_hash
from tertulia.state.errors import NotFoundError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.documents.population import MOST_BYTES
from tertulia.viewer.html_file import html_of_run

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def population_with(image: bytes) -> Population:
    """Return the population with a picture of the pot."""
    pot = PICTURES[0].model_copy(update={"file": PictureFile(hash=picture_hash(image), width=1, height=1)})
    return a_population().model_copy(update={"pictures": (pot, *PICTURES[1:])})


def write(path: Path, image: bytes = PNG, population: Population | None = None) -> None:
    run = an_album_run()
    with SqlStore.open(path, create=True) as store:
        store.save_picture(image)
        store.create_run(run, population or population_with(image))
        for turn, encounter in enumerate(EXCHANGES, start=1):
            write_exchange(store, run.run, turn, (turn + 1) // 2, encounter)


def test_the_round_in_which_somebody_first_saw_a_picture_follows_from_the_exchanges(tmp_path: Path) -> None:
    write(tmp_path / "t.db")
    with SqlStore.open(tmp_path / "t.db") as store:
        document = document_at(store, "runs/a1b2/album")
    for picture in document["pictures"]:
        first = {name: 0 for name, album in ALBUMS.items() if picture["id"] in album}
        for turn, met in enumerate(EXCHANGES, start=1):
            for name in (met.asker, met.answerer) if met.picture == picture["id"] else ():
                first.setdefault(name, (turn + 1) // 2)
        assert picture["first_seen"] == first
        assert picture["seen_by"] == [sum(seen <= round for seen in first.values()) for round in range(3)]
    assert {picture["id"] for picture in document["pictures"]} == {picture.id for picture in PICTURES}


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "its bytes are not those of"),
        (PNG + bytes(MOST_BYTES), "too large"),
    ],
)
def test_a_picture_is_shown_only_if_it_is_small_and_known_by_its_bytes(
    tmp_path: Path, image: bytes, reason: str
) -> None:
    write(tmp_path / "t.db", image)
    with SqlStore.open(tmp_path / "t.db") as store:
        (pot,) = (row for row in document_at(store, "runs/a1b2/album")["pictures"] if row["id"] == "pot.png")
    assert pot["image"] is None
    assert reason in pot["no_image"]


def test_the_matrix_follows_the_round_and_a_picture_its_journey(page: Page, tmp_path: Path) -> None:
    write(tmp_path / "t.db")
    with serving(tmp_path / "t.db") as address:
        page.goto(f"{address}#/runs/a1b2/album")
        row = page.get_by_role("row", name="Eva")
        page.get_by_role("button", name="pot: Beige").click()
        column = (
            page.get_by_role("button", name="pot: Beige").locator("xpath=ancestor::th").evaluate("th => th.cellIndex")
        )
        cell = row.locator("td").nth(column - 1)
        expect(cell).to_have_text("2")
        journey = page.get_by_role("heading", name="The journey of pot: Beige").locator("xpath=..")
        expect(journey.get_by_role("link")).to_have_text(["round 1, turn 1", "round 2, turn 3", "turn 4"])
        assert page.locator("img.whole").evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        page.get_by_role("button", name="Earlier").click()
        expect(cell).to_have_text("·")
        expect(journey.get_by_role("link")).to_have_count(1)
        page.reload()
        expect(page.get_by_role("slider")).to_have_value("1")
        expect(journey).to_be_visible()


def test_the_strip_of_a_list_begins_with_the_pictures_that_were_shown(tmp_path: Path) -> None:
    file = PictureFile(hash=picture_hash(PNG), width=1, height=1)
    held = tuple(picture.model_copy(update={"file": file}) for picture in reversed(PICTURES))
    write(tmp_path / "t.db", population=a_population().model_copy(update={"pictures": held}))
    with SqlStore.open(tmp_path / "t.db") as store:
        pictures = document_at(store, "strips/a1b2")["pictures"]
    assert [picture["id"] for picture in pictures] == ["pot.png", "tub-white", "map", "tub-black"]


def test_a_picture_that_the_store_lost_is_said_and_hides_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "t.db", population=population_with(b"another"))
    with SqlStore.open(tmp_path / "t.db") as store:
        assert document_at(store, "pictures/a1b2/pot.png")["no_image"] == "it is missing or damaged in the store"
        assert document_at(store, "pictures/a1b2/map")["no_image"] == "the store has its caption alone"
        assert len(document_at(store, "runs/a1b2/album")["pictures"]) == len(PICTURES)
        with pytest.raises(NotFoundError, match=r"no picture 'pot\.jpg'"):
            document_at(store, "pictures/a1b2/pot.jpg")


def test_an_exported_file_has_the_pictures_of_its_exchanges(page: Page, tmp_path: Path) -> None:
    write(tmp_path / "t.db")
    file = tmp_path / "run.html"
    with SqlStore.open(tmp_path / "t.db") as store:
        file.write_text("\n".join(html_of_run(store, "a1b2")), encoding="utf-8")
    asked = watched(page)
    page.goto(f"{file.as_uri()}#/runs/a1b2?turn=1")
    picture = page.get_by_role("region", name="Why").get_by_role("img", name="pot: Beige")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    assert {url.partition("#")[0] for url in asked if not url.startswith("data:")} == {file.as_uri()}
