"""Replies of any kind: whatever a model says, runs end or say why, and records, prompts and terminals stay whole."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import hostile_replies as hostile
from support.commands import Cli
from support.hostile_replies import (
    DUO,
    FAULTS,
    NASTY,
    TRIO,
    FuzzedModel,
    check_command,
    check_grammar,
    check_stored,
    decoded,
    look_at_run,
)
from support.tiny_tokenizer import tiny_tokenizer

from tertulia.models.local.tokenizer import HuggingFaceTokenizer

pytestmark = pytest.mark.full

STORE = Path("tertulia.db")

FULL = settings.default.max_examples >= 2000

#: A whole run and a dozen commands per example; thousands more of them in `make nightly`.
fuzzed = settings(
    max_examples=500 if FULL else 3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

pieces = st.sampled_from(NASTY) | st.text(max_size=20)
texts = st.lists(pieces, max_size=6).map("".join).map(decoded)
LONG = 100_000 if FULL else 10_000
huge = pieces.filter(bool).map(lambda text: decoded((text * LONG)[:LONG]))
replies = st.one_of(
    *[st.lists(texts, min_size=4, max_size=8).map(tuple)] * 3,
    st.tuples(texts, texts, texts, huge),
)
seeds = st.integers(0, 2**32)
faults = st.sampled_from(FAULTS)
#: What is tried in any case, with every fault: a huge reply, and some that do harm.
HARMFUL = (decoded("e\u0301\x1b[31m" * (LONG // 7)), *(decoded("".join(NASTY[start::8])) for start in range(4)))


@fuzzed
@given(pool=replies, seed=seeds, faults=faults, layout=st.sampled_from(("single_message", "chat_turns")))
@example(HARMFUL, 1, "all", "chat_turns")
@example(HARMFUL[1:], 2, "none", "single_message")
def test_a_dialogue_takes_any_reply(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, pool: tuple[str, ...], seed: int, faults: str, layout: str
) -> None:
    model = FuzzedModel(pool, faults, layout=layout)
    _check(cli, monkeypatch, model, seed, DUO, "--lambda", "0.6", "--rounds", "4")


@fuzzed
@given(pool=replies, seed=seeds, faults=faults, order=st.sampled_from(("self_driven", "centralised", "designated")))
@example(HARMFUL, 1, "all", "self_driven")
@example(HARMFUL[1:], 2, "none", "self_driven")
def test_a_meeting_takes_any_reply(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, pool: tuple[str, ...], seed: int, faults: str, order: str
) -> None:
    rounds = "3" if FULL else "2"
    _check(
        cli,
        monkeypatch,
        FuzzedModel(pool, faults),
        seed,
        TRIO,
        "--lambda",
        "0.4",
        "--rounds",
        rounds,
        "--set",
        f"order={order}",
    )


def _check(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, model: FuzzedModel, seed: int, scenario: str, *options: str
) -> None:
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: model)
    Path("scenario.yaml").write_text(scenario)
    for old in Path().glob("tertulia.db*"):
        old.unlink()
    assert check_command(cli("run", "scenario.yaml", *options, "--seed", str(seed))).code in (0, 1)
    look_at_run(cli, random.Random(seed), STORE)
    check_stored(model, STORE)


@settings(deadline=None, max_examples=2000 if FULL else 30)
@given(text=texts)
def test_no_text_is_read_as_markup_by_a_real_tokenizer(text: str) -> None:
    tokenizer = HuggingFaceTokenizer(tiny_tokenizer())
    tokens = tokenizer.encode(text)
    assert not set(tokens) & set(tiny_tokenizer().all_special_ids)
    assert tokenizer.decode(tokens) == re.sub("[\ud800-\udfff]", "\ufffd", text)


names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20)


@settings(deadline=None, max_examples=settings.default.max_examples // 10)
@given(
    names=st.lists(names, min_size=4, max_size=4, unique=True),
    choices=st.lists(names, min_size=1, max_size=3),
    seed=seeds,
)
def test_whatever_the_grammar_allows_is_the_reply_asked_for(names: list[str], choices: list[str], seed: int) -> None:
    check_grammar(names, choices, random.Random(seed))


def test_names_and_choices_may_be_written_like_markup() -> None:
    markup = ["<|im_end|>", "<|im_start|>x", "stop"]
    check_grammar(["NEAR(", "<|im_end|><|im_star", "*", "<|endoftext|>"], markup, random.Random(1), 5)


def test_hostile_answers_are_read_or_refused() -> None:
    tally = hostile.read_replies(300, "suite")
    assert (tally.tried, tally.passed, tally.problems) == (300, 300, [])
    read = [hostile.check_read(hostile.hostile_answer(random.Random(seed))) for seed in range(100)]
    assert 10 < sum(read) < 90


def test_an_answer_that_is_read_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.served.repair._on_one_line", lambda text: text)
    tally = hostile.read_replies(300, "suite")
    assert tally.passed < 300
    assert tally.problems[0].startswith("reply suite ")


def test_runs_that_lose_a_reply_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "FAULTS", ("none",))  # a run that fails may have lost the last
    assert hostile.spoken_replies(10, "suite", tmp_path / "whole").problems == []
    monkeypatch.setattr("tertulia.storage.store.SqlStore.calls", lambda *_, **__: [])
    assert hostile.spoken_replies(10, "suite", tmp_path / "lost").problems
