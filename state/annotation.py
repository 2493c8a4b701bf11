"""Annotations: answers of a model about a stored conversation. Nothing of the run depends on them."""

from typing import Literal

from pydantic import Field

from tertulia.state.records import Record

Instrument = Literal[
    "inventory",
    "speech_acts",
    "outcomes",
    "next_line",
    "post_removal",
    "faithfulness",
    "self_inventory",
    "asked",
    "line_scores",
    "leave_one_out",
]


class Annotation(Record):
    """An answer of a model about a part of a conversation; its key is (run, instrument, model, agent, first, part).

    Attributes:
        model: The id of the model that answered.
        agent: Whom it is about; empty for nobody in particular. Of `next_line` it is the run whose line was read after
            another one's prompt, of `faithfulness` a scorer, of `line_scores` the line's scorer, and of `leave_one_out`
            empty for a line's loss without a unit, or `values` (lab/annotations/leave_one_out.py).
        first, last: The turns that it is about; of `self_inventory` and `asked`, asked before turn `first`, none of
            its own: `last` is the one before, 0 before all.
        part: Which batch of questions it is, from 0; of `asked` a hash of question and seed, below 2³¹; of
            `line_scores` and `leave_one_out` the utterance: 0 the turn's own, 1 and 2 plan and answer of an exchange,
            from 3 on the thoughts of a meeting's participants, in its order.
        prompt: Content hash of the prompt.
        answers: By question; of `asked` the `question`, the `seed`, and the `answer`.
        probabilities: By option how probable it was, if the answer was drawn from them; they sum to 1.
        prompt_tokens, reply_tokens: Read and written.
        seconds: Its share of the time that its batch took.
    """

    instrument: Instrument
    model: str
    agent: str = ""
    first: int = Field(ge=1)
    last: int
    part: int = Field(0, ge=0)
    prompt: str
    answers: dict[str, int | str]
    probabilities: dict[str, float] = Field(default_factory=dict)
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0
