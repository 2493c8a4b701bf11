"""`tertulia merge`: what it takes, what it says, and that no source is changed."""

import hashlib
from pathlib import Path

import pytest
from support.commands import Cli, rehearse
from support.merged import copied

from tertulia.runs.files.shard_files import shards_at
from tertulia.state.errors import NotFoundError
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_stores_are_united_and_their_runs_go_on(cli: Cli) -> None:
    first = rehearse(cli, "--store", "mine.db")
    second = rehearse(cli, "--store", "hers.db", "--seed", "5")
    merged = cli("merge", "mine.db", "hers.db", "--into", "all.db", "--json").json
    assert merged == {
        "schema_version": 1,
        "into": "all.db",
        "sources": [
            {"source": name, "added": [run], "continued": [], "unchanged": [], "refused": {}, "error": None}
            for name, run in (("mine.db", first), ("hers.db", second))
        ],
        "runs": 2,
    }
    store = ("--store", "all.db")
    fork = cli("fork", first, "--at", "2", *store, "--json").json["run"]
    assert cli("diff", first, fork, *store, "--exit-code").code == 0
    assert cli("runs", *store, "--json").json["runs"][0]["run"] == fork


def test_an_object_store_is_no_place_to_merge_into(cli: Cli) -> None:
    rehearse(cli, "--store", "mine.db")
    result = cli("merge", "mine.db", "--into", "s3://me:secret@bucket/all.db")
    result.complains(2, "s3://bucket/all.db", "name a file")


def test_refused_runs_are_named_on_standard_error(cli: Cli) -> None:
    run = rehearse(cli, "--store", "mine.db")
    copied(Path("mine.db"), Path("hers.db"))
    for name, seed in (("mine.db", "7"), ("hers.db", "8")):
        with SqlStore.open(name) as store:
            (row,) = Table(store.file, "runs").select("WHERE run = ?", run)
            Table(store.file, "runs").update(row, "run", seed=seed)
    result = cli("merge", "mine.db", "hers.db", "--into", "all.db")
    assert result.code == 1
    assert f"refused: {run}: another run has this id, with another seed: 7 there, 8 here" in result.err
    assert result.out == "all.db has 1 run\n"


def test_no_source_is_changed_nor_its_log(cli: Cli, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    rehearse(cli, "--store", "hers.db", "--seed", "5")
    copied(Path("hers.db"), shared / "hers.db")
    rehearse(cli, "--store", "mine.db")
    with SqlStore.open("mine.db") as store:  # with its last changes in the log
        store.set_label(store.runs()[0].run, "late")
        for ending in ("", "-wal"):
            (shared / f"mine.db{ending}").write_bytes(Path(f"mine.db{ending}").read_bytes())
    before = digests(shared)
    result = cli("merge", "shared", "--into", "all.db", "--json")
    assert result.code == 0, result
    assert digests(shared) == before
    with SqlStore.open("all.db") as store:
        assert "late" in {run.label for run in store.runs()}
        assert len(store.runs()) > 1


def test_a_shard_that_is_not_whole_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / ".shard1.db.77").write_bytes(b"half")
    (tmp_path / ".shard2.db").write_bytes(b"half")
    with pytest.raises(NotFoundError, match="there is no store"):
        shards_at(str(tmp_path))
