"""The JSON Schema of scenario files, held against what is read, and the examples of the documentation."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.meeting_files import KNOWN, TWO_PEOPLE, ScenarioFile, read_meeting

from tertulia.state.meeting import Meeting
from tertulia.worlds.catalog import MEETINGS, resolve
from tertulia.worlds.scenario_file import scenario_schema
from tertulia.worlds.yaml_file import YamlFile

ROOT = Path(__file__).parents[2]

# --- the schema ----------------------------------------------------------------------------------------------------

SCHEMA = ROOT / "docs" / "scenario.schema.json"

#: Keywords that say nothing about what is valid.
REMARKS = {"$schema", "$defs", "title", "description", "default"}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a value satisfies a JSON Schema, as far as ours go; any keyword that is not known here is an error."""
    checks: dict[str, Callable[[Any], bool]] = {
        "$ref": lambda ref: fits(value, root["$defs"][ref.removeprefix("#/$defs/")], root),
        "anyOf": lambda ways: any(fits(value, way, root) for way in ways),
        "if": lambda test: fits(value, schema["then" if fits(value, test, root) else "else"], root),
        "then": lambda _: True,
        "else": lambda _: True,
        "type": lambda name: isinstance(value, TYPES[name]) and not (isinstance(value, bool) and name != "boolean"),
        "const": lambda only: value == only,
        "enum": lambda known: value in known,
        "minimum": lambda least: not is_number(value) or value >= least,
        "maximum": lambda most: not is_number(value) or value <= most,
        "exclusiveMinimum": lambda bound: not is_number(value) or value > bound,
        "minLength": lambda least: not isinstance(value, str) or len(value) >= least,
        "minItems": lambda least: not isinstance(value, list) or len(value) >= least,
        "maxItems": lambda most: not isinstance(value, list) or len(value) <= most,
        "items": lambda each: not isinstance(value, list) or all(fits(item, each, root) for item in value),
        "prefixItems": lambda eachs: (
            not isinstance(value, list) or all(fits(item, each, root) for item, each in zip(value, eachs, strict=False))
        ),
        "required": lambda names: not isinstance(value, dict) or set(names) <= set(value),
        "properties": lambda fields: (
            not isinstance(value, dict)
            or all(fits(value[name], each, root) for name, each in fields.items() if name in value)
        ),
        "propertyNames": lambda each: not isinstance(value, dict) or all(fits(name, each, root) for name in value),
        "additionalProperties": lambda each: (
            not isinstance(value, dict)
            or all(
                each is not False and (each is True or fits(value[name], each, root))
                for name in set(value) - set(schema.get("properties", ()))
            )
        ),
    }
    return all(checks[keyword](argument) for keyword, argument in schema.items() if keyword not in REMARKS)


TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": type(None),
}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def test_the_shipped_schema_is_current(cli: Cli) -> None:
    shown = cli("scenarios", "--schema").out
    assert json.loads(shown) == scenario_schema(KNOWN)
    assert SCHEMA.read_text(encoding="utf-8") == shown, "run `tertulia scenarios --schema > docs/scenario.schema.json`"


@pytest.mark.parametrize("name", MEETINGS)
def test_what_is_shipped_satisfies_the_schema(name: str) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert fits(YamlFile.read(MEETINGS[name]).values, schema, schema)


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
    assert fits(YamlFile.read(meeting_file()).values, schema, schema)
    assert not fits(YamlFile.read(meeting_file((old, new))).values, schema, schema)


def test_the_schema_tells_the_kinds_apart_as_the_reader_does(tmp_path: Path) -> None:
    schema = scenario_schema(KNOWN)
    at = tmp_path / "two.yaml"
    for text, valid in [
        (TWO_PEOPLE, True),
        (f"{TWO_PEOPLE}order: random", False),
        (f"{TWO_PEOPLE}order: random\ndescription: y", True),
    ]:
        at.write_text(text)
        assert fits(YamlFile.read(at).values, schema, schema) is valid


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
        assert fits(YamlFile.read(at).values, schema, schema)
    assert kinds == [False, True]


def test_the_example_of_the_module_is_a_meeting(tmp_path: Path) -> None:
    from tertulia.worlds import meeting_file

    found = re.search(r"```yaml\n(.*?)```", meeting_file.__doc__ or "", re.DOTALL)
    assert found
    at = tmp_path / "module.yaml"
    at.write_text(found[1], encoding="utf-8")
    assert read_meeting(at).names == ("Ida Falk", "Jonas Brandt", "Runa")
