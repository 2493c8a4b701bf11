"""Files around a card: the text chunks of a PNG, and the zip of a CHARX. Only text is taken out, up to a limit.

Chunks are walked here: Pillow decodes all pixels of a picture before it reads the chunks behind them, where cards lie.
"""

import base64
import binascii
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO

from tertulia.state.errors import ScenarioError

PNG = b"\x89PNG\r\n\x1a\n"
ZIP, JPEG = b"PK\x03\x04", b"\xff\xd8\xff"

#: The longest text of a card, unpacked, in bytes.
MOST_TEXT = 16 * 10**6

_CARD_FILE = "card.json"


def png_chunks(content: bytes) -> dict[str, tuple[bytes, bytes]]:
    """Return the kinds and bodies of a picture's `ccv3` and `chara` chunks, the first of each, by keyword."""
    chunks: dict[str, tuple[bytes, bytes]] = {}
    for kind, body in _chunks(content):
        chunks.setdefault(body.partition(b"\0")[0].decode("latin-1").casefold(), (kind, body))
    return {keyword: chunks[keyword] for keyword in ("ccv3", "chara") if keyword in chunks}


def chunk_text(keyword: str, kind: bytes, body: bytes, label: str) -> str:
    """Return the JSON text of a chunk.

    Raises:
        ScenarioError: It is too long, or can't be unpacked.
    """
    return _decoded(_text_of(kind, body, label), keyword, label)


def zipped_card(content: bytes, label: str) -> tuple[str, list[str]]:
    """Return the text of `card.json` of a zip, and the names of its other files, of which none is opened.

    Raises:
        ScenarioError: It is no zip, has no card, or a card that is too long or encrypted.
    """
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if _CARD_FILE not in names:
                raise ScenarioError(f"{label}: a zip file without {_CARD_FILE}, so no CHARX card")
            with archive.open(_CARD_FILE) as file:
                text = file.read(MOST_TEXT + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ScenarioError(f"{label}: the zip file can't be read: {error}") from None
    if len(text) > MOST_TEXT:
        raise ScenarioError(f"{label}: {_CARD_FILE} {_TOO_LONG}")
    return _utf8(text, _CARD_FILE, label), [name for name in names if name != _CARD_FILE]


_TOO_LONG = f"holds more than {MOST_TEXT // 10**6} MB of text, the most that is read of a card"


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the body of each chunk; a file that ends early has those before."""
    at = len(PNG)
    while at + 8 <= len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            yield kind, content[at + 8 : at + 8 + length]
        at += length + 12


def _text_of(kind: bytes, body: bytes, label: str) -> bytes:
    """Return the text of a chunk: `keyword 0 text`, with a method (zTXt), or flags and languages (iTXt)."""
    keyword, _, rest = body.partition(b"\0")
    if kind == b"zTXt":
        return _unpacked(rest[1:], keyword, label)
    if kind == b"iTXt":
        is_packed, rest = rest[:1] == b"\1", rest[2:]
        text = rest.split(b"\0", 2)[-1]
        return _unpacked(text, keyword, label) if is_packed else text
    return rest


def _unpacked(packed: bytes, keyword: bytes, label: str) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(packed, 2 * MOST_TEXT)
    except zlib.error as error:
        raise ScenarioError(f"{label}: its chunk {keyword.decode('latin-1')} can't be unpacked: {error}") from None
    if not unpacking.eof and (unpacking.unconsumed_tail or len(text) >= 2 * MOST_TEXT):
        raise ScenarioError(f"{label}: its chunk {keyword.decode('latin-1')} {_TOO_LONG}")
    return text


def _decoded(text: bytes, keyword: str, label: str) -> str:
    """Return the JSON of a chunk, which is in base 64, or plain."""
    if not text.lstrip().startswith(b"{"):
        try:
            text = base64.b64decode(text + b"==")
        except binascii.Error as error:
            raise ScenarioError(f"{label}: its chunk {keyword} is not in base 64: {error}") from None
    if len(text) > MOST_TEXT:
        raise ScenarioError(f"{label}: its chunk {keyword} {_TOO_LONG}")
    return _utf8(text, f"its chunk {keyword}", label)


def _utf8(text: bytes, part: str, label: str) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{label}: {part} is not text in UTF-8") from None
