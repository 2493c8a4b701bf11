"""A report in short: the figures of each setting, and the verdicts."""

from typing import TYPE_CHECKING

from tertulia.cli.terminal.output import data, plain
from tertulia.cli.terminal.tables import Row, print_table

if TYPE_CHECKING:
    from tertulia.lab.pages.page import Table
    from tertulia.lab.reports.report import Findings

#: The printed columns of the table of verdicts.
_VERDICT_COLUMNS = ("ordering", "paper", "here", "interval", "cases", "verdict", "would_decide")


def print_findings(findings: "Findings") -> None:
    """Print the figures of each setting, and the verdict on every published ordering."""
    from tertulia.lab.reports.differences import differences_in_words, first_table
    from tertulia.lab.reports.not_measured import not_measured_lines
    from tertulia.lab.reports.report_page import lines_above, tally_phrase
    from tertulia.lab.reports.report_tables import verdicts_table

    for line in lines_above(findings):
        data().print(plain(line, "bold"))
    print_page_table(first_table(findings))
    for line in not_measured_lines(findings):
        data().print(plain(line, "dim"))
    if not findings.verdicts:
        for line in differences_in_words(findings):
            data().print(plain(line))
    else:
        data().print()
        print_page_table(verdicts_table(findings.verdicts), _VERDICT_COLUMNS)
        data().print(plain(tally_phrase(findings)))


def print_page_table(table: "Table", names: tuple[str, ...] | None = None) -> None:
    """Print the named columns of a table of a page, or all."""
    from tertulia.lab.pages.page import shown_cell

    chosen = [at for at, column in enumerate(table.columns) if names is None or column.name in names]
    headings = [table.columns[at].title for at in chosen]
    right = [table.columns[at].title for at in chosen if not table.columns[at].is_text]
    rows = [Row([shown_cell(row[at], table.columns[at]) for at in chosen]) for row in table.rows]
    print_table(data(), headings, rows, right=right)
