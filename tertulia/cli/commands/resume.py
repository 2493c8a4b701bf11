"""`resume`: go on with a stopped run."""

from functools import partial

from tertulia.cli.budget import BudgetOptions
from tertulia.cli.driving import drive_shown
from tertulia.cli.environment import additions
from tertulia.cli.opening import open_existing
from tertulia.cli.option_groups import DriveOptions, grouped
from tertulia.cli.options import ExtensionOption, InPageOption, RunArgument, SeatOption, ServersOption
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.runs.planning.request import RunRequest
from tertulia.views.reading.documents import line_documents


@grouped
def resume(
    run: RunArgument,
    budget: BudgetOptions,
    driving: DriveOptions,
    model: ServersOption = None,
    seat: SeatOption = None,
    in_page: InPageOption = False,
    extension: ExtensionOption = None,
) -> None:
    """Go on with a run that was interrupted or failed.

    Example: tertulia resume @last
    """
    from tertulia.runs.access.model_names import models_of_run
    from tertulia.runs.planning.seats import check_seat
    from tertulia.runs.planning.starting import reopen

    with open_existing(driving.store) as opened:
        record = opened.run(run)
        check_seat(seat, record)
        if record.status == "finished":
            opened.clear_locks()
            hint = f"run {record.run} is finished; to go on from a turn, fork it: tertulia fork --help"
            progress().print(plain(hint))
            if driving.as_json:
                lines = {"lines": line_documents(opened, record.run)}
                print_json(record.model_dump(include={"run", "status", "turns", "ended_by"}) | lines)
            return
        request = RunRequest(model=model, seat=seat, additions=additions(extension))
        reopened = partial(reopen, opened, record, request=request)
        drive_shown(opened, models_of_run(record), reopened, driving, budget.limits(), in_page)
