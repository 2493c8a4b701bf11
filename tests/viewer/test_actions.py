"""What the page offers to do from a run: the command that is shown does as told, and Start starts it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
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


def test_what_the_page_may_not_set_starts_nothing(address: str) -> None:
    headers = {"Origin": address.rstrip("/"), "Content-Type": "application/json"}
    before = ask(address, f"api/start?token={TOKEN}").json["commands"]
    for settings in ({"nodes.score": "x.py"}, {"judge_model": "http://h/v1#m"}, {"seed": "1\n2"}, {"seed": 1}):
        body = json.dumps({"action": "fork", "run": "@last", "at": 2, "settings": settings}).encode()
        assert ask(address, f"api/start?token={TOKEN}", headers, "POST", body).status == 400
    assert ask(address, f"api/start?token={TOKEN}").json["commands"] == before
