"""The words about answers that a limit cut short, and about answers of which nothing can be read."""

from tertulia.models.served.chat_client import ChatAnswer
from tertulia.models.served.thoughts import split_thought
from tertulia.state.text import one_line, shortened

#: Providers' words for an answer that ends at a limit.
_CUT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "max_length", "model_context_window_exceeded"}
)
#: Characters of an answer, and of its reasoning, that an error quotes.
_QUOTED = 160


def is_cut(answer: ChatAnswer) -> bool:
    """Return whether an answer ends because it met a limit of its length."""
    return answer.finish.lower() in _CUT


def room_note(room: int | None, more: int | None) -> str:
    """Return a note for the user about an answer that was cut, as the end of a sentence about the model.

    Args:
        room: The tokens that it had; `None` if no limit was sent.
        more: The tokens with which it is asked again; `None` if it is not.
    """
    if room is None:
        return "ended an answer at a limit of its server's own; set max_reply_tokens to send another"
    again = f"; it is asked again with {more}" if more else ""
    return f"ended an answer at max_reply_tokens={room}{again}"


def unread(model: str, problem: str, answer: ChatAnswer, times: int, room: int | None) -> str:
    """Return the message that nothing can be read of a model's answers, with the last one's own words.

    Args:
        room: The tokens that it had; `None` if no limit was sent.
    """
    split = split_thought(answer.text)
    told = [problem, *([f"finish_reason {answer.finish}"] if answer.finish else [])]
    told.append(f"it wrote {_quoted(split.rest)}" if split.rest.strip() else "it wrote nothing")
    if thought := answer.thought or split.thought:
        told.append(f"its reasoning begins {_quoted(thought)}")
    remedy = "resume to ask again, or take another model"
    if is_cut(answer):
        higher = "" if room is None else f" above {room}"
        remedy = f"fork or run again with max_reply_tokens{higher}, or have its server allow longer answers"
    return f"{model} gave no reply that can be read, {times} times ({'; '.join(told)}); {remedy}"


def _quoted(text: str) -> str:
    return repr(shortened(one_line(text), _QUOTED))
