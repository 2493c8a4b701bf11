"""A description is cut into facts: prose, Markdown, W++, lists in brackets; and its macros."""

import pytest
from support.cpu_time import cpu_time_below

from tertulia.worlds.characters.examples import examples_of, parted
from tertulia.worlds.characters.facts import facts_of
from tertulia.worlds.characters.macros import resolved


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("She mends locks. She sings.", ["She mends locks.", "She sings."]),
        ('[Character("Mirela") { Coat("grey" + "long (wool)") }]', ["Coat: grey, long (wool)"]),
        ('[Mirela\'s Coat= "grey", "long"] She sings.', ["Mirela's Coat: grey, long", "She sings."]),
        ('Coat("grey" + "long")\nHat("none")', ["Coat: grey, long", "Hat: none"]),
        ("[Mirela's coat: grey, long; hat: none]", ["Mirela's coat: grey, long", "hat: none"]),
        ("[Coat(grey + long) {Hat(none)}]", ["Coat: grey, long", "Hat: none"]),
        ("# Mirela\n## Looks\nTall. Grey-eyed.", ["Looks: Tall.", "Looks: Grey-eyed."]),
        ("**Looks**\n* tall\n* grey\n\nShe sings.", ["Looks: tall", "Looks: grey", "She sings."]),
        ("- **Height:** 181 cm\n- **Scar**: left", ["Height: 181 cm", "Scar: left"]),
        ("Job: smith. She likes it.", ["Job: smith.", "Job: She likes it."]),
        ("She has one rule: never lend.", ["She has one rule: never lend."]),
        ("<Looks>\ntall\n</Looks>\nShe sings.", ["Looks: tall", "She sings."]),
        ("1. tall\n2) grey\n---\n• loud", ["tall", "grey", "loud"]),
        ("She is **very** tall.", ["She is very tall."]),
        ("Sie mag Brot.\r\nSie singt. Sie singt.", ["Sie mag Brot.", "Sie singt."]),
        ("她修锁。她从不借钥匙。", ["她修锁。", "她从不借钥匙。"]),
        ("年齢: 三十", ["年齢: 三十"]),
        ("She sold the inn in May; he has not spoken since.", ["She sold the inn in May;", "he has not spoken since."]),
        ("Fears: water; dogs", ["Fears: water; dogs"]),
        ('[Character("Mirela")\n{\nCoat("grey [wool]" +\n "long")\n}]\nTall.', ["Coat: grey [wool], long", "Tall."]),
        ('Character("Mirela")\n{\nCoat("grey"\n+ "long")\n}', ["Coat: grey, long"]),
        ('[Character("Mirela") {\nCoat("grey")', ["Coat: grey"]),
        ("## Work\n| Job | smith |\n|:---|---:|\n| A | b | c |", ["Work, Job: smith", "Work: A, b, c"]),
        ("> tall\n```\n・身長：160cm\n● 大声", ["tall", "身長：160cm", "大声"]),
        ("[{{char}}: coat(grey, long), hat(none)]", ["coat: grey, long", "hat: none"]),
        ("[She is tall (very).]", ["She is tall (very)."]),
        ("[She is shy (very) around {{user}}]", ["She is shy (very) around {{user}}"]),
        ("[{{user}} taught her (long ago) to bake]", ["{{user}} taught her (long ago) to bake"]),
        ("[{{char}}'s bread (rye) is for {{user}}]", ["{{char}}'s bread (rye) is for {{user}}"]),
        ("[Her persona: kind (very); Her fear: {{user}}]", ["Her persona: kind (very)", "Her fear: {{user}}"]),
        ("[Coat(grey) Trusts({{user}}) loves {{user}}]", ["Coat: grey", "Trusts: {{user}}", "loves {{user}}"]),
        ('{{user}}\'s friend("old" + "close")', ["{{user}}'s friend: old, close"]),
        ('[Character("Mirela") {{{user}} taught her. Coat("grey")}]', ["{{user}} taught her.", "Coat: grey"]),
        ("<p>She is <b>tall</b>.</p>She sings &amp; hums.<br/>Grey", ["She is tall.", "She sings & hums.", "Grey"]),
        ("<Looks>\n<hair>red</hair>\n</Looks>\n***Job***: smith", ["Looks, hair: red", "Job: smith"]),
        ("## Mirela\nTall.\n## Mire\nShe fears it.", ["Tall.", "Mire: She fears it."]),
        ("", []),
    ],
)
def test_a_description_becomes_facts(text: str, facts: list[str]) -> None:
    assert facts_of(text, "Mirela") == facts


def test_macros_become_names_and_words_and_the_rest_is_told() -> None:
    text, removed = resolved("{{CHAR}}, <bot> and {{User}}: {{random:a,b}} {{roll:d6}}<!-- no -->", "Mirela")
    assert text == "Mirela, Mirela and {{user}}: a or b "
    assert removed == ["<!-- no -->", "{{random:a,b}}", "{{roll:d6}}"]
    assert resolved("{{pick::{{user}}::you}}", "M") == ("{{user}} or you", ["{{pick::{{user}}::you}}"])


def test_examples_have_the_words_before_them() -> None:
    text = "<START>\n{{user}}: Open?\nMirela: *nods*\nYes.\n<start>\nJust a line.\n<START>\n{{user}}: Bye."
    assert examples_of(text, ("Mirela",)) == (
        [{"after": "Open?", "text": "*nods*\nYes."}, {"text": "Just a line."}],
        ["Bye."],
    )


@pytest.mark.parametrize(
    ("asks", "answers"),
    [
        ("**{{user}}:** ", "**Mirela:** "),
        ("**{{user}}**: ", "__Mirela__:"),
        ("*{{user}}:*", "***Mirela*** : "),
        ("- {{user}}: ", "> **mirela:** "),
        ("User: ", "Mirela Stan："),
    ],
)
def test_speakers_may_be_in_bold_and_have_several_names(asks: str, answers: str) -> None:
    text = f"{asks}Open?\nNow?\n{answers}*nods* Yes.\n{asks}Bye."
    assert examples_of(text, ("Mirela", "Mirela Stan")) == ([{"after": "Open?\nNow?", "text": "*nods* Yes."}], ["Bye."])


def test_a_line_in_bold_as_a_whole_stays_in_bold() -> None:
    assert examples_of("**You: Open?**\n**Mirela: Yes.**", ("Mirela",))[0] == [
        {"after": "**Open?**", "text": "**Yes.**"}
    ]
    assert examples_of("**You: Open?**", ("You",))[0] == [{"text": "**Open?**"}]


def test_a_conversation_in_a_description_is_told_apart() -> None:
    bold = "**{{user}}:** Hm?\n**<BOT>**: Hm."
    assert parted(f"**{{{{char}}}}:**\nTall.\n{bold}\n\nLoud.") == ("**{{char}}:**\nTall.\n\nLoud.", bold)
    assert parted("Tall.\n{{user}}: Hm?\n{{char}}: Hm.\n\nLoud.") == ("Tall.\n\nLoud.", "{{user}}: Hm?\n{{char}}: Hm.")


@pytest.mark.parametrize(
    "hostile",
    ['[A("' * 30_000, "{{" * 50_000, "<!--" * 30_000, "**a" * 30_000, "a: " * 30_000, '"a. ' * 30_000, "[" * 90_000,
     ' ' * 90_000, 'x("a" + ' * 20_000, "\n[a" * 30_000, "{{random:" * 10_000, "(a. " * 30_000, '"A." ' * 30_000],
    ids=range(13),
)  # fmt: skip
def test_no_text_of_a_file_takes_long(hostile: str) -> None:
    """A pattern that goes back over a text would take minutes."""
    with cpu_time_below(10):
        text, _ = resolved(hostile, "Mirela")
        facts_of(text, "Mirela")
        examples_of(hostile, ("Mirela",))
