"""Two runs side by side: the page opens where `diff` says that they part, for forks with different changes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.stored import a_case, a_run
from support.viewer_page import serving

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

Runs = dict[str, tertulia.Run]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compare") / "t.db"


@pytest.fixture(scope="module")
def runs(path: Path) -> Runs:
    """A meeting and a dialogue with forks, by what was changed in them."""
    quiet = {"progress": False}
    meeting = tertulia.run("team_building", rehearse=True, rounds=4, removal_factor=0.4, store=path, **quiet)
    dialogue = tertulia.run("tidewell", rehearse=True, rounds=4, removal_factor=0.5, store=path, **quiet)
    return {
        "meeting": meeting,
        "λ of a meeting": meeting.fork(3, removal_factor=0.9, **quiet),
        "nothing": meeting.fork(3, **quiet),
        "dialogue": dialogue,
        "λ": dialogue.fork(3, removal_factor=0.95, **quiet),
        "words": dialogue.fork(2, say="Have you seen <b>my</b> boat?", **quiet),
        "shorter": dialogue.fork(3, rounds=3, **quiet),
    }


@pytest.fixture(scope="module")
def address(path: Path, runs: Runs) -> Iterator[str]:
    with serving(path) as address:
        yield address


PAIRS = [
    ("meeting", "λ of a meeting"),
    ("dialogue", "λ"),
    ("dialogue", "words"),
    ("dialogue", "shorter"),
    ("λ", "words"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_page_opens_where_diff_says_that_they_part(page: Page, address: str, runs: Runs, a: str, b: str) -> None:
    parting = tertulia.diff(runs[a], runs[b]).first_divergence
    assert parting is not None
    page.goto(f"{address}#/compare/{runs[a].id}/{runs[b].id}")
    chosen = page.locator(".turn-difference.chosen")
    expect(chosen).to_have_attribute("data-turn", str(parting.turn))
    expect(chosen.get_by_role("heading").first).to_be_in_viewport()
    aspects = chosen.locator(".row > .tag").all_inner_texts()
    assert aspects == [aspect.replace("_", " ") for aspect in parting.aspects] or parting.b is None
    expect(page.get_by_role("heading", name=f"They part at turn {parting.turn}")).to_be_visible()
    if parting.turn > 1:
        shared = f"Turns 1 to {parting.turn - 1} are the same" if parting.turn > 2 else "Turn 1 is the same"
        expect(page.get_by_text(shared)).to_be_visible()


def test_what_differs_in_a_turn_is_what_its_records_say(path: Path, runs: Runs) -> None:
    a, b = runs["meeting"], runs["λ of a meeting"]
    with SqlStore.open(path) as store:
        document = document_at(store, f"diff/{a.id}/{b.id}/turns", {"of": "1,2,3,4"})
        for turn in document["turns"]:
            if turn["turn"] == 0 or turn["only_in"]:
                continue
            removed = [store.turn_record(run.id, turn["turn"]).removed for run in (a, b)]
            assert turn["removed_only_in_a"] == [unit for unit in removed[0] if unit not in removed[1]]
            scores = [store.turn_record(run.id, turn["turn"]).scores or {} for run in (a, b)]
            gaps = sorted(
                (abs(scores[0][unit] - scores[1][unit]) for unit in {*scores[0]} & {*scores[1]}), reverse=True
            )
            assert [abs(row["a"] - row["b"]) for row in turn["scores"]] == [gap for gap in gaps if gap][:5]
    assert not any("differences" in turn for turn in document["turns"])


def test_keys_and_buttons_go_from_difference_to_difference(page: Page, address: str, runs: Runs) -> None:
    a, b = runs["meeting"], runs["λ of a meeting"]
    turns = [turn.turn for turn in tertulia.diff(a, b).comparison.differing]
    page.goto(f"{address}#/compare/{a.id}/{b.id}")
    chosen = page.locator(".turn-difference.chosen")
    expect(chosen).to_have_attribute("data-turn", str(turns[0]))
    page.keyboard.press("n")
    expect(chosen).to_have_attribute("data-turn", str(turns[1]))
    expect(page.locator(":focus")).to_have_text(f"Turn {turns[1]}")  # a moment after it is chosen
    page.reload()
    expect(chosen).to_have_attribute("data-turn", str(turns[1]))
    page.keyboard.press("p")
    expect(chosen).to_have_attribute("data-turn", str(turns[0]))
    expect(page.get_by_role("button", name="Previous difference")).to_be_disabled()
    page.get_by_role("link", name="Why B said that").first.click()
    expect(page).to_have_url(re.compile(f"#/runs/{b.id}\\?turn={turns[0]}"))


def test_runs_without_turns_are_compared(tmp_path: Path) -> None:
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        store.create_run(a_run("aaaa"), a_case())
        store.create_run(a_run("bbbb", seed=8), a_case())
        document = document_at(store, "diff/aaaa/bbbb")
    assert document["differing"] == []
    assert [setting["path"] for setting in document["settings"]] == [["seed"]]
    assert document["summary"] is None
