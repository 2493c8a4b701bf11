"""An album chat, for the viewer: who has seen which picture, by round, and how the pictures travelled."""

import base64
from collections.abc import Sequence

from tertulia.reading.documents import album_document
from tertulia.reading.exchanges import Journey, exchanges_by_agent, journeys, read_exchanges, totals_of
from tertulia.state.album import Picture, Population
from tertulia.state.documents import Document
from tertulia.state.errors import UsageError
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore

#: Bytes of a picture that is shown, and of all of them together.
MOST_BYTES = 200_000
_MOST_OF_ALL = 4_000_000

#: How the bytes of a picture begin that a browser may show, by type. SVG is none of them: it may hold scripts.
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def album_page(store: SqlStore, run: str) -> Document:
    """Return what everybody did in an album chat, and the journey of every picture.

    Each picture has, beside the journey, `first_seen`: by person the round in which they first saw it, 0 for who had
    it at first; and `image`: the picture as a data URL, `None` with the reason in `no_image`.

    Raises:
        UsageError: The run is no album chat.
    """
    record = store.run(run)
    start = store.start(record.run)
    if not isinstance(start, Population):
        raise UsageError(f"run {record.run} is no album chat, so nobody shows pictures in it")
    exchanges = read_exchanges(store, record.run, start)
    totals = [totals_of(agent, found) for agent, found in exchanges_by_agent(exchanges, start.names).items()]
    found = [*journeys(start, exchanges, Parameters.of_record(record.parameters)).values()]
    return album_document(record, totals, found) | {
        "people": list(start.names),
        "rounds": max((exchange.turn.round for exchange in exchanges), default=0),
        "pictures": _pictures(store, found),
    }


def _pictures(store: SqlStore, found: Sequence[Journey]) -> list[Document]:
    rows, left = [], _MOST_OF_ALL
    for journey in found:
        image, reason = _image(store, journey.picture, left)
        left -= len(image or "")
        row = {
            **journey.document(),
            "id": journey.picture.id,
            "caption": journey.picture.described,
            "first_seen": _first_seen(journey),
            "image": image,
            "no_image": reason,
        }
        rows.append({name: value for name, value in row.items() if name != "picture"})
    return rows


def _first_seen(journey: Journey) -> dict[str, int]:
    """Return by person the round in which they first saw a picture: they had it, asked about it, or answered."""
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
    """Return the type of a picture that a browser may show, by how its bytes begin; `None` for any other."""
    if image[:4] == b"RIFF" and image[8:12] == b"WEBP":
        return "image/webp"
    return next((type for beginning, type in _BEGINNINGS if image.startswith(beginning)), None)
