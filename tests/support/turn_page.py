"""The pane of a turn in a browser: λ moved, what is struck read, and prompts of any make shown in it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from playwright.sync_api import Page, Route

from tertulia.state.parameters import Walk

#: The settings of Algorithm 1: which units come first, and what happens at one that would overshoot.
SETTINGS = tuple((order, walk) for order in ("descending", "ascending") for walk in get_args(Walk))

#: Sets λ and waits until the page is drawn. `change`, as of the field, takes any number; `input`, as of the slider,
#: its steps.
_MOVE = """
async (element, value, kind) => {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(element, value);
  element.dispatchEvent(new Event(kind, { bubbles: true }));
  await new Promise((resolve) => setTimeout(resolve));
}
"""

_STRUCK = f"""
async (factors) => {{
  const move = {_MOVE};
  const struck = [];
  for (const factor of factors) {{
    await move(document.querySelector(".making input[type=number]"), factor, "change");
    const units = [...document.querySelectorAll(".making [data-unit]")];
    struck.push(units.map((unit) => [unit.dataset.unit, unit.dataset.removed]));
  }}
  return struck;
}}
"""


def open_turn(page: Page, address: str, run: str, turn: int, query: str = "") -> None:
    """Open the pane of a turn, and wait until it is there; a page that is open goes there without loading anew."""
    page.goto(f"{address}#/runs/{run}?turn={turn}{query}")
    page.locator(".making[aria-busy=false]").get_by_role("heading", name=f"Turn {turn}", exact=True).wait_for()


def choose_settings(page: Page, order: str, walk: str) -> None:
    page.locator(".making .how").evaluate("details => { details.open = true }")
    page.locator(".making .walk select").nth(0).select_option(order)
    page.locator(".making .walk select").nth(1).select_option(walk)


def struck_units(page: Page, factors: Iterable[float]) -> list[list[set[str]]]:
    """For each λ: by scorer, the ids of the units that are struck."""
    shown = page.evaluate(_STRUCK, [repr(float(factor)) for factor in factors])
    return [
        [{unit for unit, removed in units if removed[place] == "1"} for place in range(len(units[0][1]))]
        for units in shown
    ]


def show_prompt(
    page: Page, document: Mapping[str, Any], units: Sequence[Mapping[str, Any]], scores: Sequence[Mapping[str, float]]
) -> None:
    """Have a turn's document answered with other units, scored by as many scorers as there are scores."""
    scorers = [
        {"scored_by": f"scorer {number}", "run": document["run"], "turn": document["turn"], "scores": by_unit}
        for number, by_unit in enumerate(scores)
    ]
    units = [{**unit, "score": scores[0].get(unit["id"]), "removed": False} for unit in units]
    answer = json.dumps({**document, "units": units, "scorers": scorers})

    def fulfil(route: Route) -> None:
        route.fulfill(body=answer, content_type="application/json")

    page.unroute_all()
    page.route(f"**/api/runs/{document['run']}/turns/{document['turn']}", fulfil)
