"""`metrics` and `export`: what export writes metrics reads in every format, and what stands beside diversity."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import Cli
from support.stored import a_case, a_run, write_turns

from tertulia.state.records import Turn, TurnRecord
from tertulia.storage.store import SqlStore

QUICK = ("--embedder", "rehearsal")
RUNS = ("r1", "r2")


@pytest.fixture
def store(cli: Cli) -> Iterator[SqlStore]:
    """Two runs of a scenario with prompts, scores and judged candidates, and one in which nobody speaks."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        for at, run in enumerate(RUNS):
            opened.create_run(a_run(run, seed=at, parameters={"removal_factor": 0.5 + at / 10}), a_case())
            write_turns(opened, run, 1, at + 2)
        opened.create_run(a_run("mute"), a_case())
        silence = Turn(turn=1, round=1, speaker=None, text="", sim_time_s=1, ended=False)
        opened.save_turn("mute", TurnRecord(turn=silence))
        yield opened


@pytest.mark.parametrize("format", ["jsonl", "dialogues", "messages"])
def test_a_file_of_every_format_is_measured_as_the_runs(cli: Cli, store: SqlStore, format: str) -> None:
    stored = cli("metrics", *RUNS, *QUICK, "--json").json
    assert cli("export", *RUNS, "--format", format, "--out", "runs.jsonl").err == "wrote runs.jsonl\n"
    filed = cli("metrics", "runs.jsonl", *QUICK, "--json").json
    assert {name: filed[name] for name in ("cases", "mean", "variety")} == {
        name: stored[name] for name in ("cases", "mean", "variety")
    }
    by_factor = cli("metrics", "runs.jsonl", *QUICK, "--by", "lambda", "--json").json
    assert list(by_factor["cases"]) == ["cafe, lambda 0.5", "cafe, lambda 0.6"]
    twice = cli("metrics", "runs.jsonl", "r2", *QUICK, "--json")
    assert twice.json["cases"] == stored["cases"]
    assert twice.err == "run r2 is given more than once; it is counted once\n"
    assert cli("export", *RUNS, "--format", format).out == Path("runs.jsonl").read_text(encoding="utf-8")


def test_exports_that_make_no_sense(cli: Cli, store: SqlStore) -> None:
    cli("export", "mute", "--format", "messages").complains(2, "nobody speaks in run mute")
    cli("export", "r1", "--format", "yaml").complains(2, "--format yaml", "sdialog")
    cli("export", "r1", "--out", "x.json").complains(2, "--out x.json needs --format")
    cli("export", *RUNS, "--markdown", "-").complains(2, "one run", "2 are given")
    both = ("export", "r1", "--jsonl", "x", "--format", "dialogues", "--out", "x")
    cli(*both).complains(2, "x is given for two formats")
    assert cli("export", "r1", "--format", "messages", "--out", "x").code == 0
    cli("export", "r1", "--format", "messages", "--out", "x").complains(2, "--force")


def test_what_is_measured_beside_on_request(cli: Cli, store: SqlStore) -> None:
    Path("others.jsonl").write_text(json.dumps({"case": "cafe", "dialogue": [["Bo", "Line 1?"]]}), encoding="utf-8")
    further = ("--by-index", "--against", "others.jsonl", "--fluency", "rehearsal")
    found = cli("metrics", *RUNS, *QUICK, *further, "--json").json
    assert [figures["n"] for figures in found["by_index"]["cases"]["cafe"]] == [2, 2, 1]
    assert found["by_index"]["cases"]["cafe"] == found["by_index"]["mean"]
    assert found["exclusiveness"]["cases"]["cafe"]["exclusive1"] == 2 / 4  # 2 and 3; not line, 1
    assert found["exclusiveness"]["mean"]["n_a"] == 1
    assert (found["fluency"]["cases"]["cafe"]["model"], found["fluency"]["mean"]["utterances"]) == ("rehearsal", 5)
    assert not {"by_index", "exclusiveness", "fluency"} & set(cli("metrics", "r1", *QUICK, "--json").json)
    shown = cli("metrics", *RUNS, *QUICK, *further).out
    for heading in ("dist2_equal", "vendi", "exclusive3", "fluency", "attention", "revised", "index"):
        assert heading in shown
    Path("others.jsonl").write_text(json.dumps({"case": "pub", "dialogue": [["Bo", "Hm."]]}), encoding="utf-8")
    cli("metrics", *RUNS, *QUICK, *further[1:3]).complains(2, "--against has no case of these", "'pub'", "'cafe'")


# --- sense ----------------------------------------------------------------------------------------------------------

LINES = (
    ("Ana", "Where did you put the key?"),
    ("Bo", "I will tell Ana that it is lost."),
    ("Ana", "Where did you put the key?"),
    ("Bo", "In the boat."),
)


@pytest.fixture
def told(store: SqlStore) -> SqlStore:
    """A run of two with a line of each fault."""
    store.create_run(a_run("told", status="finished"), a_case())
    for at, (speaker, text) in enumerate(LINES, start=1):
        spoken = Turn(turn=at, round=at, speaker=speaker, text=text, sim_time_s=4.0 * at, ended=False)
        store.save_turn("told", TurnRecord(turn=spoken))
    return store


@pytest.mark.parametrize("spoiled", ['"no list"', '["repeats", "malice"]', "null"])
def test_an_export_is_believed_no_fault_that_there_is_not(cli: Cli, told: SqlStore, spoiled: str) -> None:
    cli("export", "told", "--jsonl", "all.jsonl")
    records = [json.loads(line) for line in Path("all.jsonl").read_text(encoding="utf-8").splitlines()]
    for record in records:
        if record["kind"] == "turn":
            record["line_faults"] = json.loads(spoiled)
    Path("all.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    found = cli("metrics", "all.jsonl", *QUICK, "--json").json["sense"]["cases"]["cafe"]
    assert (found["repeats"], found["lines"]) == (1.0 if "malice" in spoiled else 0.25, 4)


def test_a_rehearsed_run_is_measured_as_the_file_of_its_dialogues(cli: Cli) -> None:
    for seed in ("1", "2"):
        cli("run", "tidewell", "--rehearse", "--rounds", "2", "--seed", seed)
    runs = [run["run"] for run in cli("runs", "--json").json["runs"]]
    stored = cli("metrics", *runs, "--json").json
    cli("export", *runs, "--format", "dialogues", "--out", "runs.jsonl")
    filed = cli("metrics", "runs.jsonl", "--json").json
    assert stored["embedder"] == filed["embedder"] == "minilm"
    assert stored["cases"] == filed["cases"]
