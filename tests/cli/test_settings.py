"""`settings`: every parameter with its default, found by group, by name, and by what is completed."""

import re

from support.commands import Cli
from support.package import ROOT

from tertulia.state.parameters import SETTABLE, Parameters


def test_every_parameter_is_listed_with_its_default(cli: Cli) -> None:
    document = cli("settings", "--json").json
    assert document["schema_version"] == 1
    listed = {found["name"]: found for group in document["groups"] for found in group["parameters"]}
    assert {name: found["default"] for name, found in listed.items()} == Parameters().model_dump(
        mode="json", exclude={"weights"}
    )
    assert all(found["description"] for found in listed.values())
    assert (listed["max_turns"]["default"], listed["max_turns"]["default_in_group_chat"]) == (16, 100)
    printed = cli("settings").out
    rows = [line.split("\t") for line in printed.splitlines() if "\t" in line and not line.startswith("parameter\t")]
    assert {row[0]: row[-1] for row in rows} == {name: found["description"] for name, found in listed.items()}
    assert "16 (in a group 100) (in an album chat 32)" in printed


def test_every_setting_is_named_in_a_document() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {name for document in documents for name in re.findall(r"\w+", document.read_text(encoding="utf-8"))}
    assert set(SETTABLE) - named == {"max_rounds"}  # which users of other programs know


def test_a_group_or_a_parameter_is_listed_alone(cli: Cli) -> None:
    (group,) = cli("settings", "judge", "--json").json["groups"]
    assert group["group"] == "judge"
    assert "removal_factor" not in cli("settings", "floor").out
    for name in ("removal_factor", "lambda", "λ"):
        (group,) = cli("settings", name, "--json").json["groups"]
        assert [found["name"] for found in group["parameters"]] == ["removal_factor"]
        assert cli("settings", name).out.splitlines()[::3] == [
            "removal_factor, also lambda or λ (pruning)",
            "default: 0.5 (in a group 0.0) (in an album chat 0.0)",
        ]
    cli("settings", "lambada").complains(3, "no group or parameter 'lambada'", "did you mean 'lambda'?")


def test_a_value_is_printed_as_set_takes_it(cli: Cli) -> None:
    assert "default: null" in cli("settings", "surrogate").out
    assert "default: false" in cli("settings", "record_scores").out
    assert "default: ''" in cli("settings", "removed_blocks").out
    assert "takes: rollback | rewrite" in cli("settings", "revision").out
