"""Lines in German, French and Spanish that make no sense where they are said, and lines that do."""

import pytest

from tertulia.nodes.shared.sense import faults_of
from tertulia.nodes.shared.situation import Situation

GERMAN = (
    (("Ana Berg", "Kommst du mit mir zum Hafen?"), ("Bo", "Ja, wenn der Regen bis Mittag aufhört.")),
    (("Ana Berg", "Vielen Dank."), ("Bo", "Gern geschehen.")),
)
FRENCH = (
    (("Ana Berg", "Tu viens au port avec moi ?"), ("Bo", "Oui, si la pluie s'arrête avant midi.")),
    (("Ana Berg", "Merci beaucoup."), ("Bo", "Je t'en prie.")),
)
SPANISH = (
    (("Ana Berg", "¿Vienes al puerto conmigo?"), ("Bo", "Sí, si deja de llover antes del mediodía.")),
    (("Ana Berg", "Muchas gracias."), ("Bo", "De nada.")),
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Das Boot ist repariert.", None),
        ("Ich bin Ana Berg.", None),
        ("Ich heiße Ana.", None),
        ("Hallo, hier ist Ana.", None),
        ("Mein Name ist Bo.", "misnames"),
        ("Ich bin Bo.", "misnames"),
        ("Ich bin Bo dankbar", None),
        ("Ich muss noch mit Bo reden.", "misnames"),
        ("Das habe ich von Bo.", "misnames"),
        ("Komm doch mit, Bo.", None),
        ("Ich glaube, dass Bo recht hat.", "misnames"),
        ("Bo hat keine Zeit.", "misnames"),
        ("Ana hat keine Zeit.", "misnames"),
        ("Was sagst du dazu, Bo?", None),
        ("Danke dir, Bo, das hilft.", None),
        ("Ich war war nicht nicht da.", "broken"),
        ("Nein, nein, ich komme.", None),
    ],
)
def test_german(text: str, fault: str | None) -> None:
    assert faults_of(text, Situation("Ana Berg", ("Ana Berg", "Bo"), GERMAN[0])) == ((fault,) if fault else ())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Le bateau est réparé.", None),
        ("Je suis Ana Berg.", None),
        ("Je m'appelle Ana.", None),
        ("Moi, c'est Ana.", None),
        ("Je m’appelle Bo.", "misnames"),
        ("Je suis Bo.", "misnames"),
        ("Je dois encore parler avec Bo demain.", "misnames"),
        ("Bo est en retard.", "misnames"),
        ("Qu'en dis-tu, Bo ?", None),
        ("Je pense que Bo a raison.", "misnames"),
        ("J’ ai la clé.", "broken"),
        ("J’ai la clé, c'est sûr.", None),
        ("Nous nous verrons demain.", None),
    ],
)
def test_french(text: str, fault: str | None) -> None:
    assert faults_of(text, Situation("Ana Berg", ("Ana Berg", "Bo"), FRENCH[0])) == ((fault,) if fault else ())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("El barco está reparado.", None),
        ("Soy Ana Berg.", None),
        ("Me llamo Ana.", None),
        ("Aquí Ana, dime.", None),
        ("Me llamo Bo.", "misnames"),
        ("Soy Bo.", "misnames"),
        ("Tengo que hablar con Bo mañana.", "misnames"),
        ("Creo que Bo tiene razón.", "misnames"),
        ("Bo tiene prisa.", "misnames"),
        ("¿Qué dices, Bo?", None),
        ("No no sé.", None),
        ("Es para para ti.", "broken"),
    ],
)
def test_spanish(text: str, fault: str | None) -> None:
    assert faults_of(text, Situation("Ana Berg", ("Ana Berg", "Bo"), SPANISH[0])) == ((fault,) if fault else ())


@pytest.mark.parametrize(
    ("lines", "text", "is_empty"),
    [
        (GERMAN[1], "Das ist sehr nett von dir. Danke!", True),
        (GERMAN[1], "Danke für den Schlüssel.", False),
        (FRENCH[1], "Avec plaisir, vraiment.", True),
        (FRENCH[1], "Merci pour la clé.", False),
        (SPANISH[1], "Claro, por supuesto. ¡Gracias!", True),
        (SPANISH[1], "Gracias por la llave.", False),
        (GERMAN[0], "Vielen Dank.", False),
        (GERMAN[1], "Merci, danke.", False),  # in two languages, none knows all its words
    ],
)
def test_thanks_upon_thanks_are_empty(lines: tuple[tuple[str, str], ...], text: str, is_empty: bool) -> None:
    assert ("empty" in faults_of(text, Situation("Ana Berg", ("Ana Berg", "Bo"), lines))) is is_empty
