"""A run's embedder: named with it, recorded, kept by resuming and forks, and the one by which its runs are compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.protocol_server import Served
from support.tiny import save_tiny_embedder

import tertulia as tt
from tertulia.api.measuring import figures_of_runs
from tertulia.models.local.sentence_model import LibraryModel
from tertulia.runs.access.model_names import embedder_of
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> list[str]:
    """The texts that the embedder of the folder `multi` has read; the embedded one reads none."""
    save_tiny_embedder(Path("multi"))
    monkeypatch.setattr("tertulia.models.local.minilm.MiniLM", lambda *_: pytest.fail("minilm was loaded"))
    read, vectors = list[str](), LibraryModel.vectors

    def noted(self: LibraryModel, texts: Sequence[str]) -> Any:
        read.extend(texts)
        return vectors(self, texts)

    monkeypatch.setattr(LibraryModel, "vectors", noted)
    return read


def a_run(served: Served, *more: str) -> tuple[str, ...]:
    return ("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", *more)


def recorded(cli: Cli, run: str = "@last") -> tuple[str, str | None]:
    document = cli("show", run, "--json").json
    return document["embedder"], document["parameters"]["embedder"]


def test_a_run_goes_on_and_is_forked_and_measured_with_its_embedder(
    cli: Cli, served: Served, embedded: list[str]
) -> None:
    assert cli(*a_run(served, "--set", "embedder=multi")).code == 0
    assert recorded(cli) == ("multi", "multi")
    assert any("Leila" in text for text in embedded)  # memories
    with SqlStore.open("tertulia.db") as store:
        store.set_status(store.runs()[0].run, "interrupted")
    assert cli("resume", "@last").code == 0
    assert cli("fork", "@last", "--at", "2").code == 0
    assert recorded(cli) == ("multi", "multi")
    first, second = [run["run"] for run in cli("runs", "--json").json["runs"]]
    embedded.clear()
    assert cli("metrics", first, second, "--json").json["embedder"] == "multi"
    assert embedded
    assert cli("metrics", first, second, "--embedder", "rehearsal", "--json").json["embedder"] == "rehearsal"


def test_runs_of_two_embedders_are_compared_by_one_that_is_named(cli: Cli, served: Served, embedded: list[str]) -> None:
    save_tiny_embedder(Path("other"))
    for name in ("multi", "other"):
        assert cli(*a_run(served, "--set", f"embedder={name}")).code == 0
    runs = [run["run"] for run in cli("runs", "--json").json["runs"]]
    cli("metrics", *runs).complains(2, "the embedders multi and other", "name one for all of them: --embedder other")
    assert cli("metrics", *runs, "--embedder", "multi", "--json").json["embedder"] == "multi"
    records = [(run.record, "tidewell") for run in tt.open_store("tertulia.db").runs()]
    with pytest.raises(UsageError, match="name one for all of them: embedder=other"):
        figures_of_runs(tt.Store("tertulia.db"), records, ["to_the_point"])
    assert figures_of_runs(tt.Store("tertulia.db"), records, ["dist1"])  # of words alone


def test_an_embedder_that_is_not_there_is_said_before_a_model_is_opened(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: pytest.fail("opened"))
    for name, words in (
        ("minilmm", "unknown embedder 'minilmm' (did you mean 'minilm'?)"),
        ("nothing", "unknown embedder 'nothing' (known: minilm, rehearsal); a folder, or a hub id such as owner/name"),
        ("./nowhere", "no such folder: ./nowhere"),
    ):
        cli("run", "tidewell", "--set", f"embedder={name}").complains(3, words)
        cli("metrics", "tidewell:1", "--embedder", name).complains(3, words)
    cli("metrics", "tidewell:1", "--embedder", "").complains(3, "unknown embedder ''")
    Path("empty").mkdir()
    cli("metrics", "tidewell:1", "--embedder", "empty").complains(
        1, "the embedder 'empty' can't be loaded", "name a folder with the embedder, or take minilm"
    )
    assert not Path("tertulia.db").exists()


def test_rehearsed_runs_are_compared_as_such_alone_and_as_the_others_beside_them() -> None:
    assert [embedder_of(names) for names in ([], ["minilm"], ["rehearsal"], ["rehearsal", "multi"])] == [
        *("minilm", "minilm", "rehearsal", "multi")
    ]
    with pytest.raises(UsageError, match="minilm and multi"):
        embedder_of(["multi", "rehearsal", "minilm"])
