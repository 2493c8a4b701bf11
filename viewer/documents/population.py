"""An album chat for the viewer: who has seen which picture by round, and how the pictures travelled."""

import base64
from collections.abc import Sequence

from tertulia.reading.documents import album_document
from tertulia.reading.exchanges import Journey, read_album
from tertulia.state.album import Picture, Population
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore

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
    record = store.run(run)
    start = store.start(record.run)
    if not isinstance(start, Population):
        raise UsageError(f"run {record.run} is no album chat, so nobody shows pictures in it")
    totals, journeys = read_album(store, record, start)
    return album_document(record, totals, journeys) | {
        "people": list(start.names),
        "rounds": max((round for journey in journeys for round in journey.seen_by), default=0),
        "pictures": _pictures(store, journeys),
    }


def strip_page(store: SqlStore, run: str) -> Document:
    """Return the first pictures of an album chat that a list can show, as data URLs; none of any other run."""
    start = store.start(store.run(run).run)
    held = start.pictures if isinstance(start, Population) else ()
    rows: list[Document] = []
    for picture in held[:_STRIP_OF]:
        image, _ = _image(store, picture, _STRIP_BYTES)
        if image is not None and len(rows) < _IN_STRIP:
            rows.append({"id": picture.id, "caption": picture.described, "image": image})
    return {"schema_version": SCHEMA_VERSION, "run": run, "pictures": rows}


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
    image = store.picture(picture.file.hash)
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
