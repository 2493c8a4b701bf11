"""The parts of a request that a server refuses by name: they are left out of further ones.

A server that knows no `seed` says so, by a field of its error (`param`, `loc`) or in words. Only such an error is a
refusal of a part: any other is the user's to read. An error of the server itself (500) refuses a part only in the words
of a chat template.
"""

import re
from collections.abc import Collection

from tertulia.models.served.chat_errors import is_overflow, status_of

#: Parts that are no sampling: the JSON Schema, system messages, a role twice on end, an answer in one piece.
SCHEMA, SYSTEM, REPEATED, WHOLE = "response_format", "system messages", "repeated roles", "answers in one piece"
#: The same limit under the names of two protocols.
LIMITS = ("max_tokens", "max_completion_tokens")
#: `top_k` is off at -1, and at 0 for servers that refuse that.
NEGATIVE_TOP_K = "negative top_k"
#: Sampling in fields of its own: `transformers serve` draws by a `generation_config` alone.
FIELDS = "fields of sampling"
_UNEXPECTED = "unexpected fields in the request"

#: A value that is out of range is the user's to set, unless it is one that runs record none of.
_RANGE = r"must be\W+(in|between|at|less|greater|within|[<>≤≥-])|cannot be (greater|less)|out of range|at (least|most)"
_OFF = frozenset({"top_k", "repeat_penalty", "repetition_penalty", "samplers"})

_WORDS = {
    WHOLE: r"only\W+(\w+\W+){0,3}stream|stream\w*\W+(\w+\W+){0,4}(only|required)|(must|enable)\W+(\w+\W+){0,4}stream",
    SCHEMA: r"response_format|json.?(schema|mode|object)|structured.?output|guided|grammar|\bschemas?\b",
}
_OF_TEMPLATES = {
    REPEATED: r"\balternat",
    SYSTEM: r"\b(system|developer)\W+(\w+\W+){0,4}?(not|n't|unsupported|disabled)\b|only user and assistant roles|"
    r"n[o']t\W+(\w+\W+){0,3}?support\w*\W+(\w+\W+){0,3}?system\b",
}
_IN_WORDS = {
    SCHEMA: "refuses JSON Schema ({}); the form of replies is asked for in words alone from now on",
    SYSTEM: "refuses system messages ({}); their words begin the user's first message from now on",
    REPEATED: "wants roles to alternate ({}); messages of one role are joined from now on",
    FIELDS: "takes no sampling but in a generation_config ({}); it is sent one from now on",
    WHOLE: "answers in streams only ({}); it is asked for them from now on",
}


def refused_parts(error: Exception, sent: Collection[str]) -> frozenset[str]:
    """Return the parts of a request that an error refuses, of those that were sent; empty for any other error."""
    if isinstance(error, NotImplementedError):
        return frozenset({SCHEMA} & {*sent})
    status = status_of(error)
    if status not in (200, 400, 422, 500) or is_overflow(error):
        return frozenset()
    words = str(error)
    if FIELDS in sent and _UNEXPECTED in words.lower():
        return frozenset({FIELDS})
    if status != 500:
        fields = {*getattr(error, "fields", ()), getattr(error, "param", None)} & {*sent}
        if found := fields or _named(words, sent):
            is_value = re.search(_RANGE, words, re.IGNORECASE)
            return frozenset(found & _OFF if is_value else found)
    for part, pattern in {**({} if status == 500 else _WORDS), **_OF_TEMPLATES}.items():
        if part in sent and re.search(pattern, words, re.IGNORECASE):
            return frozenset({part})
    # A template without a place for system messages may call their role a repeated one.
    return frozenset({SYSTEM} & {*sent}) if re.search(_OF_TEMPLATES[REPEATED], words, re.IGNORECASE) else frozenset()


def _named(words: str, sent: Collection[str]) -> set[str]:
    """Return the fields that an error names; of two that exclude each other, the one to leave out."""
    found = {name for name in sent if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", words)}
    if {*LIMITS} <= found:  # "max_tokens is not supported, use max_completion_tokens"
        found.discard(max(LIMITS, key=words.index))
    if {"temperature", "top_p"} <= found:
        found.discard("temperature")
    return found


def refusal_note(part: str, message: str) -> str:
    """Return a note for the user that a part is left out, as the end of a sentence about the model."""
    told = _IN_WORDS.get(part, f"refuses {part} ({{}}); it is left out from now on, and recorded as unknown")
    return told.replace("{}", message)
