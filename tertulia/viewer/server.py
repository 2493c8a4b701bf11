"""The web application: documents as JSON, changes as server-sent events, and the built page."""

import json
import logging
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tertulia.state.documents import Document
from tertulia.state.errors import NotFoundError, StorageError, TertuliaError
from tertulia.state.language_model import Embedder
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.store import SqlStore
from tertulia.viewer.changes import Changes
from tertulia.viewer.checks import Check, Checker
from tertulia.viewer.documents.by_path import document_at, is_long, parts_of
from tertulia.viewer.documents.figures import KeptFigures, figures_page, similarity_page
from tertulia.viewer.documents.measures import KeptTrials, measure_page
from tertulia.viewer.documents.reported import report_html, report_page
from tertulia.viewer.fork_changes import LONGEST_TEXT
from tertulia.viewer.given_up import DropGivenUp
from tertulia.viewer.new_pages import NewRunPages
from tertulia.viewer.new_run import FieldError
from tertulia.viewer.pauses import PausePages
from tertulia.viewer.people import BroughtPeople
from tertulia.viewer.seats import SeatPages, SeatTokens
from tertulia.viewer.security import REPORT_PATH, Guards, refusal
from tertulia.viewer.sent import sent_json
from tertulia.viewer.starting import Starter
from tertulia.viewer.store_reader import StoreReader

#: The files that `make viewer` builds from `tertulia/viewer/page/`, with their media types.
BUILT = Path(__file__).parent / "built"
FILES = {"index.html": "text/html", "viewer.js": "text/javascript", "viewer.css": "text/css"}

#: Answers of so many bytes and more are compressed quickly, which helps through a tunnel.
_COMPRESSED_FROM_BYTES, _COMPRESSION_LEVEL = 100_000, 1

#: Room for a text of the longest, all of it in letters of four bytes, and the other fields.
_LARGEST_REQUEST_BYTES = 65_536

_TOO_MUCH = (
    f"That is too much for one command, which takes {_LARGEST_REQUEST_BYTES:,} bytes; a text may have at most "
    f"{LONGEST_TEXT:,} characters. Shorten the texts."
)

_NO_REPORT = (
    "There is no report of this experiment as HTML in the folder of reports. `tertulia lab compare NAME` makes one; "
    "`tertulia view --reports FOLDER` says where reports are."
)

_UNEXPECTED = "the viewer failed to answer; the terminal of `tertulia view` says why"


def build_app(
    store: StoreAddress,
    token: str | None = None,
    command: Sequence[str] | None = None,
    open_embedder: Callable[[str], Embedder] | None = None,
    reports: Path = Path("reports"),
    seats_file: Path | None = None,
    check: Check | None = None,
    models: Sequence[str] = (),
) -> Starlette:
    """Return the application over a store file; `app.state.close()` ends its open connections.

    Args:
        store: May be missing until it is made.
        token: The token that every request must have; `None`: none.
        command: The program and arguments before `fork` and `resume`, which the page may start; `None`: it may not.
        open_embedder: Opens an embedder by name when similarities are asked for; `None`: they are not measured.
        reports: The folder with the reports of experiments.
        seats_file: Keeps the tokens of seats, if commands may be started.
        check: Measures the units that a line leaned on, and keeps that in the store; `None`: nothing is measured.
        models: Those that the page may begin conversations with, besides the embedded one and a rehearsal.

    Raises:
        ValueError: Commands may be started, or lines checked, but no token is needed; or no file keeps seats.
    """
    if token is None and (command is not None or check is not None):
        raise ValueError("who may start commands or check lines must have a token")
    if command is not None and seats_file is None:
        raise ValueError("if commands may be started, a file must keep the tokens of seats")
    starter = None if command is None else Starter(store, command)
    pages = Pages(store, token, starter, open_embedder, reports, check)
    tokens = None if starter is None or seats_file is None else SeatTokens(store, seats_file)
    seats = None if starter is None or tokens is None else SeatPages(pages.reader, tokens, starter)
    app = Starlette(
        routes=[
            Route("/api/changes", pages.changes),
            Route("/api/similarity", pages.similarity),
            Route("/api/start", pages.started),
            Route("/api/start", pages.start, methods=["POST"]),
            *([] if seats is None else _seat_routes(seats)),
            *([] if starter is None else _pause_routes(PausePages(pages.reader, starter))),
            *([] if starter is None else _new_run_routes(store, pages.reader, starter, models)),
            *([] if check is None else [Route("/api/check", pages.check, methods=["POST"])]),
            Route("/api/{path:path}", pages.document),
            Route(REPORT_PATH, pages.report),
            Route("/", pages.built),
            Route("/{name}", pages.built),
        ],
        middleware=[
            Middleware(DropGivenUp),
            Middleware(Guards, token=token, seats=tokens),
            Middleware(GZipMiddleware, minimum_size=_COMPRESSED_FROM_BYTES, compresslevel=_COMPRESSION_LEVEL),
        ],
        exception_handlers={HTTPException: _refused, TertuliaError: _failed, Exception: _unexpected},
    )

    def close() -> None:
        if seats is not None:
            seats.close()
        pages.close()

    app.state.close = close
    return app


def _seat_routes(seats: SeatPages) -> list[Route]:
    return [
        Route("/api/seats", seats.listed),
        Route("/api/seats", seats.invite, methods=["POST"]),
        Route("/api/seat", seats.perceived),
        Route("/api/seat", seats.send, methods=["POST"]),
        Route("/api/seat/changes", seats.changes),
    ]


def _pause_routes(pauses: PausePages) -> list[Route]:
    return [Route("/api/pause", pauses.shown), Route("/api/pause", pauses.changed, methods=["POST"])]


def _new_run_routes(store: StoreAddress, reader: StoreReader, starter: Starter, models: Sequence[str]) -> list[Route]:
    brought = BroughtPeople()
    new = NewRunPages(store, reader, starter, brought, models)
    return [
        Route("/api/people", brought.shown),
        Route("/api/people", brought.bring, methods=["POST"]),
        Route("/api/new", new.offered),
        Route("/api/new/scenario", new.scenario, methods=["POST"]),
        Route("/api/new/cost", new.cost, methods=["POST"]),
        Route("/api/new/begin", new.begin, methods=["POST"]),
    ]


class Pages:
    """The handlers of requests (see `build_app`)."""

    def __init__(
        self,
        store: StoreAddress,
        token: str | None,
        starter: Starter | None,
        open_embedder: Callable[[str], Embedder] | None,
        reports: Path,
        check: Check | None,
    ) -> None:
        self.reader = StoreReader(store)
        # Beside the first, which need not wait for a long document, nor either for a model.
        self._long_reader, self._measurer = StoreReader(store), StoreReader(store)
        self._open_embedder = open_embedder and cache(open_embedder)
        self._kept_trials, self._kept_figures, self._reports = KeptTrials(), KeptFigures(), reports
        self._changes = Changes(self.reader)
        self._checker = None if check is None else Checker(self.reader, self._measurer, check)
        self._token, self._starter = token, starter

    async def document(self, request: Request) -> Response:
        """Answer the document of a path."""
        path, query = request.scope["raw_path"].decode("latin-1").removeprefix("/api/"), dict(request.query_params)
        match parts_of(path):
            case ["experiments", name, "measures", metric]:
                return await self._measure(name, metric, request.query_params.get("measure") == "1")
            case ["experiments", name, "report"]:
                return self._json(report_page(self._reports, name))
            case ["runs", run, "figures"]:
                return await self._read(lambda store: figures_page(store, run, self._kept_figures), is_long=True)
        return await self._read(lambda store: document_at(store, path, query), is_long(path, query))

    async def _read(self, read: Callable[[SqlStore], Document], is_long: bool) -> Response:
        """Answer a document; its JSON is made where it is read, as it may be long."""
        reader = self._long_reader if is_long else self.reader
        return Response(await reader.read(lambda store: json_text(read(store))), media_type="application/json")

    async def _measure(self, experiment: str, metric: str, may_load: bool) -> Response:
        """Answer a measure of an experiment; the embedder is loaded if a reader has asked for that."""
        open_embedder = self._open_embedder if may_load else None

        def read(store: SqlStore) -> Document:
            return measure_page(store, experiment, metric, open_embedder, self._kept_trials)

        return self._json(await self._measurer.read(read))

    @staticmethod
    def _json(document: Document) -> Response:
        return Response(json_text(document), media_type="application/json")

    async def report(self, request: Request) -> Response:
        """Answer the page of an experiment's newest report, in which nothing runs (tertulia/viewer/security.py)."""
        html = report_html(self._reports, request.query_params.get("experiment", ""))
        return PlainTextResponse(_NO_REPORT, 404) if html is None else Response(html, media_type="text/html")

    async def similarity(self, request: Request) -> Response:
        """Answer how similar runs are; the first answer waits until the embedder is loaded."""
        if self._open_embedder is None:
            raise HTTPException(404)
        runs = [run for run in request.query_params.get("runs", "").split(",") if run]
        open_embedder = self._open_embedder
        return JSONResponse(await self._measurer.read(lambda store: similarity_page(store, runs, open_embedder)))

    async def changes(self, request: Request) -> Response:
        """Answer the stream of changes."""
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(self._changes.events(request.query_params.get("run")), media_type="text/event-stream")

    async def built(self, request: Request) -> Response:
        """Answer a file of the page."""
        name = request.path_params.get("name", "index.html")
        if name not in FILES:
            raise HTTPException(404)
        try:
            content = (BUILT / name).read_text(encoding="utf-8")
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}. In a checkout, `make viewer` builds the page."
            return PlainTextResponse(problem, 404)
        if name == "index.html" and self._token is not None:
            query = f"token={self._token}" if "seat" not in request.scope else f"seat={request.query_params['seat']}"
            for linked in ("viewer.js", "viewer.css"):
                content = content.replace(f'"./{linked}"', f'"./{linked}?{query}"')
        return Response(content, media_type=FILES[name])

    async def started(self, request: Request) -> Response:
        """Answer whether commands may be started and lines checked, and the commands that were started."""
        commands = [] if self._starter is None else [started.document() for started in self._starter.commands]
        can_check = self._checker is not None and await self._checker.is_offered()
        return JSONResponse({"can_start": self._starter is not None, "can_check": can_check, "commands": commands})

    async def start(self, request: Request) -> Response:
        """Start a fork, or go on with a run."""
        if self._starter is None:
            raise HTTPException(404)
        asked, starter = await sent_json(request, _LARGEST_REQUEST_BYTES, _TOO_MUCH), self._starter
        words = await self.reader.read(lambda store: starter.checked(store, asked))
        return JSONResponse(starter.start(words).document())

    async def check(self, request: Request) -> Response:
        """Measure the units that a line leaned on, and answer its turn anew."""
        assert self._checker is not None
        return self._json(await self._checker.checked(request))

    def close(self) -> None:
        """End the event streams, interrupt the commands that were started, and close the store."""
        self._changes.close()
        if self._starter is not None:
            self._starter.close()
        for reader in (self._measurer, self._long_reader, self.reader):
            reader.close()


def json_text(document: dict[str, Any]) -> str:
    """Return a document as JSON that any browser reads: halves of surrogate pairs are escaped, NaN is null."""
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(document), allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    problem = error.detail
    if error.status_code == 404:
        problem = "There is no such page. All runs are at the address that `tertulia view` has printed."
    if error.status_code == 405:
        problem = "The viewer only reads: GET and HEAD."
    answer = refusal(request.scope, problem, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


async def _failed(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, NotFoundError) else 500 if isinstance(error, StorageError) else 400
    if isinstance(error, FieldError):
        return JSONResponse({"error": str(error), "fields": error.fields}, status)
    return refusal(request.scope, str(error), status)


async def _unexpected(request: Request, error: Exception) -> Response:
    logging.getLogger(__name__).error("%s failed", request.scope["path"], exc_info=error)
    return refusal(request.scope, _UNEXPECTED, 500)
