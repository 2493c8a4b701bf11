"""Checkpoints on a Postgres server: LangGraph's conformance suite, plain LangGraph reads them, and damage is told."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import ormsgpack
import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from support.postgres_server import PostgresServer

import tertulia as tt
from tertulia.state.errors import StorageError
from tertulia.storage.addresses import ServerAddress
from tertulia.storage.checkpointing import checkpoints_of
from tertulia.storage.store import SqlStore

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """Connect as a program that has nothing of Tertulia would."""
    address, _, schema = url.partition("?schema=")
    with psycopg.connect(
        address, options=f"-c search_path={schema}", autocommit=True, row_factory=dict_row
    ) as connection:
        yield connection


async def read(url: str, thread: str) -> Any:
    """Return the newest checkpoint of a thread as Tertulia reads it."""
    with SqlStore.open(ServerAddress(url)) as store:
        async with checkpoints_of(store) as saver:
            return await saver.aget_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})


async def test_the_conformance_suite_is_green(postgres: PostgresServer) -> None:
    @checkpointer_test(name="the store's own, on a server")
    async def saver_on_a_server() -> AsyncIterator[BaseCheckpointSaver[Any]]:
        with SqlStore.open(ServerAddress(postgres.url()), create=True) as store:
            async with checkpoints_of(store) as saver:
                yield saver

    report = await validate(saver_on_a_server)
    assert not {name: result.failures for name, result in report.results.items() if result.failures}
    assert report.passed_all()
    passed = {name for name, result in report.results.items() if result.passed}
    assert passed == {"put", "put_writes", "get_tuple", "list", "delete_thread"}


async def test_plain_langgraph_reads_the_checkpoints_of_a_run(postgres: PostgresServer) -> None:
    url = postgres.url()
    run = await tt.arun("team_building", rehearse=True, rounds=2, store=url, progress=False)
    with connected(url) as connection:
        plain = PostgresSaver(connection).get_tuple({"configurable": {"thread_id": run.id}})
    assert plain is not None
    assert plain.checkpoint["channel_values"]["turn"] == 2
    ours = await read(url, run.id)
    assert plain.checkpoint == ours.checkpoint
    assert "crc32" not in ours.metadata


async def test_what_json_can_t_hold_is_kept_and_what_a_task_wrote_is_checked(postgres: PostgresServer) -> None:
    url = postgres.url()
    odd = {"text": "a\0b", "number": float("inf"), "none": None, "list": [1, "\ud800"]}
    checkpoint: Any = {
        "v": 4,
        "id": "1",
        "ts": "",
        "channel_values": odd,
        "versions_seen": {},
        "updated_channels": None,
    }
    checkpoint["channel_versions"] = dict.fromkeys(odd, "1")
    with SqlStore.open(ServerAddress(url), create=True) as store:
        async with checkpoints_of(store) as saver:
            put = await saver.aput(CONFIG, checkpoint, {"step": 1}, checkpoint["channel_versions"])
            await saver.aput_writes(put, [("a", {"b": "well?"}), ("c", None)], "task")
    found = await read(url, "t")
    assert found.checkpoint["channel_values"] == odd | {"list": [1, "?"]}
    assert found.pending_writes == [("task", "a", {"b": "well?"}), ("task", "c", None)]
    with connected(url) as connection:
        connection.execute("UPDATE checkpoint_writes SET blob = overlay(blob placing 'X' from 6) WHERE channel = 'a'")
    with pytest.raises(StorageError, match="what was written to a does not match its checksum"):
        await read(url, "t")


async def test_a_value_that_still_reads_is_told(
    postgres: PostgresServer,
) -> None:
    url = postgres.url()
    run = await tt.arun("tidewell", rehearse=True, rounds=2, store=url, progress=False)
    with connected(url) as connection:
        connection.execute("UPDATE checkpoint_blobs SET blob = %s WHERE channel = 'turn'", (ormsgpack.packb(7),))
        assert PostgresSaver(connection).get_tuple({"configurable": {"thread_id": run.id}})  # which does not notice
    with pytest.raises(StorageError, match="turn does not match its checksum"):
        await read(url, run.id)
