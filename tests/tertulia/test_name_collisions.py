"""A user's own `models.py` or `state/`: what `import tertulia` and the command say where Python finds it first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tertulia.name_collisions import ROOMS, NameCollisionError, check_rooms

ROOT = Path(__file__).parents[2]


def python(folder: Path, *arguments: str, path: object = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, which comes first on its path, before that of the rooms."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def expected(name: str, found: Path) -> str:
    return (
        f"tertulia has a package {name!r}, but Python finds another one of that name first: {found}; "
        f"rename it, or take {found.parent} off Python's path (sys.path, PYTHONPATH)"
    )


@pytest.mark.parametrize("name", ROOMS)
@pytest.mark.parametrize("kind", ["file", "package"])
def test_import_names_the_other_module(name: str, kind: str, tmp_path: Path) -> None:
    found = tmp_path / (f"{name}.py" if kind == "file" else name)
    found.write_text("") if kind == "file" else found.mkdir()
    if kind == "package":
        (found / "__init__.py").write_text("raise SystemExit('is not to be executed')")
    code = "try: import tertulia\nexcept ImportError as error: print(type(error).__name__, error.name, error)"
    result = python(tmp_path, "-c", code)
    assert result.stdout == f"NameCollisionError {name} {expected(name, found)}\n", result.stderr


def test_a_script_that_is_named_like_a_room(tmp_path: Path) -> None:
    script = tmp_path / "metrics.py"
    script.write_text("import tertulia\n")
    result = python(tmp_path, str(script))
    assert result.stderr.splitlines()[-1].endswith(f"NameCollisionError: {expected('metrics', script)}")


def test_a_module_that_is_imported_already(tmp_path: Path) -> None:
    (tmp_path / "prompts.py").write_text("")
    code = "import prompts, sys; sys.path.remove(''); import tertulia"
    result = python(tmp_path, "-c", code)
    assert result.stderr.splitlines()[-1].endswith(
        f"NameCollisionError: {expected('prompts', tmp_path / 'prompts.py')}"
    )


@pytest.mark.parametrize("name", [*ROOMS, "lab"])
def test_the_command_says_it_in_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("")
    result = python(tmp_path, "-m", "cli.main", "runs")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"error: {expected(name, tmp_path / f'{name}.py')}\n"


def test_the_library_does_without_the_rooms_above_it(tmp_path: Path) -> None:
    for name in ("lab.py", "cli.py"):
        (tmp_path / name).write_text("")
    assert python(tmp_path, "-c", "import tertulia").returncode == 0


def test_a_folder_without_modules_hides_no_room(tmp_path: Path) -> None:
    for name in ROOMS:
        (tmp_path / name).mkdir()
    code = "import tertulia as tt; print(tt.run('tidewell', rounds=1, rehearse=True).status)"
    result = python(tmp_path, "-c", code)
    assert result.stdout == "finished\n", result.stderr


def test_the_same_folder_by_another_path_is_no_collision(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(ROOT)
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'linked')!r}); import state.errors; import tertulia"
    assert python(tmp_path, "-c", code).returncode == 0


def test_nothing_is_imported_by_the_check() -> None:
    code = "import sys; import tertulia; print(*sys.modules)"
    loaded = python(ROOT, "-c", code).stdout.split()
    assert not set(loaded) & set(ROOMS)
    check_rooms()
    assert issubclass(NameCollisionError, ImportError)
