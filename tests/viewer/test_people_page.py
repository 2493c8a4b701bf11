"""People who are brought to the page in a browser: dropped or chosen, shown as text, and talked with."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, FilePayload, Page, expect
from support.character_files import CARD_V2, encoded, png
from support.new_runs import COMMAND
from support.seats import TOKEN
from support.viewer_page import serving, violations

CARD = png({"chara": encoded(CARD_V2)})
HOSTILE = {
    "name": "<img src=x onerror=window.ran=1>",
    "description": "</span><script>window.ran=1</script>. She sells [maps](javascript:window.ran=1).",
    "personality": "<b>bold</b>",
    "first_mes": "“\u202egnirts",
}

#: Drop a file, by its name and its content in base 64, on the page.
_DROP = """([name, content]) => {
    const files = new DataTransfer();
    files.items.add(new File([Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0))], name));
    for (const kind of ["dragover", "drop"])
        document.querySelector("main").dispatchEvent(
            new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path / "t.db", TOKEN, COMMAND) as address:
        yield address


def payload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def opened(page: Page, address: str) -> None:
    page.goto(f"{address}?token={TOKEN}#/runs")
    expect(page.get_by_role("link", name="New conversation")).to_be_visible()


def drop(page: Page, name: str, content: bytes) -> None:
    page.evaluate(_DROP, [name, base64.b64encode(content).decode()])


def test_a_card_is_dropped_and_its_visitor_sits_in_a_conversation(page: Page, address: str, tmp_path: Path) -> None:
    opened(page, address)
    drop(page, "notes.txt", b"just a note")
    expect(page.get_by_role("alert").get_by_text("notes.txt: no people are found in it")).to_be_visible()
    drop(page, "mirela.png", CARD)
    people = page.get_by_role("region", name="People who were brought")
    expect(people.get_by_text("Habits: She never lends a key to Visitor.")).to_be_visible()
    expect(page.get_by_text("no people are found")).to_have_count(0)
    people.get_by_text("Not taken", exact=True).click()
    expect(people.get_by_text("Speak as Mirela Stan.").or_(people.get_by_text("Speak as {{char}}."))).to_be_visible()
    expect(page.get_by_label("Situation")).to_have_value("Visitor has lost a key.")
    page.get_by_label("Situation").fill("Ines wants a key back, at night.")
    page.get_by_label("Place").fill("the quay")
    page.get_by_label("You are").fill("Ines")
    page.get_by_role("slider", name="λ").fill("0.5")
    page.get_by_label("Model", exact=True).select_option("rehearsal")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as YAML").click()
    assert saved.value.suggested_filename == "mirela_stan.yaml"
    page.get_by_role("button", name="Begin").click()
    sit = page.get_by_role("button", name="Sit here as Ines")
    expect(sit).to_be_visible(timeout=30_000)
    expect(page).to_have_url(re.compile("#/runs/[^/?]+\\?seats=1$"))
    with page.context.expect_page() as seat:
        sit.click()
    expect(seat.value.get_by_text("Ines wants a key back, at night.")).to_have_count(1)
    expect(seat.value.get_by_text(re.compile("with .*Mirela Stan.*; the quay"))).to_be_visible()
    expect(seat.value.get_by_role("heading", name="Mirela Stan and Ines", exact=True)).to_be_visible()
    written = (tmp_path / "mirela_stan.yaml").read_text(encoding="utf-8")
    assert written == Path(saved.value.path()).read_text(encoding="utf-8")
    assert yaml.safe_load(written)["description"] == "Ines wants a key back, at night."


def test_a_card_joins_an_unfinished_conversation_only_when_the_reader_says_so(page: Page, address: str) -> None:
    people = page.get_by_role("region", name="People who were brought")
    question = page.get_by_role("group", name="An unfinished conversation")
    for answer, kept in (("Add to it", 1), ("Start afresh", 0)):
        opened(page, address)
        page.get_by_role("link", name="New conversation").click()
        page.get_by_label("Name").first.fill("Ida Falk")
        page.get_by_role("link", name="All runs").click()
        expect(page.get_by_role("link", name="New conversation")).to_be_visible()
        drop(page, "mirela.png", CARD)
        expect(question).to_contain_text("mirela.png")
        expect(people).to_have_count(0)
        question.get_by_role("button", name=answer).click()
        expect(people.locator(".person")).to_have_count(1)
        expect(question).to_have_count(0)
        expect(page.get_by_label("Name")).to_have_count(kept)


def test_files_are_chosen_with_the_keyboard_taken_away_and_outlive_a_reload(page: Page, address: str) -> None:
    page.on("filechooser", lambda _: None)  # choosers are held from here on, not only once the key is pressed
    opened(page, address)
    page.get_by_role("link", name="New conversation").click()
    page.get_by_role("button", name="From a file").focus()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    table = b"name,job\nIda Roos,painter\nFaisal Amrani,clerk\n"
    chooser.value.set_files([payload("mirela.png", CARD), payload("people.csv", table)])
    people = page.get_by_role("region", name="People who were brought")
    expect(people.locator(".person")).to_have_count(3)
    expect(page.get_by_label("You are")).to_have_count(0)
    page.reload()
    expect(people.locator(".person")).to_have_count(3)
    people.get_by_role("button", name="Take people.csv away").click()
    expect(page.get_by_label("You are")).to_have_value("Visitor")
    people.get_by_role("button", name="Take mirela.png away").click()
    expect(people).to_have_count(0)
    page.goto(f"{address}?token={TOKEN}#/new?people=0000")
    expect(page.get_by_text("The server does not have these files any more.")).to_be_visible()


def test_a_file_that_is_too_large_is_not_sent(page: Page, address: str) -> None:
    opened(page, address)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.evaluate(
        """() => {
            const files = new DataTransfer();
            files.items.add(new File([new Uint8Array(51_000_000)], "large.png"));
            dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true }));
        }"""
    )
    expect(page.get_by_role("alert").get_by_text("large.png is larger than 50 MB")).to_be_visible()
    assert not [url for url in sent if "api/people" in url]


def test_where_nothing_may_be_started_a_drop_says_so(page: Page, tmp_path: Path) -> None:
    with serving(tmp_path / "t.db") as address:
        page.goto(f"{address}#/runs")
        expect(page.get_by_text("There are no runs yet")).to_be_visible()
        drop(page, "mirela.png", CARD)
        expect(page.get_by_role("alert").get_by_text("tertulia view --allow-runs")).to_be_visible()
        expect(page.get_by_role("link", name="New conversation")).to_have_count(0)


@pytest.mark.access
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_no_width_breaks_it_and_texts_are_texts(browser: Browser, address: str, width: int) -> None:
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    opened(page, address)
    drop(page, "<i onclick=alert(1)>.json", json.dumps(HOSTILE).encode())
    drop(page, "wide.csv", b"name,job\n" + b"N" * 300 + b"," + b"W" * 900 + b"\n")
    people = page.get_by_role("region", name="People who were brought")
    expect(people.locator(".person")).to_have_count(2)
    expect(people.get_by_text("<img src=x onerror=window.ran=1>").first).to_be_visible()
    assert page.evaluate("window.ran ?? null") is None
    assert people.locator("img, script, i, a").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert violations(page) == []
    page.context.close()
