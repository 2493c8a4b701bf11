"""How a turn came about, in the page: the answer in view, what λ removes, candidates, states, minds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect
from support.turn_page import SETTINGS, choose_settings, open_turn, show_prompt, struck_units
from support.viewer_page import serving

import tertulia
from tertulia.nodes.utterance.prune import WALKS
from tertulia.prompts.remove import removed_with_blocks
from tertulia.state.documents import Document
from tertulia.state.records import Prompt, Unit
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.views.reading.what_if import removed_at

WIDTH, HEIGHT = 1280, 800

#: Values of λ, 0 and 1 among them.
FACTORS = [step / 10 for step in range(11)]


@dataclass(frozen=True)
class Served:
    """A store, and where it is served."""

    path: Path
    address: str
    dialogue: str
    meeting: str
    album: str

    def document(self, path: str) -> Document:
        with SqlStore.open(self.path) as store:
            return document_at(store, path)

    def turn(self, kind: str, turn: int) -> Document:
        return self.document(f"runs/{getattr(self, kind)}/turns/{turn}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("turns") / "t.db"
    how = {"rehearse": True, "store": path, "progress": False}
    dialogue = tertulia.run("tidewell", rounds=4, removal_factor=0.5, **how)  # type: ignore[arg-type]
    meeting = tertulia.run("team_building", rounds=8, removal_factor=0.4, **how)  # type: ignore[arg-type]
    album = tertulia.run("villagers", rounds=2, agents=4, removal_factor=0.5, **how)  # type: ignore[arg-type]
    with serving(path) as address:
        yield Served(path, address, dialogue.id, meeting.id, album.id)


def assert_struck_as_by_engine(page: Page, path: Path, address: str, run: str, turn: int) -> None:
    with SqlStore.open(path) as store:
        record, turn_record = store.run(run), store.turn_record(run, turn)
        assert turn_record.prompt is not None
        prompt = store.prompt(turn_record.prompt)
    open_turn(page, address, run, turn, "&pane=prompt")
    assert set(
        page.locator(".making [data-removed='1']").evaluate_all("all => all.map((one) => one.dataset.unit)")
    ) == set(turn_record.removed)
    seen = set()
    for order, walk in (*SETTINGS, ("placebo", "paper")):
        choose_settings(page, order, walk)
        parameters = record.parameters | {"removal_order": order, "removal_walk": walk}
        varied = record.model_copy(update={"parameters": parameters})
        expected = [set(removed_at(varied, turn_record, prompt, factor)) for factor in FACTORS]
        assert [by_scorer[0] for by_scorer in struck_units(page, FACTORS)] == expected
        seen |= {frozenset(units) for units in expected}
    assert len(seen) > len(FACTORS)  # the values differ, so that all of this can fail


# --- what λ removes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dialogue", "meeting"])
def test_the_struck_units_are_the_engines(page: Page, served: Served, kind: str) -> None:
    run = getattr(served, kind)
    with SqlStore.open(served.path) as store:
        turn = max(turn.turn for turn in store.turns(run) if turn.speaker)
    assert_struck_as_by_engine(page, served.path, served.address, run, turn)


_SCORES = st.one_of(
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 1e-7, 5e-324, 2.5e22]),  # few, so that there are ties
    st.floats(0, 2),
    st.floats(0, 1e300),
)
_SIZE = 10


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    vectors=st.lists(st.lists(_SCORES, min_size=_SIZE, max_size=_SIZE), min_size=8, max_size=8),
    factors=st.lists(
        st.one_of(st.sampled_from([0.0, 1e-7, 0.1, 0.3, 0.5, 1.0]), st.floats(0, 1)), min_size=6, max_size=6
    ),
    removable=st.lists(st.booleans(), min_size=_SIZE, max_size=_SIZE).filter(any),
)
def test_any_scores_are_pruned_as_the_engine_prunes_them(
    page: Page, served: Served, vectors: list[list[float]], factors: list[float], removable: list[bool]
) -> None:
    # The units of three blocks; what can't be removed is a text of its block.
    units = [
        Unit(
            id=f"unit {i}", block="abc"[i * 3 // _SIZE], kind="item" if is_item else "text", text="…", removable=is_item
        )
        for i, is_item in enumerate(removable)
    ]
    scored = [{unit.id: score for unit, score in zip(units, vector, strict=True)} for vector in vectors]
    prompt = Prompt(units=tuple(units), speaker="Ada", layout="plain")
    with SqlStore.open(served.path) as store:
        document = document_at(store, f"runs/{served.dialogue}/turns/1")
    shown = [unit.model_dump(include={"id", "block", "kind", "text", "removable"}) for unit in units]
    show_prompt(page, document, shown, scored)
    page.goto("about:blank")
    open_turn(page, served.address, served.dialogue, 1)
    for order, walk in SETTINGS:
        choose_settings(page, order, walk)
        expected = [
            [set(removed_with_blocks(prompt, WALKS[walk](units, scores, factor, order))) for scores in scored]  # type: ignore[arg-type]
            for factor in factors
        ]
        assert struck_units(page, factors) == expected


def test_a_view_of_another_factor_can_be_opened_again_and_undone(page: Page, served: Served) -> None:
    open_turn(page, served.address, served.dialogue, 2)
    recorded = page.locator(".making .words-of-removal").inner_text()
    slider = page.get_by_role("slider", name="λ", exact=True)
    slider.fill("0.8")
    slider.press("ArrowRight")
    expect(page).to_have_url(f"{served.address}#/runs/{served.dialogue}?turn=2&lambda=0.81")
    expect(page.locator(".making .words-of-removal")).to_contain_text("would be removed at λ = 0.81")
    expect(page.locator(".making .words-of-removal")).to_contain_text("newly removed")
    sentence = page.locator(".making .words-of-removal").inner_text()
    marked = page.locator(".making .unit.changed").count()
    assert marked
    gone, newly, kept = (int(n) for n in re.findall(r"(\d+) (?:of \d+ removable|newly|kept)", sentence))
    assert gone == served.turn("dialogue", 2)["removed_items"] + newly - kept
    page.reload()
    expect(page.locator(".making .words-of-removal")).to_have_text(sentence)
    expect(page.locator(".making .unit.changed")).to_have_count(marked)
    page.get_by_role("button", name="As it was").click()
    expect(page).to_have_url(f"{served.address}#/runs/{served.dialogue}?turn=2")
    expect(page.locator(".making .words-of-removal")).to_have_text(recorded)
    expect(page.locator(".making .unit.changed")).to_have_count(0)


def test_every_part_of_an_exchange_has_its_prompt(page: Page, served: Served) -> None:
    with SqlStore.open(served.path) as store:
        parts = store.parts(served.album, 1)
        prompts = {part: store.prompt(record.prompt or "") for part, record in parts.items()}
    for part, prompt in prompts.items():
        open_turn(page, served.address, served.album, 1, f"&part={part}&units=prompt")
        units = page.locator(".making [data-unit]").evaluate_all("all => all.map((one) => one.dataset.unit)")
        assert units == [unit.id for unit in prompt.units]


def test_what_lambda_is_a_share_of_is_called_the_same_everywhere(page: Page, served: Served) -> None:
    whole = served.turn("dialogue", 2)["removal"]["whole"]
    open_turn(page, served.address, served.dialogue, 2)
    for place in (".answer", ".words-of-removal", ".lambda .legend"):
        expect(page.locator(f".making {place}, {place}").first).to_contain_text(whole)


# --- candidates, states ---------------------------------------------------------------------------------------


def test_candidates_stand_with_their_figures_and_the_one_that_was_said(page: Page, served: Served) -> None:
    with SqlStore.open(served.path) as store:
        turns = range(1, store.run(served.dialogue).turns + 1)
        found = {
            turn: (store.candidates(served.dialogue, turn), store.turn_record(served.dialogue, turn)) for turn in turns
        }
    turn = next(turn for turn, (_, record) in found.items() if not record.rollbacks)
    open_turn(page, served.address, served.dialogue, turn, "&pane=candidates")
    expect(page.locator(".making .pane")).not_to_contain_text("nothing was put back")
    turn = next(turn for turn, (candidates, record) in found.items() if record.chosen != candidates[0].attempt)
    candidates, chosen = found[turn][0], found[turn][1].chosen
    open_turn(page, served.address, served.dialogue, turn, "&pane=candidates")
    expect(page.locator(".making .pane")).to_contain_text("nothing was put back")
    rows = page.locator(".making .candidate")
    expect(rows).to_have_count(len(candidates))
    assert any(candidate.attempt == chosen for candidate in candidates[1:])
    candidates.sort(key=lambda candidate: candidate.attempt != chosen)  # what was said comes first
    expect(rows.first.locator("details")).to_have_count(0)
    expect(rows.locator("> details:not([open])")).to_have_count(len(candidates) - 1)
    for candidate, row in zip(candidates, rows.all(), strict=True):
        expect(row).to_contain_text(candidate.text)
        expect(row.get_by_text("→ said")).to_have_count(int(candidate.attempt == chosen))
        expect(row.locator("circle")).to_have_count(len(candidate.inconsistency_runs))


def test_the_state_stands_before_and_after_every_step(page: Page, served: Served) -> None:
    with SqlStore.open(served.path) as store:
        visits = document_at(store, f"runs/{served.meeting}/turns/1/states")["visits"]
    open_turn(page, served.address, served.meeting, 1, "&pane=states")
    buttons = page.get_by_label("Nodes of the turn").get_by_role("button")
    expect(buttons).to_have_text([visit["node"].replace("_", " ") for visit in visits])
    place = next(i for i, visit in enumerate(visits) if visit["node"] == "race")
    buttons.nth(place - 1).click()
    buttons.nth(place - 1).press("ArrowRight")
    expect(page).to_have_url(f"{served.address}#/runs/{served.meeting}?turn=1&pane=states&node={place + 1}")
    row = page.get_by_role("row", name="speaker")
    before, after = (visits[place][when] for when in ("before", "after"))
    expect(row.get_by_role("cell")).to_have_text([before.get("speaker", "–"), after["speaker"]])


# --- the answer above a turn -----------------------------------------------------------------------------------------


def box(found: Locator) -> FloatRect:
    bounds = found.bounding_box()
    assert bounds is not None
    return bounds


def assert_in_view(found: Locator) -> None:
    bounds = box(found)
    assert bounds["height"] > 0
    assert bounds["y"] >= 0, found
    assert bounds["y"] + bounds["height"] <= HEIGHT, (found, bounds)
    assert bounds["x"] + bounds["width"] <= WIDTH, found


def leaned_on_most(document: dict[str, Any]) -> list[dict[str, Any]]:
    scored = [unit for unit in document["units"] if unit["line_score"] is not None]
    return sorted(scored, key=lambda unit: -float(unit["line_score"]))


@pytest.mark.parametrize(("kind", "turn"), [("dialogue", 3), ("meeting", 5), ("album", 3)])
def test_the_answer_what_the_line_leaned_on_most_and_lambda_are_in_view_at_once(
    page: Page, served: Served, kind: str, turn: int
) -> None:
    open_turn(page, served.address, getattr(served, kind), turn)
    document = served.turn(kind, turn)
    answer = page.get_by_role("region", name="Why").locator("p").first
    expect(answer).to_have_text(str(document["why"]))
    assert_in_view(answer)
    shown = page.locator(".answer li" if kind == "meeting" else ".units .unit:not(.fixed)")
    for place, unit in enumerate(leaned_on_most(document)[:3]):
        assert_in_view(shown.nth(place))
        expect(shown.nth(place)).to_contain_text(f"{unit['line_score']:.3f}")
        expect(shown.nth(place)).to_contain_text(unit["text"].removeprefix("- ")[:30].split("\n")[0])
    assert_in_view(page.locator(".turn-head .tag").filter(has_text="λ = "))
    if kind == "meeting":
        gone, removable = document["removed_items"], sum(unit["removable"] for unit in document["units"])
        expect(page.locator(".answer")).to_contain_text(f"λ = 0.4 took {gone} of {removable} items away")
    else:
        assert_in_view(page.get_by_label("λ as a number"))


@pytest.mark.parametrize(("kind", "turn"), [("dialogue", 3), ("meeting", 5), ("album", 3)])
def test_on_a_telephone_the_answer_is_in_view_and_the_transcript_one_step_away(
    browser: Browser, served: Served, kind: str, turn: int
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    open_turn(page, served.address, getattr(served, kind), turn)
    answer = page.get_by_role("region", name="Why").locator("p").first
    expect(answer).to_have_text(str(served.turn(kind, turn)["why"]))
    bounds = box(answer)
    assert page.evaluate("scrollY") == 0
    assert bounds["y"] + bounds["height"] <= 844, bounds
    transcript = page.get_by_role("listbox", name="Transcript")
    expect(transcript).to_be_hidden()
    page.get_by_role("button", name="Back to the transcript").click()
    expect(transcript).to_be_focused()
    expect(transcript.locator("[aria-selected=true]")).to_be_in_viewport()
    context.close()


def test_the_theme_button_follows_the_system(page: Page, served: Served) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(served.address)
    expect(page.get_by_role("button", name="Dark")).to_be_visible()
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


# --- minds -----------------------------------------------------------------------------------------------------------


def test_the_race_of_a_turn_has_every_latency_and_margin(page: Page, served: Served) -> None:
    run = served.meeting
    turns = served.document(f"runs/{run}/turns")["turns"]
    turn = max(turns, key=lambda turn: sum(bid["latency_s"] is not None for bid in turn["bids"]))
    page.goto(f"{served.address}#/runs/{run}?turn={turn['turn']}&pane=minds")
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
            expect(others).to_contain_text(f"not willing: {bid['willingness']:.2f} < threshold 0.5")


def test_an_agent_is_shown_through_the_whole_run(page: Page, served: Served) -> None:
    run = served.meeting
    document = served.document(f"runs/{run}/agents/Bob")
    page.goto(f"{served.address}#/runs/{run}/minds?agent=Bob")
    expect(page.get_by_role("heading", name="Bob", exact=True)).to_be_visible()
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


def test_names_of_strips_end_before_their_bars_on_a_telephone(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{served.address}#/runs/{served.meeting}/minds?agent=Bob")
    strips = page.locator(".agent-chart g:has(> .strip)")
    expect(strips.first).to_be_visible()
    ends = strips.evaluate_all(
        "all => all.map((strip) => ['text', '.strip'].map((of) => strip.querySelector(of).getBoundingClientRect()))"
        ".map(([text, bar]) => bar.left - text.right)"
    )
    assert min(ends) >= 2
