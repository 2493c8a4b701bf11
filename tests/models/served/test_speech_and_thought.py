"""Sixty answers of servers: no thought is spoken, no mark of a template, nobody else's line; no honest sign is lost.

`{D}` is a draft as a whole object, `{G}` the answer, `{W}` its words.
"""

import contextlib
import json

import pytest
from support.cpu_time import cpu_time_below

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.repair import Scene, UnusableReplyError, read_answer, read_prose
from tertulia.models.served.spoken_line import line_of
from tertulia.state.language_model import ReplyField
from tertulia.state.records import Reply
from tertulia.state.spoken import words_of

END = "Did the conversation end with Ines's utterance?"
FIELDS = (ReplyField("Ines", "speech", max_tokens=180), ReplyField(END, "boolean"))
WORDS = "I came about the boat."


def written(line: str, **beside: str) -> str:
    return json.dumps({**beside, "Ines": line, END: False}, ensure_ascii=False)


def read(answer: str, *others: str, actions: str = "keep") -> Reply:
    scene = Scene("Ines", others or ("Joao",), actions)  # type: ignore[arg-type]
    return read_answer(answer, FIELDS, RehearsalTokenizer(), scene=scene)


D, G = written("SECRET DRAFT, too blunt."), written(WORDS)

THOUGHTS = {
    "think": f"<think>Draft: {D}</think>\n\n{G}",
    "think, opened in the prompt": f"Okay, the person wants JSON. {D}\n</think>\n{G}",
    "thinking with an attribute": f'<thinking mode="deep">{D}</thinking>{G}',
    "thought": f"<thought>\n{D}\n</thought>\n{G}",
    "capitals": f"<Thought>{D}</Thought><Output>{G}</Output>",
    "reasoning": f"<reasoning>{D}</reasoning>{G}",
    "reflection within thinking": f"<thinking>{D}<reflection>SECRET {D}</reflection>SECRET</thinking><output>{G}",
    "nested marks of one name": f"<think>a <think>{D}</think> SECRET {D}</think>{G}",
    "a mark that is named in a thought": f"<think>SECRET: I must close <think> first. {D}</think>{G}",
    "two thoughts": f"<think>SECRET</think>Well.<think>{D}</think>{G}",
    "a thought behind the answer": f"{G}\n<think>SECRET {D}</think>",
    "a thought behind the answer, cut off": f"{G}\n<think>SECRET {D}",
    "Seed-OSS": f"<seed:think>Draft: {D}<seed:cot_budget_reflect>SECRET</seed:cot_budget_reflect></seed:think>{G}",
    "Magistral": f"[THINK]Draft: {D}[/THINK]{G}",
    "Kimi": f"◁think▷{D}◁/think▷{G}",
    "Command A": f"<|START_THINKING|>{D}<|END_THINKING|><|START_RESPONSE|>{G}<|END_RESPONSE|>",
    "Sky-T1": f"<|begin_of_thought|>{D}<|end_of_thought|>\n<|begin_of_solution|>{G}<|end_of_solution|>",
    "Apertus": f"<|inner_prefix|>{D}<|inner_suffix|>{G}",
    "Gemma's channel": f"<|channel>thought\n{D}<channel|>{G}<turn|>",
    "Granite": f"Here is my thought process: SECRET {D}\nHere is my response: {G}",
    "Hunyuan": f"<think>\n{D}\n</think>\n<answer>\n{G}\n</answer>",
    "harmony": f"<|channel|>analysis<|message|>{D}<|end|><|start|>assistant<|channel|>final<|message|>{G}<|return|>",
    "harmony, with a commentary": f"<|channel|>analysis<|message|>{D}<|end|><|start|>assistant<|channel|>commentary"
    f"<|message|>SECRET plan<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{G}",
    "harmony, answered in the commentary": f"<|channel|>analysis<|message|>{D}<|end|><|start|>assistant<|channel|>"
    f"commentary to=assistant <|constrain|>json<|message|>{G}<|call|>",
    "harmony, its channel opened in the prompt": f"analysis<|message|>{D}<|end|><|start|>assistant<|channel|>final"
    f"<|message|>{G}",
    "harmony without its marks": f"analysisWe need JSON: {D}. Keep it short.assistantfinal{G}",
    "harmony without its marks, words first": f"assistantanalysis\n\nWe need {D}\n\nassistantfinal\n\n{G}",
    "a thought before words, without marks": f"The person wants JSON. First {D}\nThat is too blunt.\n\n{G}",
    "an answer that is corrected": f"{D}\n\nWait, that is inconsistent. Corrected answer:\n\n{G}",
    "marks with spaces": f"< think >{D}</ think >{G}",
    "a thought in the values": written(f"<think>SECRET</think>{WORDS}"),
    "a thought in the values, opened in the prompt": written(f"SECRET, I think.</think> {WORDS}"),
    "a thought beside the speech": written(WORDS, thought="SECRET", reasoning="SECRET too"),
    "an inner monologue beside the speech": written(WORDS, **{"Inner Monologue": "SECRET"}),
    "an object that repeats the empty form": G + '\nThe form was {"Ines": "…", "' + END + '": false}',
    "an object with fewer of the keys": G + '\nIn short: {"Ines": "SECRET"}',
}

MARKS = {
    "ChatML": "<|im_start|>assistant\nW<|im_end|>\n<|im_start|>user\nWho are you?",
    "Llama 3": "<|start_header_id|>assistant<|end_header_id|>\n\nW<|eot_id|>",
    "Llama 2": "W</s><s>[INST] Go on. [/INST] More.",
    "Gemma": "W<end_of_turn>\n<start_of_turn>user\nGo on.",
    "DeepSeek": "W<｜end▁of▁sentence｜><｜User｜>Go on.",
    "EXAONE": "[|assistant|]W[|endofturn|]",
    "Command R": "W<|END_OF_TURN_TOKEN|>",
    "a system prompt of Llama 2": "<<SYS>>W<</SYS>>",
    "eos and padding": "W<eos><pad><pad>",
    "a mark cut off": "W<|im_e",
    "MiniMax": "W[e~[",
    "an echoed turn of Mistral": "[SYSTEM_PROMPT]Be.[/SYSTEM_PROMPT][INST] Go on. [/INST] W</s>",
    "an echoed turn of ChatML": "<|im_start|>user\nGo on.<|im_end|>\n<|im_start|>assistant\nW",
    "Alpaca": "### Response:\nW\n\n### Instruction:\nGo on.",
    "Vicuna": "W USER: go on ASSISTANT: Yes.",
}

OTHERS = {
    "lines of a play": "W\nJoao: I know.\nInes: Then say so.",
    "a play on one line": "W Joao: I know. Ines: Then say so.",
    "somebody else first": "Joao: I know.\nInes: W",
    "labels in bold": "**Ines:** W\n\n**Joao:** I know.",
    "the user goes on": "W\nUser: And then?",
    "a remark out of character": "Ines: W (OOC: is that fine?)",
    "a remark out of character on its own line": "W\nOOC: shall I go on?",
    "a manner of speaking": "Ines (softly): W",
}

#: Lines that stay sign for sign.
HONEST = {
    "sums, code and mail": "3 * 4 < 13, C# and ana_b@x.org, 5*3 = 15, x|y^2 ~ {a}.",
    "brackets in a sentence": "don't [whisper] lie (not to me), and see f[0](1).",
    "an action": "*sets down her cup* Hello. (laughs) _leaves the room_",
    "emphasis": "I *never* said so, **never**, and __init__ is ~~his~~.",
    "hearts, arrows and tags": "<3 -> #1 #boat <- => :-) ^_^ 🙂",
    "code in backticks": "Type `a = b[i] * c_d <tag>` and `<br>`.",
    "an address": "Look at https://a.example/b_c_d?x=[1]|2#top, page *3*.",
    "a list": "- one * two # three > four",
    "somebody quoted with a colon": "I asked Joao: where is it? On the list: Ines: owes. Note: it is mine.",
    "a word struck out": "The <s>old</s> new price is $5 * 3.",
    "an address with a colon": "Joao: listen to me.",
}


@pytest.mark.parametrize("answer", THOUGHTS.values(), ids=THOUGHTS.keys())
def test_no_thought_is_spoken(answer: str) -> None:
    reply = read(answer)
    assert reply.fields == {"Ines": WORDS, END: False}
    assert "SECRET" not in reply.text


@pytest.mark.parametrize("line", MARKS.values(), ids=MARKS.keys())
def test_no_mark_of_a_template_is_spoken(line: str) -> None:
    assert read(written(line.replace("W", WORDS, 1))).fields["Ines"] == WORDS
    assert read(f"{written(line.replace('W', WORDS, 1))}<|im_end|>").fields["Ines"] == WORDS


@pytest.mark.parametrize("line", OTHERS.values(), ids=OTHERS.keys())
def test_nobody_speaks_for_another(line: str) -> None:
    assert read(written(line.replace("W", WORDS, 1))).fields["Ines"] == WORDS


@pytest.mark.parametrize("line", HONEST.values(), ids=HONEST.keys())
def test_no_honest_sign_is_lost(line: str) -> None:
    assert read(written(line)).fields["Ines"] == line


def test_thoughts_are_kept_apart() -> None:
    assert read(f"<think>Hm.</think>{G}").thought == "Hm."
    assert read(written(WORDS, reasoning="Hm.")).thought == "Hm."
    assert read(G).thought is None


@pytest.mark.parametrize(
    "answer", [f"<think>We could say {D}", f"{D}</think>", f"analysisWe need {D}", f"[THINK]{D}", written("<think>Hm")]
)
def test_a_thought_alone_is_no_line(answer: str) -> None:
    with pytest.raises(UnusableReplyError):
        read(answer)


@pytest.mark.parametrize(
    "answer",
    [
        f"## Thinking\n{D}",
        f"<!-- {D}",
        f'{{"thinking": {{"draft": {D}',
        f"```thinking\n{D}",
        f"<think>{D}<cot>a</cot>{D}",
    ],
)
def test_a_draft_in_an_answer_that_was_cut_is_no_line(answer: str) -> None:
    with pytest.raises(UnusableReplyError, match="breaks off"):
        read_answer(answer, FIELDS, RehearsalTokenizer(), scene=Scene("Ines", ("Joao",)), is_cut=True)


def test_the_line_of_another_alone_is_no_line() -> None:
    with pytest.raises(UnusableReplyError, match="nothing is said"):
        read(written("Joao: I know."))


def test_without_known_names_a_script_tells_them() -> None:
    answer = written("Hello.\nJoao: I know.\nInes: Say so.")
    assert read_answer(answer, FIELDS, RehearsalTokenizer()).fields["Ines"] == "Hello."


def test_prose_is_read_by_the_same_rules() -> None:
    fields = (ReplyField("Ines", "speech", is_optional=True),)
    prose = f"<think>Hm.</think>Ines: {WORDS}<|im_end|>\nJoao: No."
    assert read_prose(prose, fields, Scene("Ines", ("Joao",))).fields["Ines"] == WORDS


@pytest.mark.parametrize(
    ("answer", "own"),
    [
        ("好吧，我们先修屋顶。李娜：那我明天去买瓦。王小明：好的。", "好吧，我们先修屋顶。"),
        ("ठीक है, छत ठीक करते हैं। सीता देवी: मैं कल जाऊँगी।", "ठीक है, छत ठीक करते हैं।"),
        ("هل نبدأ غدا؟ عمر بن عبد العزيز: نعم غدا.", "هل نبدأ غدا؟"),
        ("他问李娜：你去吗？", "他问李娜：你去吗？"),
    ],
)
def test_the_line_of_another_is_found_behind_a_sentence_of_every_script(answer: str, own: str) -> None:
    assert line_of(answer, "王小明", ("李娜", "सीता देवी", "عمر بن عبد العزيز")) == own


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("*हँसता है* चलो घर चलें। (मुस्कुराता है) फिर मिलेंगे।", "चलो घर चलें। फिर मिलेंगे।"),
        ("هل نذهب إلى البيت؟ *يضحك* نعم.", "هل نذهب إلى البيت؟ نعم."),
        ("Πάμε σπίτι; (χαμογελά) Τα λέμε.", "Πάμε σπίτι; Τα λέμε."),
        ("I stay; (mine is broken) go.", "I stay; (mine is broken) go."),
    ],
)
def test_actions_behind_a_sentence_of_every_script(line: str, words: str) -> None:
    assert words_of(line) == words


def test_actions_are_set_apart() -> None:
    reply = read(written("*sets down her cup* Hello. (laughs)"), actions="apart")
    assert reply.fields["Ines"] == "Hello."
    assert reply.with_actions == {"Ines": "*sets down her cup* Hello. (laughs)"}
    with pytest.raises(UnusableReplyError, match="nothing is said"):
        read(written("*nods*"), actions="drop")


def test_speech_that_breaks_off_ends_with_a_sentence_and_says_so() -> None:
    reply = read('{"' + END + f'": false, "Ines": "{WORDS} It was lent in spring and nob')
    assert reply.fields["Ines"] == WORDS
    assert reply.remark is not None
    assert read(G).remark is None


def test_a_whole_answer_of_any_length_is_cut_by_words_and_does_not_break_off() -> None:
    for words in (9_000, 60_000):
        reply = read(written("lantern " * words))
        assert reply.fields == read(written("lantern " * 2_000)).fields
        assert reply.remark is None


@pytest.mark.parametrize(
    "part",
    ["*a ", "(a", "[a", "_a ", "`", "<think>", "</think>", "<|", "<|channel|>", "Joao: ", "\n", "(OOC", ". Ab", " ",
     "a", "\nA", "<|im_end|>", "analysis", "**Ines:** "],
)  # fmt: skip
@pytest.mark.parametrize("is_object", [True, False])
def test_time_is_linear(part: str, is_object: bool) -> None:
    text = part * (50_000 // len(part))
    with cpu_time_below(1), contextlib.suppress(UnusableReplyError):  # a tenth of it, as a rule
        read(written(text) if is_object else text, actions="apart")
