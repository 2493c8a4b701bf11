"""The answer above a turn: in view at once, with what its line leaned on, and λ; small heads; type that can be read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect
from support.turn_page import open_turn
from support.viewer_page import serving

import tertulia
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.html_file import html_of_run

WIDTH, HEIGHT = 1280, 800

#: Elements with text of their own that is smaller than 13 pixels.
_SMALL = """() => [...document.querySelectorAll("body *")].filter((element) => {
    const has = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!has || element.closest(".visually-hidden, script, style, noscript")) return false;
    return parseFloat(getComputedStyle(element).fontSize) < 13;
}).map((element) => `${element.outerHTML.slice(0, 80)}: ${getComputedStyle(element).fontSize}`)"""

#: The bars of a lane over which a figure of a loser lies.
_COVERED = """() => [...document.querySelectorAll(".losing text")].flatMap((text) => {
    const a = text.getBoundingClientRect();
    return [...document.querySelectorAll(".bars rect")].filter((bar) => {
        const b = bar.getBoundingClientRect();
        return a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top < a.bottom - 2;
    }).map((bar) => `${text.textContent} over turn ${bar.parentElement.dataset.turn}`);
})"""

#: As on a busy machine: what is left for after a drawing comes two seconds later.
_BUSY = """const soon = setTimeout;
globalThis.setTimeout = (run, ms = 0, ...given) => soon(run, ms + 2000, ...given);
globalThis.requestAnimationFrame = (run) => soon(run, 2000);"""


class Kinds:
    """A served store with a dialogue, a meeting and an album chat."""

    def __init__(self, path: Path, address: str) -> None:
        self.path, self.address, self.runs = path, address, dict[str, str]()

    def document(self, kind: str, turn: int) -> dict[str, Any]:
        with SqlStore.open(self.path) as store:
            return document_at(store, f"runs/{self.runs[kind]}/turns/{turn}")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kinds]:
    path = tmp_path_factory.mktemp("answers") / "t.db"
    dialogue = tertulia.run("tidewell", rehearse=True, rounds=4, removal_factor=0.5, store=path, progress=False)
    meeting = tertulia.run("team_building", rehearse=True, rounds=8, removal_factor=0.4, store=path, progress=False)
    album = tertulia.run("villagers", rehearse=True, rounds=2, agents=4, removal_factor=0.5, store=path, progress=False)
    with serving(path) as address:
        served = Kinds(path, address)
        served.runs = {"dialogue": dialogue.id, "meeting": meeting.id, "album": album.id}
        yield served


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh browser, which remembers nothing."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    yield context.new_page()
    context.close()


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
    page: Page, kinds: Kinds, kind: str, turn: int
) -> None:
    open_turn(page, kinds.address, kinds.runs[kind], turn)
    document = kinds.document(kind, turn)
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
        gone, removable = document["removed_items"], sum(unit["removable"] for unit in document["units"])  # type: ignore
        expect(page.locator(".answer")).to_contain_text(f"λ = 0.4 took {gone} of {removable} items away")
    else:
        assert_in_view(page.get_by_label("λ as a number"))


@pytest.mark.parametrize("kind", ["dialogue", "meeting", "album"])
def test_header_timeline_and_tabs_take_a_quarter_of_the_height_at_most(page: Page, kinds: Kinds, kind: str) -> None:
    open_turn(page, kinds.address, kinds.runs[kind], 2)
    last = page.locator(".run-top" if kind == "album" else ".timeline")
    assert box(last)["y"] + box(last)["height"] <= HEIGHT / 4
    assert box(page.locator(".run-top .tabs"))["y"] < HEIGHT / 4


#: Heights and widths of what is pressed in the head that are below 24 pixels.
_LOW = """() => [...document.querySelectorAll(":is(.top, .run-top, .timeline) :is(a, button, select, input, summary)")]
    .filter((element) => element.checkVisibility() && !element.closest(".brand"))
    .map((element) => [element.outerHTML.slice(0, 90), element.getBoundingClientRect()])
    .filter(([, { width, height }]) => height < 24 || width < 24)
    .map(([what, { width, height }]) => `${what}: ${width} x ${height}`)"""


@pytest.mark.parametrize("kind", ["dialogue", "meeting", "album", "album tab"])
def test_on_a_telephone_the_head_is_low_and_loses_nothing(browser: Browser, kinds: Kinds, kind: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    run = kinds.runs[kind.partition(" ")[0]]
    if kind == "album tab":
        page.goto(f"{kinds.address}#/runs/{run}/album")
        page.locator(".album").wait_for()
    else:
        open_turn(page, kinds.address, run, 2)
    begins = page.locator(".album" if kind == "album tab" else ".conversation > .sides")
    assert box(begins)["y"] <= (240 if kind in ("dialogue", "meeting") else 130)
    assert page.evaluate(_LOW) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator(".about summary").click()
    with SqlStore.open(kinds.path) as store:
        record, names = store.run(run), store.start(run).names
    for told in (*names, record.model, str(record.seed)):
        expect(page.locator(".about")).to_contain_text(told)
    if kind in ("dialogue", "meeting"):
        timeline = page.get_by_role("region", name="Timeline")
        for name in ("Play", "Fit", "Zoom in", "Zoom out"):
            expect(timeline.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        expect(timeline.get_by_role("slider", name="Turn")).to_be_in_viewport(ratio=1)
        expect(timeline.locator(".where")).to_contain_text("2 of")
    context.close()


def test_a_meeting_opens_with_its_race_and_a_dialogue_with_its_prompt(page: Page, kinds: Kinds) -> None:
    open_turn(page, kinds.address, kinds.runs["meeting"], 5)
    tabs = page.get_by_label("How the turn came about")
    expect(tabs.locator("[aria-current]")).to_have_text("Minds")
    assert box(page.locator(".race"))["y"] < HEIGHT - 100
    open_turn(page, kinds.address, kinds.runs["dialogue"], 2)
    expect(tabs.locator("[aria-current]")).to_have_text("Prompt")


def test_units_stand_by_weight_or_in_prompt_order_and_the_choice_is_remembered(page: Page, kinds: Kinds) -> None:
    def shown() -> list[str]:
        return page.locator(".making [data-unit]").evaluate_all("all => all.map((unit) => unit.dataset.unit)")

    document = kinds.document("dialogue", 2)
    in_prompt = [unit["id"] for unit in document["units"]]
    by_weight = [unit["id"] for unit in leaned_on_most(document)]
    open_turn(page, kinds.address, kinds.runs["dialogue"], 2)
    assert shown()[: len(by_weight)] == by_weight != in_prompt[: len(by_weight)]
    page.get_by_role("button", name="In prompt order").click()
    expect(page).to_have_url(f"{kinds.address}#/runs/{kinds.runs['dialogue']}?turn=2&units=prompt")
    assert shown() == in_prompt
    open_turn(page, kinds.address, kinds.runs["dialogue"], 2)
    page.reload()
    page.locator(".making [data-unit]").first.wait_for()
    assert shown() == in_prompt
    open_turn(page, kinds.address, kinds.runs["dialogue"], 2, "&units=weight")
    page.reload()
    page.locator(".making [data-unit]").first.wait_for()
    assert shown()[: len(by_weight)] == by_weight


# --- two questions --------------------------------------------------------------------------------------------------


def answer_with(page: Page, document: dict[str, Any]) -> None:
    """Have a turn answered with another document."""
    answer = json.dumps(document)
    path = f"**/api/runs/{document['run']}/turns/{document['turn']}"
    page.route(path, lambda route: route.fulfill(body=answer, content_type="application/json"))


def pressed(page: Page) -> list[str]:
    return page.get_by_role("group", name="What the shades show").locator("[aria-pressed=true]").all_inner_texts()


def test_shades_show_what_the_line_leaned_on_until_lambda_is_moved(page: Page, kinds: Kinds) -> None:
    document = kinds.document("dialogue", 3)
    open_turn(page, kinds.address, kinds.runs["dialogue"], 3)
    assert pressed(page) == ["Leaned on"]
    expect(page.locator(".units .caption")).to_contain_text("Random numbers, as this run was rehearsed.")
    gone = [unit["id"] for unit in document["units"] if unit["removed"]]
    assert gone
    for unit in gone:
        row = page.locator(f'.unit[data-unit="{unit}"]')
        expect(row).to_contain_text("removed")
        expect(row.locator(".bar")).to_have_count(0)
        style = row.locator(".text").evaluate("text => [getComputedStyle(text).backgroundColor, text.style.cssText]")
        assert style == ["rgba(0, 0, 0, 0)", "--heat: 0;"]
        struck = row.locator(".text > .data").evaluate("text => getComputedStyle(text).textDecorationLine")
        assert struck == "line-through"

    slider = page.get_by_role("slider", name="λ", exact=True)
    slider.press("ArrowRight")
    assert pressed(page) == ["Removed by λ"]
    heaviest = max((unit for unit in document["units"] if unit["removable"]), key=lambda unit: unit["score"])
    expect(page.locator(".units .unit").first).to_have_attribute("data-unit", heaviest["id"])
    page.get_by_role("button", name="Leaned on").press("Enter")
    assert pressed(page) == ["Leaned on"]
    slider.press("ArrowRight")
    assert pressed(page) == ["Removed by λ"]
    page.get_by_role("button", name="As it was").click()
    assert pressed(page) == ["Leaned on"]
    page.get_by_role("button", name="Removed by λ").press("Enter")
    expect(page).to_have_url(f"{kinds.address}#/runs/{kinds.runs['dialogue']}?turn=3&shade=removed")


def test_a_line_that_nobody_scored_has_the_scores_of_lambda_alone(page: Page, kinds: Kinds) -> None:
    document = kinds.document("dialogue", 3)
    units = [{**unit, "line_score": None} for unit in document["units"]]
    answer_with(page, {**document, "units": units, "line_scored_by": None, "leaned_on": None})
    open_turn(page, kinds.address, kinds.runs["dialogue"], 3)
    expect(page.get_by_role("group", name="What the shades show")).to_have_count(0)
    expect(page.locator(".units .caption")).to_contain_text("what λ may remove: attention of possible replies")


def test_where_lambda_has_no_scores_the_prompt_shows_what_the_line_leaned_on(page: Page, kinds: Kinds) -> None:
    document = kinds.document("dialogue", 3)
    answer_with(page, {**document, "scorers": [], "scored_by": None})
    open_turn(page, kinds.address, kinds.runs["dialogue"], 3)
    (most, *_) = leaned_on_most(document)
    expect(page.locator(".units .unit").first).to_have_attribute("data-unit", most["id"])
    expect(page.get_by_role("group", name="What the shades show")).to_have_count(0)


@pytest.mark.parametrize("leaned_on", [[], None])
def test_a_line_that_leaned_on_nothing_has_nothing_below_its_sentence(
    page: Page, kinds: Kinds, leaned_on: list[Any] | None
) -> None:
    document = kinds.document("meeting", 5)
    answer_with(page, {**document, "leaned_on": leaned_on})
    open_turn(page, kinds.address, kinds.runs["meeting"], 5)
    expect(page.get_by_role("region", name="Why")).to_have_text(str(document["why"]))


def test_a_loss_is_told_as_how_much_less_likely_the_line_is(page: Page, kinds: Kinds) -> None:
    document = kinds.document("meeting", 5)
    first, second = document["units"][2:4]
    leaned_on = [
        {"unit": unit["id"], "text": unit["text"], "loss": loss, "measured": measured, "times_less_likely": times}
        for unit, loss, measured, times in ((first, 0.4, True, 52.3), (second, 0.2, False, 7.2))
    ]
    answer_with(page, {**document, "leaned_on": leaned_on})
    open_turn(page, kinds.address, kinds.runs["meeting"], 5)
    shown = page.get_by_role("list", name="What the line leaned on").get_by_role("listitem")
    expect(shown).to_have_count(2)
    expect(shown.nth(0)).to_contain_text("52 times less likely without it, as measured")
    expect(shown.nth(1)).to_contain_text("about 7 times less likely without it, as estimated")
    assert box(shown.nth(1).locator(".bar"))["width"] == pytest.approx(box(shown.nth(0).locator(".bar"))["width"] / 2)


# --- what stands where ----------------------------------------------------------------------------------------------


def test_a_score_stands_beside_its_bar(page: Page, kinds: Kinds) -> None:
    open_turn(page, kinds.address, kinds.runs["dialogue"], 2)
    score = page.locator(".units .unit .score").first
    bar, share = box(score.locator(".bar")), box(score.locator(".share"))
    assert bar["x"] + bar["width"] <= share["x"]


@pytest.mark.parametrize("asked", ["What is λ?", "What are nats?"])
def test_a_sign_is_explained_where_it_stands_by_keyboard(page: Page, kinds: Kinds, asked: str) -> None:
    document = kinds.document("dialogue", 2)
    if asked == "What are nats?":  # a rehearsal's judge rates
        answer = json.dumps({**document, "judged_by": "likelihood by smollm2"})
        page.route("**/turns/2", lambda route: route.fulfill(body=answer, content_type="application/json"))
    pane = "candidates" if asked == "What are nats?" else "prompt"
    open_turn(page, kinds.address, kinds.runs["dialogue"], 2, f"&pane={pane}")
    explanation = page.locator(".explained").filter(has_text=asked)
    expect(explanation.locator(".explanation")).to_be_hidden()
    explanation.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(explanation.locator(".explanation")).to_be_visible()


@pytest.mark.parametrize("width", [WIDTH, 390])
def test_type_is_at_least_13_pixels_and_no_bar_is_covered(browser: Browser, kinds: Kinds, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, has_touch=width < WIDTH)
    page = context.new_page()
    for kind, pane in (("dialogue", "prompt"), ("dialogue", "candidates"), ("meeting", "minds"), ("album", "prompt")):
        for turn in (2, 5) if kind == "meeting" else (2,):
            open_turn(page, kinds.address, kinds.runs[kind], turn, f"&pane={pane}")
            assert page.evaluate(_SMALL) == []
            assert page.evaluate(_COVERED) == []
    assert page.locator(".keys").is_visible() == (width == WIDTH)
    context.close()


def test_the_answer_is_in_the_exported_file(page: Page, kinds: Kinds, tmp_path: Path) -> None:
    with SqlStore.open(kinds.path) as store:
        (tmp_path / "run.html").write_text("\n".join(html_of_run(store, kinds.runs["meeting"])), encoding="utf-8")
    page.goto(f"{(tmp_path / 'run.html').as_uri()}#/runs/{kinds.runs['meeting']}?turn=5")
    expect(page.get_by_role("region", name="Why")).to_contain_text(str(kinds.document("meeting", 5)["why"]))


@pytest.mark.parametrize(("kind", "turn"), [("dialogue", 3), ("meeting", 5), ("album", 3)])
def test_on_a_telephone_the_answer_is_in_view_and_the_transcript_one_step_away(
    browser: Browser, kinds: Kinds, kind: str, turn: int
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    open_turn(page, kinds.address, kinds.runs[kind], turn)
    answer = page.get_by_role("region", name="Why").locator("p").first
    expect(answer).to_have_text(str(kinds.document(kind, turn)["why"]))
    bounds = box(answer)
    assert page.evaluate("scrollY") == 0
    assert bounds["y"] + bounds["height"] <= 844, bounds
    transcript = page.get_by_role("listbox", name="Transcript")
    expect(transcript).to_be_hidden()
    page.get_by_role("button", name="Back to the transcript").click()
    expect(transcript).to_be_focused()
    expect(transcript.locator("[aria-selected=true]")).to_be_in_viewport()
    context.close()


@pytest.mark.parametrize("width", [WIDTH, 390])
@pytest.mark.parametrize("factor", [0, 0.45, 0.55, 1])
def test_no_word_lies_on_the_curve_of_lambda(browser: Browser, kinds: Kinds, width: int, factor: float) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    open_turn(page, kinds.address, kinds.runs["dialogue"], 3, f"&lambda={factor}")
    plots = page.locator(".plots")
    run, now = box(plots.locator(".own span")), box(plots.locator(".now span"))
    assert run["y"] + run["height"] <= now["y"]
    assert now["y"] + now["height"] <= box(plots.locator(".curve"))["y"]
    card = box(page.locator(".lambda.card"))
    for sign in (run, now):
        assert card["x"] <= sign["x"]
        assert sign["x"] + sign["width"] <= card["x"] + card["width"]
    context.close()


@pytest.mark.parametrize("script", ["", _BUSY], ids=["idle", "busy"])
def test_the_theme_button_follows_the_system(page: Page, kinds: Kinds, script: str) -> None:
    page.add_init_script(script)
    page.emulate_media(color_scheme="light")
    page.goto(kinds.address)
    expect(page.get_by_role("button", name="Dark")).to_be_visible()
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
