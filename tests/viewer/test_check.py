"""A line checked from the page: the server measures what it leaned on, and answers its turn anew."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.requests_to_page import ask
from support.seats import TOKEN, post
from support.turn_page import open_turn
from support.viewer_page import serving

import tertulia
from tertulia.state.errors import ModelError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents import turn as turn_documents
from tertulia.viewer.server import build_app
from tertulia.views.reading.checks import Checked
from tertulia.views.reading.turns import TurnDetails, read_turn

#: The reason that the sentence names, by an estimate.
ESTIMATED = re.compile(r"\(the line is (about|over) [\d,.]+ times less likely without it, as estimated\)")


class Held:
    """A store whose dialogue counts as a model's, its units weighed by learned heads; and what was measured of it."""

    def __init__(self, path: Path, dialogue: str, rehearsal: str) -> None:
        self.path, self.dialogue, self.rehearsal = path, dialogue, rehearsal
        self.asked: list[tuple[str, int, str]] = []
        self.problem: ModelError | None = None

    def check(self, store: SqlStore, run: str, turn: int, part: str) -> None:
        """Stand for a measurement: without the first unit the line loses a nat a token, without others next to none."""
        if self.problem is not None:
            raise self.problem
        self.asked.append((run, turn, part))

    def read_turn(self, *given: Any) -> TurnDetails:
        details = read_turn(*given)
        if details.run.rehearsed:
            return details
        scores = {unit: 0.3 / (place + 1) for place, unit in enumerate(details.record.line_scores or {})}
        record = details.record.model_copy(
            update={"line_scores": scores, "line_scored_by": "m, learned heads 12ab34cd"}
        )
        is_measured = (details.run.run, record.turn.turn, "") in self.asked
        measured = {unit: 1.0 if place == 0 else 0.01 for place, unit in enumerate([*scores][:3])}
        return replace(details, record=record, checked=Checked(measured=measured if is_measured else {}))


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    path = tmp_path / "t.db"
    how: dict[str, Any] = {"rehearse": True, "rounds": 2, "store": path, "progress": False}
    held = Held(path, *(tertulia.run("tidewell", removal_factor=0.5, seed=seed, **how).id for seed in (1, 2)))
    stored = SqlStore.run

    def run(store: SqlStore, name: str) -> Any:
        record = stored(store, name)
        return record.model_copy(update={"rehearsed": record.run == held.rehearsal})

    monkeypatch.setattr(SqlStore, "run", run)
    monkeypatch.setattr(turn_documents, "read_turn", held.read_turn)
    return held


@pytest.fixture
def address(held: Held) -> Iterator[str]:
    with serving(held.path, TOKEN, ["false"], check=held.check) as address:
        yield address


# --- the server -----------------------------------------------------------------------------------------------------


def body_of(run: str, turn: int = 1, part: str = "") -> dict[str, object]:
    return {"run": run, "turn": turn, "part": part}


def can_check(address: str) -> bool:
    return bool(ask(address, "api/start", {"X-Tertulia-Token": TOKEN}).json["can_check"])


def test_a_turn_is_answered_anew_once_its_line_is_measured(address: str, held: Held) -> None:
    assert can_check(address)
    answer = post(address, "api/check", body_of(held.dialogue))
    assert (answer.status, held.asked) == (200, [(held.dialogue, 1, "")])
    assert [reason["measured"] for reason in answer.json["leaned_on"]] == [True]
    assert "as measured" in answer.json["why"]
    assert sorted(answer.json["measured"].values()) == [0.01, 0.01, 1.0]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"X-Tertulia-Token": "another"}, 403),
        ({"X-Tertulia-Seat": TOKEN}, 403),
        ({"X-Tertulia-Token": TOKEN, "Origin": "http://evil.example"}, 403),
        ({"X-Tertulia-Token": TOKEN, "Origin": ""}, 403),
        ({"X-Tertulia-Token": TOKEN, "Content-Type": "text/plain"}, 400),
    ],
)
def test_nobody_else_has_a_line_measured(address: str, held: Held, headers: dict[str, str], status: int) -> None:
    sent = headers or {"X-Nothing": ""}
    assert post(address, "api/check", body_of(held.dialogue), sent).status == status
    assert held.asked == []


@pytest.mark.parametrize("body", [{}, {"run": "x"}, [], {"run": 1, "turn": 1, "part": ""}, {**body_of("x"), "more": 1}])
def test_what_is_no_check_is_refused_in_a_sentence(address: str, body: object) -> None:
    answer = post(address, "api/check", body)
    assert (answer.status, answer.json["error"]) == (400, "a check has a run, a turn and a part")


def test_a_rehearsal_a_failed_model_and_a_turn_that_is_none_are_told_in_a_line(address: str, held: Held) -> None:
    rehearsed = post(address, "api/check", body_of(held.rehearsal))
    assert (rehearsed.status, "was rehearsed" in rehearsed.json["error"]) == (400, True)
    assert post(address, "api/check", body_of(held.dialogue, turn=9)).status == 404
    held.problem = ModelError("the model is not here")
    failed = post(address, "api/check", body_of(held.dialogue))
    assert (failed.status, failed.json["error"]) == (400, "the model is not here")


def test_without_a_way_to_check_or_a_token_nothing_is_offered(held: Held) -> None:
    with serving(held.path, TOKEN, ["false"]) as address:
        assert not can_check(address)
        assert post(address, "api/check", body_of(held.dialogue)).status in (404, 405)
    with pytest.raises(ValueError, match="must have a token"):
        build_app(held.path, check=held.check)


# --- the page -------------------------------------------------------------------------------------------------------


def open_first(page: Page, address: str, run: str) -> None:
    page.goto(f"{address}?token={TOKEN}")
    open_turn(page, f"{address}?token={TOKEN}", run, 1)


def test_the_button_measures_and_the_sentence_says_so(page: Page, address: str, held: Held) -> None:
    open_first(page, address, held.dialogue)
    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text(ESTIMATED)
    why.get_by_role("button", name="Check").focus()
    page.keyboard.press("Enter")
    expect(why).to_contain_text("less likely without it, as measured")
    expect(why.get_by_role("status")).to_have_text("Measured.")
    expect(why.get_by_role("button", name="Check")).to_have_count(0)
    first = page.locator(".units .unit").first
    expect(first.locator(".share")).to_have_text("1.000")
    expect(page.locator(".units .mark-of").get_by_text("measured", exact=True)).to_have_count(3)
    page.keyboard.press("ArrowRight")
    expect(why.get_by_role("button", name="Check")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(why).to_contain_text("as measured")
    assert held.asked == [(held.dialogue, 1, "")]
