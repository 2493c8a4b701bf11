"""The public Python API: what it gives, what it refuses, and where a store is made."""

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from support.commands import Cli

import tertulia as tt
from tertulia.state.errors import SettingError, UsageError

ROOT = Path(__file__).parents[3]


# --- what it gives ---------------------------------------------------------------------------------------------------


def test_a_run_is_that_of_the_command_line(cli: Cli) -> None:
    run = tt.run("tidewell", removal_factor=0.5, rounds=3, rehearse=True, label="first")
    assert run.document() == cli("show", run.id, "--json").json
    assert run.turn(2).document() == cli("show", run.id, "--turn", "2", "--json").json
    assert run.what_if(2, 0.9).document() == cli("show", run.id, "--turn", "2", "--lambda", "0.9", "--json").json
    again = cli("run", "tidewell", "--lambda", "0.5", "--rounds", "3", "--rehearse", "--json").json["run"]
    assert tt.diff(run, tt.open_store("tertulia.db").run(again)).is_same
    assert (run.status, run.label, run.seed, run.parameters.removal_factor) == ("finished", "first", 1, 0.5)


def test_records_of_a_turn_become_frames() -> None:
    run = tt.run("team_building", removal_factor=0.5, rounds=2, rehearse=True)
    units = run.turn(1).units
    assert list(units.frame().columns) == [
        *("id", "block", "kind", "text", "removable", "line_score", "score", "removed", "measured_loss"),
    ]
    assert {unit.id for unit in units if unit.removed} == set(run.turn(1).details.record.removed)
    assert [agent.agent for agent in run.turn(1).agents] == ["Alice", "Bob", "Cindy", "David", "Eva"]
    assert len(run.turn(1).agents.frame()) == 5
    assert list(run.turns.frame()["speaker"]) == [turn.speaker for turn in run.turns]
    assert len(run.frame()) == 2
    assert len(run.frame("agent_rounds")) == 10
    assert len(tt.open_store("tertulia.db").runs().frame()) == 1
    assert "<table>" in units._repr_html_()
    assert (units[0], len(units[:2].frame())) == (units[:2][0], 2)
    with pytest.raises(tt.UsageError, match=r"no frame of 'unit'.*'units'"):
        run.frame("unit")  # type: ignore[arg-type]


def test_a_run_shows_itself_as_its_transcript() -> None:
    run = tt.run("tidewell", rounds=2, rehearse=True)
    heading, first, second = repr(run).splitlines()
    assert heading.startswith(f"run {run.id} (finished) · tidewell · ")
    assert (run.turns[0].text in first, run.turns[1].text in second) == (True, True)
    assert run.turns[0].text.replace("'", "&#x27;") in run._repr_html_()
    assert run.transcript().startswith("# ")


def test_forks_share_turns_and_part_where_they_were_changed() -> None:
    run = tt.run("tidewell", removal_factor=0.5, rounds=4, rehearse=True, settings={"ending": "off"})
    same, other = run.fork(at=3), run.fork(at=3, removal_factor=0.9, label="more")
    assert tt.diff(run, same).is_same
    divergence = tt.diff(run, other).first_divergence
    assert divergence is not None
    assert divergence.turn == 3
    assert repr(divergence).startswith("<turn 3: removed")
    assert repr(tt.diff(run, other)) == f"<runs {run.id} and {other.id}: they part at {divergence}, 2 turns differ>"
    assert repr(tt.diff(run, same)) == f"<runs {run.id} and {same.id}: identical>"
    assert repr(run.turn(3)).startswith(f"<turn 3, {run.turns[2].speaker}: ")
    assert (other.parent, other.label, other.turns[:2]) == ((run.id, 3), "more", run.turns[:2])
    said = run.fork(at=2, say="I'd go by train.", person={"Leila Haddad.traits": "bold"})
    assert said.turns[1].text == "I'd go by train."


def test_a_store_lists_its_runs() -> None:
    first = tt.run("tidewell", rounds=1, rehearse=True, label="a")
    second = tt.run("team_building", rounds=1, rehearse=True)
    with tt.open_store("tertulia.db") as store:
        assert [run.id for run in store.runs()] == [second.id, first.id]
        assert [run.id for run in store.runs(label="a")] == [first.id]
        assert store.run().id == second.id
        assert first.id in repr(store.runs())


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"removal_factor": 1.5}, "--lambda 1.5"),
        ({"settings": {"tempreature": 1}}, "--set tempreature=1"),
        ({"seat": "Nobody"}, "--seat Nobody"),
        ({"model": "openai:gpt"}, "--model openai:gpt"),
        ({"additions": tt.Additions(extensions=["gone.py"])}, "--extension gone.py"),
        ({"additions": tt.Additions(nodes={"score": "gone"})}, "--set nodes.score=gone"),
        ({"order": "random"}, "--set order=random"),
    ],
)
def test_what_the_command_refuses_is_refused_with_its_words(cli: Cli, given: dict[str, Any], command: str) -> None:
    with pytest.raises(tt.TertuliaError) as refused:
        tt.run("tidewell", rounds=1, **given)
    result = cli("run", "tidewell", "--rounds", "1", *command.split())
    words = str(refused.value).partition("=")[2] if given.keys() & {"removal_factor", "order"} else str(refused.value)
    words = words.removeprefix("removal_factor=0.5")  # not given here, as the command says: --lambda 0.5
    assert words.partition(";")[0] in result.err


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(tt.NotFoundError, match=r"there is no store nowhere\.db"):
        tt.open_store("nowhere.db")
    run = tt.run("tidewell", rounds=1, rehearse=True)
    with pytest.raises(tt.NotFoundError, match="has no turn 7"):
        run.turn(7)
    with pytest.raises(tt.NotFoundError, match="no run 'zzzz'"):
        tt.open_store("tertulia.db").run("zzzz")
    other = tt.run("tidewell", rounds=1, rehearse=True, store="other.db")
    with pytest.raises(tt.UsageError, match="one store"):
        tt.diff(run, other)


def test_importing_it_is_quick_and_loads_no_torch() -> None:
    code = "import sys, time; t = time.perf_counter(); import tertulia; print(time.perf_counter() - t, *sys.modules)"
    took, *loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    assert float(took) < 0.3
    assert not {"torch", "langgraph", "pandas", "numpy", "pydantic"} & set(loaded)


def test_every_public_name_is_there_and_documented() -> None:
    for name in tt.__all__:
        assert getattr(tt, name) is not None
        if name != "Event":
            assert getattr(tt, name).__doc__


# --- arguments that are none ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: tt.run("tidewell", temperature=0.9), "temperature is a setting: settings={'temperature': 0.9}"),
        (
            lambda: tt.run("tidewell", tempreature=1),
            "mean the setting 'temperature'? settings={'temperature': 1}",
        ),
        (
            lambda: tt.run("tidewell", romval_factor=1),
            "has no argument 'romval_factor' (did you mean 'removal_factor'?)",
        ),
        (lambda: tt.run("tidewell", max_turns=3), "run has no argument 'max_turns'; write rounds=3"),
        (lambda: tt.stream("tidewell", lambda_=0.5), "stream has no argument 'lambda_'; write removal_factor=0.5"),
        (lambda: tt.run("tidewell", 0.5), "run takes scenario by place, and the others by their names"),
        (lambda: tt.run(rounds=3), "run: missing a required argument: 'scenario'"),
        (lambda: tt.resume("k3f9", volume=3), "resume has no argument 'volume' (known: run, additions"),
        (lambda: tt.open_store("a.db", mode="r"), "open_store has no argument 'mode'"),
        (lambda: tt.Run(tt.Store("a.db"), "k3f9").fork(2, top_p=0.9), "top_p is a setting: settings={'top_p': 0.9}"),
        (lambda: tt.Store("a.db").runs(lable="x"), "runs has no argument 'lable' (did you mean 'label'?)"),
    ],
)
def test_an_argument_that_there_is_not_gets_a_sentence(folder: Path, call: Callable[[], Any], line: str) -> None:
    with pytest.raises(tt.UsageError, match=re.escape(line)):
        call()
    assert list(folder.iterdir()) == []


def test_it_lists_its_public_names_alone() -> None:
    assert dir(tt) == sorted(tt.__all__)
    assert len(tt.__all__) <= 45
    with pytest.raises(AttributeError, match="module 'tertulia' has no attribute 'swep'") as unknown:
        tt.swep  # noqa: B018
    assert (unknown.value.name, unknown.value.obj) == ("swep", tt)


# --- values of another type ------------------------------------------------------------------------------------------


def plain(units: Any) -> list[int]:
    return [1] * len(units)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"rounds": 2.5}, "rounds=2.5: "),
        ({"minutes": -1}, "minutes=-1: "),
        ({"settings": {"max_turns": 0}}, "max_turns=0: "),
        ({"seed": "3"}, "seed='3': a seed is an integer"),
        ({"seed": True}, "seed=True: a seed is an integer"),
        ({"label": 3}, "label=3: a label is a text"),
        ({"model": None, "rehearse": False}, "model=None: a model is named by a text"),
        ({"ask": 3}, "ask=3: a function is expected"),
        ({"store": "\ud800"}, "store=.*: a path is a text"),
        ({"settings": {"seed": 5}}, "seed=5: it is an argument"),
        ({"model": "", "rehearse": False}, "model=: a model has a name"),
        ({"settings": ["x"]}, "settings=.'x'.: parameters are given by name"),
        ({"additions": ["mine.py"]}, "additions=.*mine.py.*: additions are a tertulia.Additions"),
        ({"budget": 200}, "budget=200: a budget is a tertulia.Budget"),
        ({"store": 3}, "store=3: a path is a text"),
        ({"store": "a\0b"}, "store=a�b: a path is a text"),
        ({"api_keys": ["x"]}, "api_keys="),
    ],
)
def test_a_value_of_another_type_is_refused_under_the_name_of_its_argument(
    folder: Path, given: dict[str, Any], line: str
) -> None:
    with pytest.raises(SettingError, match=f"^{line}"):
        tt.run(**{"scenario": "tidewell", "rehearse": True, **given})
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"nodes": {"score": plain}}, "nodes.score=<function plain.*@tertulia.scorer or @tertulia.node"),
        ({"nodes": {"score": None}}, "nodes.score=None: a node is expected"),
        ({"nodes": "score"}, "nodes=score: nodes are given by place"),
        ({"mechanisms": [plain]}, "mechanisms=<function plain.*@tertulia.mechanism"),
        ({"mechanisms": tt.mechanism("listen")(plain)}, "mechanisms=Mechanism.*a list is expected"),
        ({"extensions": "mine.py"}, r"extensions=mine.py: a list is expected: extensions=\[…\]"),
        ({"extensions": [3]}, "extensions=3: "),
    ],
)
def test_additions_of_another_type_are_refused(given: dict[str, Any], line: str) -> None:
    with pytest.raises(SettingError, match=f"^{line}"):
        tt.Additions(**given)


def test_questions_to_a_run_and_a_store_are_checked_too() -> None:
    run, wrong = tt.run("tidewell", rounds=2, rehearse=True), cast(Any, 3)
    store = tt.open_store("tertulia.db")
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: store.run(wrong), "run=3: "),
        (lambda: store.runs(limit=-1), "limit=-1: takes 1 or more"),
        (lambda: store.runs(status=cast(Any, "finishd")), r"status=finishd: unknown \(did you mean 'finished'"),
        (lambda: run.turn(cast(Any, "x")), "turn='x': a turn is an integer"),
        (lambda: run.frame(wrong), "of=3: "),
        (lambda: run.fork(at=cast(Any, 1.5)), "at=1.5: a turn is an integer"),
        (lambda: run.fork(at=0), "at=0: turns count from 1"),
        (lambda: run.fork(at=2, say=""), "say='': nothing is said"),
        (lambda: run.fork(at=2, rounds=1), "rounds=1: a fork at turn 2 .*set rounds higher"),
        (lambda: run.fork(at=2, remember=wrong), "remember=3: "),
        (lambda: run.fork(at=2, person={"Leila Haddad.age": wrong}), "person.Leila Haddad.age=3: a text is expected"),
        (lambda: tt.diff(run, cast(Any, run.id)), f"b='{run.id}': a run is expected"),
        (lambda: tt.resume(wrong), "run=3: "),
    ]
    for ask, line in refused:
        with pytest.raises(SettingError, match=f"^{line}"):
            ask()
    assert len(store.runs()) == 1


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda _: "words", "ask returned 'words'; it returns an Answer"),
        (lambda _: tt.Answer(words=" "), "Leila Haddad owes words in turn [0-9]+ and gave none, 100 times asked"),
        (lambda _: [][1], "ask failed: IndexError: list index out of range"),
        (lambda _: int("\n"), "ask failed: ValueError: invalid literal"),
    ],
)
def test_what_a_seat_can_not_take_is_told_in_a_line(answer: Any, line: str) -> None:
    with pytest.raises(UsageError, match=f"^{line}") as refused:
        tt.run("tidewell", rounds=2, rehearse=True, seat="Leila Haddad", ask=answer)
    assert "\n" not in str(refused.value)


# --- a store is made when a run is begun ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["nope", "no/such-model", "openai:gpt"])
def test_a_model_that_can_not_be_opened_leaves_no_store(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(tt.TertuliaError, match=model):
        tt.run("tidewell", removal_factor=0, model=model)
    assert cli("run", "tidewell", "--lambda", "0", "--model", model).code != 0
    assert list(folder.iterdir()) == []


# --- resume of what is finished --------------------------------------------------------------------------------------


def test_a_finished_run_is_returned_with_a_warning(cli: Cli) -> None:
    run = tt.run("tidewell", rounds=1, rehearse=True)
    with pytest.warns(UserWarning, match=f"^run {run.id} is finished; to go on from a turn, fork it"):
        assert tt.resume(run.id) == run
    with pytest.raises(tt.NotFoundError) as refused:
        tt.resume(store="gone.db")
    cli("resume", "@last", "--store", "gone.db").complains(3, str(refused.value).replace("store=…", "--store"))


# --- equal, copied, in another process -------------------------------------------------------------------------------


def test_runs_of_a_store_are_equal_by_id_and_can_be_copied() -> None:
    run = tt.run("tidewell", rounds=1, rehearse=True)
    runs = tt.open_store("tertulia.db").runs()
    assert run in runs
    assert runs == copy.deepcopy(runs) == pickle.loads(pickle.dumps(runs))
    assert len({run, runs[0]}) == 1
    assert pickle.loads(pickle.dumps(runs)).frame().shape == runs.frame().shape
    assert run != tt.Run(tt.Store("other.db"), run.id)
