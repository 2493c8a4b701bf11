"""Figures of runs for the viewer: diversity, length, removal and participation of one, and similarity of several."""

from collections.abc import Callable, Sequence

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.language_model import Embedder
from tertulia.state.records import RunRecord, Turn
from tertulia.storage.store import SqlStore
from tertulia.views.measuring.dialogues import dialogue_of_run
from tertulia.views.measuring.participation import participation_document, read_participation
from tertulia.views.reading.exchanges import spoken_turns

#: Utterances over which the running mean of lengths is taken.
WINDOW = 10


def figures_page(store: SqlStore, run: str) -> Document:
    """Return diversity and length of the utterances of a run, in all and turn by turn, and the agreements."""
    from tertulia.metrics.diversity import mean

    record = store.run(run)
    start = store.start(record.run)
    utterances = [turn for turn in spoken_turns(store, record.run, start) if turn.speaker is not None]
    columns = _by_utterance(utterances)
    has_race = record.kind != "album_chat"
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "kind": record.kind,
        "scenario": record.scenario,
        "label": record.label,
        "removal_factor": record.parameters.get("removal_factor"),
        "seed": record.seed,
        "people": list(start.names),
        **{figure: columns[figure][-1] if utterances else None for figure in ("dist1", "dist2", "dist3")},
        "len": mean(columns["words"]),
        "window": WINDOW,
        "utterances": columns,
        "making": _by_turn(store, record, utterances),
        "participation": participation_document(record, read_participation(store, record, start)) if has_race else None,
    }


def similarity_page(store: SqlStore, runs: Sequence[str], open_embedder: Callable[[], Embedder]) -> Document:
    """Return the similarity of the dialogues of two runs or more, measured like those of one case (APP §2).

    Raises:
        UsageError: There is only one run, one of them has no utterance, or the embedder can't read them.
        TertuliaError: There is no such run, or the embedder can't be opened.
    """
    from tertulia.metrics.diversity import dialogue_text, mean_pairwise_cosine
    from tertulia.metrics.legibility import unread, why_unread

    if len(runs) < 2:
        raise UsageError("similarity is that of two runs or more; name another one")
    records = [store.run(run) for run in runs]
    texts = [dialogue_text(dialogue_of_run(store, record)) for record in records]
    embedder = open_embedder()
    for likeness in unread({"": texts}, embedder.embed).values():
        raise UsageError(f"similarity is not measured, {why_unread(embedder.id, likeness)}")
    return {
        "schema_version": SCHEMA_VERSION,
        "runs": [record.run for record in records],
        "embedder": embedder.id,
        "sim": mean_pairwise_cosine(embedder.embed(texts)),
        "sim_untruncated": mean_pairwise_cosine(embedder.embed_untruncated(texts)),
    }


def _by_utterance(utterances: list[Turn]) -> Document:
    """Return the figures at each utterance, as columns of one length."""
    from tertulia.metrics.diversity import dialogue_of
    from tertulia.metrics.running import cumulative_distinct_n, running_mean, utterance_lengths

    dialogue = dialogue_of(utterances)
    lengths = utterance_lengths(dialogue)
    return {
        "turn": [turn.turn for turn in utterances],
        "speaker": [turn.speaker for turn in utterances],
        "words": lengths,
        "mean_words": running_mean(lengths, WINDOW),
        **{f"dist{n}": cumulative_distinct_n(dialogue, n) for n in (1, 2, 3)},
    }


def _by_turn(store: SqlStore, record: RunRecord, utterances: list[Turn]) -> Document:
    """Return rollbacks and removed units of each utterance (in an album chat, question), as columns.

    `removed` and `removable` are `None` if nothing was scored.
    """
    summaries = store.summaries(record.run)
    turns = {turn.turn: summaries[turn.turn] for turn in utterances}
    columns = ("rollbacks", "removed", "removable")
    return {"turn": list(turns)} | {name: [getattr(turn, name) for turn in turns.values()] for name in columns}
