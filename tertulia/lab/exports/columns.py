"""The columns of a data set by configuration: their types, and what they mean; docs/exports.md and the card have both.

A column named as one of a view of a store (docs/data.md) is the same.
"""

from collections.abc import Mapping
from typing import NamedTuple

_TEXT, _COUNT, _NUMBER, _FLAG = "string", "int64", "float64", "bool"


class Column(NamedTuple):
    """A column.

    Attributes:
        kind: The type of its values; the fields of each and their types, if its values are lists of objects.
        meaning: The meaning, in Markdown.
    """

    kind: str | Mapping[str, str]
    meaning: str

    @property
    def type(self) -> str:
        """The type in words."""
        return self.kind if isinstance(self.kind, str) else f"list of {', '.join(self.kind)}"


#: The columns of a configuration by name, in their order.
Columns = Mapping[str, Column]

_OF_RUN = Column(_TEXT, "the id of the run")
_OF_TURN = Column(_COUNT, "its turn, from 1")
_OF_PART = Column(_TEXT, "`plan` or `answer` in an exchange of an album chat; null: the turn itself")
_INHERITED = Column(_FLAG, "whether it is of the parent, before the fork")

COLUMNS: Mapping[str, Columns] = {
    "conversations": {
        "run": Column(_TEXT, "id"),
        "scenario": Column(_TEXT, "name of the scenario"),
        "kind": Column(_TEXT, "`dialogue`, `group_chat` (a meeting) or `album_chat`"),
        "model": Column(_TEXT, "everybody's model"),
        "embedder": Column(_TEXT, "embedder of texts"),
        "seed": Column(_TEXT, "of all draws; a text, as it may exceed 64 bits"),
        "order": Column(_TEXT, "who speaks next in a meeting (`speaking_order` in the views); else null"),
        "status": Column(_TEXT, "`running`, `finished`, `interrupted` or `failed`"),
        "ended_by": Column(_TEXT, "why it finished or was interrupted, such as `said goodbye`, `rounds` or `budget`"),
        "error": Column(_TEXT, "why it failed or was interrupted, if there is more to say"),
        "turns": Column(_COUNT, "turns, with silences and the parent's"),
        "created": Column(_TEXT, "when it started, in UTC"),
        "rehearsed": Column(_FLAG, "whether a stand-in without weights spoke, whose words mean nothing"),
        "removal_factor": Column(_NUMBER, "λ in [0, 1]"),
        "label": Column(_TEXT, "the user's label"),
        "parent_run": Column(_TEXT, "the run it was forked from"),
        "parent_turn": Column(_COUNT, "its first turn that is not the parent's"),
        "rewritten": Column(_FLAG, "whether a person wrote that turn's words (`fork --say`)"),
        "experiment": Column(_TEXT, "its experiment, if any; the next four belong to it"),
        "setting": Column(_TEXT, "name of the setting"),
        "case": Column(_TEXT, "the scenario, as the experiment names it (`trial_case` in the views)"),
        "trial": Column(_COUNT, "number of the trial of that case in that setting, from 1"),
        "cohort": Column(_COUNT, "number of the group of runs that ran side by side, from 1"),
        "situation": Column(
            _TEXT, "what is known at the beginning: topic, time, place, people, a meeting's opening line"
        ),
        "participants": Column({"name": _TEXT, "persona": _TEXT}, "the people, with all that is known of each as JSON"),
        "messages": Column(
            {"role": _TEXT, "name": _TEXT, "content": _TEXT},
            "what was said aloud: the first speaker is the `user`, everybody else the `assistant`",
        ),
        "figures": Column({"metric": _TEXT, "value": _NUMBER}, "figures of this run alone that need no embedder"),
        "parameters": Column(_TEXT, "all parameters, as JSON"),
    },
    "turns": {
        "run": _OF_RUN,
        "turn": Column(_COUNT, "its number, from 1"),
        "round": Column(_COUNT, "the round that it ended; in an album chat its round of many turns"),
        "part": _OF_PART,
        "speaker": Column(_TEXT, "who spoke; null: a recorded silence"),
        "text": Column(_TEXT, "what was said; empty in a silence"),
        "origin": Column(_TEXT, "`drawn`, `backup`, `rewritten` (after the judge objected), `by_hand` (by a person)"),
        "sim_time_s": Column(_NUMBER, "simulated seconds from the beginning to the first word"),
        "ended": Column(_FLAG, "whether the speaker ended the conversation with it"),
        "prompt": Column(_TEXT, "the full prompt, by its key in `prompts`"),
        "line_scored_by": Column(_TEXT, "who scored what the line leaned on"),
        "scored_by": Column(_TEXT, "scorer of the units, by which λ removes"),
        "removal_factor": Column(_NUMBER, "λ of this turn"),
        "removal_factor_reached": Column(
            _NUMBER, "share of the removable attention that was removed; null: not scored"
        ),
        "removed_units": Column(_COUNT, "units that λ removed: items, and texts of blocks without items left"),
        "removed_items": Column(_COUNT, "the items among them"),
        "rollbacks": Column(_COUNT, "rollbacks to a backup"),
        "inconsistency": Column(_NUMBER, "the judge's score of the line"),
        "judged_by": Column(_TEXT, "the judge and its model"),
        "candidates": Column(
            {"attempt": _COUNT, "origin": _TEXT, "text": _TEXT, "inconsistency": _NUMBER},
            "all candidates, the line among them",
        ),
        "inherited": _INHERITED,
    },
    "units": {
        "run": _OF_RUN,
        "turn": _OF_TURN,
        "part": _OF_PART,
        "position": Column(_COUNT, "its place in the prompt, from 0"),
        "unit": Column(_TEXT, "its id, unique in the prompt"),
        "block": Column(_TEXT, "its block"),
        "kind": Column(_TEXT, "`item`, `text`: a piece of information, or an instruction"),
        "removable": Column(_FLAG, "whether λ may remove it by itself"),
        "text": Column(_TEXT, "its text"),
        "line_score": Column(_NUMBER, "how much the line leaned on it"),
        "score": Column(_NUMBER, "its attention over possible lines, by which λ removes"),
        "removed": Column(_COUNT, "its place in the order of removal, from 1; 0: kept"),
        "inherited": _INHERITED,
    },
    "calls": {
        "run": _OF_RUN,
        "round": Column(_COUNT, "the round, in an album chat the turn; 0: preparation of a meeting"),
        "agent": Column(_TEXT, "the agent that asked"),
        "node": Column(_TEXT, "the step that asked"),
        "attempt": Column(_COUNT, "number of the call within its step and round"),
        "kind": Column(_TEXT, "type of call: `generate`, `score`, `log_likelihood`, …"),
        "model": Column(_TEXT, "the model"),
        "prompt": Column(_TEXT, "the prompt, by its key in `prompts`"),
        "parameters": Column(_TEXT, "other arguments, as JSON"),
        "reply": Column(_TEXT, "the first reply, verbatim"),
        "replies": Column(_COUNT, "number of replies"),
        "results": Column(_TEXT, "results other than text, as JSON"),
        "prompt_tokens": Column(_COUNT, "tokens read"),
        "reply_tokens": Column(_COUNT, "tokens written in all replies"),
        "seconds": Column(_NUMBER, "its share of its batch's time"),
        "inherited": Column(_FLAG, "whether the parent made it, and paid for it"),
    },
    "prompts": {
        "prompt": Column(_TEXT, "content hash: the key; a prompt is there once"),
        "speaker": Column(_TEXT, "whose utterance or thought is asked for"),
        "layout": Column(_TEXT, "how its units are made into messages"),
        "messages": Column({"role": _TEXT, "content": _TEXT}, "the prompt as chat messages"),
    },
}


def table_of(configuration: str) -> str:
    """Return the columns of a configuration as a table in Markdown."""
    rows = [f"| `{name}` | {about.type} | {about.meaning} |\n" for name, about in COLUMNS[configuration].items()]
    return f"| column | type | meaning |\n|---|---|---|\n{''.join(rows)}"
