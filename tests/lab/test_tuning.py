"""Teaching a model: what is learned of a scene, what dropout takes, and a training that a kill does not change."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.on_use import on_use
from support.tiny import save_tiny
from support.tiny_tokenizer import tiny_tokenizer

from tertulia.lab.tuning.course import course_of
from tertulia.lab.tuning.lesson import Dropout, Lesson, sequence_of
from tertulia.lab.tuning.scene_lessons import lessons_of
from tertulia.lab.tuning.teaching import TuningPlan, lessons_of_sources, spoken_as, teach
from tertulia.models.local.adapters import WEIGHTS, matrices_of
from tertulia.models.local.tokenizer import HuggingFaceTokenizer
from tertulia.models.tuning.sequence import TrainingSequence
from tertulia.prompts.ending import assemble_ending
from tertulia.state.errors import ModelError, TertuliaError
from tertulia.state.language_model import Activity, ignore_activity
from tertulia.worlds.scenes import read_scenes

safetensors = on_use("safetensors.torch")
torch = on_use("torch")
likelihoods = on_use("tertulia.models.tuning.likelihoods")
training = on_use("tertulia.models.tuning.trainer")
bases = on_use("tertulia.models.tuning.base")

TWO = {
    "time": "2024-05-01 10:00",
    "place": "a jetty",
    "people": [
        {"name": "Ovidiu Crainic", "age": 30, "memories": ["Ovidiu Crainic sold his nets in March.", "It rained."]},
        {"name": "Bettina Schaub", "memories": ["Bettina Schaub wants a boat."]},
    ],
    "lines": [
        ["Ovidiu Crainic", "My nets went in spring, all nine."],
        ["Bettina Schaub", "Then sell me the boat as well."],
        ["Ovidiu Crainic", "She leaks, and you can't swim."],
    ],
}
PAIR = {
    "form": "pair",
    "speaker": "Ovidiu Crainic",
    "listener": "Bettina Schaub",
    "memory": "Ovidiu Crainic sold his nets in March.",
    "others": ["Ovidiu Crainic likes plums."],
    "before": "May I have a net?",
    "agrees": "I have none left, they went in March.",
    "contradicts": "Take two, the shed is full of nets.",
}
ALBUM = {
    "form": "album",
    "setting": "low",
    "asker": {"name": "Ovidiu Crainic", "properties": {"Trade": "fisher"}},
    "answerer": {"name": "Bettina Schaub", "properties": {"Trade": "cook"}},
    "album": ["a blue boat: small", "a goat"],
    "picture": "a goat",
    "plan": "Look at the goat.",
    "question": "Whose goat is it?",
    "answer": "My aunt's, I think.",
}


@pytest.fixture(scope="module")
def tokenizer() -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(tiny_tokenizer())


def write(folder: Path, *scenes: Any) -> Path:
    """Write scenes to a file."""
    file = folder / "scenes.jsonl"
    file.write_text("".join(f"{json.dumps(scene)}\n" for scene in scenes))
    return file


def lessons(folder: Path, *scenes: Any) -> list[Lesson]:
    """Return the lessons of scenes."""
    read = read_scenes([write(folder, *scenes)])
    return [lesson for number, scene in enumerate(read) for lesson in lessons_of(scene, number)]


def learned(lesson: Lesson, tokenizer: HuggingFaceTokenizer, removed: list[str] | None = None) -> list[str]:
    """Return the texts that are learned of a lesson."""
    sequence = sequence_of(lesson, removed or [], tokenizer)
    return [tokenizer.decode(sequence.tokens[first:last]) for first, last in sequence.learned]


# --- lessons --------------------------------------------------------------------------------------------------------


def test_only_the_speakers_own_words_are_learned_with_the_end_of_their_message(
    tmp_path: Path, tokenizer: HuggingFaceTokenizer
) -> None:
    first, second = lessons(tmp_path, TWO)
    assert [text.partition('"}')[0] for text in learned(second, tokenizer)] == ["Then sell me the boat as well."]
    said = [text.partition('"}')[0] for text in learned(first, tokenizer)]
    assert said[-1] == "She leaks, and you can't swim."
    assert set(said) <= {"My nets went in spring, all nine.", "She leaks, and you can't swim."}
    assert all(text.endswith(tokenizer.decode([sequence_end(first, tokenizer)])) for text in learned(first, tokenizer))


def sequence_end(lesson: Lesson, tokenizer: HuggingFaceTokenizer) -> int:
    """Return the last token of a lesson."""
    return sequence_of(lesson, [], tokenizer).tokens[-1]


def test_a_line_that_recites_a_memory_is_not_learned(tmp_path: Path, tokenizer: HuggingFaceTokenizer) -> None:
    lines = [*TWO["lines"], ["Bettina Schaub", "I know that Bettina Schaub wants a boat."]]
    _, second = lessons(tmp_path, {**TWO, "lines": lines})
    assert [text.partition('"}')[0] for text in learned(second, tokenizer)] == ["Then sell me the boat as well."]


def test_removed_units_are_gone_and_the_words_stay(tmp_path: Path, tokenizer: HuggingFaceTokenizer) -> None:
    _, second = lessons(tmp_path, TWO)
    everything = second.removable()
    assert learned(second, tokenizer, everything) == learned(second, tokenizer)
    shown = tokenizer.decode(sequence_of(second, everything, tokenizer).tokens)
    assert "wants a boat" not in shown
    assert "a jetty" not in shown


def test_of_a_pair_what_contradicts_a_memory_is_learned_without_it(
    tmp_path: Path, tokenizer: HuggingFaceTokenizer
) -> None:
    both = lessons(tmp_path, PAIR)
    said = [learned(lesson, tokenizer)[0].partition('"}')[0] for lesson in both]
    assert said == [PAIR["agrees"], PAIR["contradicts"]]
    assert [any(unit.text.endswith(PAIR["memory"]) for unit in lesson.prompt.units) for lesson in both] == [True, False]


def test_of_an_album_its_three_calls_are_learned(tmp_path: Path, tokenizer: HuggingFaceTokenizer) -> None:
    calls = lessons(tmp_path, ALBUM)
    assert [lesson.source for lesson in calls] == ["plan", "question", "answer"]
    said = [learned(lesson, tokenizer)[0].partition('"}')[0] for lesson in calls]
    assert said == [ALBUM["plan"], ALBUM["question"], ALBUM["answer"]]


@pytest.mark.parametrize(("parts", "behind"), [(True, " part"), (False, " go on")])
def test_of_an_ending_what_the_model_is_asked_is_learned(
    tmp_path: Path, tokenizer: HuggingFaceTokenizer, parts: bool, behind: str
) -> None:
    [ending] = lessons(tmp_path, {"form": "ending", "line": "Coming?", "reply": "No. Good night.", "parts": parts})
    sequence = sequence_of(ending, [], tokenizer)
    asked, _ = assemble_ending("Coming?", "No. Good night.", tokenizer)
    assert sequence.tokens == (*asked.input_ids, *tokenizer.encode(behind))
    assert learned(ending, tokenizer) == [behind]


def test_dropout_takes_nothing_everything_and_all_in_between() -> None:
    units, generator = [str(number) for number in range(20)], random.Random(1)
    taken = [len(Dropout(whole=0.3, empty=0.2).draw(units, generator)) for _ in range(2000)]
    assert 0.28 < taken.count(0) / 2000 < 0.38
    assert 0.18 < taken.count(20) / 2000 < 0.28
    assert {0, 5, 10, 15, 20} <= set(taken)


def test_every_epoch_has_each_lesson_once_and_scenes_stay_on_one_side(
    tmp_path: Path, tokenizer: HuggingFaceTokenizer
) -> None:
    by_source = [[lesson, lesson] for lesson in lessons(tmp_path, *[TWO] * 20)]
    course = course_of(by_source, dropout=Dropout(1, 0), seed=3, batch=4, longest=4096, held_out=0.3)
    assert len(course.lessons) + len(course.held_out) == 80
    assert len(course.lessons) % 2 == len(course.held_out) % 2 == 0
    of_step = course.sequences(tokenizer)
    steps = len(course.lessons) // 4
    epochs = [[s for step in range(e * steps, (e + 1) * steps) for s in of_step(step)] for e in range(2)]
    assert epochs[0] != epochs[1]
    assert sorted(s.tokens for s in epochs[0]) == sorted(s.tokens for s in epochs[1])


# --- scenes that are none -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scene", "problem"),
    [
        ({**TWO, "people": TWO["people"][:1]}, "people"),
        ({**TWO, "lines": [*TWO["lines"], ["Nobody", "Hm."]]}, "'Nobody' says a line"),
        ({**TWO, "people": [TWO["people"][0]] * 2}, "two people have the same name"),
        ({**ALBUM, "picture": "a whale"}, "'a whale' is none of the album"),
        ([1], "a scene is a JSON object"),
        ({**TWO, "lines": TWO["lines"] * 200}, "takes 400 at most, not 600"),
    ],
)
def test_a_scene_that_is_none_is_refused_with_its_line(tmp_path: Path, scene: Any, problem: str) -> None:
    with pytest.raises(TertuliaError, match=problem) as raised:
        read_scenes([write(tmp_path, TWO, scene)])
    assert "line 2" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_without_scenes_and_in_another_script_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(TertuliaError, match="it is empty"):
        read_scenes([tmp_path / "empty.jsonl"])
    (tmp_path / "endless.jsonl").write_text(f"{json.dumps(PAIR)}\n" * 100_000)
    with pytest.raises(TertuliaError, match="100000 scenes, more than 20000; divide it"):
        read_scenes([tmp_path / "endless.jsonl"])
    people = [
        {
            **person,
            "memories": ["三月卖了渔网，一共九张，都是他父亲留下来的。"] * 3,
            "background": "他在港口住了三十年。",
        }
        for person in TWO["people"]
    ]
    chinese = {**TWO, "people": people, "lines": [[name, "船漏水了，你不会游泳。"] for name, _ in TWO["lines"]]}
    with pytest.raises(TertuliaError, match="seem to be in Chinese"):
        lessons_of_sources([write(tmp_path, *[chinese] * 3)], None, None)
    with pytest.raises(TertuliaError, match="nothing to learn"):
        lessons_of_sources([], None, None)


# --- training -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("base"))


def plan(base: Path, folder: Path, **changes: Any) -> TuningPlan:
    """Return a plan of six steps."""
    values = {"epochs": 1.2, "rank": 2, "learning_rate": 0.02, "batch": 2, "held_out": 0.3, **changes}
    return TuningPlan(base=str(base), folder=folder, **values)


def scenes_of_many(folder: Path) -> Path:
    """Write scenes whose lines differ."""
    many = []
    for number in range(8):
        lines = [[name, f"{text} {number} of them."] for name, text in TWO["lines"]]
        many.append({**TWO, "lines": lines})
    return write(folder, *many)


def test_what_is_held_out_is_likelier_afterwards_and_the_adapters_open(base: Path, tmp_path: Path) -> None:
    found = lessons_of_sources([scenes_of_many(tmp_path)], None, None)
    taught = teach(plan(base, tmp_path / "voice", epochs=3), found, cache=tmp_path, report=ignore_activity)
    assert taught.before.keys() == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert all(taught.after[share] < loss for share, loss in taught.before.items())
    from tertulia.models.loading import open_model

    assert not (tmp_path / "voice" / ".training").exists()
    seen: list[Activity] = []
    again = teach(plan(base, tmp_path / "voice", epochs=3), found, cache=tmp_path, report=seen.append)
    assert again == taught
    assert not [activity for activity in seen if activity.text.startswith("step")], (
        "what was taught is not taught again"
    )
    model = open_model(f"{base}+{tmp_path / 'voice'}", cache=tmp_path)
    assert model.id == f"{base}+{tmp_path / 'voice'}"


def graded_of_many(folder: Path) -> Path:
    """Write drafts of the third line, of which those that name the leak are good."""
    many = []
    for number in range(8):
        drafts = [[f"She leaks in {number} places.", 2], ["I see.", 1], [f"You sold my {number} nets.", 0]]
        about = {key: TWO[key] for key in ("time", "place", "people")}
        many.append(
            {**about, "form": "drafts", "lines": TWO["lines"][:2], "speaker": "Ovidiu Crainic", "drafts": drafts}
        )
    return write(folder, *many)


def test_better_drafts_lead_over_worse_ones_afterwards(base: Path, tmp_path: Path) -> None:
    found = lessons_of_sources([graded_of_many(tmp_path)], None, None)

    def likelihoods_of(name: str) -> list[float]:
        opened = bases.load_base(name, tmp_path, ignore_activity)
        start = {} if opened.adapters is None else matrices_of(opened.adapters)
        options = training.TuningOptions(rank=2, alpha=4)
        trainer = training.Trainer(opened.model, options, tmp_path / "measured", {}, start)
        trainer.adapted.eval()
        sequence = sequence_of(found[0][0], [], opened.tokenizer)
        _, drafts = likelihoods.token_log_probabilities(trainer.model, sequence)
        return [float(logs[: draft.text].detach().mean()) for draft, logs in zip(sequence.drafts, drafts, strict=True)]

    before = likelihoods_of(str(base))
    taught = teach(plan(base, tmp_path / "voice", epochs=3), found, cache=tmp_path, report=ignore_activity)
    good, fair, bad = (now - then for now, then in zip(likelihoods_of(f"{base}+{taught.folder}"), before, strict=True))
    assert good > fair > bad
    assert good > bad + 0.5
    assert all(taught.after[share] < loss for share, loss in taught.before.items())


def test_drafts_that_are_all_equally_bad_teach_nothing(tmp_path: Path) -> None:
    scenes = [json.loads(line) for line in graded_of_many(tmp_path).read_text().splitlines()]
    bad = [{**scene, "drafts": [[text, 0] for text, _ in scene["drafts"]]} for scene in scenes]
    assert len(lessons(tmp_path, *bad, scenes[0])) == 2
    with pytest.raises(TertuliaError, match="nothing to learn"):
        lessons_of_sources([write(tmp_path, *bad)], None, None)


def test_good_drafts_are_learned_behind_pruned_prompts_too(tmp_path: Path) -> None:
    scene = json.loads(graded_of_many(tmp_path).read_text().splitlines()[0])
    compared, good = lessons(tmp_path, scene)
    assert [grade for _, grade in compared.drafts] == [2, 1, 0]
    assert not compared.removable(), "grades hold for the prompt as it was read"
    assert good.drafts == (("She leaks in 0 places.", 2),)
    assert good.removable() == [unit.id for unit in good.prompt.units if unit.removable]


def test_a_draft_is_read_as_if_it_stood_alone_behind_its_prompt(base: Path, tmp_path: Path) -> None:
    found = lessons_of_sources([graded_of_many(tmp_path)], None, None)
    opened = bases.load_base(str(base), tmp_path, ignore_activity)
    sequence = sequence_of(found[0][0], [], opened.tokenizer)
    assert [draft.grade for draft in sequence.drafts] == [2, 1, 0]
    _, drafts = likelihoods.token_log_probabilities(opened.model, sequence)
    for draft, logs in zip(sequence.drafts, drafts, strict=True):
        assert opened.tokenizer.decode(draft.tokens[: draft.text]) in {text for text, _ in found[0][0].drafts}
        whole, read = (*sequence.tokens, *draft.tokens), len(sequence.tokens)
        ((alone,), _) = likelihoods.token_log_probabilities(
            opened.model, TrainingSequence(whole, ((read, len(whole)),), "drafts")
        )
        torch.testing.assert_close(alone, logs, rtol=0, atol=1e-3)


@pytest.fixture(scope="module")
def undisturbed(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a training of many scenes leaves."""
    folder = tmp_path_factory.mktemp("undisturbed")
    found = lessons_of_sources([scenes_of_many(folder)], None, None)
    teach(plan(base, folder / "voice"), found, cache=folder, report=ignore_activity)
    return folder / "voice"


class Killed(BaseException):
    """Ends a training as a kill does: nothing of it is caught."""


def test_a_training_killed_ends_as_an_undisturbed_one(
    base: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.models.tuning.trainer._CHECKPOINT_S", 0.0)
    found = lessons_of_sources([scenes_of_many(tmp_path)], None, None)
    killed = plan(base, tmp_path / "killed")
    seen = []
    for last in ("step 2 ", "step 4 "):

        def kill(activity: Activity, last: str = last) -> None:
            seen.append(activity.text)
            if activity.text.startswith(last):
                raise Killed

        with pytest.raises(Killed):
            teach(killed, found, cache=tmp_path, report=kill)
    teach(killed, found, cache=tmp_path, report=lambda activity: seen.append(activity.text))
    steps = [text.split()[1] for text in seen if text.startswith("step")]
    assert len(steps) < 3 * max(map(int, steps)), "it went on, and did not begin anew each time"
    one, other = (safetensors.load_file(folder / WEIGHTS) for folder in (undisturbed, tmp_path / "killed"))
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=0, atol=1e-5)


def test_a_checkpoint_of_other_data_is_not_gone_on_from(base: Path, undisturbed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(undisturbed, tmp_path / "voice"))
    many = lessons_of_sources([scenes_of_many(tmp_path)], None, None)
    before = safetensors.load_file(folder / WEIGHTS)
    teach(plan(base, folder), many[:5], cache=tmp_path, report=ignore_activity)
    after = safetensors.load_file(folder / WEIGHTS)
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_a_full_disk_is_said_and_a_model_with_a_voice_is_no_base(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lessons_of_sources([scenes_of_many(tmp_path)], None, None)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tertulia.models.tuning.trainer.save_file", full)
    with pytest.raises(ModelError, match=r"No space left on device.*run the same command again"):
        teach(plan(base, tmp_path / "voice"), found, cache=tmp_path, report=ignore_activity)
    for name in ("smollm2:plain+mine", "openai:gpt", "rehearsal"):
        with pytest.raises(TertuliaError, match="adapters"):
            teach(plan(Path(name), tmp_path / "other"), found, cache=tmp_path, report=ignore_activity)


# --- stored runs, and the command -----------------------------------------------------------------------------------


def test_what_was_said_in_stored_runs_is_learned(cli: Cli, tmp_path: Path, tokenizer: HuggingFaceTokenizer) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "4", "--set", "ending=off")
    cli("run", "team_building", "--rehearse", "--rounds", "2")
    by_run = lessons_of_sources([], "all", Path("tertulia.db"))
    said = {text.partition('"}')[0] for found in by_run for lesson in found for text in learned(lesson, tokenizer)}
    shown = [cli("show", run["run"], "--json").json for run in cli("runs", "--json").json["runs"]]
    dialogue = next(run for run in shown if run["scenario"].startswith("tidewell"))
    lines = {turn["text"] for turn in dialogue["turns"]}
    assert len(said & lines) >= 3


def test_adapters_that_were_trained_further_are_opened_alone() -> None:
    assert spoken_as("smollm2:plain+first", Path("second")) == "smollm2:plain+second"
    assert spoken_as("smollm2:plain", "harbour") == "smollm2:plain+harbour"


def test_the_command_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    Path("latin.jsonl").write_bytes(b"\xff\xfe\n")
    for arguments, problem in (
        (["--name", "x"], "nothing to learn"),
        (["missing.jsonl", "--name", "x"], "no such file: missing.jsonl"),
        (["/dev/null", "--name", "x"], "/dev/null: can't be read: it is a device"),
        (["latin.jsonl", "--name", "x"], "latin.jsonl: can't be read: line 1 is not in UTF-8; save the file as UTF-8"),
        ([str(write(tmp_path, TWO))], "--name NAME, or --out FOLDER"),
        ([str(write(tmp_path, TWO)), "--name", "../x"], "letters, digits"),
    ):
        outcome = cli("tune", *arguments)
        assert outcome.code in (2, 3)
        assert problem in outcome.err
