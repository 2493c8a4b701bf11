"""`scenarios`: list and check scenarios."""

import json
from typing import Annotated, Any

import typer

from tertulia.cli.environment import print_note
from tertulia.cli.option_values import read_settings
from tertulia.cli.options import JsonOption, NoStoreOption, SettingsOption
from tertulia.cli.terminal.lines import meeting_heading
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.runs.catalog.scenarios import HEADINGS, case_cells, list_scenarios, scenarios_document, schema_document
from tertulia.state.album import Population
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting
from tertulia.state.text import counted, shell_argument
from tertulia.views.wording.phrases import grouped, people_line

#: Why a chat of a log makes no case.
_SKIPPED = {"without_text": "without text", "partner_without_folder": "with somebody who has no folder"}


def scenarios(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="check|SOURCE",
            help="A shipped name, a YAML file, or ga:FOLDER; all that is shipped without it. `check` finds all "
            "mistakes of a file, and says of a meeting who can come to speak in it.",
        ),
    ] = None,
    checked: Annotated[str | None, typer.Argument(metavar="SOURCE", hidden=True)] = None,
    setting: SettingsOption = None,
    sample: Annotated[int | None, typer.Option(metavar="N", help="So many cases, evenly in time.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of scenario files.")] = False,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List scenarios: cases with their time, initiator and memories, meetings and populations.

    Example: tertulia scenarios ga:runs/the_ville --sample 20, or tertulia scenarios check team_building
    """
    from tertulia.worlds.catalog import describe

    if schema:
        print(json.dumps(schema_document(), indent=2))
        return
    if checked is not None or source == "check":
        _check(source, checked, setting, as_json)
        return
    listings = list_scenarios(source, sample)
    if as_json:
        print_json(scenarios_document(listings))
        return
    for listing in listings.values():
        meetings = [listed.case for listed in listing.cases if isinstance(listed.case, Meeting | Population)]
        for meeting in meetings:
            _print_meeting(meeting)
        if not meetings:
            _print_cases(describe(listing))


def _check(command: str | None, checked: str | None, setting: list[str] | None, as_json: bool) -> None:
    """Print the summary of a scenario, and of a meeting whether and when each person can come to speak."""
    from tertulia.runs.planning.meeting_check import verdict
    from tertulia.runs.planning.scenario_check import check_scenario

    if command != "check" or checked is None:
        raise UsageError("takes one SOURCE, or `check` and a SOURCE, such as: tertulia scenarios check team_building")
    found = check_scenario(checked, read_settings(setting))
    if as_json:
        print_json(found.document())
        return
    data().print(plain(found.summary))
    if found.reach:
        rows = [Row((plain(person.agent, "bold"), f"{person.highest:.2f}", verdict(person))) for person in found.reach]
        data().print()
        print_table(data(), ("", "willingness at most", f"reaches the threshold {found.reach[0].threshold:g}"), rows)
    for warning in found.warnings:
        print_note(warning)


def _print_meeting(meeting: Meeting | Population) -> None:
    console = data()
    console.print(plain(f"tertulia run {shell_argument(meeting.scenario)}"))
    console.print(meeting_heading(meeting))
    console.print(plain(people_line(meeting)))
    console.print()


def _print_cases(listing: dict[str, Any]) -> None:
    """Print the cases of a source under its whole name, which may be longer than a line."""
    from tertulia.worlds.ga_files import MADE_UP

    cases = listing["cases"]
    console = data()
    if cases:
        last = cases[-1]
        console.print(
            plain(f"tertulia run {shell_argument(last['scenario'])}"), plain(f"runs case {last['case']}", "dim")
        )
        rows = [Row(case_cells(case)) for case in cases]
        print_table(console, HEADINGS, rows, right=("case", "earlier"))
    else:
        console.print(plain(listing["notes"][0]))
    for note in listing["notes"][0 if cases else 1 :]:
        console.print(plain(f"left out: {note}", "dim"))
    for reason, count in listing["skipped"].items():
        if count:
            console.print(plain(f"skipped: {counted(count, 'chat')} {_SKIPPED[reason]}", "dim"))
    people = [case[role] for case in cases for role in ("initiator", "partner")]
    notes = (note for case in cases for note in case["left_out"] if not note.endswith(MADE_UP))  # counted above
    for note in grouped(notes, people):
        console.print(plain(f"left out: {note}", "dim"))
    console.print()
