"""The figures over dialogues, to the letter of DESIGN's `metrics` contract, and reading them from a file."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.letters import LetterEmbedder

from tertulia.metrics.diversity import (
    Dialogue,
    DiversityFigures,
    dialogue_text,
    distinct_n,
    mean_over_cases,
    mean_pairwise_cosine,
    metrics_of_cases,
    words,
)
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.language_model import Embedder
from tertulia.views.measuring import dialogue_file


def read_dialogues(*paths: Path) -> dict[str, list[Dialogue]]:
    """Return the dialogues of files by case."""
    by_case: dict[str, list[Dialogue]] = {}
    for found in (found for path in paths for found in dialogue_file.read_dialogues(path)):
        by_case.setdefault(found.case, []).append(found.dialogue)
    return by_case


HELLO = [("Ana", "Hello, Bo!"), ("Bo", "Hello. It's a fine day, a fine day.")]
OTHER = [("Ana", "Rain again.")]

#: European letters and signs: in other scripts marks and signs without spaces count (tests/state/test_words.py).
SPOKEN = st.text(st.characters(max_codepoint=0x2FF), max_size=40)
#: Few words, many times.
REPEATED = st.lists(st.sampled_from(["a", "b", "A", "c'd", "_", "’", ". ", " "]), max_size=12).map(" ".join)
dialogues = st.lists(st.lists(st.tuples(st.text(max_size=5), SPOKEN | REPEATED), min_size=1, max_size=4), max_size=4)


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's Ana’s 2nd day.", ["it's", "ana’s", "2nd", "day"]),
        ("'quoted' rock'n'roll o''clock", ["quoted", "rock'n'roll", "o", "clock"]),
        ("snake_case well-known 3.14", ["snake", "case", "well", "known", "3", "14"]),
        ("Größe ÉTÉ 你好 Привет", ["größe", "été", "你", "好", "привет"]),
        ("İstanbul", ["i̇stanbul"]),  # lower case after matching: before it, the dot would end the word
        ("… — !", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def naive_words(text: str) -> list[str]:
    """Words by walking over characters, without regular expressions: an independent oracle."""
    found, word = [], ""
    for at, letter in enumerate(text):
        joins = letter in "'’" and word != "" and at + 1 < len(text) and is_letter(text[at + 1])
        if is_letter(letter) or joins:
            word += letter
        elif word:
            found.append(word)
            word = ""
    return [word.lower() for word in [*found, word] if word]


def is_letter(letter: str) -> bool:
    return letter.isalnum()


def naive_distinct(cases: Sequence[Dialogue], n: int) -> float | None:
    seen: list[list[str]] = []
    total = 0
    for dialogue in cases:
        for _, text in dialogue:
            utterance = naive_words(text)
            for start in range(len(utterance)):
                gram = utterance[start : start + n]
                if len(gram) == n:
                    total += 1
                    if gram not in seen:
                        seen.append(gram)
    return len(seen) / total if total else None


@given(cases=dialogues, n=st.integers(1, 4))
def test_distinct_n_is_what_counting_by_hand_gives(cases: list[Dialogue], n: int) -> None:
    assert distinct_n(cases, n) == naive_distinct(cases, n)


# --- similarity -----------------------------------------------------------------------------------------------------


@given(vectors=st.lists(st.lists(st.floats(0.1, 9), min_size=3, max_size=3), max_size=5))
def test_similarity_is_the_mean_cosine_over_pairs(vectors: list[list[float]]) -> None:
    cosines = [
        sum(a * b for a, b in zip(first, second, strict=True)) / math.hypot(*first) / math.hypot(*second)
        for at, first in enumerate(vectors)
        for second in vectors[at + 1 :]
    ]
    expected = sum(cosines) / len(cosines) if cosines else None
    assert mean_pairwise_cosine(vectors) == (None if expected is None else pytest.approx(expected))


def case_metrics(dialogues: Sequence[Dialogue], embedder: Embedder | None) -> DiversityFigures:
    return metrics_of_cases({"": dialogues}, embedder)[""]


def test_the_figures_of_a_case() -> None:
    figures = case_metrics([HELLO, OTHER, HELLO], LetterEmbedder())
    embedder = LetterEmbedder()
    texts = [dialogue_text(dialogue) for dialogue in (HELLO, OTHER, HELLO)]
    assert figures.sim == pytest.approx(mean_pairwise_cosine(embedder.embed(texts)))
    assert figures.sim_untruncated == pytest.approx(mean_pairwise_cosine(embedder.embed_untruncated(texts)))
    assert figures.sim != figures.sim_untruncated
    assert (figures.dist1, figures.len) == (8 / 22, 22 / 5)
    assert case_metrics([HELLO, HELLO], LetterEmbedder()).sim == pytest.approx(1)


def test_all_dialogues_are_embedded_in_one_batch() -> None:
    cases = {"0": [HELLO, OTHER], "1": [HELLO], "2": [OTHER, OTHER, HELLO], "3": []}
    embedder = LetterEmbedder()
    figures = metrics_of_cases(cases, embedder)
    assert [len(batch) for batch in embedder.batches] == [5]
    assert figures == {case: case_metrics(many, LetterEmbedder()) for case, many in cases.items()}
    assert list(figures) == ["0", "1", "2", "3"]


def test_the_mean_leaves_out_what_a_case_has_not() -> None:
    none = DiversityFigures(sim=None, sim_untruncated=None, dist1=None, dist2=None, dist3=None, len=None)
    similar = none.model_copy(update={"sim": 0.5, "len": 4.0})
    distinct = none.model_copy(update={"len": 8.0, "dist1": 0.25})
    mean = mean_over_cases([similar, distinct, none])
    assert mean == none.model_copy(update={"sim": 0.5, "len": 6.0, "dist1": 0.25})
    assert mean_over_cases([]) == none


# --- reading --------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dialogues.jsonl"


@given(cases=st.lists(st.tuples(st.text() | st.integers(), st.lists(st.tuples(st.text(), st.text()), min_size=1))))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, cases: list) -> None:
    path = tmp_path_factory.getbasetemp() / "written.jsonl"
    lines = [json.dumps({"case": case, "dialogue": dialogue}, ensure_ascii=False) for case, dialogue in cases]
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    expected: dict[str, list] = {}
    for case, dialogue in cases:
        expected.setdefault(str(case), []).append(dialogue)
    if expected:
        assert read_dialogues(path) == expected
    else:
        with pytest.raises(UsageError, match="holds no dialogues"):
            read_dialogues(path)


def test_blank_lines_further_keys_and_a_byte_order_mark_are_passed_over(path: Path) -> None:
    path.write_bytes(b'\xef\xbb\xbf{"case": 0, "seed": 1, "dialogue": [["Ana", "Hi."]]}\r\n\r\n  \n')
    assert read_dialogues(path) == {"0": [[("Ana", "Hi.")]]}


GOOD = b'{"case": 0, "dialogue": [["Ana", "Hi."]]}\n'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"{broken", r"line 2, column 2: broken JSON"),
        (b"[" * 100_000, r"line 2: broken JSON"),
        (b'{"dialogue": [["Ana", "Hi."]]}', r"line 2: case is missing"),
        (b'{"case": null, "dialogue": []}', r"line 2: case None is neither a text nor an integer"),
        (b'{"case": 0, "dialogue": "Hi."}', r"line 2: dialogue 'Hi.' is not a list"),
        (b'{"case": 0, "dialogue": []}', r"line 2: dialogue is empty"),
        (
            b'{"case": 0, "dialogue": [["Ana", "Hi."], ["Bo"]]}',
            r"line 2: dialogue\[1\] \['Bo'\] is not \[spea",
        ),
        (b'{"case": 0, "dialogue": [["Ana", null]]}', r"line 2: dialogue\[0\] \['Ana', None\] is not"),
        (b'{"case": 0, "dialogue": [["Ana", "\xff"]]}', r"line 2: not UTF-8 \(byte 35\)"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_field(path: Path, line: bytes, expected: str) -> None:
    path.write_bytes(GOOD + line + b"\n" + GOOD)
    with pytest.raises(UsageError, match=rf"dialogues.jsonl {expected}") as raised:
        read_dialogues(path)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300 + len(str(path))


def test_no_control_character_of_a_file_reaches_a_message(path: Path) -> None:
    path.write_text('{"case": 0, "dialogue": [["\\u001b[2J", "\x9b2J", 3]]}', encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        read_dialogues(path)
    assert str(raised.value).isprintable()


def test_a_missing_file_or_a_folder_is_told(path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no file .*dialogues.jsonl"):
        read_dialogues(path)
    with pytest.raises(UsageError, match="can't be read: Is a directory"):
        read_dialogues(path.parent)


# --- exported runs --------------------------------------------------------------------------------------------------

RUN = {"kind": "run", "run": "k3f9", "scenario": "tidewell:3"}
LINES = [
    RUN,
    {"kind": "start", "scenario": "tidewell:3"},
    {"kind": "turn", "turn": 1, "speaker": "Ana", "text": "Hi."},
    {"kind": "call", "node": "generate"},
    {"kind": "turn", "turn": 2, "speaker": None, "text": ""},
    {"kind": "turn", "turn": 3, "speaker": "Bo", "text": "Hm."},
]


def write_lines(path: Path, *records: dict) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_an_exported_run_is_a_dialogue_of_the_case_of_its_scenario(path: Path) -> None:
    write_lines(path, *LINES, {**RUN, "scenario": "quay"}, LINES[2])
    assert read_dialogues(path) == {"tidewell:3": [[("Ana", "Hi."), ("Bo", "Hm.")]], "quay": [[("Ana", "Hi.")]]}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([LINES[2]], r"line 1: a turn stands before its run; give the file as .tertulia export"),
        ([RUN, LINES[4]], r"line 1: nobody speaks in this run"),
        ([RUN, {"kind": "turn", "text": "Hi."}], r"line 2: speaker is missing"),
        ([RUN, {"kind": "turn", "speaker": "Ana", "text": 1}], r"line 2: text 1 is not a text"),
        ([RUN, {"case": 0, "dialogue": []}], r"line 2: kind None is not the kind of a record"),
    ],
)
def test_a_broken_export_is_refused_with_its_line_and_field(path: Path, records: list[dict], expected: str) -> None:
    write_lines(path, *records)
    with pytest.raises(UsageError, match=rf"dialogues.jsonl {expected}"):
        read_dialogues(path)
