"""The requests by which the page begins a conversation: what it may choose, what it would cost, and the beginning.

The cost is that of `run --dry-run` with the words that *Begin* would start, in a process of its own.
"""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tertulia.models.served.chat_names import ADDRESS, is_chat_name, places_of
from tertulia.runs.catalog.scenarios import list_scenarios, scenarios_document
from tertulia.runs.planning.request import DEFAULT_MODEL
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import TertuliaError, UsageError
from tertulia.state.files import read_text
from tertulia.state.language_model import REHEARSAL
from tertulia.state.text import clean
from tertulia.storage.addresses import StoreAddress, argument_for
from tertulia.viewer.documents.new_run import dry_run_document
from tertulia.viewer.new_run import FieldError, NewRun, read_conversation, read_people
from tertulia.viewer.people import BroughtPeople
from tertulia.viewer.sent import sent_json
from tertulia.viewer.starting import Starter
from tertulia.viewer.store_reader import StoreReader
from tertulia.worlds.catalog import path_from_here
from tertulia.worlds.yaml_file import MOST_BYTES

#: The longest that a dry run may take, in seconds.
_REHEARSED_WITHIN_S = 120

#: The longest that a server may take to answer a connection, in seconds.
_CONNECTED_WITHIN_S = 5


class NewRunPages:
    """The handlers of requests about a conversation that is begun."""

    def __init__(
        self, store: StoreAddress, reader: StoreReader, starter: Starter, brought: BroughtPeople, served: Sequence[str]
    ) -> None:
        """Note the store, beside which scenarios are written, and the models that the page may use besides."""
        self._store, self._reader, self._starter, self._brought = store, reader, starter, brought
        self._models = (DEFAULT_MODEL, REHEARSAL, *served)
        self._rehearsing = asyncio.Lock()

    @cached_property
    def _cases(self) -> list[Document]:
        """The shipped scenarios, each case, as `tertulia scenarios` lists them."""
        return list(scenarios_document(list_scenarios())["cases"])

    async def offered(self, request: Request) -> Response:
        """Answer the shipped scenarios and the models that the page may choose among."""
        cases = await asyncio.to_thread(lambda: self._cases)
        shown = ("scenario", "time", "place", "title")
        return JSONResponse(
            {
                "schema_version": SCHEMA_VERSION,
                "cases": [
                    {name: case.get(name) for name in shown}
                    | {"people": case.get("participants") or [case["initiator"], case["partner"]]}
                    for case in cases
                ],
                "models": [{"name": name, "is_served": is_chat_name(name)} for name in self._models],
            }
        )

    async def scenario(self, request: Request) -> Response:
        """Answer the scenario of people as the text of a file, with a name for it."""
        match await sent_json(request):
            case {"people": people, **more} if not more:
                asked = await asyncio.to_thread(lambda: read_people(people, self._brought.files, self._shipped))
                if asked.scenario:
                    raise UsageError(f"{asked.scenario} is shipped: tertulia run {asked.scenario}")
                return JSONResponse({"name": f"{asked.name}.yaml", "text": asked.text})
        raise UsageError("a scenario has people")

    async def cost(self, request: Request) -> Response:
        """Answer the calls, tokens and time that a conversation would take, as rehearsed."""
        asked, options, model = await self._asked(request)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{asked.name}.yaml"
            if asked.text:
                file.write_text(asked.text, encoding="utf-8")
            words = ["run", asked.scenario or str(file), *options, *asked.words, "--dry-run", "--json"]
            async with self._rehearsing:
                output, seconds = await _output([*self._starter.command, *words], f"{folder}/")
        from tertulia.lab.experiments.call_times import recorded_times

        times = await self._reader.read(lambda store: recorded_times(store, model, of_trials=False))
        return JSONResponse(dry_run_document(json.loads(output), times, seconds if model == REHEARSAL else None))

    async def begin(self, request: Request) -> Response:
        """Write the scenario of the user's people beside the store, begin the conversation, and answer the command."""
        asked, options, model = await self._asked(request)
        await _check_reached(model)
        more = [*options, *asked.words, "--in-page", "--store", argument_for(self._store)]
        answer = {"scenario": None, "has_seat": asked.visitor is not None}
        if asked.scenario:
            return JSONResponse(self._starter.start(["run", asked.scenario, *more]).document() | answer)
        folder = self._store.absolute().parent if isinstance(self._store, Path) else Path.cwd()
        file, is_new = _write(folder, asked.name, asked.text)
        try:
            command = self._starter.start(["run", path_from_here(file.name, folder), *more])
        except TertuliaError:
            if is_new:
                file.unlink()
            raise
        return JSONResponse(command.document() | answer | {"scenario": file.name})

    async def _asked(self, request: Request) -> tuple[NewRun, list[str], str]:
        """Return the conversation that a request asks for, its options, and its model."""
        match await sent_json(request):
            case {"people": _, "lambda": _, "model": _, "seed": _, "rounds": _, **more} as given if not more:
                asked, options = await asyncio.to_thread(
                    lambda: read_conversation(given, self._brought.files, self._shipped, self._models)
                )
                return asked, options, given["model"]
        raise UsageError("a conversation has people, λ, a model, a seed and rounds")

    @property
    def _shipped(self) -> frozenset[str]:
        return frozenset(case["scenario"] for case in self._cases)


async def _check_reached(model: str) -> None:
    """Refuse a model of the user's servers if none of them takes a connection; a proxy's are not asked.

    Raises:
        FieldError: None does: a run would wait for it through many tries.
    """
    if not model.startswith(ADDRESS):
        return
    for origin in places_of(model):
        server = urlsplit(origin)
        if server.scheme in getproxies() and not proxy_bypass(str(server.hostname)):
            return
        with suppress(OSError, TimeoutError):
            _, connection = await asyncio.wait_for(
                asyncio.open_connection(server.hostname, server.port), _CONNECTED_WITHIN_S
            )
            connection.close()
            return
    raise FieldError({"model": f"{model} can't be reached: see that its server runs, and begin again"})


async def _output(command: Sequence[str], folder: str) -> tuple[str, float]:
    """Return the standard output of a command, and its seconds; messages lose the name of a folder.

    Raises:
        UsageError: The command failed, or takes too long.
    """
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    none, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=none, stdout=pipe, stderr=pipe)
    try:
        output, messages = await asyncio.wait_for(process.communicate(), _REHEARSED_WITHIN_S)
    except TimeoutError:
        raise UsageError(
            f"the dry run takes longer than {_REHEARSED_WITHIN_S} s; ask for fewer rounds, or see at a terminal: "
            "tertulia run --dry-run"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        lines = [line for line in messages.decode("utf-8", "replace").splitlines() if line.strip()]
        problem = lines[-1] if lines else f"the dry run ended with exit code {process.returncode}"
        raise UsageError(clean(problem.replace(folder, "")))
    return output.decode("utf-8"), loop.time() - started_s


def _write(folder: Path, name: str, text: str) -> tuple[Path, bool]:
    """Write a scenario into a folder under a name, or that with a number; return its path, and whether it is new.

    No file is overwritten; one with this text is taken as it is.

    Raises:
        UsageError: The folder can't be written to.
    """
    for number in count(1):
        file = folder / (f"{name}.yaml" if number == 1 else f"{name}_{number}.yaml")
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(text)
            return file, True
        except FileExistsError:
            if _has(file, text):
                return file, False
        except OSError as error:
            raise UsageError(f"{file} can't be written: {error.strerror}") from None
    raise AssertionError


def _has(file: Path, text: str) -> bool:
    try:
        return not file.is_symlink() and read_text(file, MOST_BYTES) == text
    except OSError:
        return False
