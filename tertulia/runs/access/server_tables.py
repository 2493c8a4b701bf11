"""Tables of the features that a server honours: made on demand, and kept with a run of that server."""

from collections.abc import Callable

from tertulia.models.served.chat_names import is_same_served, key_variable
from tertulia.models.served.server_check import check_server
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.server_table import STEP, ServerTable
from tertulia.state.store import Store

_IN_WORDS = {True: "yes", False: "no", None: "unknown"}


def server_table(
    server: str, key_of: Callable[[str | None], str | None], store: Store | None = None, run: str = ""
) -> ServerTable:
    """Return the features that a server honours; with a store, keep them with a run in place of an earlier table.

    Raises:
        UsageError: The name is none of a server, or the run's model is another.
        ModelError: The server can't be reached, or answers no plain request.
    """
    record = None if store is None else store.run(run)
    if record is not None and not is_same_served(record.model, server):
        raise UsageError(f"the model of {record.run} is {record.model}, and not one of {server}")
    table = check_server(server, key_of(key_variable(server)))
    if store is not None and record is not None:
        store.save_step(record.run, 0, "", STEP, table)
    return table


def table_document(table: ServerTable) -> Document:
    """Return a table as JSON."""
    return {"schema_version": SCHEMA_VERSION, **table.model_dump(mode="json")}


def table_rows(table: ServerTable) -> list[tuple[str, str, str]]:
    """Return a line for each feature, whether it is honoured, and what was seen; then how many requests it took."""
    rows = [(finding.feature, _IN_WORDS[finding.honoured], finding.seen) for finding in table.findings]
    return [*rows, (f"{table.requests} requests", "", table.server)]
