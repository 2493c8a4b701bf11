"""Writing runs to files from Python: the formats of `tertulia export`."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from tertulia.api.store_handle import StoreHandle
from tertulia.lab.exports.writing import Export, Format
from tertulia.state.errors import SettingError, UsageError, nearest_hint
from tertulia.state.records import RunRecord
from tertulia.state.wrong_arguments import check_argument, path_of, refusal, with_named_arguments
from tertulia.storage.store import SqlStore

#: Reads the runs to export from their store, each once.
Reader = Callable[[SqlStore], Sequence[RunRecord]]


def write_export(
    handle: StoreHandle, runs: Reader, format: Format, out: "os.PathLike[str] | str", force: bool
) -> tuple[Path, ...]:
    """Write runs of a store in a format, and return the files, or the folder."""
    check_argument("format", format, str, "a format is named by a text: 'inspect'", optional=False)
    if format not in get_args(Format):
        known = get_args(Format)
        raise SettingError("format", format, f": unknown{nearest_hint(format, known) or '; ' + ', '.join(known)}")
    check_argument("force", force, bool, "force is True or False", optional=False)
    path = Path(path_of("out", out))
    if path == Path("-"):
        raise refusal("out", str(path), "the name of a file or a folder is expected")
    with force_as_argument(), handle.opened() as store, store.reading():
        export = Export(store, runs(store), format, path, force)
        export.write()
    return tuple(export.files)


@contextmanager
def force_as_argument() -> Iterator[None]:
    """Name the argument in a refusal that names the option of the command, `--force`."""
    try:
        yield
    except UsageError as error:
        if "--force" not in str(error):
            raise
        raise UsageError(str(error).replace("--force", "force=True")) from None


class Exported:
    """The parts of a run that are written."""

    store: StoreHandle
    id: str

    @with_named_arguments
    def export(self, format: Format, out: "os.PathLike[str] | str", *, force: bool = False) -> tuple[Path, ...]:
        """Write the run to a file or a folder for another tool, as `tertulia export` does (docs/exports.md).

        ::

            run.export("inspect", "run.eval")

        Args:
            format: `jsonl`, `csv` (a row per turn), `dialogues` or `messages`; `inspect` (Inspect's log, `.eval` or
                `.json`), `otel` (OpenTelemetry spans); `dataset` (for Hugging Face's `datasets`) and `mlflow`, which
                are folders; `sdialog`, a `.json` file, or a folder.
            out: The file, or the folder, which is made if it is missing.
            force: Whether files that exist are overwritten.

        Returns:
            The files, or the folder.

        Raises:
            UsageError: Nobody speaks in the run, or it exists already.
            SettingError: There is no such format; the nearest one is given.
        """
        return write_export(self.store, lambda store: [store.run(self.id)], format, out, force)
