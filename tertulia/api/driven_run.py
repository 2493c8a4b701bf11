"""Going on with a stored run in Python: as a fork, after a stop; and stopping it."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tertulia.api.arguments import check_changes, limits_of, named_as_arguments
from tertulia.api.calling import awaitable
from tertulia.api.store_handle import StoreHandle
from tertulia.state.records import RunRecord
from tertulia.state.wrong_arguments import whole_number, with_named_arguments

if TYPE_CHECKING:
    from tertulia.runs.driving.stopping import Stopped
    from tertulia.runs.planning.additions import Additions
    from tertulia.runs.planning.forking import StartChanges
    from tertulia.state.budget import Budget
    from tertulia.state.seat import Ask


class DrivenRun:
    """A run of a store, as far as it is driven from here, or stopped; `Run` has the records read of it.

    Attributes:
        id: Its id.
        store: The store file that it lies in.
    """

    @with_named_arguments
    def __init__(self, store: StoreHandle, id: str) -> None:
        """Name a run of a store (`tertulia.open_store(...).run(id)` looks it up)."""
        self.store, self.id = store, id

    @property
    def record(self) -> RunRecord:
        """The run's record: its settings, and its status."""
        with self.store.opened() as store:
            return store.run(self.id)

    @with_named_arguments
    def fork(
        self,
        at: int,
        *,
        removal_factor: float | None = None,
        rounds: int | None = None,
        order: str | None = None,
        model: str | None = None,
        seed: int | None = None,
        say: str | None = None,
        person: Mapping[str, str] | None = None,
        remember: Mapping[str, str] | None = None,
        forget: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        label: str | None = None,
        additions: "Additions | None" = None,
        seat: str | None = None,
        ask: "Ask | None" = None,
        budget: "Budget | None" = None,
        cache: Path | str | None = None,
        api_keys: Mapping[str, str] | None = None,
        progress: bool = True,
    ) -> Self:
        """Go on from a turn as a run of its own, with something changed or nothing, and return that run.

        Args:
            at: The first turn of its own: turns 1 to `at` − 1 are shared.
            removal_factor: λ in [0, 1] from here on.
            rounds: At most so many rounds in all.
            order: Another speaking order.
            model: Another model.
            seed: Another seed.
            say: The words that the speaker of turn `at` says instead.
            person: Fields of people by `NAME.FIELD`, under their names in scenario files.
            remember: Memories that people are given, by name.
            forget: Ids of memories that are taken from people, by name.
            settings: Parameters by name.
            label: Your name for the fork.
            additions: Nodes, mechanisms and extensions of your own, those of this run handed over again (`Additions`).
            seat: Whose words a person types.
            ask: Asks that person (see `tertulia.run`).
            budget: The fork's own budget (`Budget`).
            cache: The folder of converted models.
            api_keys: Keys of remote models, by variable.
            progress: Whether a progress bar is shown.

        Raises:
            TertuliaError: The fork can't be made like that, or failed.
        """
        from tertulia.api.launching import RunLauncher
        from tertulia.runs.planning.forking import plan_fork

        changed = {"max_turns": rounds, "order": order}
        launcher = RunLauncher(self.store, additions, cache, api_keys)
        limits = limits_of(budget)
        request = launcher.request(
            settings, changed, removal_factor=removal_factor, model=model, seed=seed, seat=seat, label=label
        )
        changes, first = _changes(say, person, remember, forget), whole_number("at", at, "a turn is an integer")
        with self.store.opened() as store, named_as_arguments(changed):
            plan = plan_fork(store, store.run(self.id), first, request, changes=changes, say=say)
        return type(self)(self.store, launcher.drive_to_end(launcher.beginning(plan, limits), ask, progress, limits))

    afork = awaitable(
        fork,
        """Go on from a turn as a run of its own without blocking the event loop (see `fork`, `tertulia.arun`).

        Args and Raises: As `fork`; CancelledError where it is cancelled: the fork is interrupted.
        """,
    )

    @with_named_arguments
    def resume(
        self,
        *,
        additions: "Additions | None" = None,
        ask: "Ask | None" = None,
        budget: "Budget | None" = None,
        cache: Path | str | None = None,
        api_keys: Mapping[str, str] | None = None,
        progress: bool = True,
    ) -> Self:
        """Go on from the stop of the run, to its end; a finished run is returned as it is, with a warning.

        Args:
            additions: The nodes and mechanisms that were handed over, and extensions that may have changed.
            ask: Asks the person with a seat.
            budget: A new budget.
            cache: The folder of converted models.
            api_keys: Keys of remote models, by variable.
            progress: Whether a progress bar is shown.

        Raises:
            TertuliaError: It can't go on like that, or failed.
        """
        from tertulia.api.launching import RunLauncher
        from tertulia.runs.access.model_names import models_of_run

        record, limits = self.record, limits_of(budget)
        launcher = RunLauncher(self.store, additions, cache, api_keys)
        launcher.check_resumed(record)
        limits.budget.check_prices(models_of_run(record))
        if record.status == "finished":
            warnings.warn(f"run {record.run} is finished; to go on from a turn, fork it: run.fork(at=…)", stacklevel=3)
            with self.store.opened() as store:
                store.clear_locks()
            return self
        return type(self)(self.store, launcher.drive_to_end(launcher.reopening(self.id), ask, progress, limits))

    aresume = awaitable(
        resume,
        """Go on with it without blocking the event loop (see `resume`, `tertulia.arun`).

        Args and Raises: As `resume`; CancelledError where it is cancelled.
        """,
    )

    @with_named_arguments
    def stop(self, wait: float = 10.0) -> "Stopped":
        """Ask whoever drives it, in another process, thread or machine, to stop at the next step, as Ctrl-C would.

        Args:
            wait: For how many seconds to wait until it has stopped; 0: not at all.

        Returns:
            The outcome: `state` (stopped, asked, ended or stale), and `text` with how to go on.

        Raises:
            UsageError: It is finished; there is nothing to stop.
        """
        from tertulia.runs.driving.stopping import stop

        with self.store.opened() as store:
            return stop(store, [self.id], "run.stop()", wait)[0]


def _changes(say: str | None, *by_name: Mapping[str, str] | None) -> "StartChanges":
    """Return the changes of a fork to its parent's start, checked: of people, memories, and forgotten memories."""
    from tertulia.runs.planning.forking import StartChanges

    check_changes(say, **dict(zip(("person", "remember", "forget"), by_name, strict=True)))
    people, memories, forgotten = (tuple((given or {}).items()) for given in by_name)
    return StartChanges(people, memories, forgotten)
