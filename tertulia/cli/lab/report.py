"""`lab report`: a table or figure of the papers, a question of ours beside them, or a report on stored runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tertulia.cli import options
from tertulia.cli.commands.sweep import DryRunOption
from tertulia.cli.environment import store_path
from tertulia.cli.lab.reports import (
    EmbedderOption,
    FluencyOption,
    ForceOption,
    ReportOnlyOption,
    WantedReport,
    make_report_of_paper,
    write_summary,
)
from tertulia.cli.lab.reports_of_runs import OPTIONS_OF_RUNS, print_report_of_runs
from tertulia.cli.option_groups import grouped
from tertulia.cli.option_values import named_model, read_model
from tertulia.cli.terminal.output import data, print_json
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.cli.where import WhereOptions
from tertulia.lab.reports.report_names import ABOUT, ALL, OF_RUNS
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import NotFoundError, UsageError, nearest_hint

NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="A report; without it the reports are listed."),
]
InputsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CASE|RUN",
        help="Scenarios in the place of the report's, as `tertulia run` takes them, NAME:all for all cases of a town "
        "or of a log; of album and population the stored runs.",
    ),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="The small size: for a small model on a processor.")]
TrialsOption = Annotated[
    int | None, typer.Option("--trials", metavar="N", min=1, help="Conversations of each case in each setting.")
]
RoundsOption = Annotated[int | None, typer.Option("--rounds", metavar="N", min=1, help="Most rounds of each.")]
CohortOption = Annotated[
    int | None, typer.Option("--side-by-side", metavar="N", min=1, help="Conversations whose calls meet in batches.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="The report gets a folder of its name in this one; reports. Album and population only print without it.",
    ),
]


@grouped
def report(
    context: typer.Context,
    where: WhereOptions,
    name: NameArgument = None,
    inputs: InputsArgument = None,
    quick: QuickOption = False,
    trials: TrialsOption = None,
    rounds: RoundsOption = None,
    seed: options.SeedOption = None,
    model: options.ModelOption = None,
    rehearse: options.RehearseOption = False,
    trust_remote_code: options.CodeOption = None,
    side_by_side: CohortOption = None,
    embedder: EmbedderOption = None,
    fluency_model: FluencyOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    report_only: ReportOnlyOption = False,
    dry_run: DryRunOption = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Make a report: run missing trials, then write a page, plots and data. Without a name, list the reports.

    Album and population report on stored runs; with --model, people of meetings fill in its questionnaire too.

    Example: tertulia lab report table2 --quick --rehearse
    """
    if name is None:
        _print_reports(as_json)
        return
    if name not in ABOUT:
        hint = nearest_hint(name, [*ABOUT], otherwise="; `tertulia lab report` lists them")
        raise NotFoundError(f"there is no report {name!r}{hint}")
    code = tuple(trust_remote_code or ())
    wanted = WantedReport(store_path(store), out or Path("reports"), embedder, fluency_model, force, as_json, code)
    if name in OF_RUNS:
        _refuse_options(context, name)
        asked = named_model(model, rehearse)
        print_report_of_runs(name, wanted, inputs or (), asked, is_written=out is not None)
        return
    place = None if report_only else where
    sizes = {"trials": trials, "rounds": rounds, "seed": seed, "cohort_size": side_by_side}
    _make(name, wanted, quick, inputs, {**sizes, "model": read_model(model, rehearse)}, place, dry_run)


def _make(
    name: str,
    wanted: WantedReport,
    quick: bool,
    cases: Sequence[str] | None,
    changes: Mapping[str, Any],
    where: WhereOptions | None,
    dry_run: bool,
) -> None:
    """Make a report, or all with a summary; exit with 1 if a conversation that was to be run is missing.

    Args:
        changes: The sizes and the model in the place of the report's own.
        where: The place of trials; nothing runs without it.
    """
    from tertulia.lab.reports.papers import CASES, REPORTS, report_of
    from tertulia.lab.reports.report_making import planned

    found = []
    for report in [report_of(each, quick) for each in (REPORTS if name == ALL else [name])]:
        own_cases = name == ALL and report.cases != CASES
        experiment = planned(report, cases=None if own_cases else cases or None, **changes)
        found.append(make_report_of_paper(wanted, report, experiment, where, dry_run))
    findings = [each for each in found if each is not None]
    if name == ALL and findings:
        write_summary(wanted, findings)
    if where is not None and any(each.results.missing for each in findings):
        raise typer.Exit(1)


def _print_reports(as_json: bool) -> None:
    if as_json:
        reports = [{"report": name, "about": about} for name, about in ABOUT.items()]
        print_json({"schema_version": SCHEMA_VERSION, "reports": reports})
    else:
        print_table(data(), ("report", "about"), [Row(pair) for pair in ABOUT.items()])


def _refuse_options(context: typer.Context, name: str) -> None:
    """Refuse options of reports that run conversations."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and parameter.name not in ("name", "inputs", *OPTIONS_OF_RUNS[name]):
            raise UsageError(f"{parameter.opts[0]}: report {name} reads stored runs and runs none; leave it out")
