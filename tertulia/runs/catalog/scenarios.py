"""Runnable things: shipped scenarios, scenario files and logs, with their cases."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tertulia.state.documents import SCHEMA_VERSION, Document

if TYPE_CHECKING:
    from tertulia.worlds.catalog import Listing

#: Of the columns of a table of cases.
HEADINGS = ("case", "time", "begins", "with", "memories", "earlier", "place")


def list_scenarios(source: str | None = None, sample: int | None = None) -> "dict[str, Listing]":
    """Return the cases of a source by its name.

    Args:
        source: A shipped name, a scenario file, or `ga:FOLDER`; `None`: all that is shipped.
        sample: The number of cases of each source, evenly in time.

    Raises:
        NotFoundError: There is no such source.
        ScenarioError: It can't be read.
        UsageError: `sample` is not positive.
    """
    from tertulia.worlds.catalog import SHIPPED, extensions_of, list_cases, sample_evenly

    if source is None:
        listings = {name: list_cases(name) for name in SHIPPED}
    else:
        # Mechanisms of extensions are not known here: listing a scenario executes none of their code.
        known = None if extensions_of(source) else _mechanisms()
        listings = {source: list_cases(source, known)}
    if sample is None:
        return listings
    return {
        name: replace(listing, cases=tuple(sample_evenly(listing.cases, sample))) for name, listing in listings.items()
    }


def case_cells(case: Document) -> tuple[str, ...]:
    """Return a row of a table of cases, in the order of `HEADINGS`."""
    memories = ", ".join(str(count) for count in case["memories"].values())
    who, earlier = (case["initiator"], case["partner"]), str(case["previous_dialogues"])
    return str(case["case"]), case["time"][:-3], *who, memories, earlier, case["place"] or "–"


def scenarios_document(listings: "Mapping[str, Listing]") -> Document:
    """Return cases, how many chats of each source make none, and notes on each source, as JSON."""
    from tertulia.worlds.catalog import describe

    described = {name: describe(listing) for name, listing in listings.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "cases": [case for listing in described.values() for case in listing["cases"]],
        "skipped": {name: listing["skipped"] for name, listing in described.items()},
        "notes": {name: listing["notes"] for name, listing in described.items() if listing["notes"]},
    }


def schema_document() -> Document:
    """Return the JSON Schema of scenario files, as it is shipped in docs/scenario.schema.json."""
    from tertulia.worlds.scenario_file import scenario_schema

    return scenario_schema(_mechanisms())


def _mechanisms() -> tuple[str, ...]:
    from tertulia.nodes.mechanisms.registry import MECHANISMS

    return tuple(MECHANISMS)
