"""What a case is stays the same in all its trials; other cases are drawn otherwise. Source: APP A.3."""

from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.state.case_seed import case_seed_of
from tertulia.worlds.catalog import resolve

CASE = """
name: the net
time: 2026-05-06 09:30:00
participants:
  - name: Mara Bell
    memories: [%s]
  - name: Piotr Novak
    memories: [The lamp is broken.]
"""
NEEDS = ("--rehearse", "--rounds", "2", "--set", "human_needs=true", "--set", "ending=off", "--lambda", "0")


def needs_of(cli: Cli, run: str, turn: int = 1) -> list[str]:
    """Return how a speaker feels, in any names."""
    units = cli("show", run, "--turn", str(turn), "--json").json["units"]
    return [
        unit["text"].partition(" ")[2] for unit in units if unit["block"] == "human_needs" and unit["kind"] == "item"
    ]


def run_of(cli: Cli, scenario: str, *arguments: str) -> str:
    return str(cli("run", scenario, *NEEDS, *arguments, "--json").json["run"])


def test_a_case_is_its_content_whatever_its_file_is_called(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "there").mkdir()
    for name, memory in (
        ("a", "She owes him a net."),
        ("there/b", "She owes him a net."),
        ("c", "She owes him a boat."),
    ):
        (tmp_path / f"{name}.yaml").write_text(CASE % memory, encoding="utf-8")
    first, elsewhere, other = (case_seed_of(resolve(str(tmp_path / f"{name}.yaml"))) for name in ("a", "there/b", "c"))
    assert first == elsewhere != other


def test_other_needs_of_the_same_case_can_be_drawn_and_forks_keep_what_there_was(cli: Cli) -> None:
    run = run_of(cli, "tidewell")
    other = {str(needs_of(cli, run_of(cli, "tidewell", "--set", f"case_seed={seed}"))) for seed in range(4)}
    assert len(other) > 1
    fork = str(cli("fork", run, "--at", "1", "--seed", "9", "--person", "Emeka Obiora.age=70", "--json").json["run"])
    assert needs_of(cli, fork) == needs_of(cli, run)
    assert cli("diff", run, str(cli("fork", run, "--at", "1", "--json").json["run"]), "--exit-code").code == 0
    per_trial = {
        str(needs_of(cli, run_of(cli, "tidewell", "--set", "case_seed=seed", "--seed", str(n)))) for n in (1, 2, 3)
    }
    assert len(per_trial) > 1
    derived = str(cli("fork", run, "--at", "1", "--set", "case_seed=auto", "--json").json["run"])
    assert needs_of(cli, derived) == needs_of(cli, run)


@pytest.mark.parametrize("wrong", ["no", "1.5"])
def test_a_wrong_case_seed_is_refused(cli: Cli, wrong: str) -> None:
    cli("run", "tidewell", "--rehearse", "--set", f"case_seed={wrong}").complains(2, "case_seed", wrong)
