"""The page over a small store: what is in it stands on the page."""

from pathlib import Path

from playwright.sync_api import Page, expect
from support.viewer_page import serving

import tertulia


def test_the_runs_of_a_store_lead_to_their_turns(page: Page, tmp_path: Path) -> None:
    run = tertulia.run("tidewell", rehearse=True, rounds=3, removal_factor=0.5, store=tmp_path / "t.db", progress=False)
    with serving(tmp_path / "t.db") as address:
        page.goto(address)
        expect(page).to_have_title("Runs · Tertulia")
        page.get_by_role("link", name=run.id).click()
        expect(page).to_have_title(f"{run.id} · Tertulia")
        for turn in run.turns:
            expect(page.get_by_text(turn.text, exact=True).first).to_be_visible()
