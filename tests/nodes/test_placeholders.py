"""What a form says in the place of an utterance is not said, and equal candidates are one."""

from typing import Any

import pytest
from support.dialogue_case import a_context
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.repair import UnusableReplyError, read_answer
from tertulia.prompts.placeholders import continues_placeholder, is_label, is_placeholder
from tertulia.state.errors import ModelError
from tertulia.state.language_model import ReplyField
from tertulia.state.records import Prompt, Unit

FORM = "what Maria Lopez says"


@pytest.mark.parametrize(
    "text",
    [
        "what Maria Lopez says",
        "What Maria Lopez says.",
        "<what Maria Lopez says>",
        "WHAT MARIA LOPEZ SAYS …",
        "what Maria Lopez",
        "What Maria…",
        "What Maria says",
        "what Maria Lopez said",
        "Maria Lopez: what Maria Lopez says",
        "What Maria Lopez says is what Maria Lopez thinks.",
    ],
)
def test_words_of_the_form_are_told(text: str) -> None:
    assert is_placeholder(text, FORM)


@pytest.mark.parametrize(
    "text",
    [
        "What, Maria?",
        "What?",
        "What a day.",
        "What Sarah says.",
        "What does she say?",
        "Maria Lopez.",
        "I know what he says.",
        "",
        "Hm.",
    ],
)
def test_what_may_be_said_is_let_through(text: str) -> None:
    assert not is_placeholder(text, FORM)
    assert not is_placeholder(text, None)


@pytest.mark.parametrize(
    ("text", "is_form"),
    [
        ("Maria Lopez's utterance", True),
        ("Maria Lopez's utt…", True),
        ("Maria Lopez's utterance is this.", True),
        ("Maria Lopez", False),
        ("Maria Lopez. That is me.", False),
        ("Maria Lop", False),
        ("Maria Lopez's", False),
        ("Maria Lopez's boat.", False),
        ("Maria Lopez's boat is out.", False),
    ],
)
def test_whose_the_words_of_a_form_are_may_be_said(text: str, is_form: bool) -> None:
    form = "Maria Lopez's utterance"
    assert is_placeholder(text, form) is is_form
    assert continues_placeholder(text, form) is (is_form and "this" not in text)


@pytest.mark.parametrize(
    ("text", "is_form"), [("…", True), ("……?", True), ("Hm …", False), ("What Maria says.", False), (" ", False)]
)
def test_a_form_of_dots_is_dots(text: str, is_form: bool) -> None:
    assert is_placeholder(text, "…") is is_form


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("What", False),
        ("What Ma", False),
        ("What Mar", True),
        ("what Maria Lop", True),
        ("What May", False),
        ("What Maria Lopez says", True),
        ("What Maria Lopez says it", False),
    ],
)
def test_a_form_is_kept_from_beginning_before_a_name_is_whole(text: str, begins: bool) -> None:
    assert continues_placeholder(text, FORM) is begins
    assert not continues_placeholder("What a", "what Anna says")


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("Maria Lopez:", True),
        ("Maria: …", True),
        ("小明：", True),
        ("Maria", False),
        ("Maria: I", False),  # a colon that was let through stays
        ("Listen:", False),
        ("here:", False),
        ("12:", False),
        (":", False),
    ],
)
def test_a_line_does_not_begin_with_who_speaks(text: str, begins: bool) -> None:
    known = Unit(id="u", block="environment", kind="text", text="At 12:30 Maria Lopez is here，小明也在。")
    assert is_label(text, Prompt(units=(known,), speaker="Ana", layout="x")) is begins
    assert not is_label(text, None)


def spoken(context: Any) -> Any:
    return build_utterance_graph().ainvoke(
        {"turn": 1, "round": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}, context=context
    )


def texts(context: Any) -> list[str]:
    return [candidate.text for candidate in context.store.candidates("k3f9", 1)]


@pytest.mark.parametrize(
    ("settings", "form"),
    [({}, "What Mara says."), ({"layout": "chat_turns"}, "…"), ({"generation": "sequential"}, "What Mara says.")],
    ids=str,
)
async def test_a_reply_of_placeholders_only_is_an_error_and_can_be_asked_for_again(
    settings: dict[str, Any], form: str
) -> None:
    model = ScriptedModel(speech=[form] * (10 if settings.get("generation") else 1))
    context = a_context(model, removal_factor=0, **settings)
    with pytest.raises(ModelError, match=rf"scripted repeated the words of the form .*{form}.*; resume"):
        await spoken(context)
    assert not context.store.calls("k3f9"), "the answer is not kept: resuming asks again"
    assert texts(context) == []
    await spoken(context)
    assert texts(context)


async def test_of_several_candidates_only_distinct_ones_count_and_no_placeholder() -> None:
    lines = ["Hm.", "what Mara says", "hm!", "The lamp.", "Hm.", "Hm", "The lamp.", "HM.", "what Mara", "Hm."]
    context = a_context(ScriptedModel(speech=lines), generation="sequential", removal_factor=0)
    await spoken(context)
    assert sorted(texts(context)) == ["Hm.", "The lamp."]


@pytest.mark.parametrize("revision", ["rollback", "combined"])
async def test_ten_equal_candidates_have_no_backups(revision: str) -> None:
    model = ScriptedModel(speech=["Hm."] * 10, ratings=[9] * 12)
    context = a_context(model, generation="sequential", removal_factor=1, revision=revision)
    outcome = await spoken(context)
    assert (texts(context), outcome["rollbacks"], outcome["chosen"]) == (["Hm."], 0, 0)


def test_a_hosted_model_is_asked_again_for_what_the_form_says() -> None:
    field, form = ReplyField("Maria Lopez", "speech"), {"Maria Lopez": FORM}
    with pytest.raises(UnusableReplyError, match="words of the form"):
        read_answer('{"Maria Lopez": "What Maria Lopez says"}', [field], RehearsalTokenizer(), [form])
    fields = [ReplyField(f"candidate {n}", "speech") for n in (1, 2)]
    forms = [{field.name: FORM for field in fields}]
    some = read_answer(
        '{"candidate 1": "what Maria Lopez says", "candidate 2": "Hm."}', fields, RehearsalTokenizer(), forms
    )
    assert some.fields["candidate 2"] == "Hm."
