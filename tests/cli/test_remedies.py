"""What an error of the command line says to do: the remedy of that error, often the command that was meant."""

import pytest
from support.commands import Cli, rehearse

from tertulia.cli.terminal.commands import explain
from tertulia.state.errors import SettingError, UsageError


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("list", "No such command 'list'; did you mean: tertulia runs"),
        ("runs list", "No such command 'list'; did you mean: tertulia runs"),
        ("lsit", "did you mean: tertulia runs"),
        ("rnu tidewell", "did you mean: tertulia run tidewell"),
        ("compare a b", "did you mean: tertulia diff a b"),
        ("delete k3f9", "did you mean: tertulia runs rm k3f9"),
        ("xyzzy", "No such command 'xyzzy'; see `tertulia --help`"),
        ("lab report table9", "did you mean 'table7'?"),
        ("run tidewell --turns 4", "No such option: --turns; did you mean: tertulia run tidewell --rounds 4"),
        ("run tidewell --max-turns=4", "did you mean: tertulia run tidewell --rounds 4"),
        ("run tidewell --temp 0.5 --rehearse", "tertulia run tidewell --set temperature=0.5 --rehearse"),
        ("run tidewell --lamda 0.5", "No such option: --lamda; did you mean: tertulia run tidewell --lambda 0.5"),
        ("run tidewell --rehersal", "did you mean: tertulia run tidewell --rehearse"),
        ("run tidewell --bogus 3", "No such option: --bogus; see `tertulia run --help`"),
        ("run tidewell -r 4", "No such option: -r; see `tertulia run --help`"),
        ("run tidewell --lambda", "requires an argument; see `tertulia run --help`"),
        (
            "run tidewell --lambda 0,5 --rounds 3",
            "takes a number; did you mean: tertulia run tidewell --lambda 0.5 --",
        ),
        ("run tidewell --rounds 2.5", "--rounds 2.5: takes a whole number"),
        ("run tidewell --set lambda=0,5", "--set lambda=0,5: takes a number (did you mean 0.5?)"),
        ("run team_building --set order=randm", "(did you mean 'random'?)"),
        ("run team_building --rehearse --seat Bpb", "did you mean 'Bob'?"),
        ("run tidewell --model gpt-4o", "did you mean 'openai:gpt-4o'?"),
        ("run tidewell --model openai:x", "--lambda 0.5 (not given here) needs scores"),
        ("run tidewell --model openai:x", "give --set surrogate=smollm2"),
        ("run tidewell --model openai:x", "or --lambda 0"),
        ("sweep tidewell --lambda 0,5", "--lambda 0,5: λ is a number from 0 to 1"),
        ("sweep tidewell --lambda 0,5", "did you mean 0.5, or several, as in 0,0.5,1?"),
        ("sweep tidewell --lambda 0 0.5 1", "several values of λ have commas between them: 0,0.5,1"),
        ("fork @last", "(for example: tertulia fork @last --at 3 --lambda 0.8)"),
        ("show", "Missing argument 'RUN'. (for example: tertulia show @last"),
    ],
)
def test_the_remedy_belongs_to_the_error(cli: Cli, arguments: str, words: str) -> None:
    result = cli(*arguments.split())
    assert result.code in (2, 3)
    assert words in result.err
    assert result.err.count("\n") == 1
    assert "for example: tertulia" not in result.err or "Missing" in result.err


@pytest.mark.parametrize("typed", ["@lst", "last", "@Last", "@latest"])
def test_the_newest_run_is_found_by_a_typo(cli: Cli, typed: str) -> None:
    rehearse(cli)
    for command in ("show", "resume", "timeline", "metrics"):
        cli(command, typed).complains(3, f"no run {typed!r}", "did you mean '@last'?")


def test_remedies_are_options_only_where_the_command_has_them() -> None:
    error = UsageError("needs scores; set surrogate=smollm2, or lambda=0, or nodes.score=length, or colour=red")
    explain(error, {"settings": None, "removal_factor": None})
    assert str(error) == (
        "needs scores; give --set surrogate=smollm2, or --lambda 0, or --set nodes.score=length, or colour=red"
    )
    quoted = SettingError("judge", "x", ": must be 'off'")
    explain(quoted, {"settings": ["judge=x"]})
    assert str(quoted) == "--set judge=x: must be 'off'"
    plain = UsageError("needs scores; set surrogate=smollm2")
    explain(plain, {"run": "k3f9"})
    assert str(plain) == "needs scores; set surrogate=smollm2", "as in Python, where nothing can be typed"
