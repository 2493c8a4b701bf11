"""Servers' answers, read into typed records: values that are against OpenAI's protocol do not go on from here.

An invalid count of tokens is 0, with a note: no words depend on it. If a text or a log-probability is
something else, the answer is refused, with the field and its value.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tertulia.models.served.chat_client import ChatAnswer
from tertulia.models.served.chat_errors import RefusedAnswerError
from tertulia.state.text import one_line

#: No request has more tokens; sums of so many stay far below the limit of a store.
MOST_TOKENS = 10**9

#: Characters of a value that a message shows.
_SHOWN = 60

#: How deep reasoning lies in lists and objects, at most.
_DEPTH = 6

#: Characters of a prompt for each token that its server counted, above which it was cut: no tokenizer has so few
#: tokens, 4 to 5 characters in English, below 2 in Chinese. Of a shorter prompt nothing is said.
_CUT_ABOVE, _CUT_FROM = 9, 1000


def token_count(value: object) -> int:
    """Return a count of tokens as a server tells it; 0 for any value but an integer from 0 to `MOST_TOKENS`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS:
        return 0
    return int(value) if value == int(value) else 0


def count_note(counts: Mapping[str, Any]) -> str:
    """Return a note for the user about counts of tokens, by the names of their fields; empty if all are sound."""
    wrong = [
        f"{name}={_shown(value)}"
        for name, value in counts.items()
        if value is not None and (type(value) is bool or value != token_count(value))
    ]
    return f"counts tokens as {' and '.join(wrong)}; such counts are stored as 0" if wrong else ""


def cut_note(characters: int, tokens: int) -> str:
    """Return a note for the user that a server read only a part of a prompt; empty if its count says no such thing."""
    if not tokens or characters < _CUT_FROM or characters <= _CUT_ABOVE * tokens:
        return ""
    return (
        f"counted {tokens} tokens of a prompt of {characters:,} characters: it seems to cut prompts without a word; "
        "have it open a larger context window, or set memory_items_max or dialogue_window lower"
    )


def _joined_parts(content: object) -> object:
    """Return the text of a message whose content is a list of parts; parts without text, as reasoning, are dropped."""
    if not isinstance(content, list):
        return "" if content is None else content
    parts = [part.get("text") if isinstance(part, dict) else part for part in content if not _is_other_part(part)]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(parts) else content


def _is_other_part(part: object) -> bool:
    return isinstance(part, dict) and part.get("type", "text") not in ("text", "output_text")


class _Answer(BaseModel):
    """A part of an answer; fields that are not read may be anything."""

    model_config = ConfigDict(strict=True, defer_build=True)


_Text = Annotated[str, BeforeValidator(_joined_parts)]
_Log = Annotated[float, Field(le=0, allow_inf_nan=False)]


class _Usage(_Answer):
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Message(_Answer):
    content: _Text = ""
    tool_calls: Any = None


class _Choice(_Answer):
    message: _Message | None = None
    finish_reason: Any = None


class _ChatCompletion(_Answer):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


class _Token(_Answer):
    logprob: _Log


class _ChatLogs(_Answer):
    """An answer of vLLM's `chat/completions` to `prompt_logprobs`."""

    prompt_logprobs: list[Annotated[dict[str, _Token], Field(min_length=1)] | None] | None = None


class _EchoLog(_Answer):
    token_logprobs: list[_Log | None] | None = None


class _EchoChoice(_Answer):
    logprobs: _EchoLog | None = None


class _EchoLogs(_Answer):
    """An answer of `completions` to `echo` and `logprobs`."""

    choices: list[_EchoChoice] | None = None


_Kind = TypeVar("_Kind", bound=BaseModel)


def read_chat_answer(answer: Mapping[str, Any]) -> ChatAnswer:
    """Return an answer of `chat/completions`; without a text, its text is empty, so that the model is asked again.

    Raises:
        RefusedAnswerError: A field does not follow the protocol.
    """
    read = _read(_ChatCompletion, answer)
    first, usage = next(iter(read.choices or ()), None), read.usage or _Usage()
    message = _Message() if first is None or first.message is None else first.message
    text = message.content or _arguments(message.tool_calls)
    note = count_note({f"usage.{name}": value for name, value in usage.model_dump().items()})
    counts = token_count(usage.prompt_tokens), token_count(usage.completion_tokens)
    thought = thought_in(answer["choices"][0].get("message") or {}) if first is not None else ""
    return ChatAnswer(text, *counts, note, thought, finish_in(first.finish_reason if first else None))


def thought_in(message: Mapping[str, Any]) -> str:
    """Return the reasoning in a message, by the fields and parts of its content that servers and providers put it in.

    A value that is no text is passed over: nothing depends on it but what a reader is shown.
    """
    fields = (message.get(name) for name in ("reasoning_content", "reasoning", "reasoning_details"))
    content = message.get("content")
    parts = [part for part in content if _is_other_part(part)] if isinstance(content, list) else None
    return next((text for value in (*fields, parts) if (text := _texts(value, _DEPTH).strip())), "")


def finish_in(value: object) -> str:
    """Return a provider's word for why an answer ends; empty for anything but a short text."""
    return value if isinstance(value, str) and len(value) <= _SHOWN else ""


def _texts(value: object, depth: int) -> str:
    """Return the texts of a value and of the parts in it, joined."""
    if isinstance(value, str) or depth == 0:
        return value if isinstance(value, str) else ""
    if isinstance(value, list):
        return "\n".join(text for item in value if (text := _texts(item, depth - 1)))
    if isinstance(value, dict):
        held = (value.get(name) for name in ("text", "thinking", "reasoning", "summary", "content"))
        return next((text for item in held if (text := _texts(item, depth - 1))), "")
    return ""


def _arguments(calls: object) -> str:
    """Return the arguments of the first call of a tool, which some servers make of an answer by schema."""
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, dict) else None
    given = function.get("arguments") if isinstance(function, dict) else None
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False) if given else ""


def read_prompt_tokens(answer: Mapping[str, Any]) -> int:
    """Return how many tokens a server has read; 0 if it does not say.

    Raises:
        RefusedAnswerError: A field does not follow the protocol.
    """
    usage = _read(_ChatCompletion, {"usage": answer.get("usage")}).usage
    return 0 if usage is None else token_count(usage.prompt_tokens)


def read_chat_logs(answer: Mapping[str, Any]) -> list[float | None]:
    """Return the log-probabilities of a prompt's tokens as vLLM tells them, `None` of the first; empty: it does not.

    Raises:
        RefusedAnswerError: A field does not follow the protocol: it is not finite, or above 0.
    """
    tokens = _read(_ChatLogs, answer).prompt_logprobs or []
    return [None if token is None else next(iter(token.values())).logprob for token in tokens]


def read_echo_logs(answer: Mapping[str, Any]) -> list[float | None]:
    """Return the log-probabilities of the tokens of an echoed prompt (see `read_chat_logs`)."""
    first = next(iter(_read(_EchoLogs, answer).choices or ()), None)
    return [] if first is None or first.logprobs is None else first.logprobs.token_logprobs or []


def _read(kind: type[_Kind], answer: Mapping[str, Any]) -> _Kind:
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = _shortened(".".join(map(str, first["loc"])))
        told = one_line(first["msg"]).removeprefix("Input ")
        raise RefusedAnswerError(f"answers with {field}={_shown(first['input'])}, which {told}") from None


def _shown(value: object) -> str:
    try:
        return _shortened(repr(value))
    except RecursionError:
        return "…"


def _shortened(text: str) -> str:
    text = one_line(text[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
