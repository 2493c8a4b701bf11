"""Days of a town: the documents against what was stored, and the page over them."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.town_stored import ENCOUNTERS, INSIGHT, PEOPLE, write_town
from support.viewer_page import serving

from tertulia.metrics.diversity import distinct_n
from tertulia.state.errors import NotFoundError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.db"
    with SqlStore.open(path, create=True) as store:
        write_town(store)
    return path


def test_a_day_has_its_encounters_and_is_measured_without_an_embedding_model(path: Path) -> None:
    with SqlStore.open(path) as store:
        document = document_at(store, "towns/t0wn")
    assert document["people"] == list(PEOPLE)
    assert [row["turns"] for row in document["encounters"]] == [len(texts) for *_, texts in ENCOUNTERS]
    first_day = [[("", text) for text in texts] for day, *_, texts in ENCOUNTERS if day == 1]
    assert document["by_day"][0]["dist2"] == distinct_n(first_day, 2)
    assert not any("sim" in row for row in document["by_day"])


def test_an_insight_comes_with_the_texts_that_it_rests_on(path: Path) -> None:
    with SqlStore.open(path) as store:
        document = document_at(store, "towns/t0wn/people/Ada")
        assert document["agent"] == "Ada"  # with whose name another begins
        assert document["before"] == 1
        assert document["evidence"] == {"node_1": "The lamp went out in May.", "day_1_1_event": "Ben carried the lamp."}
        with pytest.raises(NotFoundError, match="nobody named 'Zoe'"):
            document_at(store, "towns/t0wn/people/Zoe")


def test_days_meetings_and_memories_are_shown_and_stand_in_the_address(page: Page, path: Path) -> None:
    with serving(path) as address:
        page.goto(f"{address}#/towns/t0wn")
        page.get_by_role("button", name="Day 2").click()
        encounters = page.locator(".encounters li")
        expect(encounters).to_have_count(1)
        expect(encounters.first.get_by_role("link")).to_have_attribute("href", "#/runs/t0wn-2-1")
        expect(page.get_by_text("Met nobody: Cleo, Ada Lind")).to_be_visible()
        page.get_by_role("button", name="All days").click()
        expect(page.locator(".meetings .count")).to_have_text(["2", "1"])  # Ada and Ben met twice
        page.get_by_text("As a matrix").click()
        row = page.get_by_role("region", name="How often each met each").get_by_role("row", name="Ben")
        expect(row.get_by_role("cell")).to_have_text(["2", "", "1"])
        page.get_by_label("person").select_option("Ada")
        expect(page.get_by_text(INSIGHT.text)).to_be_visible()
        page.reload()
        page.get_by_text("rests on 2 memories").click()
        expect(page.get_by_text("The lamp went out in May.")).to_be_visible()
        assert "day=all" in page.url
