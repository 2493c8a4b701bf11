"""Replies of any kind: whatever a model says, runs end or say why, and records, prompts and terminals stay whole."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.commands import Cli

from benchmarks import replies as hostile
from benchmarks.replies import (
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
from benchmarks.tiny_tokenizer import tiny_tokenizer
from tertulia.models.local.tokenizer import HuggingFaceTokenizer

STORE = Path("tertulia.db")

#: A whole run and a dozen commands per example; some 25 replies in each.
fuzzed = settings(
    max_examples=500 if settings.default.max_examples >= 2000 else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

pieces = st.sampled_from(NASTY) | st.text(max_size=20)


texts = st.lists(pieces, max_size=6).map("".join).map(decoded)
huge = pieces.filter(bool).map(lambda text: decoded((text * 100_000)[:100_000]))
replies = st.one_of(
    *[st.lists(texts, min_size=4, max_size=8).map(tuple)] * 3,
    st.tuples(texts, texts, texts, huge),
)
seeds = st.integers(0, 2**32)
faults = st.sampled_from(FAULTS)


@fuzzed
@given(pool=replies, seed=seeds, faults=faults, layout=st.sampled_from(("single_message", "chat_turns")))
def test_a_dialogue_takes_any_reply(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, pool: tuple[str, ...], seed: int, faults: str, layout: str
) -> None:
    model = FuzzedModel(pool, faults, layout=layout)
    _run(cli, monkeypatch, model, DUO, "--lambda", "0.6", "--rounds", "4", "--seed", str(seed))
    look_at_run(cli, random.Random(seed), STORE)
    check_stored(model, STORE)


@fuzzed
@given(
    pool=replies,
    seed=seeds,
    faults=faults,
    order=st.sampled_from(("self_driven", "self_driven", "centralised", "designated")),
)
def test_a_meeting_takes_any_reply(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, pool: tuple[str, ...], seed: int, faults: str, order: str
) -> None:
    model = FuzzedModel(pool, faults)
    _run(cli, monkeypatch, model, TRIO, "--lambda", "0.4", "--rounds", "3", "--seed", str(seed), "--order", order)
    look_at_run(cli, random.Random(seed), STORE)
    check_stored(model, STORE)


def _run(cli: Cli, monkeypatch: pytest.MonkeyPatch, model: FuzzedModel, scenario: str, *options: str) -> None:
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: model)
    Path("scenario.yaml").write_text(scenario)
    for old in Path().glob("tertulia.db*"):
        old.unlink()
    assert check_command(cli("run", "scenario.yaml", *options)).code in (0, 1)


@settings(deadline=None)
@given(text=texts)
def test_no_text_is_read_as_markup_by_a_real_tokenizer(text: str) -> None:
    tokenizer = HuggingFaceTokenizer(tiny_tokenizer())
    tokens = tokenizer.encode(text)
    assert not set(tokens) & set(tiny_tokenizer().all_special_ids)
    assert tokenizer.decode(tokens) == re.sub("[\ud800-\udfff]", "\ufffd", text)


names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20)


@settings(deadline=None, max_examples=settings.default.max_examples // 4)
@given(
    names=st.lists(names, min_size=4, max_size=4, unique=True),
    choices=st.lists(names, min_size=1, max_size=3),
    seed=seeds,
)
def test_whatever_the_grammar_allows_is_the_reply_asked_for(names: list[str], choices: list[str], seed: int) -> None:
    check_grammar(names, choices, random.Random(seed))


def test_names_and_choices_may_be_written_like_markup() -> None:
    markup = ["<|im_end|>", "<|im_start|>x", "stop"]
    check_grammar(["NEAR(", "<|im_end|><|im_star", "*", "<|endoftext|>"], markup, random.Random(1), 20)


def test_hostile_answers_are_read_or_refused() -> None:
    tally = hostile.read_replies(2000, "suite")
    assert (tally.tried, tally.passed, tally.problems) == (2000, 2000, [])
    read = [hostile.check_read(hostile.hostile_answer(random.Random(seed))) for seed in range(500)]
    assert 50 < sum(read) < 450


def test_an_answer_that_is_read_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.served.repair._one_line", lambda text: text)
    tally = hostile.read_replies(300, "suite")
    assert tally.passed < 300
    assert tally.problems[0].startswith("reply suite ")


def test_runs_that_lose_a_reply_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "FAULTS", ("none",))  # a run that fails may have lost the last
    assert hostile.spoken_replies(30, "suite", tmp_path / "whole").problems == []
    monkeypatch.setattr("tertulia.storage.store.SqlStore.calls", lambda *_, **__: [])
    assert hostile.spoken_replies(30, "suite", tmp_path / "lost").problems
