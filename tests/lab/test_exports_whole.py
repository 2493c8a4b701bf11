"""Exports into folders are there whole or not at all."""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.exported_runs import Rehearsed, rehearse_all


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """A store that no test changes."""
    return rehearse_all(tmp_path_factory.mktemp("exports") / "store.db")


@pytest.fixture
def export(cli: Cli, runs: Rehearsed) -> Callable[..., Any]:
    """`tertulia export` of this store."""
    return lambda *arguments: cli("export", *arguments, "--store", str(runs.path))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("is_there", [False, True])
def test_an_export_into_a_folder_that_is_interrupted_is_whole(
    export: Callable[..., Any], runs: Rehearsed, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--experiment", runs.experiment, "--format", "mlflow", "--force", "--out")
    export(*arguments, "whole")
    if is_there:
        export(runs.dialogue, "--format", "mlflow", "--out", "mlruns")
    expected = {*contents(Path("whole")), *(contents(Path("mlruns")) if is_there else ())}
    moved, replace = list[str](), os.replace

    def interrupted(new: Path, place: Path) -> None:
        replace(new, place)
        moved.append(str(place))
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", interrupted)
        assert export(*arguments, "mlruns").code == 130
    assert {*contents(Path("mlruns"))} == expected
    assert is_there or moved == ["mlruns"]


def test_a_full_disk_is_told_with_the_folder(
    export: Callable[..., Any], runs: Rehearsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(new: Path, place: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        export(runs.dialogue, "--format", "mlflow", "--out", "mlruns").complains(1, "mlruns: No space left on device")
    assert contents(Path()) == {}
