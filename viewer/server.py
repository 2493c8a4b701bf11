"""The web application: documents as JSON, what changed as server-sent events, and the built page."""

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from state.errors import NotFoundError, TertuliaError
from storage.store import SqliteStore
from tertulia.pages.documents import document_at

#: The files that `make viewer` builds from `viewer/page/`.
BUILT = Path(__file__).parent / "built"


def build_app(store: Path) -> Starlette:
    """Return the application over a store file."""
    thread = ThreadPoolExecutor(1)

    def read(path: str, query: dict[str, str]) -> Response:
        try:
            with SqliteStore.open(store) as opened:
                return JSONResponse(document_at(opened, path, query))
        except TertuliaError as error:
            return JSONResponse({"error": str(error)}, 404 if isinstance(error, NotFoundError) else 400)

    async def document(request: Request) -> Response:
        path = request.scope["raw_path"].decode().removeprefix("/api/")
        return await asyncio.get_running_loop().run_in_executor(thread, read, path, dict(request.query_params))

    def state_of(run: str | None) -> str:
        with SqliteStore.open(store) as opened:
            runs = [(run.run, run.status, run.turns) for run in opened.runs()]
            record = opened.run(run) if run else None
            row = {"run": record.run, "status": record.status, "turns": record.turns} if record else None
            return json.dumps({"runs": hash(tuple(runs)), "run": row})

    async def changes(request: Request) -> Response:
        run = request.query_params.get("run")

        async def events() -> AsyncIterator[str]:
            last = ""
            while not await request.is_disconnected():
                now = await asyncio.get_running_loop().run_in_executor(thread, state_of, run)
                if now != last:
                    last = now
                    yield f"data: {now}\n\n"
                await asyncio.sleep(0.4)

        return StreamingResponse(events(), media_type="text/event-stream")

    async def built(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        file = BUILT / name
        return FileResponse(file) if file.is_file() and file.parent == BUILT else Response(status_code=404)

    return Starlette(
        routes=[
            Route("/api/changes", changes),
            Route("/api/{path:path}", document),
            Route("/", built),
            Route("/{name}", built),
        ]
    )
