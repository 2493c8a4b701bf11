"""That the attention of the embedded model is exact, kept beside it once it has been checked on this machine.

A check takes transformers, which computes the definition of Eq. 1 (`attention_scores.require_exact_attention`). Its
found holds for as long as nothing changes that it depends on: weights, adapters, libraries, processor, precision, and
our own source. All that is in the name of the file that is kept.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from tertulia.models.local.adapters import Adapters, hash_of_base
from tertulia.models.local.attention_scores import Windows
from tertulia.state.files import read_text
from tertulia.state.written_files import write_text

#: The libraries on which a check depends.
_DISTRIBUTIONS = ("torch", "transformers")

#: How the names of kept checks begin, how many are kept beside a model, and the most characters of one.
_NAME, _MOST_KEPT, _MOST = "exact-attention-", 64, 10**5


class KeptCheck:
    """The check of one model on this machine, which may not have been made yet."""

    def __init__(self, folder: Path, precision: torch.dtype, adapters: Adapters | None, *, half: bool):
        """Take the folder of the model, and how it is opened.

        Raises:
            OSError: A file of the model can't be read.
        """
        self._depends_on = {
            "weights": hash_of_base(str(folder)),
            "changed": {file.name: file.stat().st_mtime_ns for file in sorted(folder.glob("*.safetensors"))},
            "configuration": _hash_of([folder / "config.json"]),
            "adapters": None if adapters is None else adapters.hash,
            "precision": f"{precision}, weights in half precision" if half else str(precision),
            "source": _hash_of(sorted(Path(__file__).parent.glob("*.py"))),
            "processor": _processor(),
            **{name: version(name) for name in _DISTRIBUTIONS},
        }
        digest = hashlib.blake2b(json.dumps(self._depends_on, sort_keys=True).encode(), digest_size=16).hexdigest()
        self._file = folder / f"{_NAME}{digest}.json"

    def windows(self) -> Windows | None:
        """Return the result of the check, by layer; `None` if it is still to be made."""
        try:
            kept: Any = json.loads(read_text(self._file, _MOST))
        except (OSError, ValueError):
            return None
        if not isinstance(kept, dict) or kept.get("depends_on") != self._depends_on:
            return None
        windows = kept.get("windows")
        is_known = isinstance(windows, list) and all(each is None or type(each) is int for each in windows)
        return tuple(windows) if is_known and windows else None

    def keep(self, windows: Windows) -> None:
        """Keep the result of the check, if the folder may be written to."""
        text = json.dumps({"windows": windows, "depends_on": self._depends_on}, indent=1)
        try:
            write_text(self._file, text)
            kept = sorted(self._file.parent.glob(f"{_NAME}*"), key=lambda file: file.stat().st_mtime_ns)
            for former in kept[:-_MOST_KEPT]:
                former.unlink(missing_ok=True)
        except OSError:
            return  # the next opening checks it again


def _hash_of(files: list[Path]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        read = file.read_bytes()
        digest.update(f"{file.name} {len(read)} ".encode())
        digest.update(read)
    return digest.hexdigest()


def _processor() -> str:
    """Return the properties of a processor that determine torch's choice of operators."""
    cpu = torch.cpu
    units = {"bfloat16": cpu._is_avx512_bf16_supported(), "AMX": cpu._is_amx_tile_supported()}
    return " ".join([torch.backends.cpu.get_cpu_capability(), *(name for name, has in units.items() if has)])
