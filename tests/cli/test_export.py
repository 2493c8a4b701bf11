"""`export`: every record in JSON lines, a transcript that no text can break, and never half a file."""

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from support.commands import Cli
from support.group_stored import NAMES, ROUNDS, a_meeting, write_meeting
from support.stored import a_run
from support.town_stored import write_town

from tertulia.state.cognition import Call
from tertulia.state.records import RunRecord, Turn, TurnRecord
from tertulia.state.store import Store
from tertulia.state.text import clean
from tertulia.storage.store import SqlStore
from tertulia.views.wording.transcript import escaped, transcript

RUN = "m33t"
ADA, BEN, CLEO, DEV = NAMES


@pytest.fixture
def store(cli: Cli) -> Iterator[SqlStore]:
    """The store of this folder, with a meeting; `cli` has gone to the folder."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        write_meeting(opened, RUN)
        yield opened


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# --- JSON lines -----------------------------------------------------------------------------------------------------


def test_every_record_is_a_line(cli: Cli, store: SqlStore) -> None:
    result = cli("export", RUN, "--jsonl", "run.jsonl")
    assert (result.code, result.out, result.err) == (0, "", "wrote run.jsonl\n")
    text = Path("run.jsonl").read_text(encoding="utf-8")
    lines = lines_of(text)
    shown = cli("show", RUN, "--json").json
    del shown["turns"]  # which are lines of their own
    assert lines[0]["kind"] == "run"
    assert lines[0].items() >= shown.items()
    assert [line for line in lines if line["kind"] == "turn"] == [
        {"kind": "turn", **cli("show", RUN, "--turn", number, "--json").json} for number in range(1, ROUNDS + 1)
    ]
    characters = cli("show", RUN, "--turn", 0, "--json").json["characters"]
    assert [line for line in lines if line["kind"] == "character"] == [
        {"kind": "character", **character} for character in characters
    ]
    (start,) = [line for line in lines if line["kind"] == "start"]
    assert [participant["persona"]["name"] for participant in start["participants"]] == list(NAMES)
    assert cli("export", RUN, "--jsonl", "-").out == text


def test_every_call_is_there_with_its_prompt(cli: Cli, store: SqlStore) -> None:
    lines = lines_of(cli("export", RUN, "--jsonl", "-").out)
    calls = [line for line in lines if line["kind"] == "call"]
    assert len(calls) == len(store.calls(RUN)) > ROUNDS
    assert {call["round"] for call in calls} == set(range(ROUNDS + 2))  # that of the round that never ended too
    told: dict[str, list[str]] = {}
    for line in lines:
        if line["kind"] == "prompt":
            assert line["prompt"] not in told
            told[line["prompt"]] = [unit["text"] for unit in line["units"]]
        elif line["kind"] == "call":
            assert told[line["prompt"]][0] == f"You are {line['agent']}."
            assert line["asked_for"] == "generate"
            assert line["replies"][0]["fields"]


# --- a table ----------------------------------------------------------------------------------------------------------


def test_a_run_that_goes_on_is_exported_as_it_was_at_one_moment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from tertulia.runs.files import exporting

    cli("run", "team_building", "--rehearse", "--rounds", "4", "--max-calls", "20")
    calls_and_payers = exporting.calls_and_payers

    def meanwhile(store: Store, run: RunRecord) -> Iterator[tuple[Call, bool]]:
        found = [*calls_and_payers(store, run)]
        if (done := cli("resume", run.run, "--max-calls", "1000")).code:
            raise AssertionError(done.err)
        return iter(found)

    before = cli("show", "@last", "--json").json
    monkeypatch.setattr(exporting, "calls_and_payers", meanwhile)
    cli("export", "@last", "--jsonl", "run.jsonl")
    turns = [line["turn"] for line in lines_of(Path("run.jsonl").read_text(encoding="utf-8")) if line["kind"] == "turn"]
    assert turns == [turn["turn"] for turn in before["turns"]]
    assert len(cli("show", "@last", "--json").json["turns"]) > len(turns)


def test_a_town_is_a_table_of_its_conversations(cli: Cli, store: SqlStore) -> None:
    town = write_town(store).simulation
    conversed = [met.run for met in store.simulations.encounters(town) if met.run]
    rows = list(csv.DictReader(StringIO(cli("export", town, "--csv", "-").out, newline="")))
    assert list(dict.fromkeys(row["run"] for row in rows)) == conversed
    cli("export", "n0ne", "--csv", "-").complains(3, "no run 'n0ne'")


# --- the transcript -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("store")
def test_a_transcript(cli: Cli) -> None:
    lines = cli("export", RUN, "--markdown", "-").out.splitlines()
    assert lines[:5] == [
        "# The summer day",
        "",
        "Thursday 12 June 2025, 14:59 to 15:29, the small meeting room",
        "",
        "**What it is about:** Four colleagues look for a place and a date.",
    ]
    assert "- **Ada**: plans the summer day" in lines
    assert "- **Ben**, until 15:00" in lines
    said = lines[lines.index("## The conversation") + 1 : lines.index("## What it was made with")]
    assert [line for line in said if line] == [
        "`14:59:40` **Ada:** Good that you are here.",
        "`14:59:42` **Ada:** Shall we look for a place for the summer day?",
        "`14:59:49` **Ben:** Cleo, do you still have the list of last year?",
        "`14:59:53` *… ten seconds of silence*",
        "`15:00:07` **Cleo:** I have it here. The lake was the favourite.",
        "`15:00:10` Dev joins",
        "`15:00:12` **Dev:** Sorry that I am late. The lake again?",
        "`15:00:15` *… ten seconds of silence*",
        "`15:00:20` Ben leaves: a call at half past",
        "`15:00:26` **Ada:** Then let us settle on the lake, on the 20th.",
    ]
    assert "- removal factor: 0.5" in lines
    assert "**Not at its end:** the run is running" in lines
    assert not [line for line in lines if "Rehearsed" in line]


#: Text that means something to somebody: to Markdown, to HTML, to those who look for addresses.
MARKS = "a1 \\`*_{}[]()<>#+-.!|~&:/@$^=\"'\n\t\r\x1b\u2028\x00é"
KNOWN = [
    *("# heading", "- item", "1. item", "> quote", "---", "===", "```\ncode\n```", "~~~", "    code", "- [ ] todo"),
    *(
        "<b>x</b>",
        "<!-- x",
        "<script>alert(1)</script>",
        "&lt;b&gt;",
        "**bold**",
        "_it_",
        "~~gone~~",
        "$x$",
        "\\",
        "a\\",
    ),
    *("[a](http://x.example)", "![a](b)", "[^1]: note", "[a]: /b", "| a | b |\n|---|---|", "``", "`a", "a  \nb"),
    *("<http://x.example>", "http://x.example/?a=1&b=`2`", "www.x.example", "a@x.example", "mailto:a", "x.example/a"),
]
HOSTILE = st.text(MARKS, max_size=30) | st.sampled_from(KNOWN)

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or []]


@given(HOSTILE)
def test_escaped_text_reads_as_it_is(text: str) -> None:
    """Every reader of Markdown shows the text, on one line, and sees nothing in it but text and code."""
    tokens = PARSER.parse(f"**Ada:** {escaped(text)}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    opening, name, closing, *rest = [token for token in inline(tokens) if token.content or token.type != "text"]
    assert (opening.type, name.content, closing.type) == ("strong_open", "Ada:", "strong_close")
    assert {token.type for token in rest} <= {"text", "code_inline"}
    assert "".join(token.content for token in rest).split() == clean(text).split()  # HTML shows spaces in a row as one


@given(HOSTILE)
def test_nothing_outside_code_looks_like_an_address(text: str) -> None:
    outside = [token.content for token in inline(PARSER.parse(f"x {escaped(text)}")) if token.type == "text"]
    assert not re.search(r"://|www\.|@|mailto:|[a-z]\.example", " ".join(outside), re.IGNORECASE)


@settings(max_examples=settings.default.max_examples // 3)  # each writes a store
@given(HOSTILE.filter(lambda text: clean(text) not in ("", *NAMES)), HOSTILE)
def test_no_text_changes_the_structure_of_a_transcript(name: str, text: str) -> None:
    def structure(name: str, text: str) -> list[str]:
        with SqlStore.open(":memory:") as store:
            names = (name, BEN, CLEO, DEV)
            meeting = a_meeting(names).model_copy(update={"title": text, "description": text, "place": text or None})
            store.create_run(a_run(RUN, kind="group_chat", scenario=text, error=text or None), meeting)
            for number, speaker in enumerate(names, start=1):
                turn = Turn(turn=number, round=number, speaker=speaker, text=text, sim_time_s=number, ended=False)
                store.save_turn(RUN, TurnRecord(turn=turn))
            lines = list(transcript(store, store.run(RUN), meeting, thoughts=True))
        tokens = PARSER.parse("\n".join(lines))
        assert {token.type for token in inline(tokens)} <= {
            "text", "code_inline", "strong_open", "strong_close", "em_open", "em_close", "softbreak"
        }  # fmt: skip
        return [token.type for token in tokens]

    assert structure(name, text) == structure("Ada", "Hello." if clean(text) else "")


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("store")
def test_a_file_is_overwritten_on_demand_alone(cli: Cli) -> None:
    Path("run.md").write_text("mine")
    cli("export", RUN, "--jsonl", "run.jsonl", "--markdown", "run.md").complains(2, "run.md", "--force")
    assert Path("run.md").read_text() == "mine"
    assert not Path("run.jsonl").exists()
    assert cli("export", RUN, "--markdown", "run.md", "--force").code == 0
    assert Path("run.md").read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.usefixtures("store")
def test_never_half_a_file(cli: Cli, monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> None:
    def broken(*_: object) -> Iterator[str]:
        yield "# The summer day"
        raise problem

    Path("run.md").write_text("mine")
    before = sorted(Path().iterdir())
    monkeypatch.setattr("tertulia.cli.commands.export.transcript", broken)
    result = cli("export", RUN, "--markdown", "run.md", "--force")
    if isinstance(problem, OSError):
        result.complains(1, "run.md: No space left on device")
    assert result.code == (1 if isinstance(problem, OSError) else 130)
    assert "Traceback" not in result.err
    assert Path("run.md").read_text() == "mine"
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("store")
def test_a_device_is_written_to_and_not_replaced(cli: Cli) -> None:
    assert cli("export", RUN, "--markdown", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
    cli("export", RUN, "--markdown", "/dev/full").complains(1, "/dev/full: No space left on device")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((RUN,), 2, ["--jsonl FILE", "--markdown FILE"]),
        (("zz99", "--jsonl", "run.jsonl"), 3, ["'zz99'"]),
        ((RUN, "--jsonl", "."), 2, [". is a folder"]),
        ((RUN, "--jsonl", "none/run.jsonl"), 2, ["none/run.jsonl", "no folder none"]),
        ((RUN, "--jsonl", "run", "--markdown", "./run"), 2, ["both run"]),
        ((RUN, "--jsonl", "-", "--markdown", "-"), 2, ["both -"]),
        ((RUN, "--jsonl", "-", "--json"), 2, ["standard output"]),
        ((RUN, "--jsonl", "run.jsonl", "--thoughts"), 2, ["--markdown"]),
        ((RUN, "--jsonl", "tertulia.db/run.jsonl"), 2, ["tertulia.db/run.jsonl"]),
        ((RUN, "--jsonl", "tertulia.db", "--force"), 2, ["tertulia.db is the store"]),
    ],
)
@pytest.mark.usefixtures("store")
def test_bad_requests(cli: Cli, arguments: tuple[str, ...], code: int, words: list[str]) -> None:
    before = {file: file.stat().st_size for file in Path().iterdir()}
    result = cli("export", *arguments)
    result.complains(code, *words)
    assert result.out == ""
    assert {file: file.stat().st_size for file in Path().iterdir()} == before
