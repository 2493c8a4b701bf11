"""Failed requests to chat models: whether a retry may help, how long to wait, and the line that the user reads.

Providers' libraries raise errors of many classes; only the HTTP status, `Retry-After`, `code`, and
the names of classes in the chain of causes are used.
"""

import email.utils
import json
import math
import random
import re
import time

from tertulia.models.served.chat_names import key_variable
from tertulia.state.errors import ContextWindowError, ModelError
from tertulia.state.text import clean

#: Seconds until the first retry, and at most (exponential back-off).
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60.0
#: Seconds that a server may ask for; if it wants more, the run stops and can be resumed later.
LONGEST_RETRY_AFTER_S = 300.0
#: Statuses below 500 that may pass: request timeout, conflict, too early, too many requests.
_TEMPORARY = (408, 409, 425, 429)
#: How servers refuse pictures: by name, or since the content of a message must be a text; and that they support none.
_NO_PICTURES = r"image|vision|visual|mmproj|multi-?modal|content\W.{0,60}(string|str)\b"
_NO_PICTURES_AT_ALL = r"image input|mmproj|(image|vision|multi-?modal)\W+(\w+\W+){0,4}(not |un)support"
#: How servers say that a prompt is longer than the model's context window: llama.cpp, vLLM, SGLang, LM Studio, TGI,
#: hosted providers.
_OVERFLOW = (
    r"context\W+(\w+\W+){0,2}?(length|size|window|limit|overflows)|context the overflows|max\w*\W+model\W+len|"
    r"longer than the (max|model)|prompt\W+(\w+\W+){0,2}?too (long|large)|too many (input )?tokens|"
    r"tokens\W+(\w+\W+){0,3}?exceed|exceeds? the maximum number of tokens|reduce the length|max_new_tokens. must be"
)
_OVERFLOW_CODES = ("context_length_exceeded", "exceed_context_size_error")
#: How servers say that a model is being loaded, with a status that may pass.
_LOADING = r"\bloading\b|being loaded|still starting|warming up"
#: Seconds between requests to a server that loads its model, and at most until it has.
LOADING_WAIT_S, LONGEST_LOADING_S = 5.0, 600.0
#: Characters of a library's message that an error shows.
_SHOWN = 200


class RefusedAnswerError(Exception):
    """An answer that is not read, or a redirect that is not followed; the message goes on after the model's name."""


class RefusedPicturesError(Exception):
    """A server refuses pictures; the cause of this error has the server's words."""


def is_temporary(error: BaseException) -> bool:
    """Return whether another attempt may succeed.

    An answer that was refused would come again: a server sends gigabytes, or redirects, by how it is set up.
    """
    if not isinstance(error, Exception) or getattr(error, "code", None) == "insufficient_quota":
        return False
    if isinstance(error, RefusedPicturesError):
        return False
    if _refusal(error) is not None or is_overflow(error):
        return False
    status = status_of(error)
    if status is None:
        return is_connection_error(error)
    if status not in _TEMPORARY and status < 500:
        return False
    return (_retry_after_s(error) or 0.0) <= LONGEST_RETRY_AFTER_S


def is_loading(error: BaseException) -> bool:
    """Return whether a server says that it is loading its model, which takes minutes and not seconds."""
    return status_of(error) == 503 and bool(re.search(_LOADING, str(error), re.IGNORECASE))


def is_unexplained(error: BaseException) -> bool:
    """Return whether a server refuses a request as a whole, and not its length."""
    return status_of(error) in (400, 422) and not is_overflow(error)


def is_overflow(error: BaseException) -> bool:
    """Return whether a server says that the prompt does not fit the context window."""
    if {getattr(error, "code", None), getattr(error, "kind", None)} & {*_OVERFLOW_CODES}:
        return True
    if status_of(error) not in (200, 400, 413, 422, 500) or re.search(r"per minute|rate limit|quota", str(error), re.I):
        return False
    return bool(re.search(_OVERFLOW, str(error), re.IGNORECASE))


def wait_s(error: BaseException, retry: int, generator: random.Random) -> float:
    """Return the seconds before a retry (from 1): exponential back-off with jitter, longer if the server asks."""
    if is_loading(error):
        return max(LOADING_WAIT_S, _retry_after_s(error) or 0.0)
    backoff_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (retry - 1)) * (0.5 + generator.random())
    retry_after_s = _retry_after_s(error)
    if retry_after_s is None:
        return backoff_s
    return max(backoff_s, retry_after_s * (1 + generator.random() / 4))


def _retry_after_s(error: BaseException) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or a date; `None` without one that can be followed.

    Not a number, infinite, negative and 0 are no times to wait: the back-off holds as if there were no header.
    """
    header = getattr(getattr(error, "response", None), "headers", {}).get("retry-after")
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError, OSError):
            return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def describe_failure(error: BaseException, model: str, timeout_s: float) -> str:
    """Return the cause of a failed attempt that will be repeated, as a clause for the user."""
    status = status_of(error)
    if is_loading(error):
        return f"the server of {model} loads it"
    if status is not None:
        return f"{model} {'failed' if status >= 500 else 'refused the request'} ({status})"
    if is_timeout(error):
        return f"{model} did not answer within {timeout_s:g} s"
    return f"{model} can't be reached, or its answer breaks off"


def as_model_error(error: Exception, model: str, *, key: str, timeout_s: float, attempts: int) -> ModelError:
    """Return the error of a request that finally failed: one line with the remedy, and never the key that was sent."""
    if (refusal := _refusal(error)) is not None:
        return ModelError(f"{model} {refusal}")
    if isinstance(error, RefusedPicturesError) and isinstance(cause := error.__cause__, Exception):
        return ModelError(
            f"{model} refuses pictures ({status_of(cause)}: {shortened_message(cause, key)}); set sight=captions, or "
            "take a model that sees"
        )
    status = status_of(error)
    times = f" ({attempts} times)" if attempts > 1 else ""
    message = shortened_message(error, key)
    if is_overflow(error):
        counts = f", {told}" if (told := getattr(error, "counts", "")) else ""
        return ContextWindowError(
            f"{model}: the prompt does not fit its context window ({message}{counts}); set memory_items_max or "
            "dialogue_window lower, or have the server open a larger window"
        )
    if status in (401, 403):
        variable = key_variable(model)
        hint = f" the key in {variable}" if key else f"; it wants a key in {variable}" if variable else ""
        return ModelError(f"{model} refuses{hint} ({status}); see that it is right, then resume")
    if status == 404:
        return ModelError(f"{model}: nobody serves a model of that name there (404: {message}); see the name")
    if status == 429:
        return ModelError(
            f"{model} is over its limit{times} (429: {message}); resume later, or set requests_per_minute"
        )
    if status == 200:
        return ModelError(f"{model} answers with an error ({message}); see docs/models.md")
    if status is not None and status < 500:
        return ModelError(f"{model} refuses the request ({status}: {message}); see docs/models.md")
    if status is not None:
        return ModelError(f"{model} failed{times} ({status}: {message}); resume when it is up again")
    if is_timeout(error):
        return ModelError(f"{model} did not answer within {timeout_s:g} s{times}; resume, or set request_timeout_s")
    return ModelError(
        f"{model} can't be reached, or its answer breaks off{times} ({message}); see that it runs, then resume"
    )


def is_connection_error(error: BaseException) -> bool:
    """Return whether a request did not get through, or its answer only in part."""
    return any(
        isinstance(cause, OSError | json.JSONDecodeError) or "ransport" in " ".join(_class_names(cause))
        for cause in _causes(error)
    )


def is_timeout(error: BaseException) -> bool:
    """Return whether an attempt took too long."""
    return any(isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__ for cause in _causes(error))


def refuses_pictures(error: Exception) -> bool:
    """Return whether a request with pictures failed because of them, as the server says.

    A failure of the server itself is one of the pictures only if it says that these are not supported.
    """
    status = status_of(error)
    if status is None or status > 501 or status in (401, 403, *_TEMPORARY) or is_overflow(error):
        return False
    words = re.sub(r"data:image/\S+", "", str(error))  # the answer may hold the request
    return bool(re.search(_NO_PICTURES if status < 500 else _NO_PICTURES_AT_ALL, words, re.IGNORECASE | re.DOTALL))


def shortened_message(error: BaseException, key: str) -> str:
    """Return a library's message on one line, without the key."""
    text = clean(str(error)) or type(error).__name__
    text = re.sub(r"^Error code: \d+ - ", "", text)
    text = text.replace(key, "…") if key else text
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an error; 200 for an error in the body of an answer, `None` for an error without."""
    for source in (error, getattr(error, "response", None)):
        status = getattr(source, "status_code", None)
        if isinstance(status, int) and (status >= 400 or (source is error and status == 200)):
            return status
    return None


def _refusal(error: BaseException) -> RefusedAnswerError | None:
    """Return the refusal behind an error of a provider's library; `None` if it has another cause."""
    return next((cause for cause in _causes(error) if isinstance(cause, RefusedAnswerError)), None)


def _causes(error: BaseException | None) -> list[BaseException]:
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


def _class_names(error: BaseException) -> list[str]:
    return [base.__name__ for base in type(error).__mro__]
