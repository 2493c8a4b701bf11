"""The form of a reply in words, and as a JSON Schema, for models whose decoding can't be constrained."""

import json
from collections.abc import Sequence
from typing import Any

from prompts.templates import template
from state.language_model import ReplyField

#: Words per token of English text, roughly.
_WORDS_A_TOKEN = 0.75

_TYPES = {"speech": "string", "text": "string", "choice": "string", "integer": "integer", "boolean": "boolean"}


def ask_for(fields: Sequence[ReplyField]) -> str:
    """Return the sentence that asks for a JSON object of these fields."""
    return template("shape").fill("ask", {"shape": _shape(fields)})


def ask_again(fields: Sequence[ReplyField], problem: str) -> str:
    """Return the sentence that asks again, and says what was wrong with the answer."""
    return template("shape").fill("mend", {"shape": _shape(fields), "problem": problem})


def schema_of(fields: Sequence[ReplyField]) -> dict[str, Any]:
    """Return the JSON Schema of a reply of these fields, in their order."""
    properties: dict[str, dict[str, Any]] = {}
    for field in fields:
        schema: dict[str, Any] = {"type": _TYPES[field.kind], "description": _described(field)}
        if field.kind == "integer":
            schema |= {"minimum": field.minimum, "maximum": field.maximum}
        if field.kind == "choice":
            schema["enum"] = list(field.choices)
        properties[field.name] = schema
    return {
        "title": "reply",
        "description": "the reply",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def shown_form(fields: Sequence[ReplyField]) -> dict[str, str]:
    """Return what a hosted model is shown as the value of each field."""
    return {field.name: _described(field) for field in fields}


def _shape(fields: Sequence[ReplyField]) -> str:
    return json.dumps(shown_form(fields), ensure_ascii=False)


def _described(field: ReplyField) -> str:
    known = {
        "words": max(1, round(field.max_tokens * _WORDS_A_TOKEN)),
        "minimum": field.minimum,
        "maximum": field.maximum,
        "choices": ", ".join(field.choices),
    }
    return template("shape").fill(f"value.{field.kind}", known)
