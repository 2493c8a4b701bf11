"""Candidates for an utterance: read from replies, stored, and looked up."""

from typing import Any

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


def names_in_prompts(context: Context) -> tuple[str, ...]:
    """Return the names that people have in prompts."""
    renaming = renaming_of(context.start.names, context.parameters.names)
    return tuple(map(renaming.name_of, context.start.names))


def as_asked(written: Reply, reply: Reply, line: str) -> Reply:
    """Return a reply that was made of a line of another, with the thought and the actions of that one."""
    lines = (reply.with_actions or {}).items()
    acted = next((text for name, text in lines if one_line(reply.fields[name]) == line), None)
    acted_by = next(iter(written.fields))
    known = {"thought": reply.thought, "remark": reply.remark}
    return written.model_copy(update={**known, "with_actions": None if acted is None else {acted_by: acted}})


def written_reply(prompt: Prompt, text: str, ended: object, context: Context) -> Reply:
    """Return the reply that would hold this utterance; `ended` is `None` if replies do not say."""
    ending = None if ended is None else ended is True
    fields: dict[str, str | bool | int] = {prompt.speaker: text}
    if ending is not None:
        fields[end_question(prompt.speaker, context.parameters.language)] = ending
    written = reply_object(prompt.speaker, text, ending, context.parameters.language)
    whole = Reply(text=written, tokens=(), text_tokens=(0, 0), fields=fields)
    return retokenized(context.model.tokenizer, whole, reply_prefix_of(prompt))


def save_candidate(state: UtteranceState, context: Context, candidate: Candidate) -> None:
    """Store a candidate with its text in original names."""
    renaming = renaming_of(context.start.names, context.parameters.names)
    candidate = candidate.model_copy(update={"text": renaming.put_back(candidate.text)})
    context.store.save_candidate(context.run, state["turn"], candidate, state.get("part", ""))


def read_candidate(attempt: int, reply: Reply, speaker: str, origin: Origin = "drawn", **known: Any) -> Candidate:
    """Return the candidate that a reply holds, in the names of its prompt.

    Args:
        speaker: The name of the speaker in the prompt.
        known: Further fields: `faults`, `probability`, and a `remark` on how the answer was read.
    """
    if (string := reply.fields.get(STRING_SEED)) is not None:
        known |= {"string_seed": str(string)}
        known["remark"] = known.get("remark") or (None if string else "no random string was written")
    known["remark"] = known.get("remark") or reply.remark
    return Candidate(attempt=attempt, text=utterance_of(reply, speaker), reply=reply, origin=origin, **known)


def candidate_at(context: Context, turn: int, attempt: int, part: str = "") -> Candidate:
    """Return the candidate of a turn, or of a part of it, that has this number."""
    candidates = context.store.candidates(context.run, turn, part)
    return next(candidate for candidate in candidates if candidate.attempt == attempt)
