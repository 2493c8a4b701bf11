"""`tertulia ask`: what it prints, what it keeps, and the same answers and sentences as in Python."""

from pathlib import Path

import pytest
from support.commands import Cli

import tertulia as tt


@pytest.fixture
def run(cli: Cli) -> str:
    run = tt.run("team_building", rounds=3, rehearse=True)
    return run.id


def test_it_prints_questions_and_answers_with_their_probabilities(cli: Cli, run: str) -> None:
    Path("q.yaml").write_text("- {text: Sign, options: ['yes', 'no']}\n", encoding="utf-8")
    shown = cli("ask", run, "bob", "What do you hope for?", "--file", "q.yaml", "--at", "2")
    assert shown.code == 0, shown.err
    heading, *lines = shown.out.splitlines()
    assert heading == f"Bob of run {run}, after turn 2, answered by rehearsal"
    questions = ["What do you hope for?", tt.Question(text="Sign", options=["yes", "no"])]
    hope, sign = tt.open_store("tertulia.db").run(run).ask("Bob", questions, at=2)
    assert lines[:3] == ["", "What do you hope for?", str(hope.answer)]
    assert lines[3:6] == ["", "Sign", str(sign.answer)]
    assert sign.answer in ("yes", "no")
    assert sign.probabilities is not None
    shares = f"yes {sign.probabilities['yes']:.2f}, no {sign.probabilities['no']:.2f}"
    assert lines[6] == f"probabilities: {shares}"
    assert "before the first turn" in cli("ask", run, "Bob", "Why?", "--at", "0").out


def test_its_json_is_what_python_has(cli: Cli, run: str) -> None:
    shown = cli("ask", run, "Bob", "Why?", "--seed", "4", "--json").json
    (answer,) = tt.open_store("tertulia.db").run(run).ask("Bob", "Why?", seed=4)
    assert (shown["run"], shown["person"], shown["at"], shown["rehearsed"]) == (run, "Bob", 3, True)
    assert shown["answers"] == [answer.model_dump(exclude={"person", "at"})]
    inventory = cli("ask", run, "Bob", "inventory", "--json").json
    assert len(inventory["answers"]) == 44
    assert inventory["traits"] == tt.open_store("tertulia.db").run(run).ask("Bob", "inventory").traits


def test_a_question_calls_up_memories_with_keys_and_no_others_of_them_are_told(cli: Cli) -> None:
    entries = "".join(
        f"    - {{text: Thing {number} is blue., importance: 9, keys: [thing{number}]}}\n" for number in range(30)
    )
    mira = f"- name: Mira\n  memories:\n    - She rows at dawn.\n{entries}"
    head = "name: two\ntime: 2026-05-04 09:00\nplace: thing7\n"
    Path("keys.yaml").write_text(f"{head}participants:\n{mira}- name: Bo\n", encoding="utf-8")
    run = tt.run("keys.yaml", rounds=1, rehearse=True)
    of_thing, why = run.ask("Mira", ["What of thing3?", "Why?"])
    for answer, told in ((of_thing, [3, 7]), (why, [7])):
        assert [number for number in range(30) if f"Thing {number} is blue." in answer.prompt] == told
        assert "She rows at dawn." in answer.prompt


def test_a_stand_in_answers_where_it_is_asked_for(cli: Cli, run: str) -> None:
    assert cli("ask", run, "Bob", "Why?", "--rehearse").code == 0
    cli("ask", run, "Bob", "Why?", "--rehearse", "--model", "smollm2").complains(2, "--rehearse and --model smollm2")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("Bobb", "Why?"), 3, "nobody named 'Bobb' takes part in run"),
        (("Bob", "Why?", "--at", "99"), 3, "has no turn 99; it has turns 1 to 3"),
        (("Bob", "Why?", "--at", "-1"), 3, "has no turn -1; it has turns 1 to 3"),
        (("Bob", " "), 2, "a question is empty; ask something"),
        (("Bob",), 2, "there is no question; ask something"),
        (("Bob", "inventory", "Why?"), 2, "inventory is a questionnaire by itself"),
        (("Bob", "--file", "none.yaml"), 3, "there is no file of questions 'none.yaml'"),
    ],
)
def test_what_can_t_be_asked_is_told(cli: Cli, run: str, arguments: tuple[str, ...], code: int, words: str) -> None:
    cli("ask", run, *arguments).complains(code, words)
