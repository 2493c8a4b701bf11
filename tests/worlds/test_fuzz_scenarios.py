"""Damaged scenario files and logs are read, or refused in a line that names the file; fast, and without executing."""

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.commands import Cli
from support.ga_builder import RunBuilder, event

from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.state.errors import TertuliaError
from tertulia.state.parameters import Parameters
from tertulia.worlds.catalog import MEETINGS, extensions_of, list_cases, resolve, settings_of
from tertulia.worlds.scenario_file import scenario_schema

pytestmark = pytest.mark.full

fuzzed = settings(
    max_examples=2000 if settings.default.max_examples >= 2000 else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

#: More than reading any file of this size may take, in seconds of this process.
LIMIT_S = 2.0

DUO = """\
name: the lost key
time: 2024-05-14 09:30:00
place: kitchen at the youth hostel
participants:            # the first begins
  - name: Ida Falk
    age: 31
    traits: patient, wry
    activity: emptying the drawers
    memories:
      - Ida Falk has had the only spare key since March.
      - {text: Ida Falk saw a key on the stairs, time: 2024-05-14 08:55:00, importance: 7, kind: event}
  - name: Jonas Brandt
    memories: [Jonas Brandt came home without his coat.]
previous_dialogues:
  - time: 2024-05-13 20:00:00
    lines:
      - [Jonas Brandt, "Is the door locked?"]
parameters: {removal_factor: 0.3, judge: rating}
"""
SOURCES = (DUO, *(at.read_text(encoding="utf-8") for at in MEETINGS.values()))
FIELDS = sorted(
    {name for part in scenario_schema(tuple(MECHANISMS))["$defs"].values() for name in part.get("properties", {})}
    | set(Parameters.model_fields)
)

LAUGHS = "\n".join(
    ["l0: &l0 ha", *(f"l{at + 1}: &l{at + 1} [{', '.join([f'*l{at}'] * 9)}]" for at in range(9)), "memories: *l9", ""]
)
#: What may stand in the place of a value.
VALUES = (
    "", "~", "null", "true", "no", "0", "-1", "1e999", ".inf", "-.inf", ".nan", "1_000", "0x7fffffffffffffff",
    "9" * 5000, "12:30:45", "2024-02-30 12:00:00", "9999-12-31 23:59:59", "0001-01-01", "2024-05-14T09:30:00Z", "[]",
    "{}", "[[]]", "{a: {b: c}}", "*nobody", "&a [*a]", "&a {b: *a}", "{<<: *a}", "<<: {name: x}", "? [a, b]",
    "!!binary aGk=", "!!set {a}", "!!python/object/apply:os.system ['touch executed']", "!!python/name:os.system",
    "!!python/object/new:os.system [x]", "!!timestamp x", "!!float x", "!!int x", "!!omap [a: b]", "!local x", "! x",
    "!<tag:x> y", "|", ">-", "'", '"', '"\\ud800"', '"\\0"', '"\\e[2J\\x9b"', '"\\u202e"', "'\\x1b[2J'", "%YAML 9.9",
    "---", "...", "\t", "@x", "`x`", "[" * 3000, "{a: " * 3000, "[" * 60 + "]" * 60, "x" * 100_000, "Ida Falk",
    "group_chat", "[1, 2]", "[0.0, 1e308]", "[nan, 1]", "./x.py", "/etc/passwd", "../x.py", "smollm2",
    "no_such_model",
)  # fmt: skip
VALUE = re.compile(r"(?<=[:\-\[,]) [^:,\[\]{}\n]+")
INSERTED = (b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[2J", b"\xc2\x9b", b"\t", b":", b"\n", b'"')
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp037", "utf-7")

keys = st.text(max_size=5) | st.sampled_from(FIELDS)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from((*VALUES, *FIELDS))
)
plain_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


def damage_bytes(content: bytes, drawn: random.Random) -> bytes:
    """Change bytes of a file: flipped, inserted, cut out, doubled, cut off, in another encoding."""
    for _ in range(drawn.choice((1, 1, 2, 10))):
        first = drawn.randrange(len(content) + 1)
        last = min(len(content), first + drawn.choice((1, 1, 4, 60, 4000)))
        piece = content[first:last]
        pieces = (
            bytes(byte ^ 1 << drawn.randrange(8) for byte in piece[:1]) + piece[1:],
            drawn.randbytes(drawn.choice((1, 3, 50))) + piece,
            b"",
            piece * drawn.choice((2, 2, 50)),
            drawn.choice(INSERTED) + piece,
        )
        how = drawn.randrange(7)
        if how < len(pieces):
            content = content[:first] + pieces[how] + content[last:]
        elif how == 5:
            content = content[:first]
        elif drawn.random() < 0.2:
            content = content.decode("utf-8", "replace").encode(drawn.choice(ENCODINGS), "replace")
    return content


def damage_lines(text: str, drawn: random.Random) -> str:
    """Change lines of a file: values replaced, lines lost, doubled, moved, indented, anchors and bombs put in."""
    lines = text.splitlines(keepends=True)
    for _ in range(drawn.choice((1, 1, 2, 5))):
        at = drawn.randrange(len(lines))
        how = drawn.randrange(8)
        if how <= 2:
            values = list(VALUE.finditer(lines[at])) or [re.compile(r"$").search(lines[at].rstrip("\n"))]
            found = drawn.choice(values)
            if found is not None:
                value = drawn.choice(VALUES)
                lines[at] = f"{lines[at][: found.start()]} {value}{lines[at][found.end() :]}"
        elif how == 3:
            lines[at] = drawn.choice(("", lines[at] * 2, lines[at] * 50))
        elif how == 4:
            lines.insert(drawn.randrange(len(lines)), lines[at])
        elif how == 5:
            lines[at] = " " * drawn.randrange(9) + lines[at].lstrip()
        elif how == 6:
            lines[at] = re.sub(r"\w+(?=:)", drawn.choice(FIELDS), lines[at], count=1)
        else:
            lines.insert(at, drawn.choice((LAUGHS, "--- x\n", f"{drawn.choice(FIELDS)}: {drawn.choice(VALUES)}\n")))
    return "".join(lines)


def damage_values(values: Any, drawn: random.Random, replacement: Any) -> Any:
    """Change a single place of a document: its value, its key, its number, its depth."""
    if isinstance(values, dict) and values and drawn.random() < 0.85:
        key = drawn.choice(list(values))
        how = drawn.randrange(8)
        if how == 0:
            return {name: value for name, value in values.items() if name != key}
        if how == 1:
            return {drawn.choice(FIELDS) if name == key else name: value for name, value in values.items()}
        if how == 2:
            return values | {drawn.choice(FIELDS): replacement}
        return values | {key: damage_values(values[key], drawn, replacement)}
    if isinstance(values, list) and values and drawn.random() < 0.85:
        at = drawn.randrange(len(values))
        if drawn.random() < 0.2:
            return values * drawn.choice((0, 2, 30))
        return [*values[:at], damage_values(values[at], drawn, replacement), *values[at + 1 :]]
    if drawn.random() < 0.1:
        for _ in range(drawn.choice((3, 60))):
            values = drawn.choice(([values], {"a": values}))
        return values
    return drawn.choice((replacement, replacement, values, str(values), [values], {str(values): values}))


#: Everything that a file is read for, as `tertulia run` does it.
def read(scenario: str) -> None:
    extensions_of(scenario)
    Parameters().with_settings(settings_of(scenario, tuple(MECHANISMS)))
    start = resolve(scenario, tuple(MECHANISMS))
    assert type(start).model_validate_json(start.model_dump_json()) == start


def check(reading: Callable[[], object], named: str) -> bool:
    """Whether it reads; if not, a short line names the file, and comes fast."""
    started = time.process_time()
    try:
        reading()
        reads = True
    except TertuliaError as error:
        reads = False
        message = str(error)
        assert len(message.splitlines()) == 1
        assert named in message
        assert len(message) < 1500
    assert time.process_time() - started < LIMIT_S
    return reads


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check_file(content: bytes, cli: Cli, drawn: random.Random) -> None:
    Path("damaged.yaml").write_bytes(content)
    reads = check(lambda: read("damaged.yaml"), "damaged.yaml")
    if reads or drawn.random() < 0.05:
        result = cli("run", "damaged.yaml", "--rehearse", "--rounds", "1", "--set", "max_turns=1")
        assert result.code in ((0, 1, 2) if reads else (2, 3)), result
        assert (result.code == 0) == (not re.search("^error: ", result.err, re.MULTILINE)), result
        assert not re.search(r"\(in \S+\.py, line \d+\)", result.err), result.err  # an error that nobody foresaw
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", result.out + result.err)
        for old in Path().glob("tertulia.db*"):
            old.unlink()
    assert not Path("executed").exists()


@fuzzed
@given(source=st.sampled_from(SOURCES), seed=st.integers(0, 2**64), lines=st.booleans())
def test_a_damaged_file_is_told_or_read(cli: Cli, source: str, seed: int, lines: bool) -> None:
    drawn = random.Random(seed)
    content = damage_lines(source, drawn) if lines else source
    damaged = content.encode("utf-8", "surrogatepass")
    check_file(damaged if lines else damage_bytes(damaged, drawn), cli, drawn)


@fuzzed
@given(
    source=st.sampled_from(SOURCES),
    seed=st.integers(0, 2**64),
    replacements=st.lists(plain_values, min_size=1, max_size=3),
)
def test_a_file_with_other_values_is_told_or_read(cli: Cli, source: str, seed: int, replacements: list[Any]) -> None:
    drawn = random.Random(seed)
    values = yaml.load(source, yaml.BaseLoader)
    for replacement in replacements:
        values = damage_values(values, drawn, replacement)
    check_file(json.dumps(values).encode(), cli, drawn)


@fuzzed
@given(seed=st.integers(0, 2**64), replacement=plain_values, which=st.integers(0, 3), in_bytes=st.booleans())
@example(seed=2, replacement={"\x1e": None}, which=0, in_bytes=False)  # a key that breaks a line
def test_a_damaged_log_is_told_or_read(folder: Path, seed: int, replacement: Any, which: int, in_bytes: bool) -> None:
    drawn = random.Random(seed)
    run = RunBuilder(folder / "log")
    run.person("Ida Falk", event("08:00:00", "Ida Falk", "baking"), event("08:30:00", "Ida Falk", "reading"))
    run.person("Jonas Brandt", event("08:10:00", "Jonas Brandt", "sleeping"))
    run.talk("09:00:00", "Ida Falk", "Jonas Brandt", [["Ida Falk", "Good morning."], ["Jonas Brandt", "Is it?"]])
    run.step("08:50:00", "Ida Falk", "reading @ the hostel:kitchen:table")
    at = run.write()
    files = (
        run.file("Ida Falk", "nodes"),
        run.file("Jonas Brandt", "scratch"),
        at / "master_movement.json",
        at / "meta.json",
    )
    content = files[which].read_bytes()
    if in_bytes:
        files[which].write_bytes(damage_bytes(content, drawn))
    else:
        files[which].write_text(json.dumps(damage_values(json.loads(content), drawn, replacement)))
    check(lambda: list_cases(f"ga:{at}"), str(at))
    check(lambda: resolve(f"ga:{at}"), str(at))
