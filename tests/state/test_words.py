"""Words in any script; those of English are what they were."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.state.words import segmenter, spoken_words, word_spans, words

#: The words of DESIGN's figures, which hold for what European scripts write.
ENGLISH = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

CASES = {
    "我们去公园散步，好吗？": ["我", "们", "去", "公", "园", "散", "步", "好", "吗"],
    "她说：don’t worry，Python编程3年。": ["她", "说", "don’t", "worry", "Python", "编", "程", "3", "年"],
    "コーヒーを飲む": ["コーヒー", "を", "飲", "む"],
    "น้ำตก": ["น้", "ำ", "ต", "ก"],
    "안녕하세요 여러분": ["안녕하세요", "여러분"],
    "नमस्ते दोस्त": ["नमस्ते", "दोस्त"],
    "كَتَبَ الولدُ": ["كَتَبَ", "الولدُ"],
    "می‌خواهم بروم": ["می‌خواهم", "بروم"],
    "¿Qué haces, Íñigo?": ["Qué", "haces", "Íñigo"],
    "cafe\u0301": ["cafe\u0301"],
    "一_二": ["一", "二"],
    "👍🏽 ok ❤️ 1️⃣": ["ok", "1"],
    "": [],
    "。，！": [],
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_the_words_of_a_text(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(st.characters(max_codepoint=0x2FF)) | st.text(alphabet="a'’_-B1 ½é.ßİ\n"))
def test_european_words_are_those_of_the_figures(text: str) -> None:
    assert words(text) == ENGLISH.findall(text)
    assert spoken_words(text) == len(text.split())


@given(st.text(st.characters(exclude_categories=("Cn", "Cs"))))
def test_spans_are_apart_and_hold_letters(text: str) -> None:
    last = 0
    for begin, end in word_spans(text):
        assert last <= begin < end <= len(text)
        assert any(sign.isalnum() for sign in text[begin:end])
        last = end


def test_english_beside_another_script_is_cut_as_by_itself() -> None:
    english = "Isabella's don't-know list, item 3.5 of a_b’s — U.S.A."
    assert words(f"{english} 公园") == [*words(english), "公", "园"]


def test_a_chinese_sentence_takes_time_to_say() -> None:
    assert spoken_words("我们去公园散步，好吗？") == 9
    assert spoken_words("走吧 — let's go") == 5


def test_what_cuts_words_is_named() -> None:
    assert re.fullmatch(r"UAX #29.*\(regex [\d.]+\)", segmenter())
