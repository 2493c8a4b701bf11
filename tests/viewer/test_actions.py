"""What the page offers to do from a run: the command that is shown does as told, and Start starts it."""

import json
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.in_process import command
from support.requests_to_page import ask
from support.viewer_page import serving

import tertulia
from tertulia.runs.catalog.settings import written
from tertulia.state.errors import UsageError
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.actions import actions_page, fork_arguments

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]
TOKEN = "token"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("it's a store") / "t.db"
    tertulia.run("tidewell", rehearse=True, rounds=4, removal_factor=0.5, seed=3, store=path, progress=False)
    return path


def test_what_is_offered_is_every_parameter_that_names_no_code_host_file_or_person(store: Path) -> None:
    with SqlStore.open(store) as opened:
        page = actions_page(opened, "@last")
        record = opened.run("@last")
    offered = {parameter["name"]: parameter for parameter in page["parameters"]}
    assert not {name for name in offered if name.endswith("_model")}
    assert not offered.keys() & {"nodes", "node_settings", "surrogate", "seat", "villagers", "pictures", "setpoint"}
    some = {"removal_factor", "temperature", "max_turns", "block_order", "judge"}
    assert some <= offered.keys() <= {*Parameters.model_fields}
    assert offered["removal_factor"]["value"] == "0.5"
    for name, parameter in offered.items():
        assert parameter["value"] == written(record.parameters[name])
    assert (page["fork"], page["resume"]) == (["fork", record.run], None)
    assert page["store"] == ["--store", str(store)]


def test_the_default_store_needs_no_name(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tertulia.db").write_bytes(store.read_bytes())
    with SqlStore.open(Path("tertulia.db")) as opened:
        assert actions_page(opened, "@last")["store"] == []


@pytest.mark.parametrize("name", ["nodes.score", "node.key", "judge_model", "seat", "pictures", "no_such", "store", ""])
def test_a_parameter_that_is_not_offered_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"unknown parameter|command line alone"):
        fork_arguments("k3f9", 2, {name: "x"})


def test_a_turn_before_the_first_is_refused() -> None:
    with pytest.raises(UsageError, match="turns count from 1"):
        fork_arguments("k3f9", 0, {})


# --- on the page ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND) as address:
        yield address


def test_the_command_that_is_shown_forks_as_told(page: Page, store: Path) -> None:
    parent = tertulia.open_store(store).run()
    with serving(store) as address:
        page.goto(f"{address}#/runs/{parent.id}?turn=3")
        page.get_by_text("Fork from here").click()
        assert _command(page) == ["tertulia", "fork", parent.id, "--at", "3", "--store", str(store)]
        page.get_by_role("spinbutton", name="λ", exact=True).fill("0.9")
        page.get_by_label("seed", exact=True).fill("8")
        page.get_by_label("Change another parameter").select_option("max_turns")
        page.get_by_label("max_turns", exact=True).fill("5")
        page.get_by_label("Change another parameter").select_option("block_order")
        page.get_by_label("block_order", exact=True).fill("bm pec's $HOME")
        assert "block_order=bm pec's $HOME" in _command(page)
        page.get_by_role("button", name="Leave as it is: block_order").click()
        expect(page.get_by_role("button", name="Start")).to_have_count(0)
        words = _command(page)
    with ThreadPoolExecutor(1) as thread:  # Playwright has a loop in this one
        done = thread.submit(command, *words[1:], "--json").result()
    assert done.code == 0, done.err
    fork = tertulia.open_store(store).run(json.loads(done.out)["run"])
    assert fork.parent == (parent.id, 3)
    assert (fork.seed, fork.parameters.removal_factor, fork.parameters.max_turns) == (8, 0.9, 5)
    assert [turn.text for turn in fork.turns[:2]] == [turn.text for turn in parent.turns[:2]]
    assert len(fork.turns) == 5


def test_the_command_is_copied(page: Page, store: Path, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}?token={TOKEN}#/runs/@last?turn=2")
    page.get_by_text("Fork from here").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.get_by_label("Command", exact=True).text_content()


def test_a_run_that_stopped_can_be_resumed_while_the_server_comes_and_goes(
    page: Page, store: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "t.db"
    copy.write_bytes(store.read_bytes())
    run = tertulia.open_store(copy).run().id
    with SqlStore.open(copy) as opened:
        opened.set_status(run, "running")  # as a process that was killed leaves it
    gone = page.get_by_text("Not connected. Start the viewer again with: tertulia view")
    with serving(copy) as address:
        page.goto(f"{address}#/runs/{run}")
        page.get_by_text("Resume", exact=True).click()
        expect(page.get_by_text("The run is stored as running, but its process has ended.")).to_be_visible()
        assert _command(page) == ["tertulia", "resume", run, "--store", str(copy)]
    expect(gone).to_be_visible()
    with SqlStore.open(copy) as opened:
        opened.set_status(run, "interrupted")
    with serving(copy, port=int(address.rstrip("/").rpartition(":")[2])) as again:
        assert again == address
        expect(page.get_by_text("The run is interrupted.")).to_be_visible(timeout=10_000)
        expect(gone).to_have_count(0)
        with SqlStore.open(copy) as opened:
            opened.set_status(run, "finished")
        expect(page.get_by_label("Command")).to_have_count(0)


def test_what_the_page_may_not_set_starts_nothing(address: str) -> None:
    headers = {"Origin": address.rstrip("/"), "Content-Type": "application/json"}
    before = ask(address, f"api/start?token={TOKEN}").json["commands"]
    for settings in ({"nodes.score": "x.py"}, {"judge_model": "http://h/v1#m"}, {"seed": "1\n2"}, {"seed": 1}):
        body = json.dumps({"action": "fork", "run": "@last", "at": 2, "settings": settings}).encode()
        assert ask(address, f"api/start?token={TOKEN}", headers, "POST", body).status == 400
    assert ask(address, f"api/start?token={TOKEN}").json["commands"] == before


def _command(page: Page) -> list[str]:
    return shlex.split(page.get_by_label("Command", exact=True).text_content() or "")
