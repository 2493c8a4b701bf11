"""Days of a town: the documents against what was stored, and the page over them."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.town_stored import ENCOUNTERS, INSIGHT, PEOPLE, write_town
from support.viewer_page import serving

from tertulia.metrics.diversity import distinct_n
from tertulia.state.errors import NotFoundError
from tertulia.state.town import Encounter, Habit
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.documents.whereabouts import stays


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
    assert [(row["speaker"], row["first_line"]) for row in document["encounters"]] == [
        (initiator, texts[0]) for _, _, initiator, _, texts in ENCOUNTERS
    ]
    assert document["by_day"][0]["dist2"] == distinct_n(first_day, 2)
    assert not any("sim" in row for row in document["by_day"])


def test_people_are_where_their_day_has_them_and_for_half_an_hour_where_they_meet_somebody() -> None:
    def met(place: str | None, minute: int) -> Encounter:
        time = datetime(2026, 5, 16) + timedelta(minutes=minute)
        return Encounter(
            day=1, number=1, time=time, place=place, initiator="Ben", partner="Ada", activities=(None, None)
        )

    day = [
        Habit(minute=0, activity="sleeping", place="attic at Mill", asleep=True),
        Habit(minute=420, activity="grinding", place="yard at Mill"),
    ]

    def places(*encounters: Encounter) -> list[tuple[int, int, str | None, bool]]:
        return [(stay.begins, stay.ends, stay.roof, stay.asleep) for stay in stays(day, encounters)]

    assert places(met("yard at Mill", 480)) == [(0, 420, "Mill", True), (420, 1440, "Mill", False)]
    visit = [(420, 480, "Mill", False), (480, 510, "the quay", False), (510, 1440, "Mill", False)]
    assert places(met("the quay", 480))[1:] == visit
    assert places(met("the quay", 1430))[-1] == (1430, 1440, "the quay", False)
    assert places(met("attic at Mill", 60))[:2] == [(0, 60, "Mill", True), (60, 90, "Mill", False)]
    assert stays([], [met(None, 480)])[0].roof is None


def test_a_day_that_is_none_of_the_town_is_refused(path: Path) -> None:
    with SqlStore.open(path) as store:
        assert [person["name"] for person in document_at(store, "towns/t0wn/days/2")["people"]] == list(PEOPLE)
        for day, problem in (("3", "has no day 3; its days are 1 to 2"), ("0", "no day 0"), ("x", "no day 'x'")):
            with pytest.raises(NotFoundError, match=problem):
                document_at(store, f"towns/t0wn/days/{day}")


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


def test_a_day_is_drawn_by_places_and_hours_and_a_mark_opens_its_conversation(page: Page, path: Path) -> None:
    with serving(path) as address:
        page.goto(f"{address}#/towns/t0wn")
        chart = page.get_by_role("group", name="Day 1: places by hours")
        expect(chart).to_contain_text("the quay")
        mark = chart.get_by_role(
            "link", name="1: 09:00, \u2068Ada\u2069 and \u2068Ben\u2069, the quay. Ada: “The lamp is lit.”"
        )
        expect(page.locator(".encounters li").first).to_contain_text("“The lamp is lit.”")
        page.set_viewport_size({"width": 390, "height": 844})
        expect(chart).to_have_count(0)
        expect(page.locator(".by-hour > li").first).to_contain_text("“The lamp is lit.”")
        expect(page.locator(".by-hour > li").first).to_contain_text("the quay: Ada, Ben")
        page.set_viewport_size({"width": 1280, "height": 800})
        mark.focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{address}#/runs/t0wn-1-1")
