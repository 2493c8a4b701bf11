"""`resume`: go on with a stopped run."""

from functools import partial

from tertulia.cli.budget import NO_LIMITS, with_budget
from tertulia.cli.driving import drive_shown
from tertulia.cli.environment import additions
from tertulia.cli.opening import open_existing
from tertulia.cli.options import (
    CodeOption,
    ExtensionOption,
    InPageOption,
    JsonOption,
    RunArgument,
    SeatOption,
    ServersOption,
    StoreOption,
    ThoughtsOption,
)
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.runs.driving.limits import Limits


@with_budget
def resume(
    run: RunArgument,
    model: ServersOption = None,
    seat: SeatOption = None,
    in_page: InPageOption = False,
    extension: ExtensionOption = None,
    trust_remote_code: CodeOption = None,
    limits: Limits = NO_LIMITS,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that was interrupted or failed.

    Example: tertulia resume @last
    """
    from tertulia.runs.access.model_names import models_of_run
    from tertulia.runs.planning.seats import check_seat
    from tertulia.runs.planning.starting import reopen

    with open_existing(store) as opened:
        record = opened.run(run)
        check_seat(seat, record)
        if record.status == "finished":
            opened.clear_locks()
            hint = f"run {record.run} is finished; to go on from a turn, fork it: tertulia fork --help"
            progress().print(plain(hint))
            if as_json:
                print_json({"run": record.run, "status": record.status, "turns": record.turns})
            return
        reopened = partial(reopen, opened, record, seat=seat, additions=additions(extension), model=model)
        drive_shown(opened, models_of_run(record), reopened, as_json, thoughts, trust_remote_code, in_page, limits)
