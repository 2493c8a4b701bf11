"""Files that block, never end, or grow when they are read: told in one line, fast, whatever they are handed over as."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cpu_time import cpu_time_below

from tertulia.state.errors import TertuliaError
from tertulia.state.files import open_regular
from tertulia.views.measuring.dialogue_file import read_dialogues
from tertulia.views.measuring.scores import read_prompt
from tertulia.worlds.catalog import TOWNS, list_cases, resolve
from tertulia.worlds.villagers_file import read_villagers
from tertulia.worlds.yaml_file import MAX_VALUES, MOST_BYTES, YamlFile

ROOT = Path(__file__).parents[2]

#: More than reading any such file may take, in seconds of this process; two of them on a slow machine.
LIMIT_S = 4.0

DUO = """\
name: the lost key
time: 2024-05-14 09:30:00
participants:
  - {name: Ida Falk, age: 31, memories: [{text: Ida saw a key., importance: 7}]}
  - {name: Jonas Brandt, memories: [Jonas came home.]}
"""


def a_town(at: Path) -> Path:
    """Copy the shipped town, to be damaged."""
    for file in TOWNS["tidewell"].rglob("*.json"):
        copy = at / file.relative_to(TOWNS["tidewell"])
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return at


def a_pipe(at: Path) -> None:
    os.mkfifo(at)


def a_device(at: Path) -> None:
    at.symlink_to("/dev/zero")


def a_folder(at: Path) -> None:
    at.mkdir()


def a_giant(at: Path) -> None:
    at.touch()
    os.truncate(at, 2**40)


HARMFUL = [
    (a_pipe, "it is a pipe, not a regular file; save the content"),
    (a_device, "it is a device, not a regular file"),
    (a_folder, "Is a directory"),
    (a_giant, "MB, the most that is read"),
]
#: Reads files in a process of its own: what blocks would block the tests.
READING = """
import resource, sys
from pathlib import Path
from tertulia.views.measuring.dialogue_file import read_dialogues
from tertulia.state.errors import TertuliaError
from tertulia.views.measuring.scores import read_prompt
from tertulia.worlds.catalog import resolve
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
list_of_dialogues = lambda at: list(read_dialogues(at))
for at in sys.argv[1:]:
    try:
        {}
    except TertuliaError as error:
        print(error)
"""


def read_elsewhere(expression: str, *files: Path) -> list[str]:
    """Return the message about each file, read in another process with 4 GB of memory and 30 seconds."""
    command = [sys.executable, "-c", READING.format(expression), *map(str, files)]
    read = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    return read.stdout.splitlines()


@pytest.mark.parametrize(
    ("reading", "kinds"),
    [
        ("resolve(at)", HARMFUL),
        ("(read_prompt if at[-6] < '3' else list_of_dialogues)(Path(at))", HARMFUL[1:] * 2),
    ],
    ids=["scenario", "prompt and dialogues"],
)
def test_only_regular_files_up_to_a_size_are_read(
    tmp_path: Path, reading: str, kinds: list[tuple[Callable[[Path], None], str]]
) -> None:
    files = [tmp_path / f"harm{number}.yaml" for number in range(len(kinds))]
    for at, (make, _) in zip(files, kinds, strict=True):
        make(at)
    for line, at, (_, words) in zip(read_elsewhere(reading, *files), files, kinds, strict=True):
        assert str(at) in line
        assert words in line


def test_so_are_those_of_a_log(tmp_path: Path) -> None:
    harm = [("nodes.json", *kind) for kind in HARMFUL]
    harm += [("scratch.json", *HARMFUL[0]), ("spatial_memory.json", *HARMFUL[1]), ("meta.json", *HARMFUL[0])]
    harm += [("master_movement.json", *HARMFUL[3])]
    towns, files = [], []
    for number, (name, make, _) in enumerate(harm):
        towns.append(a_town(tmp_path / f"town{number}"))
        files.append(next(towns[-1].rglob(name)))
        files[-1].unlink()
        make(files[-1])
    for line, at, (_, _, words) in zip(read_elsewhere('resolve("ga:" + at)', *towns), files, harm, strict=True):
        assert str(at) in line
        assert words in line


def test_measuring_reads_what_another_command_writes_up_to_a_size(tmp_path: Path) -> None:
    writing = r"""{ sleep 0.2; printf '{"case": "a", "dialogue": [["Ida", "Hello."]]}\n'; }"""
    environment = {**os.environ, "CODE": READING.format("print(list_of_dialogues(Path(at)))")}
    command = f'"{sys.executable}" -c "$CODE" <({writing}) <(yes \'{{"case": 1}}\') <(cat /dev/zero)'
    shell = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=30, check=True
    )
    for line, words in zip(shell.stdout.splitlines(), ("Hello.", "line 1", "more than 16 MB"), strict=True):
        assert words in line


def test_a_file_that_becomes_a_pipe_while_it_is_opened_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    a_pipe(tmp_path / "pipe")
    regular = os.stat(tmp_path / "file")
    monkeypatch.setattr(os, "stat", lambda path: regular)
    with pytest.raises(OSError, match="it is a pipe"), open_regular(tmp_path / "pipe", 10):
        pass


# --- what grows, and what is long -------------------------------------------------------------------------------------


def refused(reading: Callable[[], object], at: Path, *words: str) -> None:
    """Assert that reading fails with a short line about the file, and fast."""
    with cpu_time_below(LIMIT_S), pytest.raises(TertuliaError) as raised:
        reading()
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    assert len(message) < 1000
    for word in (str(at), *words):
        assert word in message


def nested(levels: int, width: int, before: str) -> str:
    """Return mappings of which each merges the one before, so many times."""
    lines = ["a0: &a0 {x: 1, y: 2}"]
    for level in range(levels):
        merged = ", ".join([f"*a{level}"] * width)
        lines.append(f"a{level + 1}: &a{level + 1} {{{before}: [{merged}], z{level}: 1}}")
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(
    ("before", "levels", "width"), [("<<", 9, 9), ("same", 9, 9), ("<<", 30, 2), ("same", 30, 2), ("<<", 2, 2000)]
)
def test_values_that_aliases_and_merge_keys_repeat_are_counted(
    tmp_path: Path, before: str, levels: int, width: int
) -> None:
    at = tmp_path / "bomb.yaml"
    at.write_text(nested(levels, width, before) + DUO)
    refused(lambda: resolve(str(at)), at, f"more than {MAX_VALUES:,} values")


def test_what_the_schema_allows_to_repeat_is_counted_too(tmp_path: Path) -> None:
    at = tmp_path / "bomb.yaml"
    goal = f"&g {{goal: a, sub_goals: [{', '.join(['b'] * 2000)}]}}"
    people = "\n".join(f"  - {{name: P{n}, goals: *goals}}" for n in range(2, 60))
    at.write_text(
        "kind: group_chat\nname: x\ntime: 2024-05-14 09:30:00\nparticipants:\n"
        f"  - {{name: P1, goals: &goals [{goal}, {', '.join(['*g'] * 2000)}]}}\n{people}\n"
    )
    refused(lambda: resolve(str(at)), at, f"more than {MAX_VALUES:,} values")


@pytest.mark.parametrize("content", ["a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n", "&a [[[*a]]]\n"])
def test_a_value_that_contains_itself_is_refused(tmp_path: Path, content: str) -> None:
    at = tmp_path / "circle.yaml"
    at.write_text(content)
    refused(lambda: resolve(str(at)), at, ":1: not YAML: a value contains itself")


def test_aliases_and_merge_keys_are_read_as_ever(tmp_path: Path) -> None:
    at = tmp_path / "merged.yaml"
    at.write_text("base: &base {x: 1, y: 2}\nmore: {<<: *base, y: 3}\nsame: [*base, *base]\n")
    values = YamlFile.read(at).values
    assert values == {"base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}, "same": [{"x": 1, "y": 2}] * 2}


MANY = 300_000
NUMBERS = {
    "decimal": "9" * MANY,
    "negative": "-" + "9" * MANY,
    "hexadecimal": "0x" + "f" * MANY,
    "octal": "0" + "7" * MANY,
    "binary": "0b" + "1" * MANY,
    "with underscores": "1_" * (MANY // 2) + "1",
    "float": "1." + "0" * MANY,
    "exponent": "1.0e+" + "9" * MANY,
    "to the base of 60": "1" + ":30" * (MANY // 3),
    "just too long": "1" * 101,
    "to be read as one": f"!!int '{'9' * MANY}'",
    "to be read as a float": f"!!float '{'9' * MANY}'",
}


@pytest.mark.parametrize(
    ("number", "place"),
    [
        *((name, "age: {}") for name in NUMBERS),
        *((name, "age: 31, {}: 1") for name in ("decimal", "float")),
        ("hexadecimal", "age: 31, ? {}\n: 1"),
    ],
)
def test_a_number_of_a_million_digits_is_told_with_its_line(tmp_path: Path, number: str, place: str) -> None:
    at = tmp_path / "number.yaml"
    at.write_text(DUO.replace("age: 31", place.format(NUMBERS[number])))
    refused(lambda: resolve(str(at)), at, f"{at}:4: not YAML: ")


@pytest.mark.parametrize("number", ["1.0e+999", ".inf", "-.inf", ".nan", "1" * 100])
def test_a_number_that_is_none_is_told_with_its_field(tmp_path: Path, number: str) -> None:
    at = tmp_path / "number.yaml"
    # Nobody says how old people grow.
    for place in ("importance: 7", "age: 31")[: 1 if number == "1" * 100 else 2]:
        name = place.partition(":")[0]
        at.write_text(DUO.replace(place, f"{name}: {number}"))
        refused(lambda: resolve(str(at)), at, name)


LONG = {
    "a key": "? " + "k" * MANY + "\n: 1\n",
    "a key, twice": f"? {'k' * MANY}\n: 1\n? {'k' * MANY}\n: 2\n",
    "an alias": "a: *" + "k" * MANY,
    "a tag": "a: !" + "k" * MANY + " b",
    "items": "a: [" + "b," * 50_100 + "]",
    "brackets": "[" * MANY,
    "a null character": "a: b\0c",
    "a file": "# " + "x" * MOST_BYTES,
    "UTF-16": "a: b\n".encode("utf-16"),
    "half a surrogate pair": b"a: \xed\xa0\x80\n",
}


@pytest.mark.parametrize("content", LONG.values(), ids=LONG)
def test_what_is_long_or_odd_is_told_in_a_short_line(tmp_path: Path, content: str | bytes) -> None:
    at = tmp_path / "long.yaml"
    at.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(lambda: resolve(str(at)), at)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_scenario_in_another_encoding_is_to_be_saved_in_utf_8(tmp_path: Path, encoding: str) -> None:
    at = tmp_path / "duo.yaml"
    at.write_bytes(f"{DUO}place: Café\n".encode(encoding))
    line = 1 if encoding == "utf-16" else DUO.count("\n") + 1
    refused(lambda: resolve(str(at)), at, f"can't be read: line {line} is not in UTF-8; save the file as UTF-8")
    refused(lambda: read_villagers(at), at, "save the file as UTF-8")
    refused(lambda: read_prompt(at), at, "save the file as UTF-8")


JSON = {
    "brackets": "[" * 100_000 + "]" * 100_000,
    "braces": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a number": "9" * 10**6,
    "a number within": '{"units": [{"id": %s}], "case": %s, "dialogue": []}' % (("9" * 10**6,) * 2),
    "an exponent": "1e" + "9" * 10**6,
}


@pytest.mark.parametrize("content", JSON.values(), ids=JSON)
def test_so_is_json(tmp_path: Path, content: str) -> None:
    town = a_town(tmp_path / "town")
    nodes = next(town.rglob("nodes.json"))
    at = tmp_path / "harm.json"
    for file in (at, nodes):
        file.write_text(content)
    refused(lambda: read_prompt(at), at)
    refused(lambda: list(read_dialogues(at)), at)
    refused(lambda: list_cases(f"ga:{town}"), nodes)
