"""The command line as other programs and people rely on it: shapes of JSON, and what holds for every command."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli, rehearse, utterances, write_prompt

from tertulia.cli.main import PANELS
from tertulia.models.rehearsal import RehearsalModel
from tertulia.nodes.utterance.prune import prune_units
from tertulia.prompts.remove import removed_with_blocks
from tertulia.state.records import Prompt, Unit

ROOT = Path(__file__).parents[2]


def lines(cli: Cli, run: str) -> list[dict[str, Any]]:
    turns = cli("show", run, "--json").json["turns"]
    return [{name: turn[name] for name in ("turn", "speaker", "text")} for turn in turns]


# --- shapes ---------------------------------------------------------------------------------------------------------


def test_run_prints_its_id_at_once_and_one_line_last(cli: Cli) -> None:
    result = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--json")
    assert result.json == {
        "run": result.err.removeprefix("run ").strip(),
        "status": "finished",
        "turns": 3,
        "ended_by": "rounds",
        "lines": lines(cli, "@last"),
    }
    assert cli("fork", "@last", "--at", "2", "--json").json["lines"] == lines(cli, "@last")


def test_run_and_resume_tell_the_conversation(cli: Cli) -> None:
    result = cli("run", "tidewell", "--rehearse", "--rounds", "2")
    spoken = utterances(cli, "@last")
    assert "rehearsed: a stand-in speaks, not a model" in result.out
    assert [line.partition(": ")[2] for line in result.out.splitlines()[-2:]] == spoken


def test_a_finished_run_is_not_driven_again(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    run = rehearse(cli)
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: pytest.fail("a model was opened"))
    result = cli("resume", "@last", "--json")
    told = {"turns": len(utterances(cli, run)), "ended_by": "rounds", "lines": lines(cli, run)}
    assert result.json == {"run": run, "status": "finished", **told}
    assert "finished" in result.err
    assert "fork" in result.err


def test_runs(cli: Cli) -> None:
    first, second = rehearse(cli), rehearse(cli, "--seed", "2")
    document = cli("runs", "--json").json
    assert document["schema_version"] == 1
    assert [row["run"] for row in document["runs"]] == [second, first]
    row = document["runs"][0]
    expected = {"run": second, "status": "finished", "scenario": "tidewell", "seed": 2, "turns": 3, "parent": None}
    assert row.items() >= expected.items()
    assert cli("runs").out.splitlines()[1].startswith(f"{second}\tfinished\ttidewell\t")


def test_runs_on_a_missing_store(cli: Cli, tmp_path: Path) -> None:
    assert cli("runs", "--json").json == {"schema_version": 1, "runs": []}
    assert cli("runs").code == 0
    cli("show", "@last").complains(3, "tertulia.db", "tertulia run")
    assert list(tmp_path.iterdir()) == []


def test_show(cli: Cli) -> None:
    run = rehearse(cli, "--lambda", "0.3")
    document = cli("show", run, "--json").json
    expected = {"schema_version": 1, "run": run, "status": "finished", "scenario": "tidewell", "model": "rehearsal"}
    assert document.items() >= (expected | {"seed": 1, "parent": None}).items()
    assert document["parameters"]["removal_factor"] == 0.3
    assert [(turn["turn"], turn["round"]) for turn in document["turns"]] == [(1, 1), (2, 2), (3, 3)]
    assert {"turn", "round", "speaker", "text", "sim_time_s", "ended"} <= document["turns"][0].keys()
    shown = cli("show", run).out
    assert all(turn["text"] in shown for turn in document["turns"])


def test_show_turn(cli: Cli) -> None:
    run = rehearse(cli)
    document = cli("show", run, "--turn", "2", "--json").json
    assert document["turn"] == 2
    assert {"round", "speaker", "text", "sim_time_s", "ended", "rollbacks", "scored_by"} <= document.keys()
    keys = {"id", "block", "kind", "text", "removable", "line_score", "score", "removed"}
    assert all(unit.keys() == keys and unit["score"] > 0 for unit in document["units"])
    assert all(unit["kind"] == "item" for unit in document["units"] if unit["removable"])
    (utterance,) = [
        unit for unit in document["units"] if unit["block"] == "current_dialogue" and unit["kind"] == "item"
    ]
    assert (utterance["removable"], utterance["removed"]) == (False, False)
    keys = {"text", "inconsistency", "inconsistency_runs", "comment", "chosen"}
    assert all(candidate.keys() >= keys for candidate in document["candidates"])
    assert [candidate["text"] for candidate in document["candidates"] if candidate["chosen"]] == [document["text"]]
    judged = [candidate for candidate in document["candidates"] if candidate["inconsistency"] is not None]
    assert document["rollbacks"] == len(judged) - 1


def test_what_if_is_algorithm_1_on_the_recorded_scores(cli: Cli) -> None:
    run = rehearse(cli)
    for factor in (0, 0.2, 0.7, 1):
        expect_algorithm_1(cli, run, factor)


def expect_algorithm_1(cli: Cli, run: str, factor: float) -> None:
    document = cli("show", run, "--turn", "3", "--lambda", factor, "--json").json
    assert document["what_if"] == factor
    fields = ("id", "block", "kind", "text", "removable")
    units = tuple(Unit(**{name: row[name] for name in fields}) for row in document["units"])
    chosen = prune_units(units, {row["id"]: row["score"] for row in document["units"]}, factor)
    removed = {row["id"] for row in document["units"] if row["removed"]}
    assert removed == set(removed_with_blocks(Prompt(units=units, speaker="", layout="single_message"), chosen))
    if factor == 1:  # every block that had only removable items is gone, its texts too
        memory = [row["removed"] for row in document["units"] if row["block"] == "memory"]
        assert len(memory) > 30
        assert all(memory)


def test_scores_are_not_recorded_at_0_unless_asked_for(cli: Cli) -> None:
    run = rehearse(cli, "--lambda", "0")
    document = cli("show", run, "--turn", "1", "--json").json
    assert {(unit["score"], unit["removed"]) for unit in document["units"]} == {(None, False)}
    assert document["scored_by"] is None
    cli("show", run, "--turn", "1", "--lambda", "0.5").complains(3, "record_scores=true")
    assert "record_scores=true" in cli("show", run, "--turn", "1").out
    scored = rehearse(cli, "--lambda", "0", "--set", "record_scores=true")
    units = cli("show", scored, "--turn", "1", "--lambda", "0.5", "--json").json["units"]
    assert any(unit["removed"] for unit in units)
    assert utterances(cli, scored) == utterances(cli, run)


def test_show_turn_for_people(cli: Cli) -> None:
    run = rehearse(cli)
    document = cli("show", run, "--turn", "2", "--json").json
    lines = cli("show", run, "--turn", "2").out.splitlines()
    marked = [line for line in lines if line.startswith("✗ ") and "removed" not in line]
    assert len(marked) == sum(unit["removed"] for unit in document["units"])
    figures = [line for line in lines if re.match(r"[✗· ] [█▉▊▋▌▍▎▏ ]{16} +(?:\d+\.\d+|–) +\d+\.\d+  ", line)]
    assert len(figures) == len(document["units"])
    texts = [" ".join(unit["text"].split()) for unit in document["units"]]
    assert max(map(len, texts)) > 120
    assert all(text in " ".join(line.split()) for text, line in zip(texts, figures, strict=True))
    assert next(line for line in lines if line.startswith("→ said")).endswith(document["text"])


def test_scenarios(cli: Cli) -> None:
    document = cli("scenarios", "tidewell", "--json").json
    assert [case["case"] for case in document["cases"]] == list(range(len(document["cases"])))
    case = document["cases"][-1]
    assert {"case", "time", "initiator", "partner", "memories", "previous_dialogues"} <= case.keys()
    assert set(case["memories"]) == {case["initiator"], case["partner"]}
    assert len(cli("scenarios", "tidewell", "--sample", "3", "--json").json["cases"]) == 3
    table = cli("scenarios").out
    assert case["scenario"] in table
    assert "skipped: 0" not in table
    assert table.count("left out: currently") == 1


def test_doctor(cli: Cli) -> None:
    document = cli("doctor", "--store", "elsewhere.db", "--json").json
    assert document["missing"] == {}
    assert document["store"] == "elsewhere.db"
    assert {"schema_version", "python", "packages", "device", "precision"} <= document.keys()
    assert "everything is there" in cli("doctor").out


def test_score(cli: Cli, tmp_path: Path) -> None:
    prompt = write_prompt(tmp_path / "prompt.json", "one", "two")
    arguments = ("score", str(prompt), "--model", "rehearsal", "--response", "Yes.", "--response", "No, never.")
    document = cli(*arguments, "--json").json
    assert (document["model"], document["reducer"]) == ("rehearsal", "sum-mean")
    assert len(document["responses"]) == 2
    assert [unit["id"] for unit in document["units"]] == ["one", "two"]
    tokenizer = RehearsalModel().tokenizer
    for unit in document["units"]:
        first, past_last = unit["token_span"]
        assert tokenizer.decode(document["input_ids"][first:past_last]).strip() == f"Memory {unit['id']}."
        assert unit["score"] > 0
    assert "Memory two." in cli(*arguments).out


def test_metrics(cli: Cli, tmp_path: Path) -> None:
    at = tmp_path / "dialogues.jsonl"
    lines = [{"case": case, "dialogue": [["Ana", "Hello."], ["Bo", f"Day {n}."]]} for case in "ab" for n in (1, 2)]
    at.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    document = cli("metrics", str(at), "--embedder", "rehearsal", "--json").json
    assert list(document["cases"]) == ["a", "b"]
    for figures in (*document["cases"].values(), document["mean"]):
        assert {"sim", "dist1", "dist2", "dist3", "len"} <= figures.keys()
    assert document["mean"]["len"] == 1.5


# --- what holds for every command -----------------------------------------------------------------------------------


def test_every_command_has_help_with_an_example_and_takes_a_store(cli: Cli) -> None:
    listed = cli("--help").out
    groups = {"nodes": ("nodes list", "nodes check"), "runs": ("runs", "runs rm", "runs label"), "lab": ("lab report",)}
    groups |= {"scores": ("scores fit", "scores list"), "people": ("people import", "people check")}
    names = [name for panel in PANELS.values() for name in panel]
    words = [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]
    assert [word for word in words if word in names] == names
    for command in (command for name in names for command in groups.get(name, (name,))):
        help = cli(*command.split(), "--help").out
        assert f"Example: tertulia {command}" in help
        assert "--store" in help
        assert "--json" in help
    assert cli().out == cli("--help").out


def test_the_store_is_the_option_or_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TERTULIA_STORE", str(tmp_path / "mine.db"))
    run = rehearse(cli)
    other = rehearse(cli, "--store", "other.db")
    assert [row["run"] for row in cli("runs", "--json").json["runs"]] == [run]
    assert [row["run"] for row in cli("runs", "--store", "other.db", "--json").json["runs"]] == [other]
    assert not (tmp_path / "tertulia.db").exists()


@pytest.mark.parametrize("command", ["runs", "--help"])
def test_neither_reading_nor_help_loads_an_engine(tmp_path: Path, command: str) -> None:
    code = (
        f"import sys; from tertulia.cli.main import main; sys.argv = ['tertulia', {command!r}]\n"
        "try: main()\n"
        "except SystemExit: print(*{'torch', 'transformers', 'langgraph', 'sentence_transformers'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "", done
