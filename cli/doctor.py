"""`doctor`: what is installed, on what it runs, and what mends what is missing."""

import sys
from typing import Any

import typer
from rich.table import Table

from cli.environment import cache_folder, key_of, store_path
from cli.options import JsonOption, StoreOption
from cli.terminal.output import data, plain, print_json
from tertulia.installation import installation_document


def doctor(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show what is installed, which device, precision and threads will be used, and what mends what is missing.

    Example: tertulia doctor
    """
    report = installation_document(cache_folder(), store_path(store), key_of)
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    if report["missing"]:
        raise typer.Exit(1)


def _print_report(report: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("python", f"{report['python']} ({sys.executable})")
    for name, version in report["packages"].items():
        table.add_row(name, version or "missing")
    table.add_row("device", report["device"] or "–")
    table.add_row("precision", report["precision"] or "–")
    if report["threads"]:
        table.add_row("threads", plain(f"{report['threads']} (waiting: {report['threads_wait']})"))
    ready = "converted, loads at once" if report["embedded_model_converted"] else "will be converted on first use"
    table.add_row("embedded model", plain(f"{ready} ({report['cache']})"))
    table.add_row("store", plain(report["store"]))
    installed = {name: provider for name, provider in report["remote_models"].items() if provider["version"]}
    for name, provider in installed.items():
        variable, has_key = provider["key"], provider["has_key"]
        key = "no key needed" if variable is None else f"{variable} is {'set' if has_key else 'not set'}"
        table.add_row(f"{name}:…", plain(f"{provider['package']} {provider['version']}, {key}"))
    others = ", ".join(name for name in report["remote_models"] if name not in installed)
    table.add_row("not installed", plain(f"{others} (docs/models.md)"))
    data().print(table)
    if report["install"] is None:
        data().print(plain("everything is there"))
    else:
        data().print(plain("something is missing; this installs it:"))
        data().print(plain(report["install"]), soft_wrap=True)
