"""Names in a text: whom it names, and the text without them."""

import pytest
from support.named_people import PEOPLE

from tertulia.nodes.shared.names_in_text import is_named, named_in, without_names


@pytest.mark.parametrize(
    "text",
    ["will you come?", "Will you come?", "WILL YOU COME?", "May I ask something?", "In May it rains.", "May 5th?"],
)
def test_a_name_that_is_a_word_is_not_named_by_the_word(text: str) -> None:
    assert named_in(text, PEOPLE[1:]) == ()


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [("Will", "I asked Will.", True), ("Will", "Will, listen.", True), ("Will", "Will is here.", True),
     ("Will", "Will and Alice know.", True), ("Will", "Ask will?", False), ("Ana", "ana?", True),
     ("Ana", "ana. Yes", False), ("Ana", "Anaconda", False), ("Mary", "Mary-Ann", False), ("Bob", "a bobsleigh", False),
     ("アン", "アンケート", False), ("Ana Vos", "What does Ana say?", True), ("Ana Vos", "Vos, perhaps.", False),
     ("O'Neil", "You, O’Neil?", True), ("O’Neil", "O'Neil's hat", True), ("Neil", "Is O'Neil here?", False),
     ("Anna", "le frère d'Anna", True), ("Don Hall", "And you, Don?", True), ("Don Hall", "Don't go.", False),
     ("Don Quijote", "Come, Quijote.", True), ("J.R. Ewing", "And J.R.?", True), ("J. Smith", "Smith, then.", True),
     ("Tanaka", "Tanaka-san knows.", True), ("Tanaka", "the Tanaka-Sanders", False),
     ("Ana (she)", "I mean Ana (she).", True), ("🦆", "Where is 🦆 now?", True),
     ("Frau von der Heide", "Das Bild ist von Monet.", False), ("Frau von der Heide", "Und Sie, von der Heide?", True),
     ("Madame de Staël", "Le livre de Paul.", False), ("El Cid", "El perro duerme.", False),
     ("El Cid", "¡El Cid!", True), ("ana vos", "Ask ana?", True), ("Mehmet", "Bunu Mehmet'ten duydum.", True),
     ("Işıl", "SIRA IŞIL'DA.", True),
     ("Ali", "ALİ NEREDE?", True), ("Strauß", "HERR STRAUSS!", True), ("राम", "मैंने रामायण पढ़ी है।", False),
     ("राम", "बलिराम आया।", False), ("राम", "राम, आओ।", True), ("علي", "جاء عليٌّ.", True)],
)  # fmt: skip
def test_a_name_is_named_by_a_word_of_its_own(name: str, text: str, named: bool) -> None:
    assert is_named(name, text) is named


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Bob, that works.", "that works."),
        ("Thanks, Bob.", "Thanks."),
        ("Bob's car is red.", "car is red."),
        ("What about it, Alice?", "What about it?"),
        ("Anna Berg's boat and Holm’s boat", "boat and boat"),
        ("I asked Will. Will you come?", "I asked. Will you come?"),
        ("Bob!", ""),
        ("Bob-san, that works.", "that works."),
        ("山田さんは来ます", "は来ます"),
        ("Nobody is named here, not Bobby.", "Nobody is named here, not Bobby."),
    ],
)
def test_a_text_without_names(text: str, rest: str) -> None:
    assert without_names(text, PEOPLE) == rest


def test_the_full_name_of_another_is_no_mention() -> None:
    assert named_in("Anna Holm has it, and Bob's boat.", PEOPLE) == ("Bob", "Anna Holm")
    assert named_in("Anna has it.", PEOPLE) == ("Anna Berg", "Anna Holm")
    assert not is_named("Anna Berg", "Anna Holm has it.", PEOPLE)
    assert named_in("Don Hall has it.", ("Don Quijote", "Don Hall")) == ("Don Hall",)
