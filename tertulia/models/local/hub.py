"""Loading from a folder, from the cache of the Hugging Face hub, or from the hub, which may not be there.

Models in the cache are loaded without a request. Otherwise one request, with a time limit, finds out whether the hub
has the model; only then the library that loads it may download, with the retries of its own. So without a network the
answer comes in seconds.
"""

import gc
import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tertulia.state.errors import ModelError, TrustError
from tertulia.state.language_model import Activity, Report
from tertulia.state.text import one_line, shell_argument

T = TypeVar("T")

#: Seconds for the request that finds out whether the hub can be reached, and for all of it, looking up its address too.
_REQUEST_S, _ANSWER_S = 5.0, 8.0


def load(source: str, loader: Callable[[bool], T], *, remedy: str, report: Report, may_download: bool = True) -> T:
    """Return a loader's result for a folder or a hub id.

    Args:
        source: The folder, or the hub id `owner/name`.
        loader: Loads it; the argument says whether only files on this machine may be used.
        remedy: A remedy for the user if the hub can't be reached.
        report: Is called when a download begins and ends.
        may_download: Whether the hub is asked at all.

    Raises:
        TrustError: It is not on this machine, and may not be downloaded.
        ModelError: The hub can't be reached, or has no such model.
        OSError: The loader raises it.
    """
    if Path(source).exists():
        return loader(True)
    try:
        return loader(True)
    except OSError:
        if not may_download:
            raise _not_downloaded(source) from None
        _require_on_hub(source, remedy)
    report(Activity(f"downloading {source} from the hub"))
    try:
        return loader(False)
    finally:
        report(Activity(""))


def require_on_machine(name: str) -> None:
    """Refuse a hub id that would have to be downloaded, by the cache's list of files: nothing is loaded.

    Raises:
        TrustError: It is not on this machine.
    """
    from huggingface_hub import try_to_load_from_cache

    if not isinstance(try_to_load_from_cache(name, "config.json"), str):
        raise _not_downloaded(name)


def _not_downloaded(name: str) -> TrustError:
    return TrustError(
        f"{name} is not on this machine, and is not downloaded as only a file names it; if that is what you want: "
        f"tertulia trust {shell_argument(name)}"
    )


def asked_for_adapters(local_files_only: bool) -> dict[str, bool]:
    """Return the `adapter_kwargs` with which transformers looks for adapters in a model's repository.

    It does not apply `local_files_only` to that look, and would ask the hub, with retries, for a model in the cache.
    """
    return {"local_files_only": local_files_only}


def _require_on_hub(name: str, remedy: str) -> None:
    """Raise a ModelError unless the hub answers in a few seconds that it has this model."""
    from huggingface_hub import constants
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError

    failures: list[Exception] = []
    request = threading.Thread(target=_ask_hub, args=(name, failures), daemon=True)
    request.start()
    request.join(_ANSWER_S)  # looking up an address has no time limit of its own
    failure = failures[0] if failures else TimeoutError() if request.is_alive() else None
    if failure is None or isinstance(failure, EntryNotFoundError):
        return
    if isinstance(failure, GatedRepoError):
        raise ModelError(f"{name} is gated: ask for access at {constants.ENDPOINT}/{name}, then set HF_TOKEN")
    if isinstance(failure, RepositoryNotFoundError):
        raise ModelError(f"the hub has no {name} that you may read; see the name, or set HF_TOKEN if it is private")
    reason = one_line(failure)[:200] or f"no answer within {_ANSWER_S:g} s"
    raise ModelError(
        f"{name} is not on this machine, and the hub {constants.ENDPOINT} can't be reached ({reason}); {remedy}, "
        "or set HF_ENDPOINT to a mirror"
    )


def _ask_hub(name: str, failures: list[Exception]) -> None:
    """Ask the hub once for a model's configuration, and note an error."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=_REQUEST_S)
    except Exception as error:  # of the HTTP library, of the hub's, or of the system
        failures.append(error)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep progress bars, advice and warnings of the loading libraries out of the terminal; errors are raised still."""
    with uncollected():
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        for name in ("huggingface_hub", "sentence_transformers"):
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage inside: libraries make objects by the hundred thousand when they are imported, and keep them.

    A seventh of the time before the first word went into walking through them, again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
