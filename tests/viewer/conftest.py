"""A browser for the tests of the page.

Playwright's loop runs in the thread of the test for as long as the browser is open, so a conversation is held there by
`tertulia.run`, which has a thread of its own, or by another process.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from support.viewer_page import ARGUMENTS, chromium

expect.set_options(timeout=15_000)  # a busy machine may take longer than Playwright's five seconds


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page; the test fails where anything throws in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(error))
    yield page
    context.close()
    assert not errors
