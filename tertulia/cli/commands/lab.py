"""`lab`: experiments, with tables and plots; a command's own module is in `tertulia/cli/lab/`."""

import typer

from tertulia.cli.lab import experiments
from tertulia.cli.lab.album import album
from tertulia.cli.lab.check import check
from tertulia.cli.lab.faithfulness import faithfulness
from tertulia.cli.lab.population import population
from tertulia.cli.lab.reports import report_command
from tertulia.cli.lab.setpoint import setpoint
from tertulia.cli.lab.stability import stability
from tertulia.cli.terminal.commands import Group, add
from tertulia.lab.reports.report_names import ABOUT

lab = typer.Typer(
    cls=Group,
    help="Run experiments, with tables and plots.\n\nExample: tertulia lab album LOW HIGH",
    rich_markup_mode=None,
)
add(lab, album)
add(lab, population)
add(lab, experiments.resume, panel="Experiments")
add(lab, experiments.run, panel="Experiments")
add(lab, experiments.compare, panel="Experiments")
add(lab, experiments.list_experiments, "list", panel="Experiments")
add(lab, stability, panel="Knob")
add(lab, faithfulness, panel="Knob")
add(lab, check, panel="Experiments")
add(lab, setpoint, panel="Knob")
for name, about in ABOUT.items():
    add(lab, report_command(name, about), name, panel="Reports")


@lab.callback()
def _lab() -> None:
    """Run experiments, with tables and plots."""
