"""Stopping a run, simulation or experiment that another process drives, on any machine, by a request in the store.

The driver reads the request of `tertulia stop` at its next step, and stops as at an interrupt (`driving.limits`).
"""

import os
import pwd
import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tertulia.state.errors import NotFoundError, SettingError, UsageError, nearest_hint
from tertulia.state.records import RunRecord, RunStatus
from tertulia.state.seat import ANSWERED, ASKED, Answer, Asked
from tertulia.state.text import counted, shell_argument
from tertulia.storage.ids import LISTED
from tertulia.storage.stop_requests import ask_experiment, ask_run, ask_simulation, experiment_key
from tertulia.views.reading.hosted import is_of_own_graph

if TYPE_CHECKING:
    from tertulia.state.store import Store
    from tertulia.storage.store import SqlStore

#: Seconds for which a stop is waited for by default, and between two looks.
WAIT_S, _LOOK_EVERY_S = 10.0, 0.1

Kind = Literal["run", "simulation", "experiment"]


@dataclass(frozen=True)
class Stopped:
    """The outcome of a request to stop a run, a simulation or an experiment.

    Attributes:
        name: Its id, or the name of the experiment.
        state: `stopped`: it was driven, and has stopped. `asked`: it was asked, and stops at its next step. `ended`: it
            had ended before, or ended by itself. `stale`: nobody drives it.
        text: The same in a sentence, with how to go on.
    """

    kind: Kind
    name: str
    state: Literal["stopped", "asked", "ended", "stale"]
    text: str

    def __str__(self) -> str:
        return self.text


def stop(store: "SqlStore", names: Sequence[str], by: str, wait_s: float = WAIT_S) -> list[Stopped]:
    """Request that the named ones stop, wait for that, and return the outcome of each.

    Args:
        names: Ids of runs or simulations, unique beginnings of them, `@last`, or names of experiments.
        by: The program that asks.
        wait_s: How long to wait, in seconds; 0: not at all.

    Raises:
        NotFoundError: One does not exist; nothing is asked.
        UsageError: A name is ambiguous, or means one that has finished; or the time is none.
    """
    check_wait(wait_s)
    found = list(dict.fromkeys(_found(store, name) for name in names))
    if found and all(_status(store, target) == "finished" for target in found):
        kind, name = found[0]
        raise UsageError(f"{kind} {name} is finished; there is nothing to stop")
    return _stop(store, found, f"{_user()} on {socket.gethostname()} ({by})", wait_s)


def stop_all(store: "SqlStore", by: str, wait_s: float = WAIT_S) -> list[Stopped]:
    """Stop all runs, simulations and experiments of a store that are driven; return the outcome of each."""
    check_wait(wait_s)
    drivers = store.drivers()
    simulations = [s.simulation for s in store.simulations.all() if s.status == "running"]
    driven: list[tuple[Kind, str]] = [("simulation", name) for name in simulations if drivers.is_driven(name)]
    names = [record.experiment for record in store.experiments.all()]
    driven += [("experiment", name) for name in names if drivers.is_driven(experiment_key(name))]
    for record in store.runs(status="running"):
        if record.trial is None and store.dependents_of(record.run).simulation is None:
            driven += [("run", record.run)] if drivers.is_driven(record.run) else []
    return _stop(store, driven, f"{_user()} on {socket.gethostname()} ({by})", wait_s)


def check_wait(wait_s: object) -> None:
    """Raise `SettingError` for a time that nobody can wait."""
    is_number = isinstance(wait_s, int | float) and not isinstance(wait_s, bool)
    if not (is_number and 0 <= float(str(wait_s)) < 1e6):
        raise SettingError("wait", wait_s, ": a number of seconds from 0 is expected")


def _found(store: "SqlStore", name: str) -> tuple[Kind, str]:
    """Return the target of a name; for a trial, its experiment while that is driven, as trials share batches of calls.

    Raises:
        NotFoundError: It means nothing.
        UsageError: It means several.
    """
    simulations = [simulation.simulation for simulation in store.simulations.all()]
    experiments = [record.experiment for record in store.experiments.all()]
    if name in simulations:
        return "simulation", name
    if name in experiments and not store.file.rows("SELECT 1 FROM runs WHERE run = ?", name):
        return "experiment", name
    try:
        record = store.run(name)
    except NotFoundError as error:
        with suppress(NotFoundError):
            return "simulation", store.simulations.get(name).simulation
        known = [*simulations, *experiments, *(run.run for run in store.runs(limit=LISTED))]
        if not known:
            raise
        raise NotFoundError(
            f"no run, simulation or experiment {name!r} in {store.path}{nearest_hint(name, known)}"
        ) from error
    is_left = record.trial is not None and record.status != "finished"
    if is_left and record.trial and store.drivers().is_driven(experiment_key(record.trial.experiment)):
        return "experiment", record.trial.experiment
    return "run", record.run


def _status(store: "SqlStore", target: tuple[Kind, str]) -> RunStatus | None:
    """Return the status of a target; `None` for an experiment, which has none."""
    kind, name = target
    if kind == "experiment":
        return None
    return store.run(name).status if kind == "run" else store.simulations.get(name).status


def _is_driven(store: "SqlStore", target: tuple[Kind, str]) -> bool:
    kind, name = target
    return store.drivers().is_driven(experiment_key(name) if kind == "experiment" else name)


def _stop(store: "SqlStore", targets: Iterable[tuple[Kind, str]], who: str, wait_s: float) -> list[Stopped]:
    became: dict[tuple[Kind, str], Stopped] = {}
    asked: dict[tuple[Kind, str], str] = {}  # with whom it waits for
    for target in targets:
        waits_for = _waits_for(store, target)
        if (refused := _asked(store, target, who)) is None:
            asked[target] = waits_for
        became[target] = refused or _still_asked(target, wait_s, waits_for)
    until = time.monotonic() + wait_s
    while asked:
        for target in [target for target in asked if _has_ended(store, target)]:
            became[target] = _ended(store, target, asked.pop(target))
        if not asked or time.monotonic() >= until:
            break
        time.sleep(_LOOK_EVERY_S)
    return [*became.values()]


def _asked(store: "SqlStore", target: tuple[Kind, str], who: str) -> Stopped | None:
    """Request that a driven target stops; return why not for one that is not driven."""
    kind, name = target
    status, is_driven = _status(store, target), _is_driven(store, target)
    if status not in (None, "running"):
        error = store.run(name).error if kind == "run" else store.simulations.get(name).error
        why = f": {error}" if error else ""
        on = "" if status == "finished" else f"; to go on: {_way_on(store, target)}"
        return Stopped(kind, name, "ended", f"{kind} {name} is {status} already{why}{on}")
    if not is_driven:
        stale = "is stored as running, but its process has ended" if status else "is not driven by any process"
        return Stopped(kind, name, "stale", f"{kind} {name} {stale}; to go on: {_way_on(store, target)}")
    if kind == "experiment":
        ask_experiment(store, experiment_key(name), who)
    elif not (ask_run if kind == "run" else ask_simulation)(store, name, who):
        return _ended(store, target, "")
    return None


def _has_ended(store: "SqlStore", target: tuple[Kind, str]) -> bool:
    return _status(store, target) not in (None, "running") or not _is_driven(store, target)


def _ended(store: "SqlStore", target: tuple[Kind, str], waited_for: str) -> Stopped:
    kind, name = target
    status, on = _status(store, target), f"; to go on: {_way_on(store, target)}"
    if status in (None, "interrupted"):
        after = f" after {counted(store.run(name).turns, 'turn')}" if kind == "run" else ""
        return Stopped(kind, name, "stopped", f"{kind} {name} has stopped{after}{waited_for}{on}")
    if status == "running":
        return Stopped(kind, name, "stale", f"the process of {kind} {name} has ended without a word{on}")
    why = "finished before it could stop" if status == "finished" else f"has failed meanwhile{on}"
    return Stopped(kind, name, "ended", f"{kind} {name} {why}")


def _still_asked(target: tuple[Kind, str], wait_s: float, waits_for: str) -> Stopped:
    kind, name = target
    yet = f", and has not within {wait_s:g} s" if wait_s else ""
    return Stopped(kind, name, "asked", f"{kind} {name} is asked to stop at its next step{yet}{waits_for}")


def _waits_for(store: "SqlStore", target: tuple[Kind, str]) -> str:
    """Return in words for whose answer a run waits, if a person has a seat in it."""
    kind, name = target
    if kind != "run" or not (seat := store.run(name).parameters.get("seat")):
        return ""
    answered = store.steps(name, ANSWERED, Answer)
    waits = [agent for (round, agent) in store.steps(name, ASKED, Asked) if (round, agent) not in answered]
    if waits:
        return f" (it waited for {waits[-1]} in the page)"
    return f" ({seat} has a seat in it, and is asked when it goes on)"


def _way_on(store: "SqlStore", target: tuple[Kind, str]) -> str:
    kind, name = target
    if kind == "simulation":
        return f"tertulia simulate --resume {name}"
    if kind == "experiment":
        return f"tertulia lab resume {shell_argument(name)}"
    return way_on_of_run(store, store.run(name))


def way_on_of_run(store: "Store", record: RunRecord) -> str:
    """Return in words how a run goes on: by a command, or by the user's own graph."""
    if record.trial is not None:
        return f"tertulia lab resume {shell_argument(record.trial.experiment)}"
    if (simulation := store.dependents_of(record.run).simulation) is not None:
        return f"tertulia simulate --resume {simulation}"
    if is_of_own_graph(store, record.run):
        return "invoke your graph again, with None as its input"
    return f"tertulia resume {record.run}"


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # as in some containers
        return f"user {os.getuid()}"
