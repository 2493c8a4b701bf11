"""No command and no function writes through a link: a table of all that write files and folders."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.group_stored import write_meeting

import tertulia as tt
from tertulia.lab.pages.page_files import check_report_folder
from tertulia.models.local.head_weights import keep_head_weights
from tertulia.models.tuning.trainer import _write_text
from tertulia.runs.files.shard_files import put_shard
from tertulia.state.errors import UsageError
from tertulia.state.head_weights import HeadWeights
from tertulia.state.written_files import replacing, write_bytes, write_lines, write_text
from tertulia.storage.store import SqlStore

RUN = "m33t"
CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Wilma", "description": "A diver."}}


@pytest.fixture
def folder(cli: Cli, tmp_path: Path) -> Path:
    """The folder that commands run in, with a store, a card, and a folder and a file that no command names."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        write_meeting(opened, RUN)
    Path("card.json").write_text(json.dumps(CARD))
    Path("scenes.jsonl").write_text("{}")
    Path("kept").mkdir()
    Path("kept/precious").write_text("mine")
    return tmp_path


#: What writes, by the name of the link that it is to write to.
COMMANDS: dict[str, tuple[object, ...]] = {
    "run.jsonl": ("export", RUN, "--jsonl", "run.jsonl", "--force"),
    "run.md": ("export", RUN, "--markdown", "run.md", "--force"),
    "run.html": ("export", RUN, "--html", "run.html", "--force"),
    **{
        f"{format}.json": ("export", RUN, "--format", format, "--out", f"{format}.json", "--force")
        for format in ("jsonl", "dialogues", "messages", "sdialog", "inspect", "otel")
    },
    "run.eval": ("export", RUN, "--format", "inspect", "--out", "run.eval", "--force"),
    "dataset": ("export", RUN, "--format", "dataset", "--out", "dataset", "--force"),
    "mlflow": ("export", RUN, "--format", "mlflow", "--out", "mlflow", "--force"),
    "wilma.yaml": ("people", "import", "card.json", "--to", "wilma.yaml"),
    "wilma.json": ("people", "export", "card.json", "--to", "wilma.json"),
    "all.db": ("merge", "tertulia.db", "--into", "all.db"),
    "new.db": ("run", "tidewell", "--rehearse", "--rounds", "1", "--store", "new.db"),
    "reports": ("lab", "report", "table2", "--quick", "--rehearse", "--out", "reports", "--force"),
    "adapters": ("tune", "scenes.jsonl", "--out", "adapters"),
}


@pytest.mark.parametrize("link", COMMANDS)
@pytest.mark.usefixtures("folder")
def test_a_dangling_link_is_refused_by_name(cli: Cli, link: str) -> None:
    Path(link).symlink_to("nowhere")
    result = cli(*COMMANDS[link])
    assert result.code in (1, 2), result
    assert f"{link} is a link" in result.err
    assert Path(link).is_symlink()
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("link", [link for link in COMMANDS if not link.endswith(".db")])
@pytest.mark.usefixtures("folder")
def test_a_link_to_a_file_or_a_folder_is_refused_by_name(cli: Cli, link: str) -> None:
    Path(link).symlink_to("kept/precious" if "." in link else "kept")
    cli(*COMMANDS[link]).complains(2, f"{link} is a link")
    assert Path(link).is_symlink()
    assert [file.name for file in Path("kept").iterdir()] == ["precious"]
    assert Path("kept/precious").read_text() == "mine"


@pytest.mark.parametrize("format", ["dataset", "mlflow", "sdialog"])
@pytest.mark.usefixtures("folder")
def test_a_link_within_a_folder_that_is_written_is_refused(cli: Cli, format: str) -> None:
    export = ("export", RUN, "--format", format, "--out", "out", "--force")
    assert cli(*export).code == 0
    for inside in sorted(path for path in Path("out").rglob("*") if path.is_file() or path.parent == Path("out")):
        if inside.is_dir():
            shutil.move(inside, "aside")
            inside.symlink_to(Path("kept").absolute())
        else:
            inside.unlink()
            inside.symlink_to(Path("nowhere").absolute())
        result = cli(*export)
        if result.code != 0:  # files that all runs share are left as they are
            result.complains(2, f"{inside} is a link")
        assert not Path("nowhere").exists()
        assert [file.name for file in Path("kept").iterdir()] == ["precious"]
        inside.unlink()
        if Path("aside").exists():
            shutil.move("aside", inside)


def a_meeting() -> tt.Meeting:
    people = [tt.Person(name="Ada", traits=["dry"]), tt.Person(name="Ben", traits=["kind"])]
    return tt.Meeting("gate", people, time="2026-05-04 10:00", description="Two wait.")


def weights() -> HeadWeights:
    fields: dict[str, Any] = dict.fromkeys(HeadWeights.model_fields, None)
    return HeadWeights.model_construct(**fields | {"fingerprint": "link"})


#: Functions that write a file of a name, or into a folder.
FUNCTIONS: dict[str, Callable[[Path], object]] = {
    "write_bytes": lambda path: write_bytes(path, [b"x"]),
    "write_lines": lambda path: write_lines(path, ["x"]),
    "write_text": lambda path: write_text(path, "x"),
    "Run.export": lambda path: tt.open_store("tertulia.db").run(RUN).export("jsonl", path, force=True),
    "Meeting.write": lambda path: a_meeting().write(f"{path}", overwrite=True),
    "the adapters": lambda path: _write_text(path, "{}"),
    "a folder of weights": lambda path: keep_head_weights(weights(), path),
    "a folder of reports": lambda path: check_report_folder(path / "report", "report", "x", Path("tertulia.db")),
    "a report": lambda path: check_report_folder(path, "report", "x", Path("tertulia.db")),
    "a shard": lambda path: put_shard(Path("tertulia.db"), str(path.parent), path.stem),
}


@pytest.mark.parametrize("leads_to", ["nowhere", "kept/precious", "kept"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses_a_link_by_name(folder: Path, name: str, leads_to: str) -> None:
    endings = {"Meeting.write": ".yaml", "a shard": ".db"}
    link = folder / f"link{endings.get(name, '')}"
    link.symlink_to(leads_to)
    with pytest.raises((UsageError, tt.TertuliaError), match=f"{link.name} is a link"):
        FUNCTIONS[name](link)
    assert link.is_symlink()
    assert not Path("nowhere").exists()
    assert Path("kept/precious").read_text() == "mine"


def test_a_link_that_appears_while_a_file_is_written_is_replaced_and_not_followed(folder: Path) -> None:
    with replacing(folder / "late") as beside:
        beside.write_text("new")
        (folder / "late").symlink_to("kept/precious")
    assert (folder / "late").read_text() == "new"
    assert not (folder / "late").is_symlink()
    assert Path("kept/precious").read_text() == "mine"


def test_cases_kept_beside_a_store_go_through_no_link(folder: Path) -> None:
    Path("linked.db.cases").symlink_to("kept")
    with pytest.raises(UsageError, match="is a link"):
        tt.sweep(a_meeting(), removal_factor=[0, 1], rounds=1, rehearse=True, store="linked.db")
