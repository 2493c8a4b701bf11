"""The form of a reply in words and as a JSON Schema, for models without constrained decoding."""

import json
from collections.abc import Sequence
from typing import Any

from tertulia.prompts.names import enumerated
from tertulia.prompts.templates import template
from tertulia.state.language_model import ReplyField
from tertulia.state.languages import DEFAULT

#: Words per token of English text, roughly, and signs per token of Chinese.
_WORDS_A_TOKEN = 0.75

_TYPES = {
    **{"speech": "string", "text": "string", "choice": "string", "word": "string"},
    **{"integer": "integer", "boolean": "boolean"},
}


def ask_for(fields: Sequence[ReplyField], language: str = DEFAULT) -> str:
    """Return the sentence that asks for a JSON object of these fields."""
    return template("shape", language).fill("ask", {"shape": _shape(fields, language)})


def ask_again(fields: Sequence[ReplyField], problem: str, language: str = DEFAULT) -> str:
    """Return the sentence that asks again, and describes the fault of the answer."""
    return template("shape", language).fill("mend", {"shape": _shape(fields, language), "problem": problem})


def problem_of(entry: str, field: ReplyField | None = None, language: str = DEFAULT) -> str:
    """Return in words the fault of an answer, or of the value of a field."""
    return template("shape", language).fill(f"problem.{entry}", {} if field is None else _known(field, language))


def schema_of(fields: Sequence[ReplyField], language: str = DEFAULT) -> dict[str, Any]:
    """Return the JSON Schema of a reply of these fields, in their order."""
    properties: dict[str, dict[str, Any]] = {}
    for field in fields:
        schema: dict[str, Any] = {"type": _TYPES[field.kind], "description": _described(field, language)}
        if field.kind == "integer":
            schema |= {"minimum": field.minimum, "maximum": field.maximum}
        if field.kind == "choice":
            schema["enum"] = list(field.choices)
        properties[field.name] = schema
    return {
        "title": "reply",
        "description": template("shape", language).fill("reply", {}),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def shown_form(fields: Sequence[ReplyField], language: str = DEFAULT) -> dict[str, str]:
    """Return the value of each field that a hosted model is shown."""
    return {field.name: _described(field, language) for field in fields}


def _shape(fields: Sequence[ReplyField], language: str) -> str:
    return json.dumps(shown_form(fields, language), ensure_ascii=False)


def _described(field: ReplyField, language: str) -> str:
    return template("shape", language).fill(f"value.{field.kind}", _known(field, language))


def _known(field: ReplyField, language: str) -> dict[str, object]:
    return {
        "name": field.name,
        "key": repr(field.name),
        "words": max(1, round(field.max_tokens * _WORDS_A_TOKEN)),
        "most": field.max_tokens,
        "minimum": field.minimum,
        "maximum": field.maximum,
        "choices": enumerated(field.choices, language),
    }
