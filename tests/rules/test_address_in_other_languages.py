"""Who a line in German, French or Spanish speaks to, and that English lines are read as before."""

from typing import Any

import pytest
from support.cpu_time import cpu_time_below

from tertulia.rules.address import read_line

PEOPLE = ("Eva", "Jonas", "Alice", "Bob", "Inés")


def address(text: str) -> dict[str, Any]:
    return read_line(text, PEOPLE[1:])


GERMAN = [
    ("Was meinst du, Bob?", ["Bob"]),
    ("Was meinst du Bob?", ["Bob"]),
    ("Bob, was meinst du?", ["Bob"]),
    ("Bob was meinst du dazu?", ["Bob"]),
    ("Also Bob, kannst du am Freitag?", ["Bob"]),
    ("Und du, Alice?", ["Alice"]),
    ("Was ist mit Bob?", ["Bob"]),
    ("Danke, Bob. Was denken die anderen?", []),
    ("Danke, Bob. Was meint ihr?", []),
    ("Danke, Bob. Kannst du ihn mir schicken?", ["Bob"]),
    ("Vielen Dank, Bob. Wann treffen wir uns?", []),
    ("Was denkt Bob?", ["Bob"]),
    ("Was will Bob?", ["Bob"]),
    ("Was halten Bob und Alice davon?", ["Alice", "Bob"]),
    ("Ist Bob einverstanden?", ["Bob"]),
    ("Kann Bob den Kuchen mitbringen?", ["Bob"]),
    ("Weiß Bob, warum Alice gegangen ist?", ["Bob"]),
    ("Warum ist Bob gegangen?", []),
    ("Wann kommt Bob?", []),
    ("Hast du Bob gefragt?", []),
    ("Weiß jemand, wo Bob ist?", []),
    ("Wer hat Bob gesehen?", []),
    ("Bob, erzähl uns davon.", ["Bob"]),
    ("Du bist dran, Bob.", ["Bob"]),
    ("Hören wir, was Bob dazu meint.", ["Bob"]),
    ("Bob war dort.", []),
    ("Danke, Bob.", []),
]

FRENCH = [
    ("Qu'en penses-tu, Bob ?", ["Bob"]),
    ("Qu’en penses-tu Bob ?", ["Bob"]),
    ("Bob, qu'en penses-tu ?", ["Bob"]),
    ("Bob qu'en penses-tu ?", ["Bob"]),
    ("Alors Bob, tu viens vendredi ?", ["Bob"]),
    ("Et toi, Alice ?", ["Alice"]),
    ("Merci, Bob. Que pensent les autres ?", []),
    ("Merci, Bob. Quand est-ce qu'on se voit ?", []),
    ("Merci, Bob. Tu peux me l'envoyer ?", ["Bob"]),
    ("Que pense Bob ?", ["Bob"]),
    ("Qu'en dit Bob ?", ["Bob"]),
    ("Bob est-il d'accord ?", ["Bob"]),
    ("Est-ce que Bob et Alice sont d'accord ?", ["Alice", "Bob"]),
    ("Bob peut-il apporter le gâteau ?", ["Bob"]),
    ("Bob sait-il pourquoi Alice est partie ?", ["Bob"]),
    ("Pourquoi Bob est-il parti ?", []),
    ("Où est Bob ?", []),
    ("C'est la voiture de Bob ?", []),
    ("As-tu demandé à Bob ?", []),
    ("Quelqu'un sait où est Bob ?", []),
    ("Bob, dis-nous ce que tu as vu.", ["Bob"]),
    ("À toi, Bob.", ["Bob"]),
    ("Bob était là.", []),
    ("Merci, Bob.", []),
]

SPANISH = [
    ("¿Qué piensas, Bob?", ["Bob"]),
    ("¿Qué piensas Bob?", ["Bob"]),
    ("Bob, ¿qué piensas?", ["Bob"]),
    ("Bob, ¿puedes el viernes?", ["Bob"]),
    ("Pues Bob, ¿cómo fue?", ["Bob"]),
    ("¿Y tú, Alice?", ["Alice"]),
    ("¿Y Bob?", ["Bob"]),
    ("Gracias, Bob. ¿Qué piensan los demás?", []),
    ("Gracias, Bob. ¿Cuándo nos vemos?", []),
    ("Muchas gracias, Bob. ¿Puedes enviármelo?", ["Bob"]),
    ("¿Qué opina Bob?", ["Bob"]),
    ("¿Qué le parece a Bob?", ["Bob"]),
    ("¿Está Bob de acuerdo?", ["Bob"]),
    ("¿Puede Bob traer la tarta?", ["Bob"]),
    ("¿Qué piensan Alice e Inés?", ["Alice", "Inés"]),
    ("¿Sabe Bob por qué se fue Alice?", ["Bob"]),
    ("¿Por qué se fue Bob?", []),
    ("¿Dónde está Bob?", []),
    ("¿Has visto a Bob?", []),
    ("¿Alguien sabe dónde está Bob?", []),
    ("¿Crees que Bob quiere venir?", []),
    ("Bob, cuéntanos qué viste.", ["Bob"]),
    ("Te toca, Bob.", ["Bob"]),
    ("Bob estuvo allí.", []),
    ("Gracias, Bob.", []),
]

#: Words of theirs that are English words, too.
ENGLISH = [
    ("When will Bob arrive?", []),
    ("Bob was there. Who has it?", []),
    ("What does Bob think she has?", ["Bob"]),
    ("Is Bob on board?", []),
    ("Does Bob agree?", ["Bob"]),
    ("Bob was glad.", []),
    ("Bob, let us continue.", []),
    ("Thanks, Bob. Who has a pen?", []),
]


@pytest.mark.parametrize(("text", "asked"), [*GERMAN, *FRENCH, *SPANISH, *ENGLISH])
def test_who_is_asked(text: str, asked: list[str]) -> None:
    assert address(text)["asked"] == asked


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("Danke, Bob. Was denken die anderen?", True),
        ("Merci, Bob. Que pensent les autres ?", True),
        ("Gracias, Bob. ¿Qué piensan los demás?", True),
        ("Wer hat eine Idee?", True),
        ("Qui a une idée ?", True),
        ("¿Quién tiene una idea?", True),
        ("Was meinst du, Bob?", False),
        ("Qu'en penses-tu, Bob ?", False),
        ("¿Qué piensas, Bob?", False),
        ("Das ist gut.", False),
    ],
)
def test_a_question_that_asks_nobody_is_open(text: str, is_open: bool) -> None:
    assert address(text)["is_open_question"] is is_open


@pytest.mark.parametrize(
    "text",
    ["Bob und " * 400, "et Bob ou " * 400, "und " * 800 + "?", "Bob e " * 400 + "?", "qu'" * 900 + "?"],
)
def test_a_long_line_is_read_at_once(text: str) -> None:
    with cpu_time_below(1):  # a tenth of it, as a rule
        address(text)
