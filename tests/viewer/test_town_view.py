"""Days of a town: the documents against what was stored, and the page over them."""

from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.town_stored import BEGINS, ENCOUNTERS, INSIGHT, PEOPLE, write_busy_town, write_town
from support.viewer_page import serving

from tertulia.metrics.diversity import distinct_n
from tertulia.state.agreements import Agreement, Entries, Entry
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


#: The numbers and names of the drawing that lie over one another.
_OVERLAPPING = """() => {
    const texts = [...document.querySelectorAll(".meetings text")];
    const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const found = [];
    boxes.forEach(([a, one], index) => boxes.slice(index + 1).forEach(([b, other]) => {
        const isBeside = one.right <= other.left || other.right <= one.left;
        const isApart = isBeside || one.bottom <= other.top || other.bottom <= one.top;
        if (!isApart && (/^[0-9]+$/.test(a) || /^[0-9]+$/.test(b))) found.push([a, b]);
    }));
    return found;
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_numbers_on_the_lines_of_a_town_where_many_meet_lie_over_nothing(
    page: Page, tmp_path: Path, width: int
) -> None:
    people = [f"Person {letter}" for letter in "ABCDEFGHIJKL"]
    pairs = [pair for pair in combinations(people, 2) for _ in range(1 + (ord(pair[0][-1]) * ord(pair[1][-1])) % 4)]
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        write_busy_town(store, people, pairs)
    page.set_viewport_size({"width": width, "height": 800})
    with serving(tmp_path / "t.db") as address:
        page.goto(f"{address}#/towns/busy")
        counts = page.locator(".meetings .count")
        expect(counts.first).to_have_text("4")  # the most often met have theirs
        assert page.evaluate(_OVERLAPPING) == []
        shown = counts.count()
        assert 5 < shown < len(set(pairs))
        page.locator(".meetings > g").nth(3).hover()
        expect(page.locator(".meetings .link:not(.faint)")).to_have_count(len(people) - 1)
        assert 5 < counts.count() <= len(people) - 1
        assert page.evaluate(_OVERLAPPING) == []
        page.get_by_text("Figures as a table").first.click()
        table = page.get_by_role("region", name="Figures of “Who met whom, on day 1”")
        expect(table.get_by_role("row")).to_have_count(1 + len(set(pairs)))


def test_what_was_agreed_on_is_shown_with_what_became_of_it(page: Page, path: Path) -> None:
    with SqlStore.open(path) as store:
        agreement = Agreement(
            kind="meet",
            people=("Ada", "Ben"),
            what="Tomorrow at three?",
            time=BEGINS.replace(day=17, hour=3),
            turns=(1, 2),
        )
        entry = Entry(
            run="t0wn-1-1",
            number=1,
            made=BEGINS,
            agreement=agreement,
            place="the slip",
            hindrance="asleep",
            hindered="Ben",
        )
        store.simulations.save_agreed("t0wn-1-1", 3, Entries(entries=(entry,)))
    with serving(path) as address:
        page.goto(f"{address}#/towns/t0wn")
        row = page.get_by_role("region", name="What was agreed on").get_by_role("row").nth(1)
        expect(row).to_contain_text("Ada and Ben")
        expect(row).to_contain_text("2026-05-17 03:00")
        expect(row).to_contain_text("not kept: Ben sleeps then")
        expect(row.get_by_role("link")).to_have_attribute("href", "#/runs/t0wn-1-1?turn=1")
