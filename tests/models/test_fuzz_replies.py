"""Replies of any kind: whatever a model says, runs end or say why, and records, prompts and terminals stay whole."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import hostile_replies as hostile
from support.hostile_replies import NASTY, check_grammar, decoded
from support.tiny_tokenizer import tiny_tokenizer

from tertulia.models.local.tokenizer import HuggingFaceTokenizer

pytestmark = pytest.mark.full

FULL = settings.default.max_examples >= 2000

texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=20), max_size=6).map("".join).map(decoded)


def test_runs_take_any_reply(tmp_path: Path) -> None:
    """Whole runs, and what commands read of them; 100,000 replies in `make nightly`."""
    assert hostile.spoken_replies(20_000 if FULL else 60, "suite", tmp_path).problems == []


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
    seed=st.integers(0, 2**32),
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
