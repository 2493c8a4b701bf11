"""Teaching a local model: sources to lessons, lessons to adapters, and how much was learned, on held-out lessons.

The same command goes on after a kill: the training notes its sources (`_key`), and goes on from a checkpoint of the
same ones, to the digit. With other sources it begins anew.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.lab.tuning.course import SHARES, Course, course_of
from tertulia.lab.tuning.lesson import Dropout, Lesson
from tertulia.lab.tuning.run_lessons import lessons_of_file, lessons_of_run
from tertulia.lab.tuning.scene_lessons import lessons_of
from tertulia.models.local.adapters import kept_under, read_adapters, split_name
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import ModelError, NotFoundError, TertuliaError, UsageError
from tertulia.state.language_model import Activity, Report
from tertulia.state.languages import DEFAULT, language_of, name_of
from tertulia.state.records import RunRecord
from tertulia.state.store import Store
from tertulia.state.written_files import refuse_links_in, write_text
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.sqlite.locks import drive_lock
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import FILE_ENDINGS
from tertulia.worlds.scenes import read_scenes

if TYPE_CHECKING:
    from tertulia.models.tuning.trainer import Progress, Trainer

#: The place of a training's checkpoints, in the folder of its adapters.
_TRAINING = ".training"

#: Held-out lessons that measure, at most: each is read at five shares, before and after.
_MEASURED = 60


@dataclass(frozen=True)
class TuningPlan:
    """The lessons for a model, and the settings of its training.

    Attributes:
        base: The model: `smollm2:plain`, a folder, or a hub id; adapters that it has are trained further.
        rank: Of fresh adapters.
        learning_rate, batch, seed: See `models.tuning.trainer.TuningOptions`.
        longest: The most tokens of a sequence.
        held_out: The share of scenes, or runs, that only measure.
    """

    base: str
    folder: Path
    epochs: float = 1.0
    rank: int = 16
    learning_rate: float = 6e-4
    batch: int = 8
    longest: int = 1600
    held_out: float = 0.05
    seed: int = 1
    dropout: Dropout = field(default_factory=Dropout)


@dataclass(frozen=True)
class Taught:
    """The outcome of a training, with the held-out loss by share of removed units, in nats per token."""

    folder: Path
    lessons: int
    steps: int
    before: dict[float, float]
    after: dict[float, float]


def adapters_folder(name: str | None, folder: Path | None, cache: Path) -> Path:
    """Return the folder of adapters: under a name in the cache, or the one given.

    Raises:
        UsageError: Neither is given, or both are, or the name can't be one; or the folder is a link.
    """
    if (name is None) == (folder is None):
        raise UsageError("say where the adapters go: --name NAME, or --out FOLDER")
    if folder is not None:
        refuse_links_in(folder, _TRAINING)
        return folder
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", str(name)):
        raise UsageError(f"the name {name!r} is not made of letters, digits, _ and - alone; take another")
    return kept_under(str(name), cache)


def spoken_as(base: str, adapters: str | Path | None) -> str:
    """Return the name by which a base is opened with new adapters: those that were trained further are in them."""
    return f"{split_name(base)[0]}+{adapters}"


def lessons_of_sources(sources: Sequence[Path], runs: str | None, store: StoreAddress | None) -> list[list[Lesson]]:
    """Return the lessons of scenes, of scenario files with lines, and of stored runs, by their source.

    The ids of runs are separated by commas; `all` means the finished ones.

    Raises:
        NotFoundError: There is no such file, or no such run.
        ScenarioError: A file can't be read.
        UsageError: There is nothing to learn, or it is not in English.
    """
    if missing := next((source for source in sources if not source.exists()), None):
        raise NotFoundError(f"no such file: {missing}")
    scenes = read_scenes([path for path in sources if path.suffix not in FILE_ENDINGS])
    found = [lessons_of(scene, number) for number, scene in enumerate(scenes)]
    found += [lessons_of_file(path) for path in sources if path.suffix in FILE_ENDINGS]
    if runs is not None and store is not None:
        with SqlStore.open(store, create=False) as opened:
            chosen = opened.runs(status="finished") if runs == "all" else [opened.run(id) for id in runs.split(",")]
            found += [_lessons_in_english(opened, run) for run in chosen]
    taught = [lessons for lessons in found if lessons]
    if not taught:
        raise UsageError("there is nothing to learn: name files of scenes, or runs in which somebody speaks")
    texts = [unit.text for lessons in taught[:200] for unit in lessons[0].prompt.units if unit.kind == "item"]
    if (language := language_of(texts)) != DEFAULT:
        raise UsageError(f"the texts seem to be in {name_of(language)}, and lessons are in English so far")
    return taught


def _lessons_in_english(store: Store, run: RunRecord) -> list[Lesson]:
    language = str(run.parameters.get("language", DEFAULT))
    if language != DEFAULT:
        raise UsageError(f"run {run.run} is in {name_of(language)}, and lessons are in English so far; leave it out")
    return lessons_of_run(store, run)


def taught_document(taught: Taught, model: str) -> Document:
    """Return the outcome of a training as a JSON document, with the name by which the model is now opened."""
    losses = [{"removed": share, "before": loss, "after": taught.after[share]} for share, loss in taught.before.items()]
    return {
        "schema_version": SCHEMA_VERSION,
        "model": model,
        "folder": str(taught.folder),
        "lessons": taught.lessons,
        "steps": taught.steps,
        "held_out": losses,
    }


def teach(plan: TuningPlan, lessons: Sequence[Sequence[Lesson]], *, cache: Path, report: Report) -> Taught:
    """Train adapters on lessons by scene or run, write them, and return how much was learned.

    `report` is called while the model is loaded, and with the progress of the training.

    Raises:
        ModelError: The model can't be loaded or trained, or a file can't be written.
        StorageError: Another process trains there.
    """
    from tertulia.models.local.adapters import matrices_of
    from tertulia.models.tuning.base import load_base
    from tertulia.models.tuning.trainer import Trainer, TuningOptions

    with _alone_in(plan.folder):
        base = load_base(plan.base, cache, report)
        course = course_of(
            lessons,
            dropout=plan.dropout,
            seed=plan.seed,
            batch=plan.batch,
            longest=plan.longest,
            held_out=plan.held_out,
        )
        steps = max(1, round(plan.epochs * len(course.lessons) / plan.batch))
        rank = plan.rank if base.adapters is None else base.adapters.rank
        options = TuningOptions(
            rank=rank,
            alpha=2 * rank if base.adapters is None else round(rank * base.adapters.scale),
            learning_rate=plan.learning_rate,
            batch=plan.batch,
            steps=steps,
            seed=plan.seed,
        )
        about = {
            "base": split_name(plan.base)[0],
            "base_hash": base.hash,
            "adapters_before": None if base.adapters is None else base.adapters.hash,
            "lessons": len(course.lessons),
            "data": _digest(course),
        }
        key = {**about, "longest": plan.longest, "seed": plan.seed, "dropout": asdict(plan.dropout)}
        made = key | {"options": asdict(options), "epochs": plan.epochs}
        if (known := _known(plan.folder, made)) is not None:
            return Taught(plan.folder, len(course.lessons), steps, *known)
        start = {} if base.adapters is None else matrices_of(base.adapters)
        trainer = Trainer(base.model, options, plan.folder / _TRAINING, key, start)
        measure = _Measure(trainer, course, base.tokenizer, plan.folder / _TRAINING / "before.json", key)
        before = measure.before()
        trainer.train(course.sequences(base.tokenizer), lambda step: report(_shown(step)))
        after = measure.losses()
        trainer.save_adapter(plan.folder, made | {"held_out_before": before, "held_out_after": after})
        shutil.rmtree(plan.folder / _TRAINING)
        return Taught(plan.folder, len(course.lessons), steps, before, after)


def _known(folder: Path, made: dict[str, Any]) -> tuple[dict[float, float], dict[float, float]] | None:
    """Return the held-out losses of adapters that were made like this before, before and after; `None` if none were."""
    try:
        about = read_adapters(folder).about
        if any(about.get(name) != value for name, value in json.loads(json.dumps(made)).items()):
            return None
        before, after = (
            {float(share): float(loss) for share, loss in about[f"held_out_{when}"].items()}
            for when in ("before", "after")
        )
    except (TertuliaError, KeyError, ValueError, AttributeError, TypeError):
        return None
    return before, after


@dataclass(frozen=True)
class _Measure:
    """The held-out loss of a training, by the share that is removed; that of before is kept over kills."""

    trainer: "Trainer"
    course: Course
    tokenizer: Any
    file: Path
    key: dict[str, Any]

    def before(self) -> dict[float, float]:
        """Return the loss before the first step."""
        wanted = json.loads(json.dumps(self.key))
        try:
            known = json.loads(self.file.read_text(encoding="utf-8"))
            if known["key"] == wanted:
                return {float(share): float(loss) for share, loss in known["losses"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        losses = self.losses()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.file, json.dumps({"key": wanted, "losses": losses}))
        return losses

    def losses(self) -> dict[float, float]:
        """Return the loss now; none if nothing is held out."""
        if not self.course.held_out:
            return {}
        return {
            share: self.trainer.loss(self.course.held_out_at(share, self.tokenizer)[:_MEASURED]) for share in SHARES
        }


def _shown(step: "Progress") -> Activity:
    left = f"{step.left_s / 60:.0f} min" if step.left_s >= 60 else f"{step.left_s:.0f} s"
    return Activity(f"step {step.step} of {step.steps}, loss {step.loss:.2f}, {left} left", step.step / step.steps)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Train in a folder while no other process does.

    Raises:
        StorageError: Another one does.
        ModelError: The folder can't be written.
    """
    try:
        (folder / _TRAINING).mkdir(parents=True, exist_ok=True)
        with drive_lock(folder / _TRAINING / "adapters", "training"):
            yield
    except OSError as error:
        raise ModelError(f"{folder} can't be written ({error.strerror}); free room there, or name another") from error


def _digest(course: Course) -> str:
    """Return a hash of all lessons, so that a training on other data is not resumed."""
    digest = hashlib.blake2b(digest_size=16)
    for lesson in (*course.lessons, *course.held_out):
        digest.update(lesson.prompt.model_dump_json().encode())
        digest.update(json.dumps([lesson.learned, lesson.answer, lesson.drafts]).encode())
    return digest.hexdigest()
