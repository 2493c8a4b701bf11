"""`lab`: experiments, with tables and plots; a command's own module is in `tertulia/cli/lab/`."""

import typer

from tertulia.cli.lab import experiments
from tertulia.cli.lab.check import check
from tertulia.cli.lab.faithfulness import faithfulness
from tertulia.cli.lab.report import report
from tertulia.cli.lab.setpoint import setpoint
from tertulia.cli.lab.stability import stability
from tertulia.cli.terminal.commands import Group, add

lab = typer.Typer(
    cls=Group,
    help="Run experiments, with tables and plots.\n\nExample: tertulia lab report table2 --quick --rehearse",
    rich_markup_mode=None,
)
add(lab, report, panel="Reports")
add(lab, experiments.resume, panel="Experiments")
add(lab, experiments.run, panel="Experiments")
add(lab, experiments.compare, panel="Experiments")
add(lab, experiments.list_experiments, "list", panel="Experiments")
add(lab, stability, panel="Knob")
add(lab, faithfulness, panel="Knob")
add(lab, check, panel="Experiments")
add(lab, setpoint, panel="Knob")


@lab.callback()
def _lab() -> None:
    """Run experiments, with tables and plots."""
