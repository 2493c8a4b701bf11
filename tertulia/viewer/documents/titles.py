"""The title of a run, as readers of the page know it."""

from tertulia.state.album import Population
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.listing import names_of_files


def title_of(store: SqlStore, run: RunRecord, start: Start) -> str | None:
    """Return the title of a meeting, the people of a dialogue from a file; `None` for a shipped dialogue."""
    if isinstance(start, Meeting | Population):
        return start.title
    return " and ".join(start.names) if names_of_files(store, [(run.run, run.kind, run.scenario)]) else None
