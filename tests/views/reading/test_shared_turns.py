"""A fork tells the turns that it shares with its parent as the parent tells them, whatever it has changed."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.in_process import command
from support.on_use import on_use
from support.scripted import ScriptedModel

from tertulia.runs.access.engines import Engines
from tertulia.runs.planning.forking import plan_fork
from tertulia.runs.planning.starting import store_run
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore

shared_turns = on_use("tertulia.views.reading.shared_turns")
turn = on_use("tertulia.viewer.documents.turn")
conversation = on_use("tertulia.viewer.documents.conversation")
phrases = on_use("tertulia.views.wording.phrases")
rehearsal = on_use("tertulia.models.rehearsal")

#: The first turn of a fork's own.
AT = 5
DIALOGUE = ("tidewell", "--lambda", "0.5", "--rounds", "6", "--seed", "1")
MEETING = ("team_building", "--rounds", "8", "--seed", "3")

CHANGES_OF_DIALOGUE: Mapping[str, tuple[str, ...]] = {
    "the judge's threshold": ("inconsistency_threshold=2",),
    "the order of removal": ("removal_order=placebo",),
    "the pruned turns": ("pruning=first", "pruning_turns=1"),
    "blocks and names": ("removed_blocks=m", "names=famous"),
    "the retained item": ("retain=lowest", "retain_block=m"),
    "the seed": ("seed=9",),
}
CHANGES_OF_MEETING = (
    *("--set", "willingness_threshold=0.7", "--set", "silence_s=4", "--set", "reevaluation_s=3"),
    *("--set", "speaking_rate_wpm=60", "--person", "Bob.weights.goal=0.9", "--person", "Bob.background=He keeps bees."),
)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with a dialogue and a meeting, and their ids."""
    path = tmp_path_factory.mktemp("begun") / "tertulia.db"
    ids = {}
    for name, arguments in {"dialogue": DIALOGUE, "meeting": MEETING}.items():
        ids[name] = json.loads(command("run", *arguments, "--rehearse", "--json", "--store", path).out)["run"]
    return path, ids


@pytest.fixture
def runs(cli: Cli, begun: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """Their ids, in a copy of the store in this folder."""
    path, ids = begun
    shutil.copy(path, "tertulia.db")
    return ids


def forked(cli: Cli, run: str, *changes: str, at: int = AT) -> str:
    return str(cli("fork", run, "--at", str(at), *changes, "--json").json["run"])


def with_settings(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def told(cli: Cli, run: str, number: int) -> list[str]:
    """Return all that is told of a turn, without the run's id."""
    ways = ((), ("--json",), ("--lambda", "0.9"))
    found = [cli("show", run, "--turn", str(number), *way) for way in ways]
    with SqlStore.open("tertulia.db") as store:
        page = json.dumps(turn.turn_page(store, run, number) | {"scorers": None})
    return [text.replace(run, "RUN") for text in (*(shown.out or shown.err for shown in found), page)]


# --- single turns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", CHANGES_OF_DIALOGUE.values(), ids=CHANGES_OF_DIALOGUE)
def test_shared_turns_are_told_by_the_settings_they_were_made_with(
    cli: Cli, runs: dict[str, str], settings: tuple[str, ...]
) -> None:
    parent = runs["dialogue"]
    fork = forked(cli, parent, *with_settings(settings))
    for number in (2, AT - 1):
        assert told(cli, fork, number) == told(cli, parent, number)
    assert told(cli, fork, AT) != told(cli, parent, AT)


def test_shared_rounds_are_told_by_the_settings_and_the_people_of_that_time(cli: Cli, runs: dict[str, str]) -> None:
    parent = runs["meeting"]
    fork = forked(cli, parent, *CHANGES_OF_MEETING)
    for number in range(1, AT):
        assert told(cli, fork, number) == told(cli, parent, number)
    with SqlStore.open("tertulia.db") as store:
        made_with = [turn.turn_page(store, fork, number)["made_with"]["parameters"] for number in (AT - 1, AT)]
    assert [made["silence_s"] for made in made_with] == [10, 4]
    thoughts = [cli("replay", run, "--to", str(AT - 1), "--thoughts").out.split("\n\n", 2)[2] for run in (parent, fork)]
    assert thoughts[0] == thoughts[1]
    for agent in ("Bob", "Cindy"):
        minds = [cli("show", run, "--agent", agent, "--json").json["cognition"] for run in (parent, fork)]
        assert [mind for mind in minds[0] if mind["round"] < AT] == [mind for mind in minds[1] if mind["round"] < AT]


def test_a_turn_with_new_words_has_the_round_of_its_parent(cli: Cli, runs: dict[str, str]) -> None:
    parent = runs["meeting"]
    spoken = [each["turn"] for each in cli("show", parent, "--json").json["turns"] if each["speaker"]]
    fork = forked(cli, parent, "--say", "Let us go.", *CHANGES_OF_MEETING, at=spoken[1])
    minds = [cli("show", run, "--turn", str(spoken[1]), "--json").json["cognition"] for run in (parent, fork)]
    assert minds[0] == minds[1]


def test_a_turn_is_its_makers_through_forks_of_forks(cli: Cli, runs: dict[str, str]) -> None:
    parent = runs["dialogue"]
    fork = forked(cli, parent, "--set", "inconsistency_threshold=2")
    late, early = (forked(cli, fork, "--set", "inconsistency_threshold=3", at=at) for at in (AT + 1, 3))
    with SqlStore.open("tertulia.db") as store:
        threshold = store.run(parent).parameters["inconsistency_threshold"]
        for run, expected in ((late, {4: threshold, AT: 2.0, AT + 1: 3.0}), (early, {2: threshold, 3: 3.0})):
            record = store.run(run)
            settings_of = shared_turns.settings_of_turns(store, record)
            for number, value in expected.items():
                was = shared_turns.as_it_was(store, record, number)
                assert (was.run, was.parent) == (run, record.parent)
                assert was.parameters["inconsistency_threshold"] == value
                assert settings_of(number).inconsistency_threshold == value
        assert [stretch.maker for stretch in shared_turns.stretches(store, store.run(early))] == [parent, early]


# --- whole runs -----------------------------------------------------------------------------------------------------


def test_a_silence_has_its_own_length_wherever_a_conversation_is_told(cli: Cli, runs: dict[str, str]) -> None:
    parent = runs["meeting"]
    turns = cli("show", parent, "--json").json["turns"]
    silent = [each["turn"] for each in turns if each["speaker"] is None]
    fork = forked(cli, parent, "--set", "silence_s=4", "--rounds", "9", at=len(turns) + 1)
    cli("export", fork, "--markdown", "fork.md")
    shown = [
        *(cli("show", fork).out, cli("show", fork, "--agent", "Bob").out, cli("replay", fork).out),
        Path("fork.md").read_text(encoding="utf-8"),
    ]
    for text in shown:
        assert text.count("… ten seconds of silence") == len(silent)
    other = str(cli("run", *MEETING, "--seed", "4", "--rehearse", "--json").json["run"])
    compared = [cli("diff", run, other).out for run in (parent, fork)]
    assert [text.count("four seconds of silence") for text in compared] == [
        0,
        cli("show", fork).out.count("four seconds"),
    ]
    assert "ten seconds of silence" in compared[1]
    with SqlStore.open("tertulia.db") as store:
        rows = conversation.turns_page(store, fork, to=len(turns))["turns"]
        assert rows == conversation.turns_page(store, parent)["turns"]


def test_participation_counts_each_turn_with_its_own_settings(cli: Cli, runs: dict[str, str]) -> None:
    parent = runs["meeting"]
    turns = len(cli("show", parent, "--json").json["turns"])
    fork = forked(cli, parent, *CHANGES_OF_MEETING, "--rounds", "12", at=turns + 1)
    own = forked(cli, parent, *CHANGES_OF_MEETING, at=1)
    before, after, anew = (cli("stats", run, "--json").json for run in (parent, fork, own))
    added = [each for each in cli("show", fork, "--json").json["turns"] if each["turn"] > turns]
    silences = sum(each["speaker"] is None for each in added)
    assert before["silences"]
    assert after["silences"] == before["silences"] + silences
    assert after["silence_s"] == before["silence_s"] + 4 * silences
    assert anew["silence_s"] == 4 * anew["silences"]
    for was, now in zip(before["agents"], after["agents"], strict=True):
        words = now["words"] - was["words"]
        assert now["speaking_time_s"] == pytest.approx(was["speaking_time_s"] + words)  # 60 words a minute
        if not added:
            assert now["wanting_for"] == was["wanting_for"]


# --- rehearsals -----------------------------------------------------------------------------------------------------


@pytest.fixture
def record_of(cli: Cli, runs: dict[str, str]) -> Callable[..., RunRecord]:
    """Returns the record of a fork of the dialogue as if another model spoke in it."""

    def record(at: int, run: str = "dialogue", **fields: Any) -> RunRecord:
        with SqlStore.open("tertulia.db") as store:
            parent = store.run(runs.get(run, run))
            made = parent.model_copy(update={"run": store.new_run_id(), "parent": (parent.run, at), **fields})
            store.create_run(made, store.start(parent.run))
            return store.run(made.run)

    return record


def test_a_fork_by_a_model_has_rehearsed_turns_before_it(
    cli: Cli, runs: dict[str, str], record_of: Callable[..., RunRecord]
) -> None:
    fork = record_of(AT, model="smollm2", rehearsed=True)
    assert not fork.is_rehearsal
    for number in (2, AT - 1):
        assert told(cli, fork.run, number) == told(cli, runs["dialogue"], number)
    assert "rehearsed in part" in cli("show", fork.run).out
    assert phrases.made_with(fork)[-1] == "rehearsed in part"
    assert "rehearsed: the figures mean nothing" in cli("stats", fork.run).out
    with SqlStore.open("tertulia.db") as store:
        assert turn.turn_page(store, fork.run, 2)["made_with"] == {"rehearsed": True, "parameters": {}}
        assert not shared_turns.as_it_was(store, fork, AT).rehearsed


def test_a_fork_is_marked_if_it_shares_a_turn_of_a_rehearsal(runs: dict[str, str]) -> None:
    with SqlStore.open("tertulia.db") as store:
        parent = store.run(runs["dialogue"])
        engines = Engines(ScriptedModel(rehearsed=False), {}, rehearsal.RehearsalEmbedder())
        made = [store_run(store, plan_fork(store, parent, at), engines) for at in (1, 2)]
        assert [(run.rehearsed, run.is_rehearsal) for run in made] == [(False, False), (True, False)]
        again = [store_run(store, plan_fork(store, store.run(made[1].run), at), engines) for at in (1, 2)]
        assert [run.rehearsed for run in again] == [False, True]
