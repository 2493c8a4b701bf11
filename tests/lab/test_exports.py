"""Exports for other tools: what of a run is in them, and what is refused; test_exports_read.py has their readers."""

import csv
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import Cli
from support.exported_runs import Rehearsed, rehearse_all, said
from support.stored import a_candidate, a_case, a_prompt, a_run, a_turn_record, write_turn

import tertulia as tt
from tertulia.lab.exports.columns import COLUMNS, table_of
from tertulia.nodes.conversation.seat import write_by_hand
from tertulia.state.errors import UsageError
from tertulia.state.line_edit import EDITED_ATTEMPT
from tertulia.state.meeting import Meeting
from tertulia.state.records import Turn
from tertulia.storage.store import SqlStore

PAGE = Path(__file__).parents[2] / "docs" / "exports.md"

#: Formats of other tools, each with the name of a file or a folder.
TOOLS = [("inspect", "out.json"), ("otel", "out"), ("dataset", "out"), ("mlflow", "out")]
FOLDERS = ("dataset", "mlflow")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """A store that no test changes."""
    return rehearse_all(tmp_path_factory.mktemp("exports") / "store.db")


@pytest.fixture
def export(cli: Cli, runs: Rehearsed) -> Callable[..., Any]:
    """`tertulia export` of this store."""
    return lambda *arguments: cli("export", *arguments, "--store", str(runs.path))


@pytest.fixture
def written(cli: Cli) -> str:
    """A run with a line of a model's, one that was typed, and one that a person wrote in a model's place."""
    run = "k3f9"
    with SqlStore.open(Path("tertulia.db"), create=True) as store:
        store.create_run(a_run(run), a_case())
        write_turn(store, run, 1)
        write_by_hand(store, run, 2, "Bo", "Line 2.")
        store.save_turn(run, a_turn_record(2))
        for candidate in (a_candidate(0, 3), a_candidate(EDITED_ATTEMPT, 3, origin="by_hand")):
            store.save_candidate(run, 3, candidate)
        store.save_turn(run, a_turn_record(3, prompt=store.save_prompt(a_prompt(3)), chosen=EDITED_ATTEMPT))
    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def spans_of(text: str) -> list[dict[str, Any]]:
    requests = [json.loads(line) for line in text.splitlines()]
    return [span for each in requests for span in each["resourceSpans"][0]["scopeSpans"][0]["spans"]]


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


# --- all formats ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "out"), TOOLS)
def test_the_command_and_python_write_the_same(
    export: Callable[..., Any], runs: Rehearsed, format: str, out: str
) -> None:
    for name in ("a", "b"):
        Path(name).mkdir()
    result = export(runs.dialogue, runs.meeting, "--format", format, "--out", f"a/{out}", "--json")
    assert (result.json["runs"], result.json["files"]) == ([runs.dialogue, runs.meeting], [f"a/{out}"])
    store = runs.store
    chosen = [run for run in store.runs() if run.id in (runs.dialogue, runs.meeting)]
    (file,) = type(store.runs())(store, [run.record for run in reversed(chosen)]).export(format, f"b/{out}")
    assert file == Path(f"b/{out}")
    absolute = os.fsencode(Path("a").resolve()), os.fsencode(Path("b").resolve())
    a, b = contents(Path("a")), contents(Path("b"))
    assert a.keys() == b.keys()
    assert all(text.replace(*absolute) == b[name] for name, text in a.items())


@pytest.mark.parametrize(("format", "out"), TOOLS)
def test_what_is_there_is_overwritten_on_demand_alone(
    export: Callable[..., Any], runs: Rehearsed, format: str, out: str
) -> None:
    assert export(runs.dialogue, "--format", format, "--out", out).code == 0
    if format in FOLDERS:
        (Path(out) / "mine.txt").write_text("mine")
    before = contents(Path())
    export(runs.dialogue, "--format", format, "--out", out).complains(2, "out", "exists already", "--force")
    with pytest.raises(UsageError, match="exists already; overwrite it with force=True"):
        runs.store.run(runs.dialogue).export(format, out)  # type: ignore[arg-type]
    assert contents(Path()) == before
    assert export(runs.dialogue, "--format", format, "--out", out, "--force").code == 0
    assert contents(Path()) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("zz99", "--format", "inspect", "--out", "o"), 3, ["'zz99'"]),
        (("@last", "--format", "inspekt", "--out", "o"), 2, ["--format inspekt", "inspect", "mlflow"]),
        (("@last", "--format", "dataset"), 2, ["folder", "--out FOLDER"]),
        (("@last", "--format", "dataset", "--out", "none/o"), 2, ["none/o", "no folder none"]),
        (("@last", "--format", "mlflow", "--out", "file"), 2, ["file is a file", "folder"]),
        (("@last", "--format", "inspect", "--out", "."), 2, [". is a folder"]),
        (("@last", "--format", "inspect", "--out", "log.txt"), 2, ["log.txt: Inspect reads", ".eval or .json"]),
        (("@last", "--format", "inspect", "--out", "log"), 2, ["log: Inspect reads", ".eval or .json"]),
        (("@last", "--format", "inspect", "--out", "log.EVAL"), 2, ["log.EVAL: Inspect reads", ".eval or .json"]),
        (("@last", "--experiment", "grid", "--format", "inspect"), 2, ["--experiment NAME"]),
        (("--format", "inspect"), 2, ["RUN", "--experiment NAME"]),
        (("--experiment", "grid", "--format", "inspect"), 3, ["'grid'", "tertulia lab list"]),
        (("@last", "--out", "o"), 2, ["--format", "inspect"]),
    ],
)
def test_bad_requests(export: Callable[..., Any], arguments: tuple[str, ...], code: int, words: list[str]) -> None:
    Path("file").write_text("mine")
    export(*arguments).complains(code, *words)
    assert [path.name for path in Path().iterdir()] == ["file"]


def test_an_experiment_is_exported_by_its_name(export: Callable[..., Any], runs: Rehearsed) -> None:
    experiment = runs.store.experiment(runs.experiment)
    assert export("--experiment", runs.experiment, "--format", "dataset", "--out", "a").code == 0
    assert experiment.export("dataset", "b") == (Path("b"),)
    assert contents(Path("a")) == contents(Path("b"))
    rows = [json.loads(line) for line in Path("a/conversations.jsonl").read_text("utf-8").splitlines()]
    places = [(row["case"], row["setting"], row["trial"], row["experiment"]) for row in rows]
    assert places == [(trial.case, trial.setting, trial.trial, runs.experiment) for trial in experiment.runs.trials]
    assert {place[1] for place in places} == {"λ = 0", "λ = 1"}


# --- each format ------------------------------------------------------------------------------------------------------


def test_an_eval_file_is_the_same_log(export: Callable[..., Any], runs: Rehearsed) -> None:
    log = json.loads(export(runs.dialogue, runs.album, "--format", "inspect").out)
    assert export(runs.dialogue, runs.album, "--format", "inspect", "--out", "log.eval").code == 0
    with zipfile.ZipFile("log.eval") as archive:
        members = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    samples = [members.pop(f"samples/{run}_epoch_1.json") for run in (runs.dialogue, runs.album)]
    assert members["header.json"] | {"samples": samples} == log
    assert [sample["id"] for sample in members["summaries.json"]] == [runs.dialogue, runs.album]


def test_every_row_has_the_declared_columns(export: Callable[..., Any], runs: Rehearsed) -> None:
    given = (runs.dialogue, runs.fork, runs.meeting, runs.album)
    export(*given, "--format", "dataset", "--out", "set")
    for name, columns in COLUMNS.items():
        rows = [json.loads(line) for line in (Path("set") / f"{name}.jsonl").read_text("utf-8").splitlines()]
        assert rows
        for row in rows:
            assert row.keys() == columns.keys()
            for column, about in columns.items():
                if not isinstance(about.kind, str):
                    assert all(item.keys() == about.kind.keys() for item in row[column])
        if name == "prompts":
            assert len({row["prompt"] for row in rows}) == len(rows)


def test_every_column_is_explained_in_the_card_and_in_the_documentation(
    export: Callable[..., Any], runs: Rehearsed
) -> None:
    export(runs.dialogue, runs.meeting, "--format", "dataset", "--out", "set")
    card, page = Path("set/README.md").read_text("utf-8"), PAGE.read_text("utf-8")
    for name in COLUMNS:
        assert f"## {name}\n\n{table_of(name)}" in card
        assert f"### {name}\n\n{table_of(name)}" in page


def test_a_data_set_tells_how_a_run_ended_and_what_is_of_its_parent(cli: Cli, runs: Rehearsed) -> None:
    shutil.copy(runs.path, "tertulia.db")
    with SqlStore.open(Path("tertulia.db")) as store:
        store.set_status(runs.fork, "interrupted", "200 tokens are used up", "budget")
    cli("export", runs.fork, "--format", "dataset", "--out", "set")
    (row,) = [json.loads(line) for line in Path("set/conversations.jsonl").read_text("utf-8").splitlines()]
    assert (row["status"], row["ended_by"], row["error"]) == ("interrupted", "budget", "200 tokens are used up")
    assert (row["turns"], row["parent_turn"], row["rewritten"], row["cohort"]) == (3, 3, False, None)
    for name in ("turns", "units"):
        rows = [json.loads(line) for line in Path(f"set/{name}.jsonl").read_text("utf-8").splitlines()]
        assert {(row["turn"], row["inherited"]) for row in rows} == {(1, True), (2, True), (3, False)}
    root = attributes(spans_of(cli("export", runs.fork, "--format", "otel").out)[0])
    assert (root["tertulia.ended_by"], root["tertulia.error"]) == ("budget", "200 tokens are used up")
    cli("export", runs.fork, "--format", "mlflow", "--out", "mlruns")
    assert [tag.read_text() for tag in Path("mlruns").glob("*/*/tags/tertulia.ended_by")] == ["budget"]


def test_units_are_those_of_the_store(export: Callable[..., Any], runs: Rehearsed) -> None:
    export(runs.dialogue, "--format", "dataset", "--out", "set")
    rows = [json.loads(line) for line in Path("set/units.jsonl").read_text("utf-8").splitlines()]
    run, parts = runs.store.run(runs.dialogue), ("unit", "score", "text")
    for turn in run.turns:
        details = run.turn(turn.turn)
        of_turn = [row for row in rows if row["turn"] == turn.turn]
        assert [tuple(row[part] for part in parts) for row in of_turn] == [
            (u.id, u.score, u.text) for u in details.units
        ]
        assert {row["unit"] for row in of_turn if row["removed"]} == {u.id for u in details.units if u.removed}
        order = sorted(row["removed"] for row in of_turn if row["removed"])
        assert order == list(range(1, len(order) + 1))


def test_spans_form_a_tree_within_the_time_of_their_parents(export: Callable[..., Any], runs: Rehearsed) -> None:
    spans = spans_of(export(runs.meeting, "--format", "otel").out)
    by_id = {span["spanId"]: span for span in spans}
    assert len(by_id) == len(spans)
    assert {span["traceId"] for span in spans} == {spans[0]["traceId"]}
    assert [span["name"] for span in spans if "parentSpanId" not in span] == ["invoke_workflow team_building"]
    for span in spans[1:]:
        parent = by_id[span["parentSpanId"]]
        assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        assert int(span["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"])
    with SqlStore.open(runs.path) as store:
        calls = store.calls(runs.meeting)
    chats = [attributes(span) for span in spans if span["name"].startswith("chat ")]
    asked = sorted((call.agent, call.node, str(call.reply_tokens)) for call in calls)
    found = [(c["gen_ai.agent.name"], c["tertulia.node"], c["gen_ai.usage.output_tokens"]) for c in chats]
    assert sorted(found) == asked
    replied = [json.loads(chat["gen_ai.output.messages"])[0]["parts"][0]["content"] for chat in chats]
    assert sorted(replied) == sorted(call.replies[0].text for call in calls)


def test_a_fork_has_spans_of_its_own_turns_and_a_link(export: Callable[..., Any], runs: Rehearsed) -> None:
    parent = spans_of(export(runs.dialogue, "--format", "otel").out)
    fork = spans_of(export(runs.fork, "--format", "otel").out)
    turns = [span["name"] for span in fork if span["name"].startswith("turn ")]
    assert turns == [f"turn {turn.turn}" for turn in runs.store.run(runs.fork).turns][2:]
    assert fork[0]["links"] == [{"traceId": parent[0]["traceId"], "spanId": parent[0]["spanId"]}]
    assert attributes(parent[0])["tertulia.seed"] == str(2**70)


def test_a_fork_is_charged_with_its_own_calls(cli: Cli, export: Callable[..., Any], runs: Rehearsed) -> None:
    both = (runs.dialogue, runs.fork)
    paid = [cli("show", run, "--cost", "--json", "--store", str(runs.path)).json["total"] for run in both]
    log = json.loads(export(*both, "--format", "inspect").out)
    for sample, cost in zip(log["samples"], paid, strict=True):
        assert sum(event["event"] == "model" for event in sample["events"]) == cost["calls"]
        usage = sample["model_usage"]["rehearsal"]
        assert (usage["input_tokens"], usage["output_tokens"]) == (cost["prompt_tokens"], cost["reply_tokens"])
    tokens = sum(cost["prompt_tokens"] for cost in paid)
    assert log["stats"]["model_usage"]["rehearsal"]["input_tokens"] == tokens
    begun = [event["name"] for event in log["samples"][1]["events"] if event["event"] == "span_begin"]
    assert len(begun) == len(runs.store.run(runs.fork).turns)

    export(*both, "--format", "dataset", "--out", "set")
    rows = [json.loads(line) for line in Path("set/calls.jsonl").read_text("utf-8").splitlines()]
    lines = [json.loads(line) for line in export(*both, "--format", "jsonl").out.splitlines()]
    for made in (rows, [line for line in lines if line["kind"] == "call"]):
        assert sum(call["prompt_tokens"] for call in made if not call["inherited"]) == tokens
        assert any(call["inherited"] for call in made)

    export(runs.fork, "--format", "mlflow", "--out", "mlruns")
    (meta,) = Path("mlruns").glob("*/*/meta.yaml")
    times, calls = yaml.safe_load(meta.read_text("utf-8")), runs.store.run(runs.fork).frame("calls")
    seconds = calls.loc[~calls["inherited"], "seconds"].sum()
    assert times["end_time"] - times["start_time"] == pytest.approx(1000 * seconds, abs=2)


def test_a_failed_run_says_so(cli: Cli, runs: Rehearsed) -> None:
    with SqlStore.open(Path("tertulia.db"), create=True):
        pass
    cli("run", "tidewell", "--rehearse", "--rounds", "2")
    with SqlStore.open(Path("tertulia.db")) as store:
        run = store.run("@last").run
        store.set_status(run, "failed", "the server is gone")
    (root, *_) = spans_of(cli("export", run, "--format", "otel").out)
    assert root["status"] == {"code": 2, "message": "the server is gone"}
    log = json.loads(cli("export", run, "--format", "inspect").out)
    assert (log["status"], log["samples"][0]["error"]["message"]) == ("error", "the server is gone")


def test_runs_are_added_to_a_folder_of_mlflow(export: Callable[..., Any], runs: Rehearsed) -> None:
    assert export("--experiment", runs.experiment, "--format", "mlflow", "--out", "mlruns").code == 0
    before = contents(Path("mlruns"))
    assert export(runs.dialogue, "--format", "mlflow", "--out", "mlruns").code == 0
    after = contents(Path("mlruns"))
    assert after.items() > before.items()
    assert len({name.split("/")[0] for name in after}) == 2


def test_figures_are_those_of_measure(export: Callable[..., Any], runs: Rehearsed) -> None:
    (sample,) = json.loads(export(runs.dialogue, "--format", "inspect").out)["samples"]
    figures = {name: score["value"] for name, score in sample["scores"].items()}
    measured = runs.store.run(runs.dialogue).measure()
    assert {"dist1", "dist2", "dist3", "len"} <= figures.keys()
    assert figures == {name: measured[name] for name in figures}


@pytest.mark.parametrize("kind", ["dialogue", "meeting", "album"])
def test_messages_are_what_was_said(export: Callable[..., Any], runs: Rehearsed, kind: str) -> None:
    run = runs.store.run(getattr(runs, kind))
    (sample,) = json.loads(export(run.id, "--format", "inspect").out)["samples"]
    assert [[m["metadata"]["speaker"], m["content"]] for m in sample["messages"]] == said(run)


def test_a_folder_of_sdialog_is_made_with_a_file_per_run(export: Callable[..., Any], runs: Rehearsed) -> None:
    both = (runs.dialogue, runs.meeting)
    names = [f"{run}.json" for run in both]
    result = export(*both, "--format", "sdialog", "--out", "folder", "--json")
    assert result.json["files"] == [f"folder/{name}" for name in names]
    written = contents(Path("folder"))
    assert sorted(written) == sorted(names)
    assert [json.loads(written[name])["id"] for name in names] == list(both)

    assert export(runs.dialogue, "--format", "sdialog", "--out", "one/").code == 0
    assert contents(Path("one")) == {names[0]: written[names[0]]}
    assert runs.store.run(runs.meeting).export("sdialog", "one") == (Path("one") / names[1],)
    assert contents(Path("one")) == written
    export(*both, "--format", "sdialog", "--out", "one").complains(2, f"one/{names[0]} exists already", "--force")
    assert export(*both, "--format", "sdialog", "--out", "one", "--force").code == 0
    assert contents(Path("one")) == written

    assert export(runs.dialogue, "--format", "sdialog", "--out", "one.json").code == 0
    assert Path("one.json").read_bytes() == written[names[0]]
    assert export(runs.dialogue, "--format", "sdialog").out.encode() == written[names[0]]


def test_a_file_of_sdialog_has_one_run(export: Callable[..., Any], runs: Rehearsed) -> None:
    both = (runs.dialogue, runs.meeting, "--format", "sdialog")
    told = "a file of SDialog's has one dialogue, and 2 runs are given; give"
    export(*both, "--out", "both.json").complains(2, f"{told} a folder, such as both")
    export(*both).complains(2, f"{told} --out FOLDER")
    store = runs.store
    chosen = type(store.runs())(store, [store.run(run).record for run in both[:2]])
    with pytest.raises(UsageError, match=f"^{told} a folder, such as both$"):
        chosen.export("sdialog", "both.json")
    Path("file").write_text("mine")
    export(*both, "--out", "file").complains(2, "file is a file; give the name of a folder")
    export(*both, "--out", "none/folder").complains(2, "there is no folder none")
    assert contents(Path()) == {"file": b"mine"}


def test_a_run_in_which_nobody_speaks_leaves_no_folder(cli: Cli, written: str) -> None:
    with SqlStore.open(Path("tertulia.db")) as store:
        store.create_run(a_run("mute"), a_case())
    before = contents(Path())
    cli("export", written, "mute", "--format", "sdialog", "--out", "folder").complains(2, "nobody speaks in run mute")
    assert contents(Path()) == before


@pytest.mark.parametrize("format", ["dialogues", "messages", "sdialog"])
def test_how_a_meeting_opened_stands_beside_what_was_said(cli: Cli, runs: Rehearsed, format: str) -> None:
    run, at = runs.store.run(runs.meeting), ("--store", str(runs.path))
    with SqlStore.open(runs.path) as store:
        start = store.start(runs.meeting)
    assert isinstance(start, Meeting)
    assert start.opening is not None
    assert cli("export", run.id, "--format", format, "--out", "run.json", *at).code == 0
    written = json.loads(Path("run.json").read_text("utf-8"))
    beside = written["notes"]["tertulia"] if format == "sdialog" else written
    assert beside["opening"] == {"speaker": start.opening.speaker, "text": start.opening.text}
    spoken = written[{"dialogues": "dialogue", "messages": "messages", "sdialog": "turns"}[format]]
    assert len(spoken) == len(said(run))
    measured = [cli("metrics", each, "--embedder", "rehearsal", "--json", *at).json for each in ("run.json", run.id)]
    assert measured[0]["cases"] == measured[1]["cases"]
    cli("export", runs.dialogue, "--format", format, "--out", "two.json", *at)
    assert '"opening": null' in Path("two.json").read_text("utf-8")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_a_table_has_a_row_for_each_turn_of_each_run(export: Callable[..., Any], runs: Rehearsed) -> None:
    kinds = (runs.dialogue, runs.fork, runs.meeting, runs.album)
    assert export(*kinds, "--csv", "turns.csv").code == 0
    written = Path("turns.csv").read_bytes().decode()
    rows = table(written)
    assert written.count("\r\n") == len(rows) + 1
    for name in kinds:
        run = runs.store.run(name)
        of_run = [row for row in rows if row["run"] == name]
        assert [[row["speaker"], row["text"]] for row in of_run if row["speaker"]] == said(run)
        assert {row["seed"] for row in of_run} == {str(run.seed)}
        first = run.parent[1] if run.parent else 1  # what came before was made with its parent's λ
        own = {float(row["removal_factor"]) for row in of_run if int(row["turn"]) >= first}
        assert own == {run.parameters.removal_factor}
        if run.parent:
            shared = {float(row["removal_factor"]) for row in of_run if int(row["turn"]) < first}
            assert shared == {runs.store.run(run.parent[0]).parameters.removal_factor}
        assert {row["turn"] for row in of_run} == {str(turn.turn) for turn in run.turns}
    assert export(*kinds, "--csv", "-").out == written
    assert export(*kinds, "--format", "csv").out == written
    (file,) = runs.store.run(runs.dialogue).export("csv", "one.csv")
    assert table(file.read_bytes().decode()) == [row for row in rows if row["run"] == runs.dialogue]
    trials = table(export("--experiment", runs.experiment, "--csv", "-").out)
    assert {(row["case"], row["setting"], row["trial"]) for row in trials} == {
        (f"tidewell:{case}", setting, "1") for case in (0, 1) for setting in ("λ = 0", "λ = 1")
    }


def test_a_long_run_is_read_in_pieces(
    monkeypatch: pytest.MonkeyPatch, export: Callable[..., Any], runs: Rehearsed
) -> None:
    whole = export(runs.dialogue, runs.album, "--csv", "-").out
    read: list[int] = []
    turns = SqlStore.turns

    def noted(self: SqlStore, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        read.append(0 if last is None else last + 1 - first)
        return turns(self, run, first, last)

    monkeypatch.setattr(SqlStore, "turns", noted)
    monkeypatch.setattr("tertulia.views.reading.exchanges._AT_ONCE", 2)
    assert export(runs.dialogue, runs.album, "--csv", "-").out == whole
    assert set(read) == {2}


# --- lines that a person wrote ----------------------------------------------------------------------------------------


def test_inspect_is_told_which_lines_a_person_wrote(cli: Cli, written: str) -> None:
    (sample,) = json.loads(cli("export", written, "--format", "inspect").out)["samples"]
    told = [(message["source"], message["metadata"]["origin"]) for message in sample["messages"]]
    assert told == [("generate", "drawn"), ("operator", "by_hand"), ("operator", "by_hand")]
    (choice,) = sample["output"]["choices"]
    assert (choice["message"]["source"], choice["message"]["model"]) == ("operator", None)
    assert [each["data"]["origin"] for each in sample["events"] if each["event"] == "info"] == [
        "drawn",
        "by_hand",
        "by_hand",
    ]


def test_spans_tell_which_lines_a_person_wrote(cli: Cli, written: str) -> None:
    spans = spans_of(cli("export", written, "--format", "otel").out)
    turns = [attributes(span) for span in spans if span["name"].startswith("turn ")]
    assert [turn["tertulia.origin"] for turn in turns] == ["drawn", "by_hand", "by_hand"]


def test_words_that_a_fork_says_are_a_persons(cli: Cli, runs: Rehearsed) -> None:
    shutil.copy(runs.path, "tertulia.db")
    said_by_hand = tt.open_store("tertulia.db").run(runs.meeting).fork(at=2, say="To the lake.", progress=False)
    (sample,) = json.loads(cli("export", said_by_hand.id, "--format", "inspect").out)["samples"]
    assert {m["content"]: m["source"] for m in sample["messages"]}["To the lake."] == "operator"
    assert [m["source"] for m in sample["messages"]].count("operator") == 1
