"""The behaviour of a run's people: leading, mediating, proposing, getting things done. Source: ChatAgents, Fig. 5."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tertulia.metrics.behaviour import LabelledLine, Line, PersonBehaviour, behaviour, labelled_line
from tertulia.metrics.speech_acts import SURE, SURE_MARGIN, LineLabels, acts_by_prototypes
from tertulia.state.cognition import Assessment, InformationNeed
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.language_model import REHEARSAL, Embedder
from tertulia.state.records import RunRecord
from tertulia.state.store import Store
from tertulia.state.text import in_words
from tertulia.views.reading.rounds import read_characters

#: The labeller of speech acts without a model: sentences that are typical of each.
PROTOTYPES = "prototypes"


@dataclass(frozen=True)
class BehaviourReport:
    """The behaviour of everybody in a run, in the scenario's order, and the utterances with their speech acts.

    These were labelled by `PROTOTYPES`, or by a model.
    """

    run: RunRecord
    labelled_by: str
    embedder: str
    people: Sequence[PersonBehaviour]
    lines: Sequence[LabelledLine]

    @property
    def rehearsed(self) -> bool:
        """Whether a stand-in without weights spoke or labelled."""
        return self.run.rehearsed or self.labelled_by == REHEARSAL

    @property
    def notes(self) -> list[str]:
        """Caveats on the figures: that nothing was meant, and how sure the labels are."""
        notes = []
        if self.run.rehearsed:
            notes.append("a stand-in without weights spoke: nothing was meant by any line, whatever its label says")
        if self.labelled_by == PROTOTYPES and self.lines:
            acting = sum(bool(line.acts) for line in self.lines)
            doubtful = sum(line.is_doubtful for line in self.lines)
            near_nothing = sum(line.is_near_nothing for line in self.lines)
            notes.append(
                f"labels by embedding: {near_nothing} of {len(self.lines)} lines are near none of the sentences that "
                f"they are compared with, and {doubtful} of {acting} with an act are doubtful (cosine below {SURE}, "
                f"or another act within {SURE_MARGIN}); nonsense is labelled too"
            )
        return notes


def behaviour_report(
    store: Store,
    run: RunRecord,
    embedder: Embedder | None,
    embedder_name: str,
    acts: Sequence[Sequence[str]] | None = None,
    labelled_by: str = PROTOTYPES,
) -> BehaviourReport:
    """Return the behaviour of everybody in a run.

    Args:
        embedder: Embeds the lines; not needed before anyone has spoken.
        acts: The speech acts of each utterance, as a model labelled them; `None`: those of the nearest prototypes.
    """
    spoken = [turn for turn in store.turns(run.run) if turn.speaker is not None]
    vectors: Sequence[Sequence[float]] = []
    labels: Sequence[Sequence[str] | LineLabels] = acts or []
    if spoken and embedder is not None:
        texts = [turn.text for turn in spoken]
        vectors = embedder.embed(texts)
        labels = acts if acts is not None else acts_by_prototypes(texts, embedder)
    lines = [labelled_line(turn, line_labels) for turn, line_labels in zip(spoken, labels, strict=True)]
    people = behaviour(
        store.start(run.run).names,
        lines,
        vectors,
        read_characters(store, run.run),
        store.steps(run.run, "assess", Assessment),
        store.steps(run.run, "choose_mechanisms", InformationNeed),
    )
    return BehaviourReport(run, labelled_by, embedder_name, people, lines)


# --- the lines that show it -----------------------------------------------------------------------------------------


class Evidence(NamedTuple):
    """A line that shows a person's behaviour, or one that followed it: its indentation, its kind, its text."""

    depth: int
    what: str
    text: str


def evidence_of(person: PersonBehaviour) -> list[Evidence]:
    """Return the lines that show how a person behaves, each with the lines that it answers, and that answer it."""
    shown: list[Evidence] = []
    for steering in person.steering:
        thinking = f" ({', '.join(map(in_words, steering.mechanisms))})" if steering.mechanisms else ""
        outcome = "followed" if steering.followed else "not followed"
        shown += _with_lines(f"steers, {outcome}{thinking}", steering, [("stays with it", steering.followed_by)])
    for mediation in person.mediation:
        beside = [
            ("before it, objects", mediation.objections),
            ("agrees", mediation.agreed_by),
            ("objects", mediation.objected_by),
        ]
        shown += _with_lines(f"mediates, {'settled' if mediation.settled else 'not settled'}", mediation, beside)
    for proposal in person.proposals:
        beside = [("agrees", proposal.agreed_by), ("objects", proposal.objected_by)]
        shown += _with_lines(f"proposes, novelty {proposal.novelty:.2f}", proposal, beside)
    for step in person.plan or ():
        done = "open" if step.done_in_round is None else f"done in round {step.done_in_round}"
        shown.append(Evidence(1, f"wants ({step.share:.0%}), {done}", step.text))
        shown += [_reaction("had heard", step.line)] if step.line else []
    return shown


def _with_lines(what: str, line: Line, beside: Sequence[tuple[str, Sequence[Line]]]) -> list[Evidence]:
    reactions = [_reaction(how, evidence) for how, lines in beside for evidence in lines]
    return [Evidence(1, what, f"turn {line.turn} · {line.text}"), *reactions]


def _reaction(how: str, line: Line) -> Evidence:
    return Evidence(2, how, f"turn {line.turn} · {line.speaker}: {line.text}")


# --- the document ---------------------------------------------------------------------------------------------------


def behaviour_document(report: BehaviourReport) -> Document:
    """Return the behaviour of everybody as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": report.run.run,
        "rehearsed": report.run.rehearsed,
        "labelled_by": report.labelled_by,
        "embedder": report.embedder,
        "agents": [_person_document(person) for person in report.people],
        "notes": report.notes,
        "turns": [_line_document(line) for line in report.lines],
    }


def _line_document(line: LabelledLine) -> Document:
    labels = [label.model_dump() | {"doubtful": label.is_doubtful} for label in line.labels]
    return line.model_dump() | {"labels": labels, "doubtful": line.is_doubtful}


def _person_document(person: PersonBehaviour) -> Document:
    document = person.model_dump()
    for written, steering in zip(document["steering"], person.steering, strict=True):
        written["followed"] = steering.followed
    for written, mediation in zip(document["mediation"], person.mediation, strict=True):
        written["settled"] = mediation.settled
    return document
