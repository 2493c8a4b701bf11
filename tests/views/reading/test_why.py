"""Why a turn is what it is: each figure and each quote of the sentence is that of the store, computed here anew."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import tertulia
from tertulia.prompts.units import informing_units, nameable_units
from tertulia.state.line_scores import LEAST_ATTENTION
from tertulia.state.parameters import Parameters
from tertulia.state.records import Candidate, RunRecord, TurnRecord, Unit
from tertulia.state.seat import Answer, Invitation
from tertulia.storage.store import SqlStore
from tertulia.views.reading.checks import Checked
from tertulia.views.reading.turns import TurnDetails, read_turn
from tertulia.views.reading.why import why_said, why_turn
from tertulia.views.reading.why_words import percentage, quoted

_LEANED = re.compile(r"leaned on (.*?)(?: \(at random: a rehearsal\))?[.;]")
_TAKEN = re.compile(
    r"λ(?: = ([\d.]+))? had taken (?:(\d+) of (\d+) items?|all (\d+) items|the only item|nothing) away"
    r"( at random)?(?:, with ([\d.]+)% of the (attention|score))?"
)
_CANDIDATE = re.compile(r"(?i)candidate (\d+) of (\d+) was said|the (only) candidate was said")
_ROLLED = re.compile(r"after rolling back (once|twice|\d+ times)")


def is_quote_of(quote: str, text: str) -> bool:
    """Whether a quote is the text or its beginning, cut behind a whole word."""
    text = " ".join(text.split()).removeprefix("- ").replace("“", "‘").replace("”", "’")
    if not quote.endswith("…") or quote == text.removesuffix("."):
        return quote == text.removesuffix(".")
    begun = quote[:-1]
    return text.startswith(begun) and not text[len(begun) : len(begun) + 1].isalnum() and len(quote) <= 61


@dataclass(frozen=True)
class Drawn:
    """A turn of a run, or a part of it, as the store has it."""

    store: SqlStore
    run: RunRecord
    turn: int
    part: str

    @property
    def record(self) -> TurnRecord:
        return self.store.parts(self.run.run, self.turn)[self.part] if self.part else self._turn

    @property
    def _turn(self) -> TurnRecord:
        return self.store.turn_record(self.run.run, self.turn)

    @property
    def parameters(self) -> Parameters:
        return Parameters.model_validate(self.run.parameters)

    @property
    def removable(self) -> list[Unit]:
        prompt = self.record.prompt
        return [] if prompt is None else [unit for unit in self.store.prompt(prompt).units if unit.removable]

    @property
    def candidates(self) -> list[Candidate]:
        found = self.store.candidates(self.run.run, self.turn, self.part)
        return [candidate for candidate in found if candidate.origin != "vetoed"]

    def sentence(self) -> str:
        details = read_turn(self.store, self.run, self.store.start(self.run.run), self.turn)
        return why_said(details.parts[self.part]) if self.part else why_turn(details)


# --- what is rehearsed ----------------------------------------------------------------------------------------------


def types(invitation: Invitation) -> Answer | None:
    """What the person in the seat types: in every fourth turn they pass, where they may."""
    is_silent = invitation.may_pass and invitation.turn % 4 == 1
    return Answer(words="" if is_silent else f"I typed this in turn {invitation.turn}.")


DIALOGUES: Sequence[dict[str, Any]] = (
    {"removal_factor": 0.0},
    {"removal_factor": 0.0, "settings": {"record_scores": True, "judge_baseline": True}},
    {"removal_factor": 0.1, "settings": {"removal_walk": "calm"}},
    {"removal_factor": 0.3, "settings": {"removal_walk": "first_overshoot"}},
    {"removal_factor": 0.5},
    {"removal_factor": 0.5, "settings": {"removal_order": "placebo"}},
    {"removal_factor": 0.6, "settings": {"revision": "rewrite", "inconsistency_threshold": 4.0}},
    {"removal_factor": 0.6, "settings": {"revision": "combined", "inconsistency_threshold": 4.0}},
    {"removal_factor": 0.7, "settings": {"revision": "off", "inconsistency_threshold": 4.0}},
    {"removal_factor": 0.8, "settings": {"nodes.score": "embedding_similarity", "removal_order": "ascending"}},
    {"removal_factor": 0.9, "settings": {"inconsistency_threshold": 1.5}},
    {"removal_factor": 1.0, "settings": {"removal_walk": "nearest"}},
    {"removal_factor": 0.5, "settings": {"retain": "highest", "retain_block": "m"}},
    {"removal_factor": 0.5, "seat": "Leila Haddad", "ask": types},
)
ALBUMS: Sequence[dict[str, Any]] = (
    {"removal_factor": 0.0, "rounds": 2, "agents": 6},
    {"removal_factor": 0.5, "rounds": 6, "agents": 6},
)


def rehearse(path: Path) -> None:
    """Rehearse runs of every kind into a store."""
    how: dict[str, Any] = {"rehearse": True, "store": path, "progress": False}
    for seed, changes in enumerate(DIALOGUES):
        tertulia.run("tidewell", rounds=8, seed=seed, **how, **changes)
    tertulia.run("team_building", rounds=4, removal_factor=0.4, **how)
    for changes in ALBUMS:
        tertulia.run("villagers", **how, **changes)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    path = tmp_path_factory.mktemp("why") / "t.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what no λ fits, and of who stays silent
        rehearse(path)
    with SqlStore.open(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def spoken(store: SqlStore) -> list[Drawn]:
    """Every turn of the dialogues and album chats, and every part of one."""
    everything = []
    for run in (run for run in store.runs() if run.kind != "group_chat"):
        parts = ["plan", "", "answer"] if run.kind == "album_chat" else [""]
        everything += [Drawn(store, run, turn.turn, part) for turn in store.turns(run.run) for part in parts]
    return everything


# --- the sentence against the store ---------------------------------------------------------------------------------


def check_leaned(drawn: Drawn, sentence: str, most: int) -> None:
    record, scores = drawn.record, drawn.record.line_scores
    units = nameable_units(drawn.store.prompt(record.prompt or ""))
    left = [unit for unit in units if unit.id not in record.removed]
    if not left:
        fixed = [unit for unit in informing_units(drawn.store.prompt(record.prompt or "")) if unit not in units]
        assert not any(unit.removable for unit in fixed), "the conversation is kept at every λ"
        only = "only the conversation and the task" if fixed else "only the task"
        assert f"No item that λ may remove was left in the prompt, {only}" in sentence
        return
    assert scores is not None
    assert set(scores) == {unit.id for unit in left}, "what was removed is never a reason"
    highest = sorted((unit for unit in left if scores[unit.id] >= LEAST_ATTENTION), key=lambda unit: -scores[unit.id])
    if not highest:
        assert "leaned on nothing in particular (at random: a rehearsal)" in sentence
        return
    leaned = _LEANED.search(sentence)
    assert leaned is not None
    quotes = re.findall("“([^”]*)”", sentence[leaned.start() :].partition(" (at random")[0])
    assert len(quotes) == len(highest[:most])
    assert all(is_quote_of(quote, unit.text) for quote, unit in zip(quotes, highest, strict=False))


def check_removal(drawn: Drawn, sentence: str) -> None:
    record, removable, scores = drawn.record, drawn.removable, drawn.record.scores or {}
    gone = [unit for unit in removable if unit.id in record.removed]
    taken = _TAKEN.search(sentence)
    if record.removal_factor is None and record.scores is not None:
        assert "was to stay: " in sentence
        return
    if not record.removal_factor and not gone:
        assert taken is None
        return
    assert taken is not None
    assert float(taken[1]) == pytest.approx(record.removal_factor, abs=0.0005)
    assert int(taken[2] or taken[4] or bool(gone)) == len(gone)
    assert taken[3] is None or int(taken[3]) == len(removable)
    assert bool(taken[5]) == (drawn.parameters.removal_order == "placebo" and bool(gone))
    if gone:
        reached = 100 * sum(scores[unit.id] for unit in gone) / sum(scores[unit.id] for unit in removable)
        assert float(taken[6]) == pytest.approx(reached, abs=0.0501)
        heaviest = max(removable, key=lambda unit: scores[unit.id])
        share = scores[heaviest.id] / sum(scores[unit.id] for unit in removable)
        is_over = heaviest not in gone and share > (record.removal_factor or 0) and not taken[5]
        stays = re.search(r" \(the heaviest one holds ([\d.]+)%, so it stayed\)", sentence)
        assert (stays is not None, "so it stayed" in sentence) == (is_over, is_over)
        if stays is not None:
            assert float(stays[1]) == pytest.approx(100 * share, abs=0.0501)
            assert float(stays[1]) > 100 * (record.removal_factor or 0)
        assert taken[7] == ("score" if "score" in drawn.parameters.nodes else "attention")


def check_candidate(drawn: Drawn, sentence: str, in_short: bool) -> None:
    record, candidates, theta = drawn.record, drawn.candidates, drawn.parameters.inconsistency_threshold
    (chosen,) = (candidate for candidate in candidates if candidate.attempt == record.chosen)
    found = _CANDIDATE.search(sentence)
    if found is None:  # of a round and an exchange, what nothing spoke against
        assert in_short
        assert not record.rollbacks
        assert len(drawn.store.candidates(drawn.run.run, drawn.turn, drawn.part)) == 1
        return
    place = candidates.index(chosen) + 1
    assert (found[1], found[2]) == ((None, None) if found[3] else (str(place), str(len(candidates))))
    assert bool(found[3]) == (len(candidates) == 1)
    back = _ROLLED.search(sentence)
    rolled = 0 if back is None else {"once": 1, "twice": 2}.get(back[1]) or int(back[1].split()[0])
    assert rolled == record.rollbacks
    judged = [candidate.inconsistency for candidate in candidates if candidate.inconsistency is not None]
    is_judged = bool(judged) and bool(record.removed) and theta is not None
    accepts = is_judged and chosen.inconsistency is not None and chosen.inconsistency <= (theta or 0)
    assert ("which the judge accepted" in sentence) == (accepts and len(judged) == 1)
    assert ("the first that the judge accepted" in sentence) == (accepts and len(judged) > 1)
    assert ("though the judge objected" in sentence) == (is_judged and not accepts and len(judged) == 1)
    rejected = re.search(r"the judge rejected all (\d+) that it read and (this one least|no other less)", sentence)
    assert (rejected is not None) == (is_judged and not accepts and len(judged) > 1)
    if rejected is not None:
        assert int(rejected[1]) == len(judged)
        assert chosen.inconsistency == min(judged)
        assert (rejected[2] == "this one least") == (judged.count(min(judged)) == 1)
    assert ("rewritten after" in sentence) == (is_judged and chosen.origin == "rewritten")


def check_said(drawn: Drawn, sentence: str, most: int) -> str:
    """Check the sentence about an utterance, and return which kind it is."""
    record = drawn.record
    if record.prompt is None:
        assert "written by hand" in sentence
        return "by hand"
    check_candidate(drawn, sentence, most == 1)
    check_leaned(drawn, sentence, most)
    check_removal(drawn, sentence)
    return "unscored" if record.scores is None else "scored"


def check_exchange(drawn: Drawn, sentence: str) -> None:
    from tertulia.state.album import Exchange, Population

    store, run = drawn.store, drawn.run.run
    ((_, exchange),) = store.steps(run, "exchange", Exchange, drawn.turn, drawn.turn).items()
    parts, population = store.parts(run, drawn.turn), store.start(run)
    assert isinstance(population, Population)
    assert sentence.startswith(f"{exchange.asker} showed {exchange.answerer} the picture ")
    picture, plan = re.findall("“([^”]*)”", sentence)[:2]
    assert is_quote_of(picture, population.picture(exchange.picture).described)
    assert is_quote_of(plan, parts["plan"].turn.text)
    assert ("names." in sentence) == (exchange.found == "named")
    assert exchange.similarity is None or f"the nearest ({exchange.similarity:.2f}) to the plan" in sentence


def test_every_figure_and_quote_is_the_stores(spoken: list[Drawn]) -> None:
    kinds: Counter[str] = Counter()
    for turn in spoken:
        sentence, kind = turn.sentence(), turn.run.kind
        assert sentence == " ".join(sentence.split())
        assert sentence.endswith(".")
        is_exchange = kind == "album_chat" and not turn.part
        if is_exchange:
            check_exchange(turn, sentence)
            kinds["exchange"] += 1
        kinds[check_said(turn, sentence, 1 if is_exchange else 3)] += 1
    assert set(kinds) == {"scored", "unscored", "by hand", "exchange"}


# --- what it leaves out, and where it stands ------------------------------------------------------------------------


def with_line(store: SqlStore, scores: dict[str, float] | None, scored_by: str | None, **changes: Any) -> TurnDetails:
    """Return a turn at λ = 0.3 whose line was scored like that, and whose candidate is the only one."""
    (run, *_) = (run for run in store.runs() if run.kind == "dialogue" and run.parameters["removal_factor"] == 0.3)
    run = run.model_copy(update={"rehearsed": False, "model": "mute"})
    details = read_turn(store, run, store.start(run.run), 2)
    record = details.record.model_copy(update={"line_scores": scores, "line_scored_by": scored_by})
    (chosen,) = (candidate for candidate in details.candidates if candidate.attempt == record.chosen)
    reply = chosen.reply.model_copy(update={"text_tokens": (0, 10)})
    return replace(details, record=record, candidates=(chosen.model_copy(update={"reply": reply}),), **changes)


LEARNED = "smollm2, learned heads 1a2b3c4d"


def test_the_unit_with_the_largest_estimated_loss_comes_first_with_how_much_less_likely_the_line_is(
    store: SqlStore,
) -> None:
    kept = [unit for unit in with_line(store, {}, LEARNED).removable if unit.id.startswith("memory")]
    kept = [unit for unit in kept if unit.id not in with_line(store, {}, LEARNED).record.removed]
    scores = {kept[0].id: 0.09, kept[1].id: 0.22, kept[2].id: 0.8}
    sentence = why_turn(with_line(store, scores, LEARNED))
    assert sentence.startswith(
        f"Leila Haddad leaned on {quoted(kept[2].text)} (the line is over 1,000 times less likely without it, as "
        f"estimated) and {quoted(kept[1].text)} (about 9 times)."
    ), "e^(10 · 0.22) = 9.03; a loss of 0.09 nats a token is none"
    measured = with_line(store, scores, LEARNED, checked=Checked(measured={kept[0].id: 0.15, kept[2].id: 0.01}))
    assert why_turn(measured).startswith(
        f"Leila Haddad leaned on {quoted(kept[0].text)} (the line is 4 times less likely without it, as measured). "
    ), "measured units alone count, once a check left the highest ones out"


@pytest.mark.parametrize(
    ("scores", "scored_by", "told"),
    [
        ({"memory.node_1": 0.09}, LEARNED, "Leila Haddad leaned on nothing in particular outside the conversation."),
        (None, None, "What Leila Haddad leaned on is not known, as no attention of this line was read."),
        (
            {"memory.node_1": 0.0},
            f"{LEARNED} (surrogate of mute)",
            "Leila Haddad leaned on nothing in particular outside the conversation, as smollm2 reads it.",
        ),
        (
            {"x": 0.009},
            "tiny, attention beyond a neutral reply's",
            "Leila Haddad leaned on nothing in particular outside the conversation.",
        ),
    ],
)
def test_where_nothing_stands_out_it_says_so(
    store: SqlStore, scores: dict[str, float] | None, scored_by: str | None, told: str
) -> None:
    assert why_turn(with_line(store, scores, scored_by)).startswith(told)


def test_a_check_of_some_units_says_nothing_of_the_others(store: SqlStore) -> None:
    details = with_line(store, None, None)
    left = [unit.id for unit in details.informing if unit.id not in details.record.removed]
    some = with_line(store, None, None, checked=Checked(measured=dict.fromkeys(left[:2], 0.01)))
    told = f"Leila Haddad leaned on none of the 2 items that were measured ({len(left) - 2} others were not). "
    assert why_turn(some).startswith(told)
    but_one = with_line(store, None, None, checked=Checked(measured=dict.fromkeys(left[1:], 0.01)))
    assert f"none of the {len(left) - 1} items that were measured (1 other was not). " in why_turn(but_one)
    everything = with_line(store, None, None, checked=Checked(measured=dict.fromkeys(left, 0.01)))
    assert why_turn(everything).startswith("Leila Haddad leaned on nothing in particular, as measured. ")


@pytest.mark.parametrize(
    ("strength", "told"),
    [
        (0.0, "the likeliest of its drafts with the fewest faults"),
        (1.0, "the one of its drafts with the fewest faults that shares most with its prompt"),
    ],
)
def test_drafts_are_told_by_the_measure_that_was_used(store: SqlStore, strength: float, told: str) -> None:
    (run, *_) = (run for run in store.runs() if run.kind == "dialogue" and not run.parameters["removal_factor"])
    run = run.model_copy(update={"parameters": {**run.parameters, "drafts": 6, "context_strength": strength}})
    details = read_turn(store, run, store.start(run.run), 2)
    (drawn,) = details.candidates
    reply = drawn.reply.model_copy(update={"information": -0.377})
    drawn = drawn.model_copy(update={"reply": reply, "inconsistency": None})
    assert why_turn(replace(details, run=run, candidates=(drawn,))).endswith(f" The only candidate was said, {told}.")


def test_it_tells_what_was_whatever_is_asked(store: SqlStore) -> None:
    (run, *_) = (run for run in store.runs() if run.kind == "dialogue" and run.parameters["removal_factor"] == 0.3)
    start = store.start(run.run)
    assert why_turn(read_turn(store, run, start, 2, removal_factor=0.9)) == why_turn(read_turn(store, run, start, 2))


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Short.", "“Short”"),
        ("- An “item” of\na list", "“An ‘item’ of a list”"),
        ("Well...", "“Well...”"),
        ("word " * 30, f"“{' '.join(['word'] * 12)}…”"),
        ("字" * 80, f"“{'字' * 59}…”"),
    ],
)
def test_quotes_are_cut_behind_words(text: str, quote: str) -> None:
    assert quoted(text) == quote


@pytest.mark.parametrize(("share", "shown"), [(0.5, "50%"), (0.4983, "49.8%"), (0.0004, "0%"), (1.0, "100%")])
def test_shares_are_rounded_to_one_digit(share: float, shown: str) -> None:
    assert percentage(share) == shown


def test_the_same_sentence_stands_in_the_document_in_python_and_in_the_page(store: SqlStore, tmp_path: Path) -> None:
    from tertulia.viewer.documents.by_path import document_at
    from tertulia.views.reading.documents import turn_document

    for kind in ("dialogue", "group_chat", "album_chat"):
        (run, *_) = (run for run in store.runs() if run.kind == kind and run.parameters["removal_factor"] > 0)
        details = read_turn(store, run, store.start(run.run), 2)
        sentence = why_turn(details)
        assert turn_document(store, details)["why"] == sentence
        assert document_at(store, f"runs/{run.run}/turns/2")["why"] == sentence
        turn = tertulia.open_store(store.path).run(run.run).turn(2)
        assert turn.why == sentence
        for part, of_part in turn.parts.items():
            assert of_part.why == why_said(details.parts[part]) == turn.document()["parts"][part]["why"]
