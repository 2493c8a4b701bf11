"""The figures of album chats, each computed by hand."""

from __future__ import annotations

from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.letters import LetterEmbedder
from support.on_use import on_use

from tertulia.metrics.album import (
    FIGURES,
    AlbumExchange,
    Measured,
    difference,
    estimate,
    figures_of,
    vectors_of,
)
from tertulia.metrics.diversity import mean_pairwise_cosine
from tertulia.state.album import Exchange, Picture
from tertulia.state.records import Turn
from tertulia.views.reading.exchanges import RecordedExchange

stats = on_use("scipy.stats")


def exchange(
    turn: int,
    asker: str = "Ada",
    answerer: str = "Bo",
    *,
    picture: str = "pot",
    plan: str = "I take the pot.",
    question: str = "What is in the pot?",
    answer: str = "Nothing.",
    round: int = 1,
    naming: tuple[str, ...] = (),
) -> AlbumExchange:
    return AlbumExchange(
        turn=turn,
        round=round,
        asker=asker,
        answerer=answerer,
        picture=picture,
        plan=plan,
        question=question,
        answer=answer,
        naming=naming,
    )


CHAT = [
    exchange(1, "Ada", "Bo", answer="It is a pot, Ada.", naming=("answer",)),
    exchange(2, "Cy", "Di", picture="tub", question="Di, what is it?", answer="A pot.", naming=("question",)),
    exchange(3, "Ada", "Cy", question="what is in the pot", answer="Ada likes kebab.", round=2, naming=("answer",)),
    exchange(4, "Di", "Bo", picture="mat", question="What is in the pot?", answer="A pot.", round=2),
]


def value(found: dict[str, dict[str, Measured]], call: str, name: str) -> float | None:
    return found[call][name].value


def test_distinct_n_at_equal_length_is_the_mean_over_all_samples_of_so_many_words() -> None:
    answered = exchange(1, answer="a pot a pot a tub")
    drawn = [len(set(sample)) / 4 for sample in combinations(["a", "pot", "a", "pot", "a", "tub"], 4)]
    found = figures_of([answered], sizes={("answer", 1): 4})
    assert len(drawn) == comb(6, 4)
    assert value(found, "answer", "dist1_equal") == pytest.approx(sum(drawn) / len(drawn))
    assert value(found, "answer", "dist2_equal") is None  # no size is given
    assert value(figures_of([answered], sizes={("answer", 1): 6}), "answer", "dist1_equal") == pytest.approx(3 / 6)


def test_similarity_is_the_mean_cosine_over_all_pairs_and_each_text_is_embedded_once() -> None:
    embedder = LetterEmbedder()
    vectors = vectors_of(CHAT, embedder)
    texts = [text for batch in embedder.batches for text in batch]
    assert len(texts) == len(set(texts))
    found = figures_of(CHAT, vectors)
    for call in FIGURES:
        of_call = [[*vectors[item.text(call)]] for item in CHAT]
        assert value(found, call, "sim") == pytest.approx(mean_pairwise_cosine(of_call))
    left = [[*vectors[item.answer]] for item in CHAT if item.answerer != "Bo"]
    assert found["answer"]["sim"].without["Bo"] == pytest.approx(mean_pairwise_cosine(left))
    assert value(figures_of(CHAT), "answer", "sim") is None
    assert value(figures_of(CHAT[:1], vectors), "answer", "sim") is None
    assert vectors_of([exchange(1, plan="…", question="?!", answer="")], embedder) == {}


@pytest.mark.parametrize(
    ("text", "name", "is_named"),
    [
        ("Hello Ada!", "Ada", True),
        ("Adana is a city.", "Ada", False),
        ("A wise old olive.", "Olive", False),
        ("What do you think, Samir?", "Samir N Hanan", True),
        ("I met N today.", "Samir N Hanan", False),
        ("Hanan said so.", "Samir N Hanan", False),
        ("(Ada)", "Ada", True),
        ("Hi O'Hare.", "O'Hare", True),
        ("我想王小明比李娜更早来到码头吧？", "李娜", True),
        ("我选红门，因为它好看。", "李娜", False),
        ("Ada在码头吗？", "Ada", True),
        ("민수가 왔어요.", "민수", True),
        ("", "Ada", False),
    ],
)
def test_a_partner_is_named_by_the_whole_name_or_its_first_word(text: str, name: str, is_named: bool) -> None:
    met = Exchange(asker="Zoe", answerer=name, picture="pot", found="named", sight="captioned, not seen")
    question, answer = (
        Turn(turn=1, round=1, speaker=speaker, text=said, sim_time_s=0, ended=False)
        for speaker, said in (("Zoe", text), (name, "Well, Zoe!"))
    )
    measured = RecordedExchange(question, met, Picture(id="pot", caption="pot"), "I take the pot.", answer).measured()
    assert measured.naming == (("question", "answer") if is_named else ("answer",))


def test_shares_of_naming_asking_again_and_choosing_again() -> None:
    found = figures_of(CHAT)
    assert value(found, "question", "names_partner") == 1 / 4
    assert value(found, "answer", "names_partner") == 2 / 4
    assert value(found, "question", "asked_before") == 2 / 4
    assert value(found, "question", "asked_before_by_asker") == 1 / 4
    assert value(found, "plan", "chosen_before") == 1 / 4
    assert value(found, "plan", "most_chosen") == 2 / 4
    assert value(found, "plan", "distinct_pictures") == 3
    second = figures_of(CHAT[2:], before=CHAT[:2])
    assert value(second, "question", "asked_before") == 1.0
    assert value(second, "plan", "chosen_before") == 1 / 2


def test_a_picture_that_no_plan_named_was_not_chosen() -> None:
    found = figures_of([CHAT[0], *(exchange.model_copy(update={"found": "similar"}) for exchange in CHAT)])
    assert value(found, "plan", "names_picture") == 1 / (len(CHAT) + 1)
    assert (value(found, "plan", "distinct_pictures"), value(found, "plan", "chosen_before")) == (1, 0.0)
    nothing = figures_of([exchange.model_copy(update={"found": "similar"}) for exchange in CHAT])
    assert (value(nothing, "plan", "names_picture"), value(nothing, "plan", "most_chosen")) == (0.0, None)


def test_no_data_is_none_and_not_zero() -> None:
    for of_call in figures_of([]).values():
        for name, measured in of_call.items():
            assert estimate(name, measured).model_dump() == {"value": None, "ci_low": None, "ci_high": None, "n": 0}
    wordless = figures_of([exchange(1, answer="…")])["answer"]
    assert wordless["len"].value == 0.0  # a text, though without a word
    assert wordless["dist1"].value is None


def test_an_interval_of_a_mean_is_that_of_student_over_agents() -> None:
    # one text per agent: the jackknife of a mean is its standard error
    lengths = [1, 2, 4, 7]
    chat = [exchange(at, answerer=f"B{at}", answer=" ".join(["so"] * length)) for at, length in enumerate(lengths)]
    found = estimate("len", figures_of(chat)["answer"]["len"])
    half = float(stats.t.ppf(0.975, 3)) * float(np.std(lengths, ddof=1)) / sqrt(4)
    assert found.value == 3.5
    assert found.ci_high == pytest.approx(3.5 + half)
    assert found.ci_low == max(0.0, 3.5 - half)
    assert found.n == 4


def test_a_difference_is_paired_where_the_same_agents_took_part() -> None:
    low = Measured(2.0, 3, {"Ada": 1.0, "Bo": 2.0, "Cy": 3.0})
    high = Measured(5.0, 3, {"Ada": 4.0, "Bo": 5.0, "Cy": 6.3})
    paired = difference(low, high)
    half = float(stats.t.ppf(0.975, 2)) * sqrt(2 / 3 * (0.1**2 + 0.1**2 + 0.2**2))
    assert paired.value == 3.0
    assert paired.ci_low == pytest.approx(3 - half)
    assert paired.ci_high == pytest.approx(3 + half)
    others = difference(low, Measured(5.0, 3, {"Di": 4.0, "Ed": 5.0, "Fay": 6.0}))
    error = sqrt(2 / 3 * 2)
    assert others.ci_low == pytest.approx(3.0 - float(stats.t.ppf(0.975, 2)) * error * sqrt(2))
    assert difference(low, Measured(None, 0)).value is None


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.text("ab ", max_size=12)), min_size=1, max_size=8))
def test_every_figure_without_an_agent_is_that_of_what_the_others_wrote(spoken: list[tuple[str, str]]) -> None:
    chat = [exchange(at, f"asker {at}", agent, answer=text) for at, (agent, text) in enumerate(spoken)]
    vectors = vectors_of(chat, LetterEmbedder())
    found = figures_of(chat, vectors)["answer"]
    for agent in {agent for agent, _ in spoken}:
        left = figures_of([item for item in chat if item.answerer != agent], vectors)["answer"]
        for name in ("len", "dist1", "dist2", "dist3", "sim"):
            assert found[name].without.get(agent) == pytest.approx(left[name].value), name
