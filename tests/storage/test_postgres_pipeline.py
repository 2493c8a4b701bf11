"""Transactions on a server: read as they go, and undone as a whole."""

from collections.abc import Iterator

import psycopg
import pytest
from support.postgres_server import PostgresServer

from tertulia.state.errors import StorageError
from tertulia.storage.addresses import ServerAddress
from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.postgres

_INSERT = "INSERT INTO contents (hash, text) VALUES (?, ?)"


@pytest.fixture
def store(postgres: PostgresServer) -> Iterator[SqlStore]:
    with SqlStore.open(ServerAddress(postgres.url()), create=True) as opened:
        yield opened


def texts(store: SqlStore) -> list[str]:
    return sorted(row["text"] for row in store.file.rows("SELECT text FROM contents"))


def test_what_was_written_is_read_in_the_same_transaction(store: SqlStore) -> None:
    with store.transaction():
        store.file.write(_INSERT, "a", "one")
        assert texts(store) == ["one"]
        assert store.file.write("UPDATE contents SET text = ?", "two").rowcount == 1
        assert texts(store) == ["two"]


def write_together(
    store: SqlStore, *rows: tuple[str, str], into: str = "contents", error: Exception | None = None
) -> None:
    """Write texts in a transaction of their own, or a part of the one that is open, and raise an error behind them."""
    with store.transaction():
        for content, text in rows:
            store.file.write(_INSERT.replace("contents", into), content, text)
        if error is not None:
            raise error


def test_what_fails_undoes_all_of_a_transaction(store: SqlStore) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        write_together(store, ("a", "one"), ("a", "two"), ("b", "three"))
    assert not texts(store)
    assert store.file.undone == 1
    with pytest.raises(StorageError, match="is damaged or was altered"):
        write_together(store, ("a", "one"), into="nothing")
    assert not texts(store)


def test_what_fails_in_a_part_of_a_transaction_undoes_that_alone(store: SqlStore) -> None:
    with store.transaction():
        write_together(store, ("a", "one"))
        with pytest.raises(psycopg.errors.UniqueViolation):
            write_together(store, ("b", "two"), ("a", "three"))
        with pytest.raises(ZeroDivisionError):
            write_together(store, ("c", "four"), error=ZeroDivisionError())
        write_together(store, ("d", "five"))
    assert texts(store) == ["five", "one"]
