"""Where a run was computed is stored with it, and said where it goes on somewhere else."""

import pytest
from support.commands import Cli

from tertulia.state.records import Platform

HERE = Platform(device="cpu", precision="float32", threads=2, processor="AVX2", versions={"torch": "2.13.0"})


def test_what_differs_is_said_in_words() -> None:
    there = HERE.model_copy(update={"threads": 1, "versions": {"torch": "2.14.0"}})
    assert there.differences(HERE) == ["1 thread instead of 2", "torch 2.14.0 instead of 2.13.0"]
    gpu = HERE.model_copy(update={"device": "cuda", "processor": "H100", "threads": None})
    assert gpu.differences(HERE) == ["device cuda instead of cpu", "processor H100 instead of AVX2"]
    assert HERE.differences(HERE) == []


def test_a_run_notes_where_it_goes_on(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.driving.platforms.platform_of", lambda models: HERE)
    cli("run", "tidewell", "--rehearse", "--rounds", "2")
    run = cli("show", "@last", "--json").json
    assert run["platforms"] == [{"round": 0, **HERE.model_dump(mode="json")}]
    cli("fork", "@last", "--at", "2")
    assert cli("show", "@last", "--json").json["platforms"] == run["platforms"]
    there = HERE.model_copy(update={"threads": 1})
    monkeypatch.setattr("tertulia.driving.platforms.platform_of", lambda models: there)
    forked = cli("fork", "@last", "--at", "2")
    assert "goes on with 1 thread instead of 2: the same conversation is not certain" in forked.err
    rounds = [(found["round"], found["threads"]) for found in cli("show", "@last", "--json").json["platforms"]]
    assert rounds == [(0, 2), (2, 1)]


def test_a_rehearsal_depends_on_none(cli: Cli) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "1")
    assert cli("show", "@last", "--json").json["platforms"] == []
