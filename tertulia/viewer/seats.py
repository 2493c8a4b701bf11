"""Seats in the page: a token for each, which reads what its person perceives and sends their lines, and nothing else.

1. The host's page, which has the token of `tertulia view --allow-runs`, makes an invitation for a seat of a run.
2. A browser with its address reads `api/seat` and sends to it; any other path is refused (tertulia/viewer/security.py).
3. Tokens are kept in a file of the user's configuration, which only the user can read: a server that is started again
   knows the seats that it gave.
"""

import asyncio
import fcntl
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tertulia.state.errors import TertuliaError, UsageError
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.seat import (
    ConflictError,
    Sent,
    answer_seat,
    check_seat_of,
    leave_seat,
    seat_page,
    seat_version,
    seats_page,
)
from tertulia.viewer.sent import sent_json
from tertulia.viewer.starting import Starter
from tertulia.viewer.store_reader import StoreReader

#: The header in which a seat's page sends its token; in an address it is `seat`.
SEAT_HEADER = "x-tertulia-seat"

#: The paths that a seat's token opens: the page with its files, its person's perceptions, and their lines.
SEAT_PATHS = frozenset({"/", "/viewer.js", "/viewer.css", "/api/seat", "/api/seat/changes"})

#: Seconds between two looks at the store for a seat; when a page connects again; seconds between signs of life.
_LOOK_EVERY_S, _RECONNECT_AFTER_MS, _HEARTBEAT_S = 0.04, 1000, 15.0


@dataclass(frozen=True)
class SeatOfRun:
    """The seat of a participant in a run."""

    run: str
    agent: str


class SeatTokens:
    """The tokens of the seats of a store, read anew at each question: several servers may have given some.

    They are kept in a file that has those of all stores, each under its real path: so a copy in another folder has none
    of them, and the same store has them under any name. A store that is replaced at its path keeps them.
    """

    def __init__(self, store: StoreAddress, file: Path) -> None:
        """Note the store and the file, which need not be there yet."""
        self._store, self._file = str(store.resolve() if isinstance(store, Path) else store), file

    def seat_of(self, given: str) -> SeatOfRun | None:
        """Return the seat of a token; every one is compared, in constant time."""
        found = None
        for token, seat in self._given().items():
            if hmac.compare_digest(token.encode(), given.encode(errors="replace")):
                found = seat
        return found

    def token_of(self, seat: SeatOfRun) -> str | None:
        """Return the token of a seat; `None` if it was not given."""
        return next((token for token, other in self._given().items() if other == seat), None)

    def give(self, seat: SeatOfRun) -> str:
        """Return a new token for a seat.

        Raises:
            UsageError: It was given before, or the file can't be written.
        """
        with self._locked():
            given = self._given()
            if seat in given.values():
                raise UsageError(
                    f"The seat of {seat.agent} in run {seat.run} is given already, and is for one person. "
                    "Withdraw that invitation to make another."
                )
            token = secrets.token_urlsafe(24)
            self._write(given | {token: seat})
        return token

    def withdraw(self, seat: SeatOfRun) -> None:
        """Make the token of a seat worthless; `UsageError` if the file can't be written."""
        with self._locked():
            self._write({token: other for token, other in self._given().items() if other != seat})

    def _given(self) -> dict[str, SeatOfRun]:
        """Return the seats by their tokens; none as long as the file can't be read."""
        try:
            seats = self._read().get(self._store)
        except OSError:
            return {}
        return {
            token: SeatOfRun(run, agent)
            for token, seat in (seats.items() if isinstance(seats, dict) else ())
            if isinstance(seat, dict)
            and isinstance(run := seat.get("run"), str)
            and isinstance(agent := seat.get("agent"), str)
        }

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError, RecursionError):  # none were given yet
            return {}
        return kept if isinstance(kept, dict) else {}

    def _write(self, given: Mapping[str, SeatOfRun]) -> None:
        kept = self._read() | {self._store: {token: asdict(seat) for token, seat in given.items()}}
        handle, name = tempfile.mkstemp(dir=self._file.parent)  # for this user alone
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(name, self._file)
        except BaseException:
            os.unlink(name)
            raise

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other servers from writing between a reading and a writing; `UsageError` if the file can't be kept."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            lock = os.open(self._file.with_name(f"{self._file.name}.lock"), flags, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise UsageError(f"invitations can't be kept in {self._file}: {error.strerror}") from None


class SeatPages:
    """The handlers of requests about seats."""

    def __init__(self, reader: StoreReader, tokens: SeatTokens, starter: Starter) -> None:
        self._reader, self._tokens, self._starter = reader, tokens, starter
        self._is_closed = asyncio.Event()

    # --- of the host -------------------------------------------------------------------------------------------------

    async def listed(self, request: Request) -> Response:
        """Answer the seats of a run and their people, with the tokens that were given."""
        page = await self._reader.read(lambda store: seats_page(store, request.query_params.get("run", "")))
        for person in page["people"]:
            person["token"] = self._tokens.token_of(SeatOfRun(page["run"], person["name"]))
        return JSONResponse(page)

    async def invite(self, request: Request) -> Response:
        """Make the invitation for a seat, or withdraw it: `{"run": …, "agent": …, "withdraw": false}`."""
        match await sent_json(request):
            case {"run": str(run), "agent": str(agent), "withdraw": bool(withdraw), **more} if not more:
                seat = SeatOfRun(await self._reader.read(lambda store: check_seat_of(store, run, agent)), agent)
            case _:
                raise UsageError("an invitation is for a run and an agent")
        change = self._tokens.withdraw if withdraw else self._tokens.give
        return JSONResponse({"token": await asyncio.to_thread(change, seat)})

    # --- of the person in the seat -----------------------------------------------------------------------------------

    async def perceived(self, request: Request) -> Response:
        """Answer the perceptions of the person in the seat."""
        seat = _seat(request)
        return JSONResponse(await self._reader.read(lambda store: seat_page(store, seat.run, seat.agent)))

    async def changes(self, request: Request) -> Response:
        """Answer the stream of the perceptions of the person in the seat, anew whenever they change."""
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        events = self._events(_seat(request), request.scope["seat_token"])
        return StreamingResponse(events, media_type="text/event-stream")

    async def send(self, request: Request) -> Response:
        """Store a person's words in a turn, or that they leave; a run without a driver goes on, whatever was sent.

        The body is `{"turn": …, "words": …, "seconds": …}`, `{"leave": true}`, or `{"go_on": true}` if there is nothing
        to say; with `agent` besides if the sender names the speaker.
        """
        seat, sent = _seat(request), await sent_json(request)
        if isinstance(sent, dict) and sent.pop("agent", seat.agent) != seat.agent:
            raise HTTPException(403, f"This invitation is for {seat.agent} alone; nobody else's line can be sent.")
        match sent:
            case {"turn": int(turn), "words": str(words), "seconds": float() | int() | None as seconds, **more} if (
                not more and type(turn) is int and not isinstance(seconds, bool)
            ):
                line = Sent(turn, words, seconds)
                store_it = partial(answer_seat, run=seat.run, agent=seat.agent, sent=line)
            case {"leave": True, **more} if not more:
                store_it = partial(leave_seat, run=seat.run, agent=seat.agent)
            case {"go_on": True, **more} if not more:
                store_it = partial(seat_page, run=seat.run, agent=seat.agent)
            case _:
                raise UsageError("a line has a turn, words and seconds")
        try:
            answer = JSONResponse(await self._reader.write(store_it))
        except ConflictError as error:
            answer = JSONResponse({"error": str(error)}, 409)
        await self._starter.go_on_if_left(self._reader, seat.run)
        return answer

    def close(self) -> None:
        """End all streams."""
        self._is_closed.set()

    async def _events(self, seat: SeatOfRun, token: str) -> AsyncIterator[str]:
        yield f"retry: {_RECONNECT_AFTER_MS}\n\n"
        seen: object = None
        last, quiet_s = "", 0.0
        while not self._is_closed.is_set() and self._tokens.seat_of(token) == seat:
            try:
                version, event = await self._reader.read(partial(_event, seat=seat, seen=seen))
            except TertuliaError as error:
                version, event = None, f"event: unreadable\ndata: {json.dumps({'error': str(error)})}\n\n"
            seen = version
            if event not in ("", last):
                last, quiet_s = event, 0.0
                yield event
            elif quiet_s >= _HEARTBEAT_S:
                quiet_s = 0.0
                yield ": nothing has changed\n\n"
            await asyncio.sleep(_LOOK_EVERY_S)
            quiet_s += _LOOK_EVERY_S


def _event(store: SqlStore, seat: SeatOfRun, seen: object) -> tuple[object, str]:
    """Return the store's version with the event of a seat's page; nothing if the version was seen."""
    written = (store.file.data_version(), store.drivers().is_driven(seat.run))
    if isinstance(seen, tuple) and seen[0] == written:
        return seen, ""
    version = (written, seat_version(store, seat.run))
    if isinstance(seen, tuple) and seen[1] == version[1]:
        return version, ""
    return version, f"data: {json.dumps(seat_page(store, seat.run, seat.agent))}\n\n"


def _seat(request: Request) -> SeatOfRun:
    seat = request.scope.get("seat")
    if not isinstance(seat, SeatOfRun):
        raise HTTPException(403, "This address has no seat. Open the invitation that was made for you.")
    return seat
