"""The runs that a report needs, then its pages, plots and data, for `lab report` and `lab compare`."""

import os
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import print_note, user_trust
from tertulia.cli.lab.trials import TrialOptions, print_estimate, run_trials
from tertulia.cli.opening import open_embedding_model, open_language_model
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.findings import print_findings
from tertulia.cli.where import WhereOptions
from tertulia.lab.reports.report_names import ALL
from tertulia.runs.access.named_files import readable
from tertulia.runs.planning.request import DEFAULT_MODEL
from tertulia.state.errors import UsageError
from tertulia.state.parameters import Parameters
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.lab.experiments.experiment import Experiment
    from tertulia.lab.reports.papers import Report
    from tertulia.lab.reports.provenance import Spent
    from tertulia.lab.reports.report import Findings
    from tertulia.lab.reports.report_making import Measurers
    from tertulia.state.language_model import LanguageModel

OutOption = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="The report gets a folder of its name in this one.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite pages of other experiments.")]
ReportOnlyOption = Annotated[
    bool, typer.Option("--report-only", help="Run nothing: report what the store has, and say what is missing.")
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(metavar="ID", help="What similarities are measured with: minilm (embedded), a folder, or an id."),
]
FluencyOption = Annotated[
    str | None,
    typer.Option(
        "--fluency-model",
        metavar="ID",
        help=f"Which model's likelihood is fluency; {DEFAULT_MODEL}; none: leave it out.",
    ),
]


def make_report_of_paper(
    wanted: "WantedReport", report: "Report", experiment: "Experiment", where: WhereOptions | None, dry_run: bool
) -> "Findings | None":
    """Run missing trials (none without `where`), write a report, and return its findings; none in a dry run."""
    from tertulia.lab.reports.report_making import control_of

    if not dry_run:
        wanted.check_folder(report.name, experiment.name)
    with SqlStore.open(wanted.store, create=where is not None and not dry_run) as opened:
        if dry_run:
            print_estimate(opened, experiment, wanted.as_json, TrialOptions())
            return None
        spent: tuple[int, float, float] | None = None
        if where is None:
            print_missing(opened, experiment)
        else:
            began = time.monotonic(), _cpu_s()
            chosen = TrialOptions(**vars(where), trust_remote_code=[*wanted.with_code])
            _, new = run_trials(opened, experiment, _command(), chosen, named=[experiment.model])
            if new:
                spent = new, time.monotonic() - began[0], _cpu_s() - began[1]
            if report.orderings and (control := control_of(experiment)) is not None:
                run_trials(opened, control, _command(), TrialOptions())
        return write_report(wanted, opened, report, experiment, spent)


def _cpu_s() -> float:
    """Return the CPU time of this process, and of its workers that have ended."""
    return sum(os.times()[:4])


def print_missing(store: SqlStore, experiment: "Experiment") -> None:
    """Print which conversations of an experiment are missing, and how long they would take.

    Raises:
        UsageError: None is finished.
    """
    from tertulia.lab.experiments.estimating import missing_phrase
    from tertulia.lab.experiments.reached import progress_of

    with status_line("rehearsing"):
        reached = progress_of(store, experiment)
        missing = missing_phrase(store, reached) if reached.missing else None
    if missing is not None and not reached.with_status("finished"):
        raise UsageError(f"there is nothing to report yet: {missing}; leave out --report-only to run them")
    if missing is not None:
        print_note(missing)


@dataclass(frozen=True)
class WantedReport:
    """How a report is made, and its folder."""

    store: StoreAddress
    out: Path
    embedder: str | None
    fluency_model: str | None
    force: bool
    as_json: bool
    with_code: tuple[str, ...] = ()

    def check_folder(self, name: str, experiment: str) -> None:
        """Refuse a folder into which the report can't be written, before anything is run."""
        from tertulia.lab.pages.page_files import check_report_folder

        check_report_folder(self.out / name, name, experiment, self.store, self.force)

    def measurers(self, experiment: "Experiment") -> "Measurers":
        """Return the models that measure."""
        from tertulia.lab.reports.report_making import measurers_of

        def opened(name: str) -> "LanguageModel":
            return open_language_model(name, Parameters(), self.with_code, is_named=name == self.fluency_model)

        return measurers_of(experiment, self.embedder, self.fluency_model, open_embedding_model, opened)


def write_report(
    wanted: WantedReport, store: SqlStore, report: "Report", experiment: "Experiment", spent: "Spent | None" = None
) -> "Findings":
    """Measure an experiment, write its report, print it, and return its findings.

    Args:
        experiment: The requested part of it.
        spent: The cost of the trials, if this command ran them.
    """
    from tertulia.lab.experiments.results import read_results
    from tertulia.lab.pages.page_files import write_page
    from tertulia.lab.reports.provenance import provenance_of
    from tertulia.lab.reports.report_document import report_document
    from tertulia.lab.reports.report_making import control_results, make_report

    results = read_results(store, experiment)
    measurers = wanted.measurers(experiment)
    provenance = provenance_of(experiment, _command(), measurers.embedder_name, measurers.reader_name, spent)
    left = f"interrupted before the report was written; all conversations are kept; to go on: {_command()}"
    with exit_when_interrupted(left), status_line("measuring") as line:
        may_read, refused = readable(results.experiment.cases, store.path, user_trust())
        control = control_results(store, experiment)
        findings, page = make_report(store, report, results, measurers, provenance, line.show, may_read, control)
        document = report_document(findings)
        line.show("drawing")
        files = write_page(page, document, wanted.out / page.name)
    for reason in refused[:1]:
        print_note(f"the page does without logged dialogues: {reason}")
    if wanted.as_json:
        print_json(document | {"files": [str(file) for file in files]})
    else:
        print_findings(findings)
    progress().print(plain(f"wrote {files[0]}, {files[1].name}, and {len(files) - 2} files of plots and data"))
    return findings


def write_summary(wanted: WantedReport, findings: "list[Findings]") -> None:
    """Write the page of all reports."""
    from tertulia.lab.pages.page_files import write_page
    from tertulia.lab.reports.report_summary import summary_document, summary_page

    wanted.check_folder(ALL, ALL)
    document = summary_document(findings) | {"experiment": ALL}
    files = write_page(summary_page(findings, _command()), document, wanted.out / ALL)
    progress().print(plain(f"wrote {files[0]}, {files[1].name}, and {len(files) - 2} files of data"))


def _command() -> str:
    return shlex.join(["tertulia", *sys.argv[1:]])
