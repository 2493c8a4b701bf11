"""What tests share: the command line in an empty folder, with a configuration of its own; a server of models; one
thread per process, for machines that are shared; and how much `make fuzz` tries."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from support.commands import Cli, Result
from support.postgres_server import NO_POSTGRES, PostgresServer, running_server
from support.protocol_server import Served, serving
from support.skips import is_known

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

os.environ.setdefault("OMP_NUM_THREADS", "1")

# Collecting makes objects that stay: looking for garbage among them takes a sixth of its time.
gc.disable()

# No deadline: the machine is shared, and time is measured in benchmarks/.
settings.register_profile("suite", deadline=None)
settings.register_profile("full", max_examples=2000, deadline=None)
settings.load_profile("suite")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that is skipped for another reason than what the machine lacks."""
    return _known_or_failed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let a file fail that is skipped for another reason than what the machine lacks."""
    return _known_or_failed((yield))


def _known_or_failed(report: Report) -> Report:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if report.skipped and not hasattr(report, "wasxfail") and not is_known(reason):
        report.outcome, report.longrepr = (
            "failed",
            f"{reason} (no known reason on this machine: tests/support/skips.py)",
        )
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a browser or a database server."""
    for item in items:
        for needed in {"browser", "postgres"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(needed)


def pytest_collection_finish() -> None:
    """Look for garbage again, among what tests make."""
    gc.freeze()
    gc.enable()


def _configure(patch: pytest.MonkeyPatch, folder: Path) -> Path:
    patch.setenv("TERTULIA_CONFIG", str(folder))
    patch.setattr("tertulia.runs.access.trust.user_configuration", lambda: folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _configuration_of_fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which fixtures that several tests share remember what they trust: not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        yield _configure(patch, tmp_path_factory.mktemp("configuration"))


@pytest.fixture(autouse=True)
def configuration(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a test remembers what it trusts: its own, and not the user's."""
    return _configure(monkeypatch, tmp_path_factory.mktemp("configuration"))


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The empty folder in which a test runs, where its store lies."""
    return tmp_path


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """Run a command in this process, in an empty folder."""
    from tertulia.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TERTULIA_STORE", raising=False)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["tertulia", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main()
        return Result(exit.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A Postgres server; tests that need one are skipped where none is installed."""
    with running_server() as server:
        if server is None:
            pytest.skip(NO_POSTGRES)
        yield server


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that speaks OpenAI's protocol; the first wait before a retry is 0.01 s."""
    monkeypatch.setattr("tertulia.models.served.chat_errors.FIRST_WAIT_S", 0.01)
    with serving() as server:
        yield server


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are embedded by the rehearsal."""
    from tertulia.models.rehearsal import RehearsalEmbedder

    monkeypatch.setattr("tertulia.models.loading.open_embedder", lambda *_: RehearsalEmbedder())
