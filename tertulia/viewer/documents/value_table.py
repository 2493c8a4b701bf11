"""JSON documents that share long values: prompts repeat from turn to turn, and states from node to node.

Every string, list and object of some length is a numbered value of its own, written as JSON and referred to by its
number. Values are kept in compressed chunks that can be read one by one.
"""

import json
import zlib
from base64 import b64encode
from functools import lru_cache
from hashlib import blake2b
from json.encoder import encode_basestring_ascii
from math import isfinite
from typing import Any

#: A reference is this sign and the number of a value; a text that begins with the sign gets another one.
REFERENCE = "~"

#: A value of so many bytes of JSON has a number; a shorter one takes no more room than a reference.
SHARED_FROM = 40

#: So many values are remembered at least, and at most twice as many; one that repeats later is kept again.
REMEMBERED = 20_000

#: Bytes of JSON in a chunk before it is compressed: read in some ten milliseconds.
CHUNK_BYTES = 256 * 1024

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ValueTable:
    """Documents by number, and the compressed chunks that hold their values.

    Attributes:
        chunks: The finished chunks: zlib streams as base64, each of a JSON list of values.
        firsts: The number of the first value of each chunk.
    """

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.firsts: list[int] = []
        self._count = 0
        self._recent: dict[bytes, int] = {}  # numbers by digest
        self._earlier: dict[bytes, int] = {}
        self._texts: dict[str, str] = {}  # references to texts
        self._open: list[str] = []
        self._open_bytes = 0

    def add(self, document: Any) -> int:
        """Return the number under which a document of JSON's types is kept.

        Raises:
            ValueError: A number in it is infinite or NaN.
        """
        encoded = self._encoded(document)
        is_reference = encoded.startswith(f'"{REFERENCE}') and not encoded.startswith(f'"{REFERENCE * 2}')
        return int(encoded[2:-1], 36) if is_reference else self._number(encoded)

    def close_chunk(self) -> None:
        """Compress the values of the open chunk; later ones are in another."""
        if self._open:
            self.firsts.append(self._count - len(self._open))
            self.chunks.append(packed(f"[{','.join(self._open)}]"))
            self._open, self._open_bytes = [], 0

    @property
    def size(self) -> int:
        """Characters of all finished chunks."""
        return sum(map(len, self.chunks))

    def _encoded(self, value: Any) -> str:
        kind = type(value)
        if kind is str:
            if (known := self._texts.get(value)) is not None:
                return known
            text = encode_basestring_ascii(REFERENCE + value if value.startswith(REFERENCE) else value)
        elif kind is dict:
            text = f"{{{','.join([f'{_key(key)}:{self._encoded(inner)}' for key, inner in value.items()])}}}"
        elif kind is list or kind is tuple:
            text = f"[{','.join([self._encoded(inner) for inner in value])}]"
        elif kind is int or (kind is float and isfinite(value)):
            return repr(value)  # as JSON has it, in a tenth of the time: states are full of figures
        else:
            return _CONSTANTS[value] if kind is bool or value is None else json.dumps(value, allow_nan=False)
        if len(text) < SHARED_FROM:
            return text
        reference = f'"{REFERENCE}{_base36(self._number(text))}"'
        if kind is str:
            if len(self._texts) >= REMEMBERED:
                self._texts.clear()
            self._texts[value] = reference
        return reference

    def _number(self, text: str) -> int:
        """Return the number of a value: that of the same value, if it is remembered."""
        digest = blake2b(text.encode("ascii"), digest_size=16).digest()
        known = self._recent.get(digest)
        if known is None:
            if len(self._recent) >= REMEMBERED:
                self._recent, self._earlier = {}, self._recent
            known = self._recent[digest] = self._earlier.get(digest, self._count)
            if known == self._count:
                self._keep(text)
        return known

    def _keep(self, text: str) -> None:
        self._count += 1
        self._open.append(text)
        self._open_bytes += len(text)
        if self._open_bytes >= CHUNK_BYTES:
            self.close_chunk()


#: What JSON has for each of these.
_CONSTANTS = {None: "null", True: "true", False: "false"}


@lru_cache(maxsize=4096)
def _key(key: str) -> str:
    return encode_basestring_ascii(str(key))


def packed(text: str) -> str:
    """Return ASCII text as a zlib stream in base64, the same for the same text."""
    return b64encode(zlib.compress(text.encode("ascii"))).decode("ascii")


def _base36(number: int) -> str:
    digits = ""
    while number >= 36:
        number, last = divmod(number, 36)
        digits = _DIGITS[last] + digits
    return _DIGITS[number] + digits
