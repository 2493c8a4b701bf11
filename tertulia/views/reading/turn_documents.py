"""The turns of a run as plain documents, whose keys stand in the order in which things happen.

Ids, lineage, status and wall-clock times are in no document; nor is a round that never ended in a turn. Prompts are
named by their content hash, calls of models by their key.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from tertulia.state.album import Exchange
from tertulia.state.cognition import Assessment, Bid, Character, Finding, Floor, InformationNeed, Perception
from tertulia.state.seat import Answer
from tertulia.storage.parts.turn_rows import TurnRows
from tertulia.storage.store import SqlStore

#: Names, numbers and texts, in dictionaries and lists.
Document = Mapping[str, Any]

#: Past all turns.
_LAST = 2**62

#: Steps of cognition, in the order in which they happen.
_MIND = ("characters", "perception", "mechanisms", "findings", "thoughts", "typed", "willingness", "latency")

#: The fields of a bid on how much an agent wanted to speak; the others are on the latency.
_WILLINGNESS = {"parts", "willingness", "willing"}

#: The fields of a candidate that are part of its judgement, not of its words.
_JUDGED = (
    *("inconsistency", "inconsistency_runs", "comment", "rewritable", "faults", "probability", "string_seed"),
    "remark",
)

#: The columns of a call that tell for themselves that two calls differ: no other text or number is the same in JSON.
_TELLING = ("kind", "model", "prompt", "prompt_tokens", "reply_tokens")


class Calls(Mapping[str, Any]):
    """The calls of models of a turn, by agent and step, whose documents are built when they are read.

    They are the larger part of a turn, and mostly it is enough to know whether they differ.
    """

    def __init__(self, of: TurnRows, rows: Sequence[dict[str, Any]]) -> None:
        """Take the rows of the turn's calls; of two with one key, the last counts."""
        self._of = of
        self._rows = {(row["agent"], row["node"], row["attempt"]): row for row in rows}

    def is_unlike(self, other: "Calls") -> bool | None:
        """Return whether the rows tell that these calls differ from others; `None` if documents have to tell."""
        if self._rows.keys() != other._rows.keys():
            return True
        pairs = [(row, other._rows[key]) for key, row in self._rows.items()]
        return True if any(a[name] != b[name] for a, b in pairs for name in _TELLING) else None

    @property
    def documents(self) -> dict[str, dict[str, Document]]:
        """The documents, by agent and by step."""
        found: dict[str, dict[str, Document]] = {}
        keys = [(agent, f"{node} {attempt}") for agent, node, attempt in self._rows]
        for (agent, step), document in zip(keys, self._of.calls([*self._rows.values()]), strict=True):
            found.setdefault(agent, {})[step] = document
        return found

    @override
    def __eq__(self, other: object) -> bool:
        return self.documents == (other.documents if isinstance(other, Calls) else other)

    __hash__ = None  # type: ignore[assignment]

    @override
    def __getitem__(self, agent: str) -> dict[str, Document]:
        return self.documents[agent]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter({agent: None for agent, *_ in self._rows})

    @override
    def __len__(self) -> int:
        return len({agent for agent, *_ in self._rows})


def turn_documents(store: SqlStore, run: str, first: int = 0, last: int | None = None) -> dict[int, Document]:
    """Return the document of every turn of a run from `first` to `last`, by number; of its preparation under 0.

    The keys of a document are in the order in which things happen: what agents perceived, chose, found and thought,
    their willingness and latency, the floor; in an album chat the plan, and the pair that met and their picture; the
    speaker; the prompt, its scores, the units removed; the candidates and their judgement; text and clock; in an album
    chat the answer; the calls of models, by agent and by step.

    Raises:
        StorageError: Something of it is damaged or missing; of calls, when they are read.
    """
    rows = store.turn_rows(run, first, _LAST if last is None else last)
    minds = _minds(rows)
    of_calls: dict[int, list[dict[str, Any]]] = {}
    for row in rows.rows["calls"]:
        of_calls.setdefault(row["round"], []).append(row)
    calls = {turn: Calls(rows, of_turn) for turn, of_turn in of_calls.items()}
    prepared: Document = {**minds.get(0, _no_mind()), "calls": calls.get(0, {})}
    documents = {} if first > 0 else {0: prepared}
    exchanges = {turn: found for (turn, _), found in rows.steps("exchange", Exchange).items()}
    parts: dict[int, dict[str, Document]] = {}
    for turn, part, record, candidates in rows.utterances():
        parts.setdefault(turn, {})[part] = _utterance_document(record, candidates)
    for turn, of_turn in parts.items():
        own = of_turn.pop("")
        before = {part: of_part for part, of_part in of_turn.items() if part == "plan"}
        after = {part: of_part for part, of_part in of_turn.items() if part != "plan"}  # the turn's own is the question
        exchange = {"exchange": exchanges[turn]} if turn in exchanges else {}
        mind = minds.get(turn, _no_mind())
        documents[turn] = {**mind, **before, **exchange, **own, **after, "calls": calls.get(turn, {})}
    return documents


def _minds(rows: TurnRows) -> dict[int, dict[str, Any]]:
    """Return the records of cognition by round, step and agent, with the decision on the floor."""
    minds: dict[int, dict[str, Any]] = {}

    def of(round: int) -> dict[str, Any]:
        return minds.setdefault(round, _no_mind())

    def note(aspect: str, documents: Mapping[tuple[int, str], Document]) -> None:
        for (round, agent), document in documents.items():
            of(round)[aspect].setdefault(agent, {}).update(document)

    note("characters", rows.steps("prepare", Character))
    note("perception", rows.steps("perceive", Perception))
    needs = rows.steps("choose_mechanisms", InformationNeed)
    note("mechanisms", needs)
    for mechanism in dict.fromkeys(name for need in needs.values() for name in need["mechanisms"]):
        found = rows.steps(mechanism, Finding)
        note("findings", {key: {mechanism: finding} for key, finding in found.items()})
    note("thoughts", rows.steps("assess", Assessment))
    note("typed", rows.steps("speak_by_hand", Answer))
    bids = rows.steps("bid", Bid)
    for aspect, is_wanted in (("willingness", True), ("latency", False)):
        chosen = {
            key: {name: value for name, value in bid.items() if (name in _WILLINGNESS) is is_wanted}
            for key, bid in bids.items()
        }
        note(aspect, chosen)
    for (round, _), floor in rows.steps("floor", Floor).items():
        of(round)["floor"] = floor
    return minds


def _no_mind() -> dict[str, Any]:
    return {**{aspect: {} for aspect in _MIND}, "floor": None}


def _utterance_document(record: Document, candidates: Sequence[Document]) -> dict[str, Any]:
    turn = record["turn"]
    return {
        "speaker": turn["speaker"],
        "prompt": record["prompt"],
        "scores": {"by": record["scored_by"], "units": record["scores"]},
        "removed": record["removed"],
        "candidates": {
            str(candidate["attempt"]): {
                "text": candidate["text"],
                "origin": candidate["origin"],
                **{name: value for name, value in candidate["reply"].items() if name != "text"},
            }
            for candidate in candidates
        },
        "judgement": {
            "by": record["judged_by"],
            **{str(candidate["attempt"]): {name: candidate[name] for name in _JUDGED} for candidate in candidates},
            "rollbacks": record["rollbacks"],
            "chosen": record["chosen"],
        },
        "text": turn["text"],
        "clock": turn["sim_time_s"],
        "ending": turn["ended"],
    }
