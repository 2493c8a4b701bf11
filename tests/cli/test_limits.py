"""Limits of what was sent: checked before the work, each told in one line; and copies that a kill leaves are swept."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image
from support.commands import Cli, rehearse

from tertulia.lab.experiments.experiment import MOST_CASES, MOST_CONVERSATIONS, MOST_SETTINGS, joined_definitions
from tertulia.state.errors import UsageError
from tertulia.storage.sqlite import copy_folder
from tertulia.storage.store import SqlStore

ROOT = Path(__file__).parents[2]


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files of the test lie."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    tempfile.tempdir = None


# --- copies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "pages", "words"),
    [
        (40 * 2**30, None, "of which its header knows"),
        (10 * 2**30, 10 * 2**30 // 4096, "were ever written"),
        (40 * 2**30, 0, "more than the 32.0 GB that are copied"),
    ],
)
def test_a_file_that_is_larger_than_what_is_in_it_is_not_copied(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch, size: int, pages: int | None, words: str
) -> None:
    run = rehearse(cli, "--store", "mine.db")
    Path("large.db").write_bytes(Path("mine.db").read_bytes() if pages != 0 else b"")
    with open("large.db", "r+b") as file:
        file.truncate(size)
        if pages:
            file.seek(28)
            file.write(pages.to_bytes(4, "big"))
    copied, copy = list[str](), copy_folder.copied

    def copying(source: Path, target: Path) -> Path:
        copied.append(source.name)
        return copy(source, target)

    monkeypatch.setattr("tertulia.storage.sqlite.private_copy.copied", copying)
    merged = cli("merge", "large.db", "mine.db", "--into", "all.db", "--json")
    assert words in merged.out
    assert "large.db" not in copied
    assert run in merged.out
    assert [*temporary.iterdir()] == []


def test_a_store_for_which_there_is_no_room_is_not_copied(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearse(cli, "--store", "mine.db")
    monkeypatch.setattr(copy_folder, "_LEFT_FREE", 10**18)
    assert "set TMPDIR" in cli("merge", "mine.db", "--into", "all.db").err


def test_a_restore_needs_room_for_the_copy_alone_beside_the_store(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rehearse(cli, "--store", "mine.db")
    (tmp_path / "disk").mkdir()
    size = Path("mine.db").stat().st_size
    free = [size]
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=free[0]))
    assert cli("restore", "mine.db", "--store", "disk/s.db").code == 0
    free[0] = size - 1
    refused = cli("restore", "mine.db", "--store", "disk/s.db")
    refused.complains(1, "mine.db can't be copied: there is no room for it in disk")
    assert "TMPDIR" not in refused.err


def test_the_copy_of_a_merge_that_was_killed_is_swept_by_the_next(cli: Cli, temporary: Path) -> None:
    run = rehearse(cli, "--store", "mine.db")
    waits = (
        "import time, tertulia.runs.files.merging as m\n"
        "m.copy_store = lambda path, copy: (copy.write_bytes(b'private'), time.sleep(60))\n"
        "from pathlib import Path\n"
        "m.merge_stores(['mine.db'], Path('other.db'))"
    )
    killed = subprocess.Popen([sys.executable, "-c", waits], env=os.environ | {"PYTHONPATH": str(ROOT)})
    while not [*temporary.rglob("source.db")]:
        assert killed.poll() is None
        time.sleep(0.05)
    assert cli("merge", "mine.db", "--into", "all.db", "--json").json["sources"][0]["added"] == [run]
    assert len([*temporary.rglob("source.db")]) == 1  # it lives, so its copy is not ours to remove
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert len([*temporary.iterdir()]) == 1
    assert cli("merge", "mine.db", "--into", "all.db").code == 0
    assert [*temporary.iterdir()] == []


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, made = fcntl.flock, list[Path]()

    def swept_once(lock: int, operation: int) -> None:
        if not made:
            made.extend(temporary.iterdir())
            made[0].rmdir()
        locked(lock, operation)

    monkeypatch.setattr("tertulia.state.locked_folders.fcntl.flock", swept_once)
    with copy_folder.folder_of_copy() as folder:
        assert folder.is_dir()
        assert folder != made[0]
    assert [*temporary.iterdir()] == []


def test_links_and_files_that_are_called_like_copies_stay(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (temporary / "tertulia-copy-link").symlink_to(tmp_path / "kept")
    (temporary / "tertulia-copy-file").write_text("kept", encoding="utf-8")
    with copy_folder.folder_of_copy():
        pass
    assert (tmp_path / "kept").is_dir()
    assert len([*temporary.iterdir()]) == 2


# --- experiments ----------------------------------------------------------------------------------------------------


def definition(settings: int = 1, cases: int = 1, trials: int = 1) -> dict[str, object]:
    return {
        "name": "study",
        "cases": ["tidewell", *(f"tidewell:{n}" for n in range(1, cases))],
        "settings": {f"s{n}": {"lambda": 0} for n in range(settings)},
        "trials": trials,
        "model": "rehearsal",
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (definition(MOST_SETTINGS + 1), f"{MOST_SETTINGS + 1:,} settings, and may have {MOST_SETTINGS:,}"),
        (definition(cases=MOST_CASES + 1), f"cases, and may have {MOST_CASES:,}"),
        (definition(101, trials=10_000), "1,010,000 conversations (cases × settings × trials), and may have"),
    ],
)
def test_an_experiment_that_is_too_large_is_refused_before_anything_is_tried(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, given: dict[str, object], words: str
) -> None:
    monkeypatch.setattr("tertulia.lab.experiments.experiment.expanded", lambda case: pytest.fail(f"{case} is read"))
    Path("study.yaml").write_text(json.dumps(given), encoding="utf-8")
    cli("lab", "run", "study.yaml").complains(2, words)
    with SqlStore.open("sent.db", create=True) as store:
        store.experiments.save("study", given)
    for command in (("lab", "resume", "study"), ("lab", "list"), ("lab", "compare", "study")):
        cli(*command, "--store", "sent.db").complains(1, words)


def test_so_is_a_sweep_and_what_a_merge_would_make_of_two(cli: Cli) -> None:
    lambdas = ",".join(f"{number / 100:g}" for number in range(101))
    sweep = ("sweep", "tidewell", "--rehearse", "--trials")
    cli(*sweep, "10000", "--lambda", lambdas).complains(2, f"may have {MOST_CONVERSATIONS:,}")
    cli(*sweep, "10001").complains(2, "trials")
    settings = {f"t{number}": {"lambda": 1} for number in range(300)}
    with pytest.raises(UsageError, match="together it has 600 settings"):
        joined_definitions(definition(300), {**definition(), "settings": settings})


# --- pictures and dialogues -----------------------------------------------------------------------------------------


def test_pictures_that_are_huge_as_pixels_are_not_decoded_and_photographs_count_for_what_is_decoded_of_them(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tertulia.worlds.pictures.MOST_PIXELS_TOGETHER", 50_000)
    for ending in ("png", "jpg"):
        Path(ending).mkdir()
        for number in range(3):
            Image.new("RGB", (200, 100), "red").save(f"{ending}/red_{number}.{ending}")
    run = ("run", "villagers", "--set", "agents=2", "--rounds", "1", "--rehearse", "--set")
    assert cli(*run, "pictures=jpg").code == 0
    monkeypatch.setattr("tertulia.worlds.villagers.read_picture", lambda *_: pytest.fail("one is decoded"))
    cli(*run, "pictures=png").complains(2, "pictures", "together", "make them smaller")


def test_many_dialogues_are_measured_and_more_than_the_limit_are_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"case": "a", "dialogue": [["Ann", "Hello."], ["Ben", "Hi."]]}\n'
    Path("many.jsonl").write_text(line * 11, encoding="utf-8")
    metrics = ("metrics", "many.jsonl", "--embedder", "rehearsal")
    monkeypatch.setattr("tertulia.metrics.diversity.LARGEST_MATRIX", 4)
    assert cli(*metrics).code == 0
    monkeypatch.setattr("tertulia.views.measuring.cases.MOST_DIALOGUES", 10)
    cli(*metrics).complains(2, "more than 10 dialogues", "in parts")


def test_where_memory_runs_out_nobody_else_is_blamed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tertulia.storage.store.SqlStore.open", full)
    cli("show", "k3f9").complains(1, "not enough memory", "ask for less")
