"""Dialogues in the formats of others: what is written is read, and what others write is too."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stored import a_run

from tertulia.state.errors import UsageError
from tertulia.views.measuring.dialogue_file import read_dialogues
from tertulia.views.measuring.dialogue_formats import FileDialogue, as_dialogue, as_messages, as_sdialog

#: A dialogue as SDialog 0.4 writes it, over several lines.
SDIALOG = {
    "version": "0.4.2",
    "timestamp": "2025-11-25T15:02:07Z",
    "model": {"name": "m", "temperature": 0.6},
    "seed": 1,
    "id": "ef04df71",
    "parentId": None,
    "complete": False,
    "personas": {"Agent": {"name": "Michael"}},
    "context": None,
    "scenario": {"place": "shop", "about": "a kettle"},
    "turns": [{"speaker": "Agent", "text": "Hello."}, {"speaker": None, "text": "Hm."}, {"speaker": None, "text": " "}],
    "events": [{"agent": "Agent", "action": "utter", "content": "Hello.", "timestamp": 1}],
    "notes": "none",
}
MESSAGES = {
    "messages": [
        {"role": "system", "content": "Be short."},
        {"role": "user", "name": "Ana", "content": "Hello."},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}, {"type": "image"}, {"text": "there."}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "user", "content": [{"type": "text", "text": " "}]},
        {"role": "tool", "content": "42"},
    ]
}
LINE = {"case": "a", "dialogue": [["Ana", "Hello."]]}


def write(path: Path, *lines: object, indent: int | None = None) -> Path:
    path.write_text("".join(f"{json.dumps(line, indent=indent)}\n" for line in lines), encoding="utf-8")
    return path


dialogues = st.lists(
    st.tuples(st.text(min_size=1, max_size=5), st.text(min_size=1, max_size=20).filter(str.strip)),
    min_size=1,
    max_size=5,
)


@given(dialogue=dialogues, rehearsed=st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, dialogue: list[tuple[str, str]], rehearsed: bool
) -> None:
    run = a_run(scenario="tidewell:3", rehearsed=rehearsed)
    path = tmp_path_factory.getbasetemp() / "formats.json"
    found = []
    for entry in (as_dialogue(run, dialogue), as_messages(run, dialogue), as_sdialog(run, dialogue, {})):
        (read,) = read_dialogues(write(path, entry, indent=2))
        assert (read.case, list(read.dialogue), read.rehearsed) == ("tidewell:3", dialogue, rehearsed)
        found.append(read.run)
    assert found[0] is not None
    assert found[0].model_dump() == run.model_dump(include=set(type(found[0]).model_fields))
    assert found[1:] == found[:1] * 2


def test_a_dialogue_of_sdialog(tmp_path: Path) -> None:
    (read,) = read_dialogues(write(tmp_path / "a.json", SDIALOG, indent=2))
    case = '{"about": "a kettle", "place": "shop"}'
    assert read == FileDialogue(case, [("Agent", "Hello."), ("", "Hm.")], False, None)
    nameless = {"turns": SDIALOG["turns"]}
    assert next(read_dialogues(write(tmp_path / "b.json", nameless, indent=2))).case == tmp_path.name
    several = [read.case for read in read_dialogues(write(tmp_path / "c.jsonl", nameless, nameless))]
    assert several == ["c", "c"]
    listed = write(tmp_path / "d.json", [SDIALOG, SDIALOG], indent=2)
    assert (
        len(list(read_dialogues(listed))) == len(list(read_dialogues(write(tmp_path / "e.json", [SDIALOG] * 2)))) == 2
    )


def test_chat_messages(tmp_path: Path) -> None:
    path = write(tmp_path / "chats.jsonl", MESSAGES, {**MESSAGES, "case": 3})
    dialogue = [("Ana", "Hello."), ("assistant", "Hi\nthere.")]
    assert list(read_dialogues(path)) == [FileDialogue("chats", dialogue), FileDialogue("3", dialogue)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"turns": 3}], r"line 1: turns 3 is not a list; a dialogue of SDialog is"),
        ([{"turns": [{"speaker": "Ana"}]}], r"line 1: turns\[0\] \{'speaker': 'Ana'\} has no text"),
        ([{"turns": [{"speaker": 1, "text": "Hm."}]}], r"turns\[0\] \{'speaker': 1, 'text': 'Hm.'\} has no text"),
        ([{"turns": []}], r"line 1: nobody speaks in this dialogue"),
        ([MESSAGES, {"messages": [{"content": "Hm."}]}], r"line 2: messages\[0\] .* is no object with a role"),
        ([{"messages": [{"role": "user", "content": 1}]}], r"messages\[0\] .*: name or content is not a text"),
        ([{"messages": [{"role": "user", "name": 1, "content": "Hm."}]}], r"messages\[0\] .*: name or content"),
        ([{"messages": MESSAGES["messages"][:1]}], r"line 1: nobody speaks in these messages"),
        ([{"messages": None}], r"line 1: messages None is not a list"),
        ([LINE, MESSAGES], r"line 2: case is missing"),
        ([MESSAGES, LINE], r"line 2: messages None is not a list"),
        ([[LINE, 3]], r"entry 2: 3 is not an object"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, lines: list[Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        list(read_dialogues(write(tmp_path / "d.jsonl", *lines)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n\n  "turns": [}\n', r"d.json line 3, column \d+: broken JSON"),
        ('[\n {"turns": []\n', r"d.json line 2, column \d+: broken JSON"),
        ("[\n", r"d.json line 1, column \d+: broken JSON"),
        ("[\n" * 5000, r"d.json: broken JSON"),
        ('[{"turns": []}]\n{}\n', r"d.json line 2, column 1: broken JSON"),
        ("[]\n", r"d.json line 1: \[\] is not an object"),
    ],
)
def test_a_broken_document_is_told_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "d.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=expected):
        list(read_dialogues(path))
