"""Experiments: trials side by side, interrupted at any batch, asked for again, grown; and trials that fail."""

import hashlib
import json
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.experiment_case import Spoken, a_grid, conversations, drive_here
from support.forked import Forked

from tertulia.lab.experiments.experiment import Experiment, read_experiment
from tertulia.lab.experiments.progress import ExperimentProgress
from tertulia.lab.experiments.reached import Progress, progress_of
from tertulia.lab.experiments.results import read_results
from tertulia.lab.experiments.running import InProcessExecutor
from tertulia.models.cohort import ask
from tertulia.models.rehearsal import RehearsalModel
from tertulia.runs.access.engines import Engines, ModelAccess
from tertulia.runs.driving.events import Event, RunEnded, TurnFinished
from tertulia.state.errors import ModelError, NotFoundError, ScenarioError, UsageError
from tertulia.state.language_model import REHEARSAL, GenerationRequest
from tertulia.state.questions import Answer, Generation, Question, ScoredGeneration
from tertulia.state.records import Reply
from tertulia.storage.store import SqlStore

ROOT = Path(__file__).parents[2]


class Batched(RehearsalModel):
    """The stand-in; what it says depends on all that it was asked at once. It is stopped, or fails, at a batch.

    Attributes:
        sizes: How many questions of each kind every batch had.
    """

    def __init__(self, stopped_at: int | None = None, failing: str | None = None) -> None:
        super().__init__()
        self.stopped_at, self.failing = stopped_at, failing
        self.sizes: list[Counter[str]] = []

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        self._fail(request)
        return await super().generate(request)

    def _fail(self, request: GenerationRequest) -> None:
        if self.failing in (field.name for field in request.fields):
            raise ModelError("the model failed")

    async def generate_batch(self, requests: Sequence[Any]) -> list[list[Reply]]:
        return [list(answer) for answer in await self.answer_batch([*map(Generation, requests)])]  # type: ignore[arg-type]

    async def answer_batch(self, questions: Sequence[Question]) -> list[Answer]:
        self.sizes.append(Counter(type(question).__name__ for question in questions))
        if len(self.sizes) == self.stopped_at:
            raise KeyboardInterrupt
        for question in questions:
            if isinstance(question, Generation | ScoredGeneration):
                self._fail(question.request)
        asked = hashlib.blake2b(digest_size=2)
        for question in questions:
            request = question.request if isinstance(question, Generation | ScoredGeneration) else question
            drawn = [g.getstate()[1][:3] for g in getattr(request, "generators", ())]
            asked.update(repr((request.prompt.input_ids, drawn)).encode())
        return [_marked(await ask(super(), question), asked.hexdigest()) for question in questions]  # type: ignore[arg-type]


def _marked(answer: Answer, mark: str) -> Answer:
    if not isinstance(answer, list) or not all(isinstance(reply, Reply) for reply in answer):
        return answer
    return [
        reply.model_copy(
            update={"fields": {n: f"{v} {mark}" if isinstance(v, str) else v for n, v in reply.fields.items()}}
        )
        for reply in answer
        if isinstance(reply, Reply)
    ]


def an_experiment(**changes: Any) -> Experiment:
    given: dict[str, Any] = {
        "cases": ("tidewell", "tidewell:0"),
        "settings": {"Full": {"lambda": 0.0}, "APP": {"lambda": 0.6, "backups": "on_demand"}},
        "trials": 2,
        "rounds": 2,
        "cohort_size": 4,
    }
    return a_grid(**{**given, **changes})


def run(store: SqlStore, experiment: Experiment, model: RehearsalModel | None = None) -> tuple[Progress, list[Event]]:
    """Run what is missing of an experiment with a model of the test's."""
    events: list[Event] = []
    with pytest.MonkeyPatch.context() as patch:
        if model is not None:
            engines = Engines(model, {}, ModelAccess().embedder(REHEARSAL))
            patch.setattr("tertulia.lab.experiments.cohorts.open_engines", lambda *_: engines)
            patch.setattr("tertulia.lab.experiments.cohorts.reopen_engines", lambda *_: engines)
        after = drive_here(store, experiment, events.append)
    return after, events


def test_every_trial_is_run_once_and_knows_its_place(store: SqlStore) -> None:
    model, experiment = Batched(), an_experiment(rounds=1)
    after, _ = run(store, experiment, model)
    assert (after.missing, len(after.runs)) == (0, 8)
    for (_, _, number), record in after.runs.items():
        assert record.trial is not None
        assert (record.seed, record.status, record.trial.trial) == (number, "finished", number)
        assert store.run(record.run) == record
    cohorts = Counter(record.trial.cohort for record in after.runs.values() if record.trial)
    assert cohorts == {1: 4, 2: 4}
    assert max(size.total() for size in model.sizes) == 4
    again, events = run(store, experiment, model)
    assert (again.missing, events) == (0, [])


def test_a_cohort_that_another_has_overtaken_keeps_its_number(store: SqlStore) -> None:
    experiment = an_experiment(rounds=1)
    store.experiments.save("grid", experiment.model_dump(mode="json"))
    second = progress_of(store, experiment).tasks()[1:2]
    InProcessExecutor(store, ModelAccess()).drive(second, lambda event: None)
    after, _ = run(store, experiment)
    trials = [after.runs[place].trial for place in experiment.places()]
    assert [trial.cohort for trial in trials if trial] == [1] * 4 + [2] * 4


def test_calls_of_all_kinds_meet_and_who_was_rolled_back_catches_up(store: SqlStore) -> None:
    model = Batched()
    settings = {"APP": {"lambda": 0.6, "judge": "likelihood", "inconsistency_threshold": 0.0, "ending": "continuation"}}
    experiment = an_experiment(settings=settings, cases=("tidewell",), trials=4, rounds=3)
    run(store, experiment, model)
    assert all(len(size) == 1 for size in model.sizes), "a batch is of one kind: those furthest behind go first"
    scored = [size["ScoredGeneration"] for size in model.sizes if "ScoredGeneration" in size]
    assert scored[0] == 4
    for kind in ("ScoredGeneration", "Generation", "Likelihood", "NextOption"):
        assert max(size[kind] for size in model.sizes) == 4, kind


#: A single cohort of four.
COHORT: dict[str, Any] = {"cases": ("tidewell",), "trials": 2, "rounds": 2}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Spoken, int]:
    """What is said in the cohort, and in how many batches."""
    model = Batched()
    with SqlStore.open(tmp_path_factory.mktemp("whole") / "store.db", create=True) as store:
        run(store, an_experiment(**COHORT), model)
        return conversations(store), len(model.sizes)


def test_interrupted_at_any_batch_it_goes_on_to_the_same_conversations(
    tmp_path: Path, undisturbed: tuple[Spoken, int]
) -> None:
    expected, batches = undisturbed
    assert batches > 8
    for at in (1, batches // 2, batches):
        with SqlStore.open(tmp_path / f"{at}.db", create=True) as store:
            with pytest.raises(KeyboardInterrupt):
                run(store, an_experiment(**COHORT), Batched(stopped_at=at))
            assert {record.status for record in store.runs()} <= {"interrupted", "finished"}
            after, _ = run(store, an_experiment(**COHORT), Batched())
            assert after.missing == 0
            assert conversations(store) == expected, at


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine:RuntimeWarning")
def test_trials_that_an_interrupt_leaves_no_time_to_tidy_up_are_interrupted_too(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine they don't end within the time that they have, and their coroutines are closed."""
    command = ("sweep", "tidewell", "--lambda", "0", "--trials", "3", "--rounds", "2", "--rehearse", "--name", "grid")
    with monkeypatch.context() as patch:
        patch.setattr("tertulia.runs.driving.interrupting._TIDYING_S", -1.0)
        patch.setattr("tertulia.models.loading.open_model", lambda *_, **__: Batched(stopped_at=2))
        stopped = cli(*command)
    assert stopped.code == 130
    assert "failed" not in stopped.err
    assert {run["status"] for run in cli("runs", "--json").json["runs"]} == {"interrupted"}
    assert cli(*command, "--json").json == {"experiment": "grid", "status": "finished", "runs": 3, "new": 3}
    assert cli(*command, "--store", "whole.db", "--json").json["runs"] == 3
    with SqlStore.open(Path("tertulia.db")) as store, SqlStore.open(Path("whole.db")) as other:
        assert conversations(store) == conversations(other)


def test_a_cohort_goes_on_as_a_whole_where_a_part_of_it_is_asked_for(
    store: SqlStore, undisturbed: tuple[Spoken, int]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(store, an_experiment(**COHORT), Batched(stopped_at=5))
    run(store, an_experiment(**COHORT, settings={"Full": {"lambda": 0.0}}), Batched())
    assert conversations(store) == undisturbed[0]


def test_a_trial_that_fails_stops_no_other_and_is_tried_again(store: SqlStore) -> None:
    experiment = an_experiment(trials=1)
    after, events = run(store, experiment, Batched(failing="Marisol Quispe"))
    failed = after.with_status("failed")
    assert [record.trial.case for record in failed if record.trial] == ["tidewell:0"] * 2
    assert all("the model failed" in str(record.error) for record in failed)
    assert len(after.with_status("finished")) == 2
    results = read_results(store, "grid")
    assert (len(results.runs), len(results.failed), results.missing) == (2, 2, 2)
    progress = ExperimentProgress(progress_of(store, experiment))
    for event in events:
        progress.note(event)
    assert "2 failed" in progress.text
    assert sum(isinstance(event, RunEnded) for event in events) == 4
    again, _ = run(store, experiment, Batched())
    assert again.missing == 0


def test_what_is_asked_for_again_may_grow(store: SqlStore) -> None:
    small, _ = run(store, an_experiment(trials=1, rounds=1, settings={"Full": {"lambda": 0.0}}))
    before = {record.run for record in small.runs.values()}
    after, _ = run(store, an_experiment(trials=2, rounds=1))
    assert (len(after.runs), after.missing) == (8, 0)
    assert before < {record.run for record in after.runs.values()}
    # What is asked for is a part of what there is.
    fewer, events = run(store, an_experiment(trials=1, rounds=1))
    assert (fewer.missing, events) == (0, [])


def test_conversations_that_another_experiment_has_are_not_had_again(store: SqlStore) -> None:
    run(store, an_experiment(trials=1, rounds=1))
    settings = {"Baseline": {"lambda": 0.0}, "Half": {"lambda": 0.5}}
    experiment = an_experiment(name="other", settings=settings, trials=2, rounds=1)
    after, events = run(store, experiment)
    assert (after.missing, len(after.runs)) == (0, 8)
    assert sum(isinstance(event, RunEnded) for event in events) == 6  # 2 of the 8 are there
    results = read_results(store, experiment)
    assert len(results.of("Baseline")["tidewell"]) == 2
    # Another seed, or another limit, is another conversation.
    _, events = run(store, an_experiment(name="third", settings=settings, seed=2, trials=1, rounds=1))
    assert sum(isinstance(event, RunEnded) for event in events) == 4


def test_another_experiment_of_the_same_name_is_refused(store: SqlStore) -> None:
    run(store, an_experiment(trials=1, rounds=1))
    for changes, words in (
        ({"rounds": 4}, "rounds was 1, and is 4"),
        ({"seed": 5}, "seed was 1, and is 5"),
        ({"settings": {"Full": {"lambda": 0.1}}}, "setting 'Full' was"),
    ):
        with pytest.raises(UsageError, match="take another name") as refused:
            run(store, an_experiment(**{"trials": 1, "rounds": 1, **changes}))
        assert words in str(refused.value)
        assert len(store.runs()) == 4


def test_a_scenario_file_that_was_written_anew_is_another_case(store: SqlStore, tmp_path: Path) -> None:
    path = tmp_path / "duo.yaml"
    people = "participants: [{name: Mara, memories: [%s.]}, {name: Piotr, memories: [The ferry is late.]}]"
    head = "name: pier\ntime: 2026-05-06 09:30:00\n"
    path.write_text(head + people % "Mara sells fish")
    run(store, an_experiment(cases=(str(path),), trials=1, rounds=1))
    path.write_text(head + people % "Mara sells eels")
    with pytest.raises(UsageError, match="has changed since"):
        run(store, an_experiment(cases=(str(path),), trials=2, rounds=1))
    after, events = run(store, an_experiment(name="anew", cases=(str(path),), trials=1, rounds=1))
    assert (after.missing, sum(isinstance(event, RunEnded) for event in events)) == (0, 2)
    # As it is now, it is shared: with those that read the same.
    again, events = run(store, an_experiment(name="again", cases=(str(path),), trials=2, rounds=1))
    assert (again.missing, sum(isinstance(event, RunEnded) for event in events)) == (0, 2)
    assert {run.trial.experiment for run in again.runs.values() if run.trial} == {"anew", "again"}


def test_a_file_is_read_and_an_error_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text("name: grid\ncases: [tidewell:all]\nsettings:\n  Full: {lambda: 0}\n  Half: {lambda: 0.5}\n")
    experiment = read_experiment(path)
    assert (len(experiment.cases), experiment.trials, experiment.compared_with) == (8, 10, "Full")
    path.write_text("name: grid\ncases: [tidewell]\nsettings: {Full: {lambda: 0}}\ntrails: 3\n")
    with pytest.raises(ScenarioError, match=r"grid\.yaml:4: trails"):
        read_experiment(path)
    with pytest.raises(NotFoundError):
        read_experiment(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("trials: 3", "trials: 0", "4: trials: takes 1 or more, not 0"),
        ("trials: 3", "trails: 3", "4: trails: is not a field here (did you mean 'trials'?)"),
        ("trials: 3", "baseline: Fall", "4: baseline: baseline 'Fall' is none of the settings (did you mean 'Full'?)"),
        ("[tidewell]", "tidewell", "2: cases: takes a list, not 'tidewell' (did you mean [tidewell]?)"),
        ("[tidewell]", "[tidewell, tidewel]", "2: cases[1]: unknown scenario 'tidewel' (did you mean 'tidewell'?)"),
        ("{lambda: 0}", "0.5", "3: settings.Full: takes fields, each with its value, not 0.5"),
        ("{lambda: 0}", "{lambda: 5}", "3: settings.Full.lambda: 5: takes 1 at most"),
        ("{lambda: 0}", "{lamda: 0}", "3: settings.Full: unknown parameter 'lamda' (did you mean 'lambda'?)"),
        ("{lambda: 0}", "{seed: 1}", "3: settings.Full.seed: 1 in setting 'Full'; set seed of the experiment"),
        (
            "{lambda: 0}",
            "{seat: Ana}",
            "3: settings.Full.seat: Ana in setting 'Full': nobody is asked while trials run",
        ),
        ("Full: {lambda: 0}", "Full: {lambda: 0}, Full: {}", "3: 'Full' stands twice; keep one of them"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text("name: grid\ncases: [tidewell]\nsettings: {Full: {lambda: 0}}\ntrials: 3\n".replace(old, new))
    with pytest.raises((UsageError, NotFoundError)) as raised:
        read_experiment(path)
    assert str(raised.value) == f"{path}:{complaint}"


def test_the_schema_that_is_shipped_is_that_of_the_files(cli: Cli) -> None:
    assert cli("lab", "run", "--schema").out == (ROOT / "docs" / "experiment.schema.json").read_text()


# --- the command ------------------------------------------------------------------------------------------------------


def test_sweep(cli: Cli) -> None:
    command = ("sweep", "tidewell", "--lambda", "0,.6", "--trials", "1", "--rounds", "1", "--rehearse", "--json")
    first = cli(*command).json
    assert first == {"experiment": first["experiment"], "status": "finished", "runs": 2, "new": 2}
    assert cli(*command).json == {**first, "new": 0}
    assert cli(*command[:5], "2", *command[6:]).json == {**first, "runs": 4, "new": 2}
    runs = cli("runs", "--json").json["runs"]
    assert {run["trial"]["setting"] for run in runs} == {"λ = 0", "λ = 0.6"}
    dry = cli(*command[:5], "5", *command[6:], "--dry-run").json
    assert (dry["trials"], dry["of_trials"]) == (6, 10)
    assert dry["calls"] > 0
    cli(*command, "--name", first["experiment"], "--seed", "4").complains(2, "with other settings: seed was 1")
    cli("sweep", "tidewell", "--lambda", "0,2").complains(2, "λ is a number from 0 to 1")


def test_a_trial_is_not_resumed_by_itself(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tertulia.models.loading.open_model", lambda *_, **__: Batched(stopped_at=2))
        command = ("sweep", "tidewell", "--trials", "2", "--rounds", "2", "--rehearse", "--name", "grid")
        stopped = cli(*command, "--json")
        assert (stopped.code, "to go on: tertulia sweep tidewell" in stopped.err) == (130, True)
        assert json.loads(stopped.out) == {"experiment": "grid", "status": "interrupted", "runs": 0, "new": 0}
    cli("resume", "@last").complains(2, "tertulia lab resume grid", "meet those of other trials")
    assert cli("lab", "resume", "grid", "--json").json == {
        "experiment": "grid",
        "status": "finished",
        "runs": 2,
        "new": 2,
    }


def test_killed_at_any_moment_a_sweep_goes_on_to_the_same_conversations(cli: Cli, tmp_path: Path) -> None:
    command = ["sweep", "tidewell", "--lambda", "0,0.7", "--trials", "2", "--rounds", "3", "--rehearse"]
    command += ["--name", "grid", "--side-by-side", "3", "--json", "--store"]
    whole, path = tmp_path / "whole.db", tmp_path / "killed.db"
    assert cli(*command, whole).code == 0
    sweep = Forked([*command, str(path)], tmp_path / "said.txt")
    while sweep.poll() is None and stored_turns(path) < 4:
        time.sleep(0.005)
    sweep.kill()
    assert sweep.wait() == -signal.SIGKILL
    assert cli(*command, path).code == 0
    found = []
    for file in (whole, path):
        with SqlStore.open(file) as store:
            found.append((conversations(store), read_results(store, "grid").missing, len(store.runs())))
    assert found[0] == found[1]
    assert found[1][1:] == (0, 4)


def stored_turns(path: Path) -> int:
    """The number of turns in a store that another process may be making."""
    if not path.exists():
        return 0
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        (number,) = connection.execute("SELECT count(*) FROM turns").fetchone()
        return int(number)
    return 0


def test_a_forecast_is_there_once_each_of_a_cohort_has_said_a_line(store: SqlStore) -> None:
    experiment = an_experiment(trials=2, rounds=4, cohort_size=4)
    now = [0.0]
    progress = ExperimentProgress(progress_of(store, experiment), clock=lambda: now[0])
    _, events = run(store, experiment)
    lines = sum(isinstance(event, TurnFinished) for event in events)
    assert lines > 16
    for event in events:
        now[0] += isinstance(event, TurnFinished)
        progress.note(event)
        left, forecast = lines - now[0], progress.seconds_left
        assert (forecast is None) == (now[0] < 4)
        if forecast is not None and left > 2:
            assert left / 2 <= forecast <= left * 2
    assert progress.seconds_left == 0
