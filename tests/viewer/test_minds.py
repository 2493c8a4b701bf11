"""The minds of a meeting on the page: the race with its figures, and one agent through the whole run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.viewer_page import serving

import tertulia
from tertulia.state.documents import Document
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The address of a rehearsed meeting, its run, and its store."""
    path = tmp_path_factory.mktemp("viewer") / "t.db"
    run = tertulia.run("team_building", rehearse=True, rounds=7, removal_factor=0.4, store=path, progress=False)
    with serving(path) as address:
        yield address, run.id, path


def read(path: Path, document: str) -> Document:
    with SqlStore.open(path) as store:
        return document_at(store, document)


def test_the_race_of_a_turn_has_every_latency_and_margin(page: Page, meeting: tuple[str, str, Path]) -> None:
    address, run, path = meeting
    turns = read(path, f"runs/{run}/turns")["turns"]
    turn = max(turns, key=lambda turn: sum(bid["latency_s"] is not None for bid in turn["bids"]))
    page.goto(f"{address}#/runs/{run}?turn={turn['turn']}&pane=minds")
    race = page.locator(".race")
    expect(race).to_be_visible()
    shown = race.inner_text().replace("\n", " ")
    (winner,) = (bid["latency_s"] for bid in turn["bids"] if bid["won"])
    racers = [bid for bid in turn["bids"] if bid["latency_s"] is not None]
    assert len(racers) >= 2
    for bid in racers:
        margin = "→ floor" if bid["won"] else f"+{bid['latency_s'] - winner:.2f}"
        assert f"{bid['latency_s']:.2f} s {margin}" in shown
    assert race.locator(".density").count() == len(racers)
    for bid in turn["bids"]:
        if not bid["willing"]:
            others = page.locator(".others li").filter(has_text=bid["agent"])
            expect(others).to_contain_text(f"not willing: W {bid['willingness']:.2f} < θ 0.5")


def test_an_agent_is_shown_through_the_whole_run(page: Page, meeting: tuple[str, str, Path]) -> None:
    address, run, path = meeting
    document = read(path, f"runs/{run}/agents/Bob")
    page.goto(f"{address}#/runs/{run}/minds?agent=Bob")
    expect(page.get_by_role("heading", name="Bob")).to_be_visible()
    rounds = document["cognition"]
    willing, won = (sum(bool(round[field]) for round in rounds) for field in ("willing", "won"))
    expect(
        page.get_by_text(f"{len(rounds)} rounds: willing to speak in {willing}, got the floor in {won}.")
    ).to_be_visible()
    assert page.locator(".agent-chart path[stroke]").count() == len(rounds) + 1  # a point for each, and the line
    first = page.get_by_role("group", name="Rounds").get_by_role("listitem").first
    expect(first).to_contain_text(rounds[0]["thought"])
    first.get_by_role("link").click()
    expect(page.get_by_role("listbox").get_by_role("option", selected=True)).to_have_attribute("id", "turn-1")
