"""How much the viewer does for long runs and large stores: counted, not timed."""

import subprocess
import sys
from pathlib import Path

import tertulia

ROOT = Path(__file__).parents[2]

_PAGES_READ = """
import sys
from pathlib import Path
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

with SqlStore.open(Path(sys.argv[1])) as store:
    for path in sys.argv[2:]:
        document_at(store, path)
        print(path, *{"langgraph", "langchain_core", "torch"} & set(sys.modules))
"""


def test_a_turn_is_shown_without_what_drives_conversations(tmp_path: Path) -> None:
    """It takes a second and more of CPU to import, which the first turn that is looked at would wait for."""
    run = tertulia.run(
        "tidewell", rehearse=True, rounds=3, removal_factor=0.4, store=tmp_path / "t.db", progress=False
    )
    fork = run.fork(2, removal_factor=0.8, progress=False)
    paths = [f"runs/{run.id}/turns", *(f"runs/{run.id}/turns/{turn}" for turn in (1, 2, 3)), f"runs/{fork.id}/turns/3"]
    paths += [f"diff/{run.id}/{fork.id}", f"runs/{run.id}/edits", f"runs/{run.id}/actions"]
    command = [sys.executable, "-c", _PAGES_READ, str(tmp_path / "t.db"), *paths]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == paths
