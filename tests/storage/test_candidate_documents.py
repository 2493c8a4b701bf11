"""Candidates of a comparison, read at once, are the records of their rows, or are refused as those."""

import json
from typing import Any

import pytest
from support.stored import a_candidate, a_case, a_run, write_turns

from tertulia.state.errors import StorageError
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table

RUN = "k3f9"


@pytest.fixture
def stored(file_store: SqlStore) -> SqlStore:
    file_store.create_run(a_run(RUN), a_case())
    write_turns(file_store, RUN, 1, 2)
    if not file_store.candidates(RUN, 1):
        file_store.save_candidate(RUN, 1, a_candidate())
    return file_store


def altered(store: SqlStore, table: str, **changes: Any) -> None:
    """Alter a row as only a stranger does, with its checksum."""
    row = Table(store.file, table).select("ORDER BY turn LIMIT 1")[0]
    Table(store.file, table).insert({**row, **changes}, replace=True)


def documents(store: SqlStore) -> list[Any]:
    return [
        (turn, part, record, candidates) for turn, part, record, candidates in store.turn_rows(RUN, 1, 2).utterances()
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"reply": "[]"},
        {"reply": "{"},
        {"reply": '{"text": "a"}'},
        {"inconsistency_runs": '["a"]'},
        {"inconsistency_runs": "{}"},
        *({"reply": change} for change in ({"tokens": "a"}, {"text_tokens": [1]}, {"fields": {"a": []}}, {"more": 1})),
        *({"reply": change} for change in ({"origin": "said"}, {"origin": None}, {"faults": "a"})),
    ],
    ids=str,
)
def test_candidates_that_no_model_wrote_are_refused_in_the_words_of_records(
    stored: SqlStore, changes: dict[str, Any]
) -> None:
    row = Table(stored.file, "candidates").select("ORDER BY turn LIMIT 1")[0]
    if isinstance(changed := changes.get("reply"), dict):
        changes = {"reply": json.dumps(json.loads(row["reply"]) | changed)}
    altered(stored, "candidates", **changes)
    with pytest.raises(StorageError, match="a record does not read"):
        documents(stored)


@pytest.mark.parametrize(
    "changes", [{"rollbacks": -1}, {"ended": 2}, {"sim_time_s": -1.0}, {"sim_time_s": 2e9}], ids=str
)
def test_turns_that_nobody_had_are_refused(stored: SqlStore, changes: dict[str, Any]) -> None:
    assert len(documents(stored)) == 2
    altered(stored, "turns", **changes)
    with pytest.raises(StorageError, match="a record does not read"):
        documents(stored)
