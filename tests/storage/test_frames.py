"""The views as data frames: dtypes, choice of runs, refusal of what was altered; docs/data.md says what is there."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlite_utils.cli import cli as sqlite_utils_cli
from support.album_stored import an_album_run, write_album_run
from support.commands import Cli
from support.group_stored import write_meeting
from support.merged import copied, execute
from support.on_use import on_use
from support.stored import NOW, a_case, a_run, write_turns

from tertulia.metrics.diversity import distinct_n
from tertulia.state.errors import NotFoundError, StorageError, UsageError
from tertulia.storage import frames
from tertulia.storage.store import SqlStore

pandas = on_use("pandas")

DOC = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
READERS: dict[str, Callable[..., pandas.DataFrame]] = {
    "each_run": frames.runs,
    "each_turn": frames.turns,
    "each_part": frames.parts,
    "each_agent_round": frames.agent_rounds,
    "each_unit": frames.units,
    "each_call": frames.calls,
}
CHECKS = {
    "text": lambda value: isinstance(value, str),
    "flag": lambda value: value in (0, 1),
    "count": lambda value: isinstance(value, int) and value >= 0,
    "number": lambda value: isinstance(value, float | int),
    "integer": lambda value: str(int(value)) == value,
    "moment": lambda value: datetime.fromisoformat(value).tzinfo is not None,
    "json": lambda value: value[0] in "[{",
}
DTYPES = {"text": "str", "flag": "boolean", "count": "Int64", "number": "float64", "integer": "object"}
DTYPES |= {"json": "object", "moment": "datetime64[us, UTC]"}


def documented(view: str) -> dict[str, str]:
    """The columns of a view that docs/data.md explains, with their types."""
    section = DOC.partition(f"\n## {view}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", section, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a dialogue, a fork of it, a meeting, and an album chat."""
    path = tmp_path_factory.mktemp("made") / "tertulia.db"
    with SqlStore.open(path, create=True) as store:
        store.create_run(a_run(seed=2**70), a_case())
        write_turns(store, "k3f9", 1, 4)
        store.create_run(a_run("f0rk", parent=("k3f9", 3), parameters={"removal_factor": 1, "seed": 3}), a_case())
        write_turns(store, "f0rk", 3, 3)
        write_meeting(store)
        write_album_run(store, an_album_run("aaaa"))
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / made.name)


@pytest.mark.parametrize("view", READERS)
def test_every_column_of_a_view_is_documented_with_what_it_holds(made: Path, view: str) -> None:
    with SqlStore.open(made) as store:
        rows = store.file.rows(f"SELECT * FROM {view}")
    assert rows
    assert list(documented(view)) == list(rows[0])
    for name, kind in documented(view).items():
        values = [row[name] for row in rows if row[name] is not None]
        assert all(CHECKS[kind](value) for value in values), name
    for chosen in (None, []):
        frame = READERS[view](made, chosen)
        assert frame.empty == (chosen == [])
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
            name: DTYPES[kind] for name, kind in documented(view).items()
        }


def test_values_come_as_python_and_pandas_have_them(made: Path) -> None:
    runs = frames.runs(made).set_index("run")
    assert list(runs.index) == ["k3f9", "f0rk", "m33t", "aaaa"]
    assert runs.loc["k3f9", "seed"] == 2**70
    assert runs.loc["k3f9", "created"] == pandas.Timestamp(NOW)
    assert runs.loc["f0rk", "parameters"] == {"removal_factor": 1, "seed": 3}
    assert runs["parent_turn"].isna().tolist() == [True, False, True, True]
    minds = frames.agent_rounds(made)
    assert minds["mechanisms"].map(type).eq(list).all()
    assert minds["latency_s"].isna().any()
    assert frames.calls(made)["results"].tolist() == [[]] * len(frames.calls(made))


def test_parameters_have_columns_of_their_own_on_demand(path: Path) -> None:
    with SqlStore.open(path) as store:
        set_by_hand = {"removal_factor": 0.25, "max_turns": 9, "nodes": {"score": "mine"}}
        parameters = {**set_by_hand, "max_minutes": None, "node_settings": {"mine": {"depth": 3}}}
        store.create_run(a_run("n0de", parameters=parameters), a_case())
    assert not [name for name in frames.runs(path) if name.startswith("parameter.")]
    spread = frames.runs(path, ["k3f9", "n0de"], parameters=True).set_index("run")
    assert spread["parameter.removal_factor"].tolist() == [0.5, 0.25]
    assert spread.loc["n0de", "parameter.nodes.score"] == "mine"
    assert spread.loc["n0de", "parameter.node_settings.mine.depth"] == 3
    assert spread.loc["k3f9"].filter(like="parameter.node").isna().all()
    kinds = {"max_turns": "Int64", "max_minutes": "float64", "removal_factor": "float64", "nodes.score": "str"}
    assert {name: str(spread[f"parameter.{name}"].dtype) for name in kinds} == kinds


@pytest.mark.parametrize(
    ("statement", "reader"),
    [
        ("UPDATE runs SET seed = '8' WHERE run = 'k3f9'", frames.runs),
        ("UPDATE turns SET rollbacks = 1 WHERE run = 'k3f9' AND turn = 2", frames.turns),
        ("UPDATE contents SET text = 'Line two.' WHERE text = 'Line 2.'", frames.turns),
        ("UPDATE candidates SET inconsistency = 1 WHERE run = 'k3f9' AND turn = 2", frames.turns),
        ("UPDATE unit_scores SET score = 9 WHERE run = 'k3f9' AND turn = 2 AND position = 0", frames.units),
        ("UPDATE units SET block = 'goals' WHERE unit = 'memory.m1'", frames.units),
        ("UPDATE contents SET text = 'A swan.' WHERE text LIKE 'Ana saw heron number 1.%'", frames.units),
        ("UPDATE steps SET record = '{}' WHERE round = 1 AND agent = 'Ada' AND node = 'bid'", frames.agent_rounds),
        ("UPDATE parts SET rollbacks = 9 WHERE turn = 1 AND part = 'plan'", frames.parts),
        ("UPDATE contents SET text = 'No.' WHERE text = 'I choose the pot.'", frames.parts),
        ("UPDATE calls SET seconds = 9 WHERE round = 1 AND agent = 'Ada'", frames.calls),
        ("UPDATE lineage SET turns = 9 WHERE run = 'f0rk' AND depth = 1", frames.turns),
    ],
)
def test_what_was_altered_is_refused(path: Path, statement: str, reader: Callable[..., pandas.DataFrame]) -> None:
    reader(path)
    execute(path, (statement, ()))
    with pytest.raises(StorageError, match=r"tertulia\.db is damaged or was altered"):
        reader(path)


def test_a_store_and_runs_that_are_not_there_are_told(path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"^there is no store .*elsewhere\.db; "):
        frames.turns(path.with_name("elsewhere.db"))
    assert not path.with_name("elsewhere.db").exists()
    for runs in ("zzzz", ["k3f9", "zzzz"]):
        with pytest.raises(NotFoundError, match="no run 'zzzz'"):
            frames.turns(path, runs)
    path.write_text("not a store " * 100)
    with pytest.raises(StorageError, match="is not a Tertulia store"):
        frames.turns(path)


def test_without_pandas_the_extra_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install --editable '\.\[frames\]'"):
        frames.runs(path)


# --- the examples of docs/data.md -----------------------------------------------------------------------------------


def test_sqlite_utils_shows_the_views(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    commands = re.findall(r"^\$ sqlite-utils (.*)$", DOC, flags=re.MULTILINE)
    said = [CliRunner().invoke(sqlite_utils_cli, shlex.split(command)) for command in commands]
    assert [result.exit_code for result in said] == [0, 0, 0]
    assert "Ana        Line 2." in said[0].output
    assert json.loads(said[1].output)[0]["agent"] == "Ada"
    assert "removal_factor    avg(rollbacks)" in said[2].output


def test_the_examples_give_the_figures_of_the_commands(cli: Cli, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        for removal_factor in ("0", "0.5"):
            cli("run", "tidewell", "--rehearse", "--rounds", "3", "--lambda", removal_factor, "--seed", seed)
    parent = cli("run", "team_building", "--rehearse", "--rounds", "4", "--json").json["run"]
    run = cli("fork", parent, "--at", "3", "--set", "seed=5", "--json").json["run"]
    shown: dict[str, pandas.DataFrame] = {}
    for example in re.findall(r"```python\n(.*?)```", DOC, flags=re.DOTALL):
        exec(example, shown)

    people = {agent["agent"]: agent for agent in cli("stats", run, "--json").json["agents"]}
    table = shown["table"].join(shown["on"])
    assert list(table.index) == sorted(people)
    for agent, row in table.iterrows():
        figures = people[agent]
        expected = (figures["decisions"], figures["wanting_to_speak"], figures["spoken"])
        assert (row["decisions"], row["wanting"], row["spoken"]) == expected
        switched_on = {name: count["on"] for name, count in figures["mechanisms"].items()}
        assert {name: row.get(name, 0) for name in switched_on} == switched_on

    with SqlStore.open("tertulia.db") as store:
        for removal_factor in (0, 0.5):
            alike = [
                [(turn.speaker or "", turn.text) for turn in store.turns(run.run)]
                for run in store.runs()
                if run.scenario == "tidewell" and run.parameters["removal_factor"] == removal_factor
            ]
            assert len(alike) == 2
            assert shown["diversity"]["tidewell", removal_factor] == distinct_n(alike, 2)

    asked = cli("show", run, "--cost", "--json").json["cost"]
    assert len(asked) == len(shown["cost"])
    for step in asked:
        row = shown["cost"].loc[step["agent"], step["node"]]
        assert (row["calls"], row["prompt_tokens"]) == (step["calls"], step["prompt_tokens"])
