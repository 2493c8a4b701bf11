"""The command line as other programs and people rely on it: shapes of JSON, exit codes, one line for every error."""

import contextlib
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli, Result, stop_between_writes
from support.ga_builder import RunBuilder, event
from support.tiny import tiny_language_model

from cli.main import PANELS
from models.rehearsal import RehearsalEmbedder, RehearsalModel
from nodes.prune import prune_units
from prompts.remove import removed_with_blocks
from state.language_model import GenerationRequest
from state.records import Prompt, Reply, Unit

TERTULIA = (sys.executable, "-m", "cli.main")
ROOT = Path(__file__).parents[2]
#: A rehearsed conversation that nobody ends before its limit, long enough to be stopped in the middle.
ENDLESS = ("--rehearse", "--set", "ending=continuation", "--set", "ending_threshold=1", "--rounds", "60")
ON_DEMAND = ("--set", "backups=on_demand")


def start(folder: Path, *arguments: str, **streams: Any) -> "subprocess.Popen[str]":
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([*TERTULIA, *arguments], cwd=folder, env=environment, text=True, **streams)


def started(folder: Path, turns: int = 5) -> tuple["subprocess.Popen[str]", str]:
    """Start an endless run; return it, and its id, once it has some turns."""
    process = start(folder, "run", "tidewell", *ENDLESS, "--json")
    assert process.stderr
    word, run = process.stderr.readline().split()
    assert word == "run"
    with sqlite3.connect(folder / "tertulia.db") as store:
        while store.execute("SELECT count(*) FROM turns").fetchone()[0] < turns:
            assert process.poll() is None
            time.sleep(0.01)
    store.close()
    return process, run


def rehearse(cli: Cli, *arguments: str) -> str:
    """Run a short rehearsed conversation; return its id."""
    result = cli("run", "tidewell", "--rehearse", "--rounds", "3", *arguments, "--json")
    return str(result.json["run"])


def texts(cli: Cli, run: str) -> list[str]:
    return [turn["text"] for turn in cli("show", run, "--json").json["turns"]]


# --- shapes ---------------------------------------------------------------------------------------------------------


def test_run_prints_its_id_at_once_and_one_line_last(cli: Cli) -> None:
    result = cli("run", "tidewell", "--rehearse", "--rounds", "3", "--json")
    assert result.json == {"run": result.err.removeprefix("run ").strip(), "status": "finished", "turns": 3}


def test_run_and_resume_tell_the_conversation(cli: Cli) -> None:
    result = cli("run", "tidewell", "--rehearse", "--rounds", "2")
    spoken = texts(cli, "@last")
    assert "rehearsed: a stand-in speaks, not a model" in result.out
    assert [line.partition(": ")[2] for line in result.out.splitlines()[-2:]] == spoken


def test_a_finished_run_is_not_driven_again(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    run = rehearse(cli)
    monkeypatch.setattr("models.loading.open_model", lambda *_, **__: pytest.fail("a model was opened"))
    result = cli("resume", "@last", "--json")
    assert result.json == {"run": run, "status": "finished", "turns": len(texts(cli, run))}
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
    assert cli("runs").out.splitlines()[1].startswith(f"{second}  finished  tidewell")


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
    keys = {"id", "block", "kind", "text", "removable", "score", "removed"}
    assert all(unit.keys() == keys and unit["score"] > 0 for unit in document["units"])
    assert all(unit["kind"] == "item" for unit in document["units"] if unit["removable"])
    (said,) = [unit for unit in document["units"] if unit["block"] == "current_dialogue" and unit["kind"] == "item"]
    assert (said["removable"], said["removed"]) == (False, False)
    keys = {"text", "inconsistency", "inconsistency_runs", "comment", "chosen"}
    assert all(candidate.keys() >= keys for candidate in document["candidates"])
    assert [candidate["text"] for candidate in document["candidates"] if candidate["chosen"]] == [document["text"]]
    judged = [candidate for candidate in document["candidates"] if candidate["inconsistency"] is not None]
    assert document["rollbacks"] == len(judged) - 1


@pytest.mark.parametrize("factor", [0, 0.2, 0.7, 1])
def test_what_if_is_algorithm_1_on_the_recorded_scores(cli: Cli, factor: float) -> None:
    run = rehearse(cli)
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


def test_what_if_at_the_runs_own_factor_is_what_was_removed(cli: Cli) -> None:
    run = rehearse(cli, "--lambda", "0.4")
    removed, again = (
        [unit["removed"] for unit in cli("show", run, "--turn", "1", *more, "--json").json["units"]]
        for more in ([], ["--lambda", "0.4"])
    )
    assert removed == again
    assert any(removed)


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
    assert texts(cli, scored) == texts(cli, run)


def test_show_turn_for_people(cli: Cli) -> None:
    run = rehearse(cli)
    document = cli("show", run, "--turn", "2", "--json").json
    lines = cli("show", run, "--turn", "2").out.splitlines()
    marked = [line for line in lines if line.startswith("✗ ") and "removed" not in line]
    assert len(marked) == sum(unit["removed"] for unit in document["units"])
    figures = [line for line in lines if line[:2] in ("✗ ", "· ", "  ") and line[18:19] == " " and "." in line[19:24]]
    assert len(figures) == len(document["units"])
    assert max(map(len, figures)) == 120
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


def write_prompt(at: Path, *ids: Any) -> Path:
    units = [{"id": id, "block": "memory", "kind": "item", "text": f"Memory {id}.\n", "removable": True} for id in ids]
    at.write_text(json.dumps({"units": units}), encoding="utf-8")
    return at


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
    groups = {"nodes": ("nodes list", "nodes check"), "runs": ("runs", "runs rm", "runs label")}
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


def test_reading_loads_no_engine(tmp_path: Path) -> None:
    code = (
        "import sys; from cli.main import main; sys.argv = ['tertulia', 'runs']\n"
        "try: main()\n"
        "except SystemExit: print(*{'torch', 'transformers', 'langgraph', 'sentence_transformers'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[1:] == [""], done


# --- the same again -------------------------------------------------------------------------------------------------


def test_a_seed_is_a_conversation(cli: Cli) -> None:
    first, same, other = (texts(cli, rehearse(cli, "--seed", seed)) for seed in ("4", "4", "5"))
    assert first == same != other
    assert texts(cli, rehearse(cli, "--set", "seed=5")) == other


def test_ctrl_c_and_resume(cli: Cli, tmp_path: Path) -> None:
    process, run = started(tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert f"to go on: tertulia resume {run}" in err
    assert "Traceback" not in err
    ended = json.loads(out)
    assert (ended["run"], ended["status"]) == (run, "interrupted")
    assert 5 <= ended["turns"] < 60
    assert cli("show", run, "--json").json["status"] == "interrupted"
    _goes_on_as_if_nothing_had_happened(cli, run)


def test_kill_and_resume(cli: Cli, tmp_path: Path) -> None:
    process, run = started(tmp_path)
    process.kill()
    process.communicate(timeout=20)
    _goes_on_as_if_nothing_had_happened(cli, run)


def _goes_on_as_if_nothing_had_happened(cli: Cli, run: str) -> None:
    assert cli("resume", run, "--json").json == {"run": run, "status": "finished", "turns": 60}
    whole = cli("run", "tidewell", *ENDLESS, "--json").json["run"]
    for turn in ([], ["--turn", "6"], ["--turn", "60"]):
        one, other = (cli("show", name, *turn, "--json").json for name in (run, whole))
        assert one | {"run": ""} == other | {"run": ""}


def test_a_second_driver_is_refused_and_leaves_the_run_alone(cli: Cli, tmp_path: Path) -> None:
    process, run = started(tmp_path, turns=1)
    stop_between_writes(process.pid, tmp_path / "tertulia.db")
    try:
        cli("resume", run).complains(1, run, f"pid {process.pid}")
        assert cli("show", run, "--json").json["status"] == "running"
    finally:
        process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=30)
    assert json.loads(out) == {"run": run, "status": "finished", "turns": 60}


def test_a_terminal_sees_each_step(tmp_path: Path) -> None:
    reading, terminal = pty.openpty()
    process = start(tmp_path, "run", "tidewell", *ENDLESS, "--json", stderr=terminal)
    os.close(terminal)
    seen = b""
    with contextlib.suppress(OSError):  # Linux: the other end is closed
        while chunk := os.read(reading, 4096):
            seen += chunk
    os.close(reading)
    out, _ = process.communicate(timeout=20)
    assert json.loads(out)["status"] == "finished"
    assert re.search(rb"run [a-z0-9]+\r\n", seen)
    assert re.search(rb"turn [0-9]+: [a-z]+", seen)


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("rnu", 2, ["'rnu'", "'run'"]),
        ("run", 2, ["SCENARIO"]),
        ("run tidewell --rehearse --bogus", 2, ["--bogus"]),
        ("run tidewell --rehearse --lambda 1.5", 2, ["--lambda 1.5: ", "less than or equal to 1"]),
        ("run tidewell --rehearse --lambda -0.1", 2, ["--lambda -0.1: "]),
        ("run tidewell --rehearse --lambda nan", 2, ["--lambda nan: ", "finite"]),
        ("run tidewell --rehearse --lambda much", 2, ["--lambda", "'much'"]),
        ("run tidewell --rehearse --seed x", 2, ["--seed", "'x'"]),
        ("run tidewell --rehearse --set seed=x", 2, ["--set seed=x: "]),
        ("run tidewell --rehearse --set lambda=much", 2, ["--set lambda=much: "]),
        ("run tidewell --rehearse --set inconsistency_threshold=nan", 2, ["inconsistency_threshold=nan"]),
        ("run tidewell --rehearse --set lamda=1", 2, ["'lamda'", "did you mean 'lambda'"]),
        ("run tidewell --rehearse --set temperatur=1", 2, ["did you mean 'temperature'"]),
        ("run tidewell --rehearse --set temperature", 2, ["temperature", "KEY=VALUE"]),
        ("run tidewell --rehearse --set =1", 2, ["KEY=VALUE"]),
        ("run tidewell --rehearse --set block_order=bmxc", 2, ["'x'", "m memory"]),
        ("run tidewell --rehearse --set removable_blocks=mc", 2, ["current dialogue"]),
        ("run tidewell --rehearse --rounds 0", 2, ["--rounds 0: "]),
        ("run tidewell --rehearse --minutes -1", 2, ["--minutes -1: "]),
        ("run tidewell --rehearse --precision float8", 2, ["float8", "float32"]),
        ("run tidewel --rehearse", 3, ["'tidewel'", "did you mean 'tidewell'"]),
        ("run tidewell:99 --rehearse", 3, ["no case 99", "0 to 7"]),
        ("run nowhere.yaml", 3, ["nowhere.yaml"]),
        ("run ga:nowhere", 3, ["nowhere"]),
        ("run ga:. --rehearse", 2, ["personas"]),
        ("run tidewell --model smolm2", 3, ["'smolm2'", "did you mean 'smollm2'"]),
        ("run tidewell --rehearse --store nowhere/tertulia.db", 1, ["nowhere/tertulia.db", "folder"]),
        ("scenarios nothing", 3, ["'nothing'", "tidewell"]),
        ("scenarios --sample 0", 2, ["0 cases"]),
        ("metrics nothing.jsonl", 3, ["nothing.jsonl"]),
        ("metrics .", 2, ["directory"]),
        ("score nothing.json --response Yes", 3, ["nothing.json"]),
        ("score . --response Yes", 2, ["directory"]),
        ("score nothing.json", 2, ["--response"]),
        ("show @last", 3, ["tertulia.db"]),
        ("show k3f9 --lambda 0.5", 2, ["--turn"]),
        ("resume k3f9", 3, ["k3f9"]),
    ],
)
def test_bad_arguments(cli: Cli, arguments: str, code: int, words: list[str]) -> None:
    result = cli(*arguments.split())
    result.complains(code, *words)
    assert result.out == ""


def test_bad_turns(cli: Cli) -> None:
    run = rehearse(cli)
    for turn in ("0", "-1", "99"):
        cli("show", run, "--turn", turn).complains(3, f"no turn {turn}", "turns 1 to 3")
    cli("show", run, "--turn", "1", "--lambda", "1.5").complains(2, "--lambda 1.5")
    cli("show", run, "--turn", "1", "--lambda", "nan").complains(2, "--lambda nan")
    cli("show", "zz99").complains(3, "'zz99'")


def test_odd_prompt_files(cli: Cli, tmp_path: Path) -> None:
    def score(at: Path, response: str = "Yes.") -> Result:
        return cli("score", str(at), "--model", "rehearsal", "--response", response)

    at = tmp_path / "prompt.json"
    score(write_prompt(at, "one"), "").complains(2, "response 1 is empty")
    score(write_prompt(at, "one", "one")).complains(2, "'one'", "twice")
    score(write_prompt(at, 7)).complains(2, "units.0.id", "string")
    score(write_prompt(at)).complains(2, "no units")
    for content, words in (
        (b'{"units": [\n{"id"}]}', ["line 2"]),
        (b'{"units": 3}', ["units"]),
        (b"[]", ["prompt.json"]),
        (b"", ["not JSON"]),
        (b"\xff\xfe", ["prompt.json"]),
        (b"[" * 200_000, ["not JSON"]),
    ):
        at.write_bytes(content)
        score(at).complains(2, *words)


def test_odd_dialogue_files(cli: Cli, tmp_path: Path) -> None:
    at = tmp_path / "dialogues.jsonl"
    for content in (b"", b"{}", b"[1]\n", b'{"case": "a"}', b'{"case": "a", "dialogue": [["Ana"]]}', b"\xff"):
        at.write_bytes(content)
        cli("metrics", str(at), "--embedder", "rehearsal").complains(2, "dialogues.jsonl")


def test_odd_stores(cli: Cli, tmp_path: Path) -> None:
    at = tmp_path / "tertulia.db"
    at.write_bytes(b"no database at all " * 100)
    cli("runs").complains(1, "tertulia.db", "not a Tertulia store")
    at.unlink()
    rehearse(cli)
    with sqlite3.connect(at) as store:
        store.execute("PRAGMA user_version = 99")
    store.close()
    cli("runs").complains(1, "tertulia.db", "newer")
    cli("run", "tidewell", "--rehearse").complains(1, "newer")


def write_scenario(at: Path, **more: Any) -> Path:
    people = [
        {"name": name, "memories": [f"{name} came home."]}
        for name in ('Ida "O\'Neil" 🦀\nFalk', "Jonas\x1b[31m; DROP TABLE runs")
    ]
    scenario: dict[str, Any] = {
        "name": "odd \x1b[2J",
        "time": "2024-05-14 09:30:00",
        "place": "\x1b]0;t\x07[/red] \u202ehall",
    }
    at.write_text(
        json.dumps({**scenario, "participants": people, **more}, ensure_ascii=False), encoding="utf-8"
    )  # JSON is YAML
    return at


def test_nothing_that_a_terminal_obeys_is_printed(cli: Cli, tmp_path: Path) -> None:
    at = write_scenario(tmp_path / "odd [bold] \x1b[1m.yaml", parameters={"ending_threshold": 1})
    run = cli("run", str(at), *ENDLESS, "--rounds", "3")
    assert run.code == 0, run.err
    printed = [run]
    for more in ([], ["--json"]):
        printed += [cli("show", "@last", *turn, *more) for turn in ([], ["--turn", "3"])]
        printed += [cli("runs", *more), cli("scenarios", str(at), *more)]
        printed += [cli("timeline", "@last", *more), cli("stats", "@last", *more)]
    printed.append(cli("run", "\x1b[31mnothing"))
    for said in printed:
        assert all(char == "\n" or char.isprintable() for char in said.out + said.err)
    speakers = {turn["speaker"] for turn in cli("show", "@last", "--json").json["turns"]}
    assert any("\x1b" in speaker for speaker in speakers)
    assert run.out.splitlines()[0].startswith('Ida "O\'Neil" 🦀 Falk and Jonas�[31m; DROP TABLE runs, ')


def test_a_persona_without_memories(cli: Cli, tmp_path: Path) -> None:
    people = [{"name": "Ida", "memories": []}, {"name": "Bo", "memories": ["Bo is here."]}]
    at = write_scenario(tmp_path / "empty.yaml", participants=people)
    cli("run", str(at), "--rehearse").complains(2, "empty.yaml:1", "memories")


def test_a_log_that_is_broken(cli: Cli, tmp_path: Path) -> None:
    log = RunBuilder(tmp_path / "log")
    log.person("Ana", event("08:00:00", "Ana", "baking")).person("Bo", event("08:00:00", "Bo", "fishing"))
    log.talk("09:00:00", "Ana", "Bo", [["Ana", "Hello."]]).write()
    assert cli("run", f"ga:{log.folder}:0", "--rehearse", "--rounds", "1", "--json").json["turns"] == 1
    nodes = log.file("Bo", "nodes")
    nodes.write_text(nodes.read_text().replace('"chat",', '"chat"', 1))
    cli("run", f"ga:{log.folder}", "--rehearse").complains(2, "Bo", "nodes.json:", "broken JSON")
    nodes.unlink()
    cli("scenarios", f"ga:{log.folder}").complains(2, "Bo", "nodes.json")


# --- a run that fails -----------------------------------------------------------------------------------------------


class Failing(RehearsalModel):
    """Fails in the third turn: raises its problem, or says nothing where it has none."""

    problem: Exception | None = None

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        if len(request.no_repeat_from) == 2 and self.problem:
            raise self.problem
        if (
            len(request.no_repeat_from) == 2 and len(request.generators) == 1
        ):  # not those that are drawn to score attention
            return [Reply(text="{}", tokens=(1, 2), text_tokens=(1, 1), fields={})]
        return await super().generate(request)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (RuntimeError("CUDA\nerror"), ["RuntimeError: CUDA error", "test_cli.py"]),
        (MemoryError(), ["MemoryError"]),
        (None, ["empty reply"]),
    ],
)
def test_a_model_that_fails_in_mid_turn(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, problem: Exception | None, words: list[str]
) -> None:
    model = Failing()
    model.problem = problem
    with monkeypatch.context() as patched:
        patched.setattr("models.loading.open_model", lambda *_, **__: model)
        result = cli("run", "tidewell", *ENDLESS, *ON_DEMAND, "--rounds", "4", "--json")
    result.complains(1, *words)
    ended = json.loads(result.out)
    assert (ended["status"], ended["turns"]) == ("failed", 2)
    assert f"to go on: tertulia resume {ended['run']}" in result.err
    (row,) = cli("runs", "--json").json["runs"]
    assert row["status"] == "failed"
    assert words[-1] in row["error"]
    assert words[-1] in cli("show", "@last").out
    assert cli("resume", "@last", "--json").json["turns"] == 4
    whole = cli("run", "tidewell", *ENDLESS, *ON_DEMAND, "--rounds", "4", "--json").json["run"]
    assert texts(cli, ended["run"]) == texts(cli, whole)
    assert cli("show", ended["run"]).out.count("stopped by") == 0


def test_a_full_disk(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from storage.database import StoreFile

    connect = StoreFile._connect

    def connect_small(file: StoreFile, create: bool) -> None:
        connect(file, create)
        (pages,) = file.rows("PRAGMA page_count")
        file.database.execute(f"PRAGMA max_page_count = {pages['page_count'] + 150}")

    with monkeypatch.context() as patched:
        patched.setattr(StoreFile, "_connect", connect_small)
        result = cli("run", "tidewell", *ENDLESS, "--json")
    result.complains(1, "disk is full", "tertulia.db", "resume")
    ended = json.loads(result.out)
    assert (ended["status"], ended["turns"] < 60) == ("failed", True)
    assert cli("resume", "@last", "--json").json["turns"] == 60


def test_a_prompt_that_does_not_fit(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("models.loading.open_model", lambda *_, **__: tiny_language_model(context_window=300))
    monkeypatch.setattr("models.loading.open_embedder", lambda *_: RehearsalEmbedder())
    cli("run", "tidewell", "--rounds", "1", "--set", "judge=off").complains(1, "tokens", "memory")


def test_output_that_can_not_be_written(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [*TERTULIA, "runs", "--json"],
            cwd=tmp_path,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
