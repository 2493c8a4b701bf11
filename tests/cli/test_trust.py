"""What drives code, hosts or keys comes from the command line or the user's configuration, never from a file."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.commands import Cli
from support.protocol_server import Served

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.runs.access.trust import FILE, Trust, Trusted
from tertulia.state.errors import UsageError

EXTENSION = """
from tertulia.nodes.machinery.node import Node

open({marker!r}, "a").write("executed\\n")

async def ends(state, runtime):
    return {{"ended": False}}

NODES = (Node("mine", "decide_ending", "says no", ends, writes=("ended",)),)
"""

SCENARIO = """
kind: group_chat
name: the gate
description: Two people wait for the gate to open.
time: 2024-05-14 09:30:00
participants:
  - {{name: Ada, traits: [extroverted], model: "{model}"}}
  - {{name: Ben, traits: [extroverted]}}
"""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "executed"


@pytest.fixture
def extension(tmp_path: Path, marker: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(EXTENSION.format(marker=str(marker)), encoding="utf-8")
    return file


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> "Stranger":
    return Stranger(monkeypatch, tmp_path_factory)


class Stranger:
    """Somebody else, who has trusted nothing yet."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folders: pytest.TempPathFactory) -> None:
        self._monkeypatch, self._folders = monkeypatch, folders

    def sits_down(self) -> Path:
        folder = self._folders.mktemp("stranger")
        self._monkeypatch.setenv("TERTULIA_CONFIG", str(folder))
        return folder


def times(marker: Path) -> int:
    return len(marker.read_text().splitlines()) if marker.exists() else 0


# --- code -----------------------------------------------------------------------------------------------------------


def test_one_s_own_run_with_an_extension_goes_on_by_one_word(cli: Cli, extension: Path, marker: Path) -> None:
    run = cli("run", "tidewell", "--rehearse", "--rounds", "2", "--extension", "mine.py", "--json").json["run"]
    before = times(marker)
    assert cli("fork", run, "--at", "2", "--json").code == 0
    assert times(marker) == before + 1


@pytest.mark.parametrize("command", [("resume", "@last"), ("fork", "@last", "--at", "2")])
def test_an_extension_of_a_received_store_is_not_executed(
    cli: Cli, extension: Path, marker: Path, stranger: Stranger, command: tuple[str, ...]
) -> None:
    setting = ("--set", "max_minutes=0.001") if command[0] == "resume" else ()
    cli("run", "tidewell", "--rehearse", "--rounds", "2", *setting, "--extension", "mine.py")
    if command[0] == "resume":
        make_unfinished("tertulia.db")
    before = times(marker)
    stranger.sits_down()
    refused = cli(*command)
    assert refused.code == 2
    assert f"--extension {extension}" in refused.err
    assert f"tertulia trust {extension}" in refused.err
    assert times(marker) == before
    assert cli(*command, "--extension", "mine.py").code == 0
    assert times(marker) == before + 1


def make_unfinished(store: str) -> None:
    from tertulia.storage.store import SqlStore

    with SqlStore.open(store) as opened:
        opened.set_status(opened.runs()[0].run, "interrupted")


def test_an_extension_of_a_scenario_runs_once_its_content_is_trusted(cli: Cli, extension: Path, marker: Path) -> None:
    Path("sent.yaml").write_text(SCENARIO.format(model="smollm2") + "extensions: [mine.py]\n", encoding="utf-8")
    run = ("run", "sent.yaml", "--rehearse", "--rounds", "1", "--json")
    for command in (run, (*run, "--dry-run"), ("graph", "group_chat", "--scenario", "sent.yaml")):
        refused = cli(*command)
        assert refused.code == 2
        assert "the scenario names the extension" in refused.err
    assert times(marker) == 0
    assert cli("trust", "mine.py").code == 0
    assert times(marker) == 0
    assert cli(*run).code == 0
    assert times(marker) == 1
    extension.write_text(extension.read_text() + "\n# changed\n", encoding="utf-8")
    assert cli(*run).code == 2
    assert times(marker) == 1


def test_the_code_of_a_model_s_folder_is_executed_only_where_the_command_asks_for_it(
    cli: Cli, tmp_path: Path, marker: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    settings = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "evil.Evil"}}
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'a').write('executed\\n')\nclass Evil: pass\n")
    Path("sent.yaml").write_text(SCENARIO.format(model="./model"), encoding="utf-8")
    for command in (("run", "tidewell", "--model", "./model"), ("run", "sent.yaml", "--model", "./model")):
        refused = cli(*command, "--rounds", "1")
        assert refused.code == 2
        assert "--trust-remote-code ./model" in refused.err
    assert times(marker) == 0
    assert cli("run", "tidewell", "--model", "./model", "--trust-remote-code", "./model").code != 0  # it is no model
    assert times(marker) == 1


# --- hosts and keys -------------------------------------------------------------------------------------------------


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TERTULIA_SERVER_KEY", "sesame")
    monkeypatch.setattr("tertulia.models.loading.open_embedder", lambda *_: RehearsalEmbedder())
    return "sesame"


def a_run(served: Served) -> tuple[str, ...]:
    return ("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--json")


def test_one_s_own_run_with_a_server_goes_on_by_one_word(cli: Cli, served: Served, key: str) -> None:
    assert cli(*a_run(served)).code == 0
    assert cli("fork", "@last", "--at", "2").code == 0
    assert {headers["authorization"] for headers in served.headers} == {f"Bearer {key}"}


def test_a_server_that_a_received_store_names_is_not_asked(
    cli: Cli, served: Served, key: str, stranger: Stranger
) -> None:
    cli(*a_run(served))
    asked = len(served.requests)
    folder = stranger.sits_down()
    make_unfinished("tertulia.db")
    for command in (("resume", "@last"), ("fork", "@last", "--at", "2"), ("inventory", "@last")):
        refused = cli(*command)
        assert refused.code == 2
        assert "prompts, and the key in TERTULIA_SERVER_KEY, would be sent to" in refused.err
    assert len(served.requests) == asked
    assert not list(folder.iterdir())
    assert cli("trust", served.address).code == 0
    assert cli("resume", "@last").code == 0
    assert cli("fork", "@last", "--at", "2").code == 0
    assert len(served.requests) > asked


@pytest.mark.parametrize("setting", ["participant", "judge_model", "thinking_model"])
def test_a_server_that_a_scenario_names_is_not_asked(cli: Cli, served: Served, key: str, setting: str) -> None:
    sent = SCENARIO.format(model=served.model if setting == "participant" else "rehearsal")
    if setting != "participant":
        sent += f"parameters: {{{setting}: '{served.model}'}}\n"
    Path("sent.yaml").write_text(sent, encoding="utf-8")
    refused = cli("run", "sent.yaml", "--rounds", "1", "--model", "openai:other", "--lambda", "0")
    assert refused.code == 2
    assert "is named by a file, and not by you" in refused.err
    assert not served.requests
    assert not Path("tertulia.db").exists()


@pytest.mark.parametrize(
    "setting", ["participant", "judge_model", "thinking_model", "surrogate", "picture_model", "embedder"]
)
def test_a_hub_id_that_a_scenario_names_is_refused_before_any_model_is_opened(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for opening in ("open_model", "open_embedder", "open_picture_finder"):
        monkeypatch.setattr(f"tertulia.models.loading.{opening}", lambda *_, **__: pytest.fail("opened"))
    sent = SCENARIO.format(model="nobody/nothing" if setting == "participant" else "rehearsal")
    if setting != "participant":
        sent += f"parameters: {{{setting}: nobody/nothing}}\n"
    Path("sent.yaml").write_text(sent, encoding="utf-8")
    refused = cli("run", "sent.yaml", "--rounds", "1", "--model", "smollm2")
    refused.complains(2, "nobody/nothing is not on this machine", "tertulia trust nobody/nothing")
    assert not Path("tertulia.db").exists()


def test_a_server_named_by_a_setting_is_named_by_the_user(cli: Cli, served: Served, key: str) -> None:
    result = cli(*a_run(served)[:-1], "--set", f"judge_model={served.model}")
    assert result.code == 0, result.err


def test_a_person_is_asked_about_a_server(
    cli: Cli, served: Served, key: str, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli(*a_run(served))
    stranger.sits_down()
    asked: list[str] = []

    def confirm(line: object, question: str) -> bool:
        asked.append(question)
        return len(asked) > 1

    monkeypatch.setattr("tertulia.cli.terminal.status_line.StatusLine.confirm", confirm)
    fork = ("fork", "@last", "--at", "2")
    assert [cli(*fork).code for _ in range(3)] == [2, 0, 0]
    assert len(asked) == 2, "a yes is remembered"
    assert "is that what you want?" in asked[0]


def test_a_piped_yes_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    from tertulia.cli.terminal.status_line import StatusLine

    monkeypatch.setattr(sys, "stdin", StringIO("y\n"))
    assert not StatusLine(None).confirm("?")
    assert sys.stdin.read() == "y\n"


def test_an_embedder_that_a_store_names_is_not_loaded(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from tertulia.storage.store import SqlStore
    from tertulia.storage.tables import Table

    cli("run", "tidewell", "--rehearse", "--rounds", "2")
    make_unfinished("tertulia.db")
    with SqlStore.open("tertulia.db") as store, store.file.transaction():
        (row,) = Table(store.file, "runs").select("")
        Table(store.file, "runs").update(row, "run", embedder="./evil", model="smollm2")
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: pytest.fail("opened"))
    cli("resume", "@last").complains(3, "no such folder: ./evil")
    Path("evil").mkdir()
    cli("resume", "@last").complains(
        2, "the embedder './evil' is named by a file, and not by you", f"tertulia trust {Path('evil').resolve()}"
    )


# --- what is remembered ---------------------------------------------------------------------------------------------


def test_trust_is_listed_and_withdrawn(cli: Cli, extension: Path, configuration: Path) -> None:
    shown = cli("trust", "mine.py", "HTTP://LocalHost:80/v1".lower(), "openai:", "owner/name", "--json").json
    assert shown["places"] == ["http://localhost:80", "openai:", "owner/name"]
    assert list(shown["extensions"].values()) == [str(extension)]
    assert (configuration / FILE).stat().st_mode & 0o777 == 0o600
    assert str(extension) in cli("trust").out
    extension.unlink()
    left = cli("trust", "--withdraw", "mine.py", "openai:", "--json").json
    assert (left["places"], left["extensions"]) == (["http://localhost:80", "owner/name"], {})


def test_what_can_t_be_trusted_is_told(cli: Cli, configuration: Path) -> None:
    assert "is no extension" in cli("trust", "what").err
    cli("trust", "gone.py").complains(3, "there is no extension gone.py; give the path of its file")
    (configuration / FILE).write_text("[", encoding="utf-8")
    broken = cli("run", "tidewell", "--rehearse", "--extension", "gone.py")
    assert broken.code == 3
    assert "mend it, or delete it" in cli("trust").err


def test_many_remember_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    trust = Trust(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: trust.remember(Trusted(places=(f"http://h:{number}",))), range(64)))
    assert len(trust.read().places) == 64
    assert os.listdir(tmp_path) == [FILE]


def test_a_configuration_that_can_not_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    trust = Trust(tmp_path / "file" / "folder")
    with pytest.raises(UsageError, match=r"can't be read .*; mend it, or delete it"):
        trust.read()
    (tmp_path / "locked").mkdir(mode=0o500)
    trust = Trust(tmp_path / "locked" / "folder")
    trust.remember(Trusted(places=("openai:",)))
    assert trust.read().places == ("openai:",), "as long as the process lives"
