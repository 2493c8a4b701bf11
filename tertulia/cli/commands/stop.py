"""`stop`: ask runs, simulations or experiments of another process to stop at their next step."""

from dataclasses import asdict
from typing import Annotated

import typer

from tertulia.cli.driving import store_hint
from tertulia.cli.opening import open_existing
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.terminal.status_line import status_line
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import UsageError

_BY = "tertulia stop"


def stop(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Ids of runs or simulations, @last, or experiments."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that is driven in the store.")] = False,
    wait: Annotated[float, typer.Option(metavar="S", help="For how many seconds to wait until it has stopped.")] = 10.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop runs that other processes drive, here or on other machines, as Ctrl-C would; each can be resumed.

    Example: tertulia stop @last
    """
    from tertulia.runs.driving.stopping import stop, stop_all

    if everything == bool(run):
        problem = (
            f"--all stops {' '.join(run)} too; leave one of them out" if run else "no run; name one, or give --all"
        )
        raise UsageError(problem)
    with open_existing(store) as opened, status_line("waiting until it stops"):
        became = stop_all(opened, _BY, wait) if everything else stop(opened, run or [], _BY, wait)
        hint = store_hint(opened)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "stopped": [asdict(found) for found in became]})
        return
    for found in became:
        data().print(plain(f"{found}{hint if 'to go on: tertulia ' in found.text else ''}"))
    if not became:
        data().print(plain("nothing is driven in this store"))
