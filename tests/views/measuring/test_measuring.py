"""The diversity of stored runs and of files, case by case."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import Cli
from support.stored import NOW, a_case, a_run, write_turns

from tertulia.state.errors import NotFoundError, UsageError
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.cases import collect_cases

RUNS = ("r1", "r2", "r3")


@pytest.fixture
def store(cli: Cli) -> Iterator[SqlStore]:
    """Three runs of one scenario: two at λ = 0.5 and one at 0.8, and one of which nothing is said yet."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        for at, (run, factor) in enumerate(zip(RUNS, (0.5, 0.5, 0.8), strict=True)):
            parameters = {"removal_factor": factor, "judge": "off", "nodes": {"score": "length"} if at else {}}
            opened.create_run(a_run(run, seed=at, parameters=parameters), a_case())
            write_turns(opened, run, 1, at + 1)
        opened.create_run(a_run("mute"), a_case())
        yield opened


@pytest.mark.parametrize(
    ("by", "cases"),
    [
        (None, {"cafe": ["r1", "r2", "r3"]}),
        ("lambda", {"cafe, lambda 0.5": ["r1", "r2"], "cafe, lambda 0.8": ["r3"]}),
        ("seed", {"cafe, seed 0": ["r1"], "cafe, seed 1": ["r2"], "cafe, seed 2": ["r3"]}),
        ("judge", {"cafe, judge off": ["r1", "r2", "r3"]}),
        ("nodes.score", {"cafe, nodes.score –": ["r1"], "cafe, nodes.score length": ["r2", "r3"]}),
    ],
)
def test_runs_are_grouped_by_scenario_and_a_value(store: SqlStore, by: str | None, cases: dict[str, list[str]]) -> None:
    found = collect_cases([], (*RUNS, "r1"), store, by)
    assert {case: [run.run for run in runs] for case, runs in found.runs.items()} == cases
    assert {case: len(dialogues) for case, dialogues in found.dialogues.items()} == {
        case: len(runs) for case, runs in cases.items()
    }


def test_a_case_is_its_people_at_their_time_and_a_fork_is_of_the_case_that_it_comes_from(store: SqlStore) -> None:
    others = a_case(initiator="Cy")
    for run, scenario, case in (("r4", "./cafe.yaml", a_case()), ("r5", "cafe", others), ("r6", "cafe.yaml", others)):
        store.create_run(a_run(run, scenario=scenario), case)
        write_turns(store, run, 1, 2)
    store.create_run(a_run("r7", parent=("r1", 2)), others)
    write_turns(store, "r7", 2, 3)
    found = collect_cases([], ["r1", "r4", "r5", "r6", "r7"], store)
    assert {case: [run.run for run in runs] for case, runs in found.runs.items()} == {
        "cafe": ["r1", "r4", "r7"],
        "cafe (as in run r5)": ["r5", "r6"],
    }


def test_nothing_to_group_by(store: SqlStore) -> None:
    with pytest.raises(UsageError, match=r"--by judg: unknown.*'judge'"):
        collect_cases([], RUNS, store, "judg")
    with pytest.raises(UsageError, match=r"--by zz: unknown \(known: lambda, scenario, model, seed, and"):
        collect_cases([], RUNS, store, "zz")
    Path("lines.jsonl").write_text('{"case": 0, "dialogue": [["Ana", "Hi."]]}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="--by lambda groups runs; name some, or files that export wrote"):
        collect_cases([Path("lines.jsonl")], [], None, "lambda")
    with pytest.raises(UsageError, match="nobody speaks in run mute"):
        collect_cases([], ["r1", "mute"], store)
    with pytest.raises(NotFoundError):
        collect_cases([], ["zzzz"], store)


def test_a_run_that_is_given_twice_is_counted_once(cli: Cli, store: SqlStore) -> None:
    assert cli("export", "r1", "--jsonl", "r1.jsonl").code == 0
    alone = cli("metrics", "r1", "--embedder", "rehearsal", "--json")
    assert alone.err == ""
    for twice in (["r1.jsonl", "r1"], ["r1.jsonl", "r1.jsonl"], ["r1", "r1"]):
        measured = cli("metrics", *twice, "--embedder", "rehearsal", "--json")
        assert measured.json["cases"] == alone.json["cases"]
        assert measured.err == "run r1 is given more than once; it is counted once\n"
    with SqlStore.open(Path("other.db"), create=True) as other:
        other.create_run(a_run("r1", created=NOW + timedelta(days=1)), a_case())
        write_turns(other, "r1", 1, 2)
    both = cli("metrics", "r1.jsonl", "r1", "--store", "other.db", "--embedder", "rehearsal", "--json")
    assert both.err == ""
    assert both.json["cases"]["cafe"]["sim"] is not None, "another store's run of that id is another run"
