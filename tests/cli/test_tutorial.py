"""The page on extending, followed from nothing: its files are written, its commands run and say what the page shows."""

import re
from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.runs.driving import node_checks

pytestmark = pytest.mark.full

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_tutorial_can_be_followed(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = 0
    for language, text in BLOCKS:
        if language in ("python", "yaml"):
            title, _, content = text.partition("\n")
            name, _, continued = title.removeprefix("# ").partition(", ")
            with (tmp_path / name).open("a" if continued else "w", encoding="utf-8") as file:
                file.write(content)
        if language == "console":
            for command, shown in re.findall(r"^\$ tertulia (.*)\n((?:[^$].*\n)*)", text, re.MULTILINE):
                result = cli(*command.split())
                assert result.code == 0, f"{command}: {result.err}{result.out}"
                for line in shown.splitlines():
                    assert line == "…" or line in result.out.splitlines(), f"{command} does not say {line!r}"
                commands += 1
    assert commands == 9
    scorer_and_mechanism_do_what_the_page_says(cli)
    monkeypatch.setattr(node_checks, "_ROUNDS", 2)
    checks = cli("nodes", "check", "harbour.py", "--json").json["checks"]
    for check in {re.sub(r" in \w+$", "", check["check"]) for check in checks}:
        assert f"| {check} |" in PAGE or check == "returns a finding"


def scorer_and_mechanism_do_what_the_page_says(cli: Cli) -> None:
    *_, again, first = [run["run"] for run in cli("runs", "--json").json["runs"]]
    turn = cli("show", first, "--turn", "2", "--json").json
    assert turn["scored_by"] == "shared_words"
    assert {unit["score"] for unit in turn["units"]} >= {0.0, 1.0}
    assert {name for agent in turn["cognition"] for name in agent["mechanisms"]} == {"open_question", "goal_summary"}
    assert cli("show", again, "--json").json["parameters"]["node_settings"] == {"open_question": {"lines": 1}}
