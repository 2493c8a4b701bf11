"""Actions of a line in italics, a candidate's thought on demand, and sampling that a server did not take."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.stored import a_call, a_case, a_prompt, a_reply, a_run, a_turn_record
from support.viewer_page import serving

from tertulia.state.records import Candidate, Reply
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

LINE = "*sets down her cup* Good evening. 3 * 4 < 13, <b>*no* joke</b>."
APART = "Good evening, again."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a run whose line has an action, and one whose actions were set apart."""
    path = tmp_path / "t.db"
    with SqlStore.open(path, create=True) as store:
        for run, line, actions in (("keep", LINE, "keep"), ("away", APART, "apart")):
            parameters = {"removal_factor": 0.0, "actions": actions, "temperature": 0.7}
            store.create_run(a_run(run, status="finished", parameters=parameters), a_case())
            reply = Reply(
                text=f'{{"Ana": "{line}"}}',
                tokens=(5, 6),
                text_tokens=(0, 1),
                fields={"Ana": line},
                thought="I had rather <i>not</i> talk.",
                with_actions={"Ana": f"(waves) {line}"} if actions == "apart" else None,
                unsent=("temperature",),
            )
            store.save_candidate(run, 1, Candidate(attempt=0, text=line, reply=reply))
            record = a_turn_record(1, prompt=store.save_prompt(a_prompt(memories=2, others=1)), chosen=0)
            turn = record.turn.model_copy(update={"text": line})
            store.save_calls(run, [a_call("Ana", 1, a_reply().model_copy(update={"unsent": ("temperature",)}))])
            store.save_turn(run, record.model_copy(update={"turn": turn}))
    return path


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    with serving(path) as address:
        yield address


def test_documents_have_the_parts_of_lines_with_actions(path: Path) -> None:
    with SqlStore.open(path) as store:
        (turn,) = document_at(store, "runs/keep/turns")["turns"]
        assert turn["spoken"][0] == {"kind": "action", "text": "sets down her cup"}
        assert turn["spoken"][1:] == [{"kind": "words", "text": LINE.partition("cup*")[2]}]
        assert turn["text"] == LINE
        for place in ("runs/away/turns", "runs/away/turns/1"):
            found = document_at(store, place)
            line = found["turns"][0] if "turns" in found else found
            assert line["text"] == APART
            assert [part["text"].strip() for part in line["spoken"]] == ["waves", APART]
        assert document_at(store, "runs/away/turns/1")["candidates"][0]["spoken"][0]["kind"] == "action"


def test_actions_are_in_italics_and_a_thought_is_folded(page: Page, address: str) -> None:
    page.goto(f"{address}#/runs/keep?turn=1&pane=candidates")
    said = page.get_by_role("listbox", name="Transcript")
    expect(said.locator("em")).to_have_text("sets down her cup")
    expect(said.get_by_text("3 * 4 < 13, <b>*no* joke</b>.")).to_be_visible()
    expect(page.locator(".utterance em")).to_have_text("sets down her cup")
    assert page.locator(".utterance em").evaluate("(element) => getComputedStyle(element).fontStyle") == "italic"
    thought = page.get_by_text("I had rather <i>not</i> talk.")
    expect(thought).to_be_hidden()
    page.get_by_text("Thought before it, and not said").click()
    expect(thought).to_be_visible()
    page.get_by_label("Find in the transcript").fill("her cup")
    expect(said.locator("em mark")).to_have_text("her cup")
    page.get_by_text("Made with").click()
    expect(page.get_by_text("temperature: m was not sent them")).to_be_visible()


def test_actions_that_were_set_apart_are_shown_to_the_reader(page: Page, address: str) -> None:
    page.goto(f"{address}#/runs/away?turn=1")
    expect(page.get_by_role("listbox", name="Transcript").locator("em")).to_have_text("waves")
    expect(page.locator(".utterance")).to_have_text(f"waves {APART}")
