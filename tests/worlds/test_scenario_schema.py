"""The JSON Schema of scenario files, held against what is read, and the examples of the documentation."""

import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.commands import Cli
from support.meeting_files import KNOWN, TWO_PEOPLE, ScenarioFile

from tertulia.state.errors import ScenarioError
from tertulia.state.meeting import Meeting
from tertulia.worlds.catalog import MEETINGS, resolve
from tertulia.worlds.scenario_file import read_scenario_file, scenario_schema
from tertulia.worlds.yaml_file import YamlFile

ROOT = Path(__file__).parents[2]

# --- the schema ----------------------------------------------------------------------------------------------------

SCHEMA = ROOT / "docs" / "scenario.schema.json"


def fits(value: Any, schema: dict[str, Any]) -> bool:
    return Draft202012Validator(schema).is_valid(value)


def test_the_shipped_schema_is_current(cli: Cli) -> None:
    shown = cli("scenarios", "--schema").out
    assert json.loads(shown) == scenario_schema(KNOWN)
    assert SCHEMA.read_text(encoding="utf-8") == shown, "run `tertulia scenarios --schema > docs/scenario.schema.json`"


@pytest.mark.parametrize("name", MEETINGS)
def test_what_is_shipped_satisfies_the_schema(name: str) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert fits(YamlFile.read(MEETINGS[name]).values, schema)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("conscientious]", "unconscious]"),
        ("order: designated", "order: mine"),
        ("time_analysis", "mine"),
        ("age: 31", "agee: 31"),
        ("tie_s", "ties"),
        ("[4.5, 2]", "[0, 2]"),
        ("goal: 0.5,", "goal: 1.5,"),
        ("  - owner: Runa\n    goal:", "  - goal:"),
        ("emotion: annoyed", "emotion: cross"),
        ("lambda: 0.3", "lambda: 3"),
    ],
)
def test_the_schema_sees_what_a_field_by_itself_shows(meeting_file: ScenarioFile, old: str, new: str) -> None:
    schema = scenario_schema(KNOWN)
    assert fits(YamlFile.read(meeting_file()).values, schema)
    assert not fits(YamlFile.read(meeting_file((old, new))).values, schema)


@pytest.mark.parametrize("kind", ["", "order: random\ndescription: y\n"])
@pytest.mark.parametrize(
    ("person", "valid"),
    [
        ("full_name: Ida", True),
        (
            "character_name: Ida, job: cook, goal: [sleep], memory: [a], relation: {Bo: a friend}, big_five: [open]",
            True,
        ),
        ("name: Ida, poles: bold, secret: is broke, years: 31", True),
        ("age: 31", False),
        ("name: Ida, full_name: Ida Falk", False),
        ("full_name: 3", False),
        ("name: Ida, goal: one", False),
        ("name: Ida, memory: one", False),
        ("name: Ida, relation: 'Bo: friend'", False),
        ("name: Ida, years: true", False),
        ("name: Ida, poles: [opn, closed]", False),
    ],
)
def test_other_names_of_fields_take_what_the_fields_take(tmp_path: Path, person: str, valid: bool, kind: str) -> None:
    at = tmp_path / "two.yaml"
    at.write_text(f"name: x\ntime: 2024-05-14\nparticipants: [{{{person}}}, {{name: Bo, memories: [b]}}]\n{kind}")
    assert fits(YamlFile.read(at).values, scenario_schema(KNOWN)) is valid
    with nullcontext() if valid else pytest.raises(ScenarioError):
        read_scenario_file(at, KNOWN)


def test_the_schema_tells_the_kinds_apart_as_the_reader_does(tmp_path: Path) -> None:
    schema = scenario_schema(KNOWN)
    at = tmp_path / "two.yaml"
    for text, valid in [
        (TWO_PEOPLE, True),
        (f"{TWO_PEOPLE}order: random", False),
        (f"{TWO_PEOPLE}order: random\ndescription: y", True),
    ]:
        at.write_text(text)
        assert fits(YamlFile.read(at).values, schema) is valid


# --- the documentation ---------------------------------------------------------------------------------------------


def test_the_examples_of_the_documentation_are_scenarios(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    examples = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "participants:" in block]
    assert len(examples) == 2
    at = tmp_path / "example.yaml"
    schema = scenario_schema(KNOWN)
    kinds = []
    for example in examples:
        at.write_text(example, encoding="utf-8")
        kinds.append(isinstance(resolve(str(at), KNOWN), Meeting))
        assert fits(YamlFile.read(at).values, schema)
    assert kinds == [False, True]
