"""`lab run`, `lab resume`, `lab list` and `lab compare`: experiments of a user's own."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli import options
from tertulia.cli.commands.sweep import DryRunOption
from tertulia.cli.driving import store_hint
from tertulia.cli.environment import store_path, user_trust
from tertulia.cli.lab.reports import (
    EmbedderOption,
    FluencyOption,
    ForceOption,
    OutOption,
    WantedReport,
    print_missing,
    write_report,
)
from tertulia.cli.lab.trials import TrialOptions, print_estimate, run_study
from tertulia.cli.opening import open_existing
from tertulia.cli.option_groups import grouped
from tertulia.cli.terminal.output import data, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.text import shell_argument
from tertulia.storage.store import SqlStore

ExperimentArgument = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="The name of an experiment in the store (`tertulia lab list`).")
]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="An experiment as YAML (docs/laboratory.md).")]


def _print_schema(is_asked: bool) -> None:
    from tertulia.lab.experiments.experiment import schema_document

    if is_asked:
        print(json.dumps(schema_document(), indent=2))
        raise typer.Exit(0)


@grouped
def run(
    file: FileArgument,
    trials: TrialOptions,
    dry_run: DryRunOption = False,
    schema: Annotated[
        bool,
        typer.Option("--schema", callback=_print_schema, is_eager=True, help="Print the JSON Schema of such files."),
    ] = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Run an experiment that a file declares: cases × settings × trials. The same command runs missing trials.

    Example: tertulia lab run rules.yaml --dry-run
    """
    from tertulia.lab.experiments.experiment import read_experiment

    with status_line("trying cases and settings") as line:
        experiment = read_experiment(file, trials.extension or (), user_trust(line))
    with SqlStore.open(store_path(store), create=not dry_run) as opened:
        if dry_run:
            print_estimate(opened, experiment, as_json, trials)
            return
        run_study(opened, experiment, shlex.join(["tertulia", *sys.argv[1:]]), trials, as_json, ())


@grouped
def resume(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Its name (see `tertulia lab list`).")],
    trials: TrialOptions,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Go on with an experiment of the store: run its interrupted, failed and pending trials.

    Example: tertulia lab resume rules
    """
    from tertulia.lab.experiments.experiment import experiment_of, require_files_of

    with SqlStore.open(store_path(store)) as opened:
        known = experiment_of(opened.experiments.get(experiment))
        require_files_of(known, opened.path, user_trust())
        way_on = f"tertulia lab resume{store_hint(opened)} {shell_argument(experiment)}"
        run_study(opened, known, way_on, trials, as_json, ())


def list_experiments(store: options.StoreOption = None, as_json: options.JsonOption = False) -> None:
    """List the experiments of the store, newest first, and how far each is.

    Example: tertulia lab list
    """
    from tertulia.lab.experiments.listing import listed_experiments

    with open_existing(store) as opened:
        listed = listed_experiments(opened)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "experiments": listed})
        return
    headings = ("experiment", "model", "settings", "cases", "trials", "finished", "failed", "missing", "created")
    rows = [Row(tuple(str(found[heading]) for heading in headings)) for found in listed]
    print_table(data(), headings, rows, right=headings[2:8])


def compare(
    experiment: ExperimentArgument,
    baseline: Annotated[
        str | None, typer.Option(metavar="SETTING", help="What the other settings are compared with.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", metavar="NAME", help="What is compared, such as dist3 or removed_words; may be repeated."
        ),
    ] = None,
    embedder: EmbedderOption = None,
    fluency_model: FluencyOption = None,
    out: OutOption = Path("reports"),
    force: ForceOption = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Compare the settings of an experiment, with intervals and differences to one of them, as pages, plots and data.

    Example: tertulia lab compare rules --baseline without --metric dist3 --metric sim
    """
    from tertulia.lab.experiments.experiment import experiment_of
    from tertulia.lab.reports.report import report_of_experiment

    wanted = WantedReport(store_path(store), out, embedder, fluency_model, force, as_json)
    with SqlStore.open(wanted.store, create=False) as opened:
        known = experiment_of(opened.experiments.get(experiment))
        report = report_of_experiment(known, baseline, metric)
        wanted.check_folder(report.name, known.name)
        print_missing(opened, known)
        write_report(wanted, opened, report, known)
