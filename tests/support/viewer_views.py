"""The views of the page over a store that has something for each of them, and how a test reads them."""

from playwright.sync_api import Page

#: The panes of a turn.
PANES = ("prompt", "candidates", "minds", "states", "cost")

#: Shown while a document is read.
_READING = "Reading the store"

_SETTLED = """async (reading) => {
    const text = () => document.querySelector("main")?.innerText ?? reading;
    const next = () => new Promise((done) => setTimeout(done, 30));
    let last = null;
    for (let same = 0, waited = 0; same < 3; waited++) {
        if (waited > 150) throw new Error(`the view does not come to rest: ${last.slice(0, 200)}`);
        const now = text();
        same = now === last && !now.includes(reading) ? same + 1 : 0;
        last = now;
        await next();
    }
    return last;
}"""


def watched(page: Page) -> list[str]:
    """Return a list to which the addresses of all requests of a page are added."""
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    return requests


def text_of(page: Page) -> str:
    """Return what the view shows, once nothing in it changes any more."""
    return str(page.evaluate(_SETTLED, _READING))


def text_at(page: Page, address: str) -> str:
    """Return what the view of an address shows."""
    page.goto(address)
    return text_of(page)
