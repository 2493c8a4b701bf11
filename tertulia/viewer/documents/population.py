"""An album chat for the viewer: the pictures that each person has seen by round, and how the pictures travelled."""

import base64
from collections.abc import Sequence

from tertulia.state.album import Exchange, Picture, Population
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, StorageError, UsageError, nearest_hint
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.documents import album_document
from tertulia.views.reading.exchanges import Journey, read_album

#: The most bytes of a picture that is shown, and of all of them together.
MOST_BYTES = 200_000
_MOST_OF_ALL = 4_000_000

#: Pictures that a list shows of a run, of how many, and bytes of each at most.
_IN_STRIP, _STRIP_OF, _STRIP_BYTES = 6, 24, 60_000

#: The first bytes of pictures that a browser may show, by type. SVG is excluded: it may hold scripts.
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def album_page(store: SqlStore, run: str) -> Document:
    """Return the figures of everybody in an album chat, and the journey of every picture.

    Beside the journey, `first_seen` is by person the round in which they first saw the picture, 0 if they had it at
    first; `image` is the picture as a data URL, or `None` with the reason in `no_image`.

    Raises:
        UsageError: The run is no album chat.
    """
    record, start = _album_chat(store, run)
    totals, journeys = read_album(store, record, start)
    return album_document(record, totals, journeys) | {
        "people": list(start.names),
        "rounds": max((round for journey in journeys for round in journey.seen_by), default=0),
        "pictures": _pictures(store, journeys),
    }


def _album_chat(store: SqlStore, run: str) -> tuple[RunRecord, Population]:
    record = store.run(run)
    start = store.start(record.run)
    if not isinstance(start, Population):
        raise UsageError(f"run {record.run} is no album chat, so nobody shows pictures in it")
    return record, start


def picture_page(store: SqlStore, run: str, id: str) -> Document:
    """Return a picture of an album chat: its caption, and `image` as in `album_page`.

    Raises:
        NotFoundError: The run has no such picture.
        UsageError: The run is no album chat.
    """
    record, start = _album_chat(store, run)
    known = {picture.id: picture for picture in start.pictures}
    if id not in known:
        raise NotFoundError(f"run {record.run} has no picture {id!r}{nearest_hint(id, [*known])}")
    image, reason = _image(store, known[id], MOST_BYTES)
    about = {"run": record.run, "id": id, "caption": known[id].described}
    return {"schema_version": SCHEMA_VERSION, **about, "image": image, "no_image": reason}


def strip_page(store: SqlStore, run: str) -> Document:
    """Return the pictures that an album chat was about first, then others of it, as far as a list can show them.

    They are data URLs. A run of another kind has none.
    """
    record = store.run(run)
    start = store.start(record.run)
    rows: list[Document] = []
    for picture in _first_shown(store, record.run, start) if isinstance(start, Population) else ():
        image, _ = _image(store, picture, _STRIP_BYTES)
        if image is not None and len(rows) < _IN_STRIP:
            rows.append({"id": picture.id, "caption": picture.described, "image": image})
    return {"schema_version": SCHEMA_VERSION, "run": run, "pictures": rows}


def _first_shown(store: SqlStore, run: str, start: Population) -> list[Picture]:
    """Return some pictures of an album chat, each once: those of its first exchanges in their order, then others."""
    shown = [exchange.picture for exchange in store.steps(run, "exchange", Exchange, 1, _STRIP_OF).values()]
    known = {picture.id: picture for picture in start.pictures}
    order = dict.fromkeys([*(id for id in shown if id in known), *known])
    return [known[id] for id in order][:_STRIP_OF]


def _pictures(store: SqlStore, journeys: Sequence[Journey]) -> list[Document]:
    rows, left = [], _MOST_OF_ALL
    for journey in journeys:
        image, reason = _image(store, journey.picture, left)
        left -= len(image or "")
        row = journey.document() | {
            "id": journey.picture.id,
            "caption": journey.picture.described,
            "first_seen": _first_seen(journey),
            "image": image,
            "no_image": reason,
        }
        del row["picture"]
        rows.append(row)
    return rows


def _first_seen(journey: Journey) -> dict[str, int]:
    seen = dict.fromkeys(journey.first_holders, 0)
    for exchange in journey.exchanges:
        for agent in (exchange.exchange.asker, exchange.exchange.answerer):
            seen.setdefault(agent, exchange.turn.round)
    return seen


def _image(store: SqlStore, picture: Picture, most_bytes: int) -> tuple[str | None, str | None]:
    """Return a picture as a data URL, or why it is not shown."""
    if picture.file is None:
        return None, "the store has its caption alone"
    try:
        image = store.picture(picture.file.hash)
    except StorageError:
        return None, "it is missing or damaged in the store"
    if len(image) > min(MOST_BYTES, most_bytes):
        return None, f"it is too large to be shown here ({len(image) // 1000} kB)"
    type = image_type(image)
    if type is None:
        return None, "its bytes are not those of a PNG, JPEG, WebP or GIF file"
    return f"data:{type};base64,{base64.b64encode(image).decode()}", None


def image_type(image: bytes) -> str | None:
    """Return the type of a picture that a browser may show, from its first bytes; `None` for any other."""
    if image[:4] == b"RIFF" and image[8:12] == b"WEBP":
        return "image/webp"
    return next((type for beginning, type in _BEGINNINGS if image.startswith(beginning)), None)
