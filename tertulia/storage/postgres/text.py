"""Texts as Postgres holds them. It refuses NUL and halves of surrogate pairs, which any text of a model may have.

Refused signs are written as U+FFFF, which is no character in Unicode, with hexadecimal digits behind it; U+FFFF itself
twice. JSON may have such signs as escapes, too, which Postgres's functions refuse: `plain_json` of the store's schema
makes U+FFFF, `u` and their digits of them; values read out of JSON are decoded like all texts.
"""

import re

#: Precedes the digits of a sign that Postgres can't hold.
ESCAPE = "\uffff"

_REFUSED = re.compile("[\x00\ud800-\udfff\uffff]")
_PAIR = f"{ESCAPE}u(d[89ab][0-9a-f]{{2}}){ESCAPE}u(d[c-f][0-9a-f]{{2}})"
_ENCODED = re.compile(f"{_PAIR}|{ESCAPE}(?:({ESCAPE})|u?([0-9a-f]{{4}}))", re.IGNORECASE)

#: Makes a text that Postgres reads as JSON of one with escapes that it refuses: `plain_json` of the store's schema. An
#: even number of backslashes before a `u` is no escape.
PLAIN_JSON = rf"""CREATE FUNCTION plain_json(document text) RETURNS json
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $function$
    SELECT CAST(CASE WHEN strpos(document, '\u') = 0 THEN document ELSE regexp_replace(
        document, '(?<!\\)((?:\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{{2}}|[fF]{{4}})', '\1{ESCAPE}u\2', 'g'
    ) END AS json) $function$"""


def encoded(text: str) -> str:
    """Return a text without the signs that Postgres can't hold."""
    return _REFUSED.sub(_encode, text)


def decoded(text: str) -> str:
    """Return a text that was encoded."""
    return _ENCODED.sub(_decode, text) if ESCAPE in text else text


def _encode(match: re.Match[str]) -> str:
    return ESCAPE + (ESCAPE if match[0] == ESCAPE else f"{ord(match[0]):04x}")


def _decode(match: re.Match[str]) -> str:
    high, low, escape, code = match.groups()
    if high:  # two escapes of JSON are one sign
        return bytes.fromhex(high + low).decode("utf-16-be")
    return ESCAPE if escape else chr(int(code, 16))
