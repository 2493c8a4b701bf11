"""Lists of replies with probabilities, and random strings, as models write them: read as meant, and nothing made up."""

import random

import pytest
from support.cpu_time import cpu_time_below

from tertulia.prompts.several import WrittenReply, drawing_order, read_replies, read_string
from tertulia.prompts.written_lists import read_item, read_list, read_number, without_string

TWO = [("The net is torn.", 0.6), ("Come in!", 0.4)]


@pytest.mark.parametrize(
    "written",
    [
        "1. The net is torn. (0.6)\n2. Come in! (0.4)",
        'Of course! Here are two replies:\n\n1) "The net is torn." - 0.6\n2) "Come in!" - 0.4',
        "- The net is torn. [60%]\n- Come in! [40 %]",
        "* The net is torn.\n  Probability: 0.6\n* Come in!\n  Probability: 0.4",
        "**Reply 1:** The net is torn. **Probability:** 0.6\n**Reply 2:** Come in! **Probability:** .4",
        "0.6: The net is torn.\n0.4: Come in!",
        "(0,6) The net is torn.\n(0,4) Come in!",
        "The net is torn. (probability of 3/5)\nCome in! (probability of 2/5)",
        "1. The net is torn. (60%) 2. Come in! (40%)",
        '{"responses": [{"text": "The net is torn.", "probability": 0.6}, {"text": "Come in!", "probability": "0.4"}]}',
        'Here it is: ```json\n[{"reply": "The net is torn.", "p": 0.6}, {"reply": "Come in!", "p": 0.4}]\n```',
        '{"The net is torn.": 0.6, "Come in!": 0.4}',
        "<response><text>The net is torn.</text><probability>0.6</probability></response>\n"
        "<response><text>Come in!</text><probability>0.4</probability></response>",
        "Option 1: The net is torn. p = 0.6\nOption 2: Come in! p = 0.4",
        "The net is torn. | 0.6\nCome in! | 0.4",
    ],
)
def test_a_list_is_read_in_whatever_shape_it_comes(written: str) -> None:
    found = [(item.text, item.probability / (100 if item.is_percent else 1)) for item in read_list(written)]  # type: ignore[operator]
    assert found == [(text, pytest.approx(chance)) for text, chance in TWO]


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ('["The net is torn.", "Come in!"]', ["The net is torn.", "Come in!"]),
        ("1. The net is torn.\n2. Come in!", ["The net is torn.", "Come in!"]),
        ("Reply 1: Hm. Reply 2: No.", ["Hm.", "No."]),
        ("I am 30. It costs 0.5 a day.", ["I am 30. It costs 0.5 a day."]),  # numbers of what is said stay there
        ("I came at 10.30.", ["I came at 10.30."]),
        ("I said 1. Then 2. And that is all.", ["I said 1. Then 2. And that is all."]),
        ("The net is torn.\nI sat down and mended it.", ["The net is torn."]),  # no list: the first line
        ("", []),
        ("\n \n", []),
    ],
)
def test_without_probabilities_only_the_texts_are_read(written: str, texts: list[str]) -> None:
    assert [(item.text, item.probability) for item in read_list(written)] == [(text, None) for text in texts]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0.35", (0.35, False)), (".25", (0.25, False)), ("0,4", (0.4, False)), ("1", (1.0, False)),
        ("35%", (35.0, True)), ("about 40 percent", (40.0, True)), ("1/5", (0.2, False)), ("p=0.2", (0.2, False)),
        ("1e-3", (0.001, False)), ("1/0", (0.0, False)),
        ("-0.3", None), ("high", None), ("one,", None), ("yes", None), ("yes,I'll", None),
        ("theboard", None), ("I'll,but", None), ("", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_models_write_them(written: str, number: tuple[float, bool] | None) -> None:
    assert read_number(written) == (None if number is None else pytest.approx(number))


def test_a_hostile_answer_is_read_in_linear_time() -> None:
    for piece in ("(0.3", "1. ", "{", "<response>", '["', "p = ", "**", "\n- ", "0.1/", "“"):
        with cpu_time_below(5, piece):
            read_list(piece * 20_000)
            read_item(piece * 20_000)
            without_string(piece * 20_000)


KEYS = [("reply 1", "ends 1"), ("reply 2", "ends 2"), ("reply 3", "ends 3")]
BESIDE = ["p 1", "p 2", "p 3"]
FORM = dict.fromkeys(("reply 1", "reply 2", "reply 3"), "what Mara says")


def replies(**fields: str | bool) -> list[tuple[str, float | None]]:
    named = {name.replace("_", " "): value for name, value in fields.items()}
    return [(found.text, found.probability) for found in read_replies(named, KEYS, BESIDE, "Mara", FORM)]


def test_replies_of_the_form_are_read_with_their_probabilities() -> None:
    assert replies(reply_1="Mara: Hm.", p_1="0.5", reply_2="No.", p_2="about half") == [("Hm.", 0.5), ("No.", None)]
    assert replies(reply_1="Hm.", p_1="50", reply_2="No.", p_2="30", reply_3="So?", p_3="20") == [
        ("Hm.", 0.5), ("No.", 0.3), ("So?", 0.2),
    ]  # fmt: skip
    assert replies(reply_1="Hm.", p_1="0.3", reply_2="hm!", p_2="0.2") == [("Hm.", 0.5)]  # equal ones are one
    assert replies(reply_1="what Mara says", p_1="0.3", reply_2="", p_2="") == []
    assert replies(reply_1="Hm. (0.7)", reply_2="No. [30%]") == [("Hm.", 0.7), ("No.", 0.3)]
    assert replies(reply_1="1. Hm. (0.6)\n2. No. (0.4)") == [("Hm.", 0.6), ("No.", 0.4)]  # all of them in the first
    assert replies(reply_1="Hm.", p_1="900%") == [("Hm.", None)]


def test_of_each_reply_it_is_known_whether_it_ends() -> None:
    found = read_replies({"reply 1": "Hm.", "ends 1": True, "reply 2": "No."}, KEYS, BESIDE, "Mara", FORM)
    assert found == [WrittenReply("Hm.", True), WrittenReply("No.", None)]


@pytest.mark.parametrize(
    ("string", "text", "read"),
    [
        ("x7Kq9", "Good day.", ("x7Kq9", "Good day.")),
        ("", "String: x7Kq9 Reply: Good day.", ("x7Kq9", "Good day.")),
        ("", "x7Kq9\nGood day.", ("x7Kq9", "Good day.")),
        ("", 'Random string: "abc". Good day.', ("abc", "Good day.")),
        ("x7", "Seed = x7, Good day.", ("x7", "Good day.")),  # written twice
        ("Atlets,atlets,a,b,c,d,e,f,g,h,i,", "Good day.", ("Atlets,atlets,a,b,c,d,e,f,g,h,i,", "Good day.")),
        ("", "Good day.", ("", "Good day.")),
        ("", "Strings are nice: yes.", ("", "Strings are nice: yes.")),
        ("letters", "Good day.", ("", "Good day.")),  # the form
        ("letters and digits at random", "Good day.", ("", "Good day.")),
    ],
)
def test_a_random_string_is_never_said(string: str, text: str, read: tuple[str, str]) -> None:
    assert read_string(string, text, "letters and digits at random") == read


def first_drawn(stated: list[float | None], below: float = 1.0, draws: int = 4000) -> list[float]:
    counts = [0] * len(stated)
    for seed in range(draws):
        order, _ = drawing_order(stated, below, random.Random(seed))
        assert sorted(order) == list(range(len(stated)))
        counts[order[0]] += 1
    return [count / draws for count in counts]


def test_replies_are_drawn_by_their_stated_probabilities() -> None:
    assert first_drawn([0.1, 0.3, 0.6]) == pytest.approx([0.1, 0.3, 0.6], abs=0.03)
    assert first_drawn([0.1, 0.1]) == pytest.approx([0.5, 0.5], abs=0.03)  # normalised
    assert first_drawn([0.2, None, 0.6]) == pytest.approx([1 / 6, 1 / 3, 1 / 2], abs=0.03)  # the mean of the others
    assert first_drawn([None, None]) == pytest.approx([0.5, 0.5], abs=0.03)
    assert first_drawn([0.0, 1.0]) == [0.0, 1.0]


def test_the_tail_is_drawn_before_all_others() -> None:
    assert first_drawn([0.05, 0.02, 0.7], below=0.1) == pytest.approx([5 / 7, 2 / 7, 0], abs=0.03)
    assert first_drawn([0.5, 0.5], below=0.1) == pytest.approx([0.5, 0.5], abs=0.03)


@pytest.mark.parametrize(
    ("stated", "below", "said"),
    [
        ([0.5, 0.5], 1.0, None),
        ([None, None], 1.0, "no probability could be read: all replies had equal chances"),
        ([0.0, 0.0], 1.0, "all stated probabilities are 0"),
        ([0.5, None], 1.0, "1 probability of 2 could not be read: the mean of the others in its place"),
        ([0.5, None, None], 1.0, "2 probabilities of 3 could not be read: the mean of the others in their place"),
        ([0.5, 0.5], 0.1, "no stated probability is below 0.1: drawn among all"),
    ],
)
def test_what_could_not_be_read_is_said(stated: list[float | None], below: float, said: str | None) -> None:
    _, remark = drawing_order(stated, below, random.Random(1))
    assert (remark is None) if said is None else (said in str(remark))
