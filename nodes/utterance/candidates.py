"""Candidates for an utterance: read from replies, stored, and looked up."""

from collections.abc import Sequence

from tertulia.prompts.assemble import end_question, reply_object, reply_prefix_of
from tertulia.prompts.renaming import renaming_of
from tertulia.prompts.render import retokenized
from tertulia.prompts.several import STRING_SEED
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.records import Candidate, Origin, Prompt, Reply
from tertulia.state.text import one_line


def utterance_of(reply: Reply, speaker: str) -> str:
    """Return the utterance of a reply on one line."""
    return one_line(reply.fields[speaker])


def written_reply(prompt: Prompt, text: str, ended: object, context: Context) -> Reply:
    """Return the reply that would hold this utterance; `ended` is `None` if replies do not say."""
    ending = None if ended is None else ended is True
    fields: dict[str, str | bool | int] = {prompt.speaker: text}
    if ending is not None:
        fields[end_question(prompt.speaker, context.parameters.language)] = ending
    written = reply_object(prompt.speaker, text, ending, context.parameters.language)
    whole = Reply(text=written, tokens=(), text_tokens=(0, 0), fields=fields)
    return retokenized(context.model.tokenizer, whole, reply_prefix_of(prompt))


def save_candidate(
    state: UtteranceState,
    context: Context,
    attempt: int,
    reply: Reply,
    speaker: str,
    origin: Origin,
    faults: Sequence[str] | None = None,
    *,
    probability: float | None = None,
    remark: str | None = None,
) -> None:
    """Store a candidate with its text in original names.

    Args:
        speaker: The name of the speaker in the prompt.
        faults: Its faults; `None`: they were not looked for.
        probability: The one that the model stated when it wrote it among others.
        remark: How the answer was read, if it was not as asked for.
    """
    candidate = read_candidate(attempt, reply, speaker, origin)
    renaming = renaming_of(context.start.names, context.parameters.names)
    string = reply.fields.get(STRING_SEED)
    update = {
        "text": renaming.put_back(candidate.text),
        "faults": None if faults is None else tuple(faults),
        "probability": probability,
        "string_seed": None if string is None else str(string),
        "remark": remark or ("no random string was written" if string == "" else None),
    }
    candidate = candidate.model_copy(update=update)
    context.store.save_candidate(context.run, state["turn"], candidate, state.get("part", ""))


def read_candidate(attempt: int, reply: Reply, speaker: str, origin: Origin = "drawn") -> Candidate:
    """Return the candidate that a reply holds, in the names of its prompt."""
    return Candidate(attempt=attempt, text=utterance_of(reply, speaker), reply=reply, origin=origin)


def candidate_at(context: Context, turn: int, attempt: int, part: str = "") -> Candidate:
    """Return the candidate of a turn, or of a part of it, that has this number."""
    candidates = context.store.candidates(context.run, turn, part)
    return next(candidate for candidate in candidates if candidate.attempt == attempt)
