"""`StoredTurn.check`: the reasons of a stored line, or a thought, measured by leaving units of its prompt out."""

from contextlib import closing

from tertulia.api.store_handle import StoreHandle
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit
from tertulia.runs.driving.interrupting import run_or_abandon
from tertulia.runs.driving.session import events_of
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters


class Checking:
    """How the lines of a stored run are checked."""

    store: StoreHandle
    id: str

    def _check(self, turn: int, reader: str | None, agent: str | None, calls: int, access: ModelAccess) -> None:
        """Measure the loss of a turn's line without units of its prompt, in a thread of its own, and keep it."""
        from tertulia.lab.annotations.leave_one_out import check_turn

        access = access.naming([reader] if reader else [])

        def drive(emit: Emit) -> None:
            with self.store.opened() as store:
                run = store.run(self.id)
                parameters = Parameters.model_validate(run.parameters)

                def opened(name: str) -> LanguageModel:
                    return access.language_model(name, parameters)

                start = store.start(run.run)
                run_or_abandon(check_turn(store, run, start, turn, opened, reader=reader, agent=agent, calls=calls))

        with closing(events_of(drive)) as events:
            for _ in events:
                pass
