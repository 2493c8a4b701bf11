"""Sentences of a text: joined they are the text, and where it is unclear whether one ends, it goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.state.sentences import lines, sentences

CASES = {
    "He lives at No. 3 Lamp Stairs. She said no. Then she left.": [
        "He lives at No. 3 Lamp Stairs.",
        " She said no.",
        " Then she left.",
    ],
    "Oda mends nets. She is proud! Is she?": ["Oda mends nets.", " She is proud!", " Is she?"],
    "Dr. Lund and J. R. Brekke came, e.g. at 5 p.m. on the quay.  Oda left.": [
        "Dr. Lund and J. R. Brekke came, e.g. at 5 p.m. on the quay.",
        "  Oda left.",
    ],
    "Er kam am 3. Mai, z. B. mit Nr. 5. Dann ging er.": ["Er kam am 3. Mai, z. B. mit Nr. 5. Dann ging er."],
    "The lamp went out in 1998. Nobody came.": ["The lamp went out in 1998.", " Nobody came."],
    'He said, "Listen first. Then turn it." She did.': ['He said, "Listen first. Then turn it."', " She did."],
    "“What now?” she asked. (He waits. He hums.) So?": ["“What now?” she asked.", " (He waits. He hums.)", " So?"],
    f"“{'The wind turned. ' * 20}It fell.”": ["“The wind turned.", *[" The wind turned."] * 19, " It fell.”"],
    "¿Y el faro? ¡Se apagó! Él calla.": ["¿Y el faro?", " ¡Se apagó!", " Él calla."],
    "Oh… she waits... then goes.": ["Oh… she waits... then goes."],
    "沈眉撿到玉鐲。真的嗎？是的！": ["沈眉撿到玉鐲。", "真的嗎？", "是的！"],
    "他說：「你好！你去哪？」她走了。天黑了。": ["他說：「你好！你去哪？」她走了。", "天黑了。"],
    "「早。」「早。」": ["「早。」", "「早。」"],
    "- likes tea\n- hates cats. Never says why.\n\n* x": [
        "- likes tea",
        "\n- hates cats.",
        " Never says why.",
        "\n\n* x",
    ],
    '[Oda= "calm"] [Body= "grey eyes"] <START> {{char}}: Hm.': [
        '[Oda= "calm"]',
        ' [Body= "grey eyes"]',
        " <START> {{char}}: Hm.",
    ],
    "no end": ["no end"],
    "": [""],
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_the_sentences_of_a_text(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


TEXTS = st.text(st.sampled_from('ab A.!?…"“”「」()[]{\n\t 。！你1')) | st.text()


@given(TEXTS)
def test_sentences_and_lines_joined_are_the_text(text: str) -> None:
    for cut in (sentences, lines):
        pieces = cut(text)
        assert "".join(pieces) == text
        assert len(pieces) == 1 or all(map(str.strip, pieces))
    assert all("\n" not in line.strip() for line in lines(text))
