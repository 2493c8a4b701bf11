"""Completion in a shell: runs, scenarios and settings. The store is read by plain SQL, and no engine is loaded."""

import os
from collections.abc import Iterable

import typer

from tertulia.cli.environment import store_path
from tertulia.runs.catalog import completing

Completions = list[tuple[str, str]]


def command_to_complete() -> str | None:
    """Return the command whose arguments a shell completes, if any, so that only that is imported."""
    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    words = typed.split()
    return words[1] if len(words) > 2 or (len(words) == 2 and typed[-1].isspace()) else None


def complete_run(context: typer.Context, incomplete: str) -> Completions:
    """Return ids of runs, the newest first, each with its scenario and status."""
    return _of_store(context, "SELECT run, scenario, status FROM runs", incomplete, "the newest run")


def complete_run_scenario(context: typer.Context, incomplete: str) -> Completions:
    """Return scenarios of stored runs."""
    return _of_store(context, "SELECT DISTINCT scenario FROM runs", incomplete)


def complete_scenario(incomplete: str) -> Completions:
    """Return shipped scenarios, and scenario files in the folder that is being typed."""
    return _beginning(incomplete, completing.scenarios(incomplete))


def complete_report(incomplete: str) -> Completions:
    """Return the reports of the laboratory."""
    from tertulia.lab.reports.report_names import ABOUT

    return _beginning(incomplete, ABOUT.items())


def complete_report_input(context: typer.Context, incomplete: str) -> Completions:
    """Return runs for a report on stored runs, scenarios for others."""
    from tertulia.lab.reports.report_names import OF_RUNS

    of_runs = context.params.get("name") in OF_RUNS
    return complete_run(context, incomplete) if of_runs else complete_scenario(incomplete)


def complete_town(incomplete: str) -> Completions:
    """Return shipped towns."""
    return _beginning(incomplete, completing.towns())


def complete_simulation(context: typer.Context, incomplete: str) -> Completions:
    """Return ids of simulations, the newest first, each with its town and status."""
    return _of_store(context, "SELECT simulation, town, status FROM simulations", incomplete, "the newest one")


def complete_setting(incomplete: str) -> Completions:
    """Return the parameters that `--set` takes, up to the `=`."""
    return _beginning(incomplete, ((f"{name}=", about) for name, about in completing.settings()))


def complete_setting_name(incomplete: str) -> Completions:
    """Return names of parameters."""
    return _beginning(incomplete, completing.settings())


def complete_listed_setting(incomplete: str) -> Completions:
    """Return names of groups of parameters, and of parameters."""
    return _beginning(incomplete, completing.listed_settings())


def _beginning(incomplete: str, known: Iterable[tuple[str, str]]) -> Completions:
    return [(value, about) for value, about in known if value.startswith(incomplete)]


def _of_store(context: typer.Context, query: str, incomplete: str, last: str | None = None) -> Completions:
    return _beginning(incomplete, completing.stored(store_path(context.params.get("store")), query, last))
