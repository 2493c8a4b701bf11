"""The language of prompts: where it comes from, what is in it, and what is said where it lacks something."""

import json
from datetime import datetime
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.commands import Cli

from tertulia.models.local.embedded import TRAITS
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt, end_question, reply_object
from tertulia.prompts.judge import assemble_judge_prompt
from tertulia.prompts.several import candidate_keys, candidates_prefix
from tertulia.prompts.templates import has_templates, is_translated, template
from tertulia.runs.planning.prompt_language import language_notes
from tertulia.state.errors import UsageError
from tertulia.state.languages import DEFAULT, WITH_PROMPTS, language_by_words, language_of, read_language
from tertulia.state.parameters import Parameters
from tertulia.state.records import Case, Dialogue, HumanNeeds, Memory, Participant, Persona, Utterance

SCENARIO = """
name: 丢失的钥匙
time: 2024-05-14 09:30:00
place: 青年旅舍的厨房
participants:
  - {name: 李雷, activity: 翻抽屉, memories: [李雷昨天在公园散步。]}
  - {name: 韩梅梅, activity: 煮咖啡, memories: [韩梅梅回家时没穿外套。]}
"""


def participant(name: str, memory: str) -> Participant:
    remembered = Memory(id="m1", kind="event", text=memory, created=datetime(2024, 5, 1), importance=3)
    return Participant(persona=Persona(name=name), memories=(remembered,), activity="翻抽屉")


def chinese_case() -> Case:
    time = datetime(2024, 5, 14, 9, 30)
    before = Dialogue(time=datetime(2024, 5, 3, 8, 5), utterances=(Utterance(speaker="韩梅梅", text="门锁了吗？"),))
    people = participant("李雷", "李雷昨天在公园散步。"), participant("韩梅梅", "韩梅梅没穿外套。")
    return Case(
        scenario="s", time=time, place="厨房", initiator=people[0], partner=people[1], previous_dialogues=(before,)
    )


def text_of(language: str, layout: Any = "single_message", **more: Any) -> str:
    case = chinese_case()
    material = UtteranceMaterial(
        start=case,
        speaker="李雷",
        listeners=["韩梅梅"],
        memories=case.initiator.memories,
        turns=(),
        human_needs=HumanNeeds(unsatisfied=(("slightly", "hungry"),), emotion="afraid", closeness="rather close"),
        language=language,
        **more,
    )
    return "\n".join(unit.text for unit in assemble_prompt(material, layout, "bhmpec", "bmpe").units)


@pytest.mark.parametrize("layout", ["single_message", "chat_turns"])
def test_a_chinese_prompt_holds_no_english(layout: str) -> None:
    text = text_of("zh", layout).replace("JSON", "").replace("true", "").replace("false", "")
    assert [letter for letter in text if letter.isascii() and letter.isalpha()] == []
    for part in ("5月3日星期五 08:05", "李雷觉得有点饿", "害怕", "比较亲近", "李雷昨天在公园散步。"):
        assert part in text


def test_what_a_reply_is_read_by_is_what_the_prompt_asks_for() -> None:
    key = end_question("李雷", "zh")
    assert key in text_of("zh")
    assert json.loads(reply_object("李雷", "你好", True, "zh")) == {"李雷": "你好", key: True}
    assert candidate_keys(1, "zh") == [("备选1", "说完备选1，对话结束了吗？")]
    prompt = assemble_judge_prompt("李雷", "韩梅梅", [], "你好", "zh").model_copy(update={"layout": "chat_turns"})
    assert candidates_prefix(prompt, "zh") == '{"备选1": "'


def test_what_a_template_lacks_is_english() -> None:
    assert not is_translated("inventory", "zh")
    assert template("inventory", "zh") is template("inventory")
    assert not has_templates("th")


# --- which language it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我们去公园散步。", "zh"),
        ("Maria Lopez 正在图书馆里看一本关于物理的书", "zh"),
        ("マリアは図書館で本を読んでいる", "ja"),
        ("마리아는 책을 읽고 있다", "ko"),
        ("มาเรียกำลังอ่านหนังสือ", "th"),
        ("ماريا تقرأ كتابا", "ar"),
        ("Мария читает книгу", "ru"),
        ("María está leyendo un libro", "en"),
        ("Klaus met 王 yesterday", "en"),
        ("", "en"),
    ],
)
def test_a_script_tells_the_language(text: str, language: str) -> None:
    assert language_of([text]) == language


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("Chinese", "zh"),
        ("中文", "zh"),
        ("EN", "en"),
        ("pt_BR", "pt"),
        ("Deutsch", "de"),
        ("français", "fr"),
        ("franc\u0327ais", "fr"),
        ("Español", "es"),
        ("es-MX", "es"),
    ],
)
def test_a_language_is_named_by_code_or_name(given: str, code: str) -> None:
    assert Parameters().with_settings({"language": given}).language == code == read_language(given)


def test_what_is_no_language_is_refused() -> None:
    known = r"English \(en\), German \(de\), Spanish \(es\), French \(fr\) and Chinese \(zh\)"
    with pytest.raises(UsageError, match=f"'klingon' is no code of a language .*; there are prompts in {known}"):
        Parameters().with_settings({"language": "klingon"})


def test_the_languages_that_are_named_are_those_that_prompts_are_in() -> None:
    folders = [
        folder.name for folder in (resources.files("tertulia.prompts") / "templates").iterdir() if folder.is_dir()
    ]
    assert sorted(WITH_PROMPTS) == sorted([DEFAULT, *folders])
    assert all(map(has_templates, WITH_PROMPTS))


@pytest.mark.parametrize("kind", ["dialogue", "meeting"])
def test_a_check_names_a_language_without_prompts_and_those_with(cli: Cli, kind: str) -> None:
    Path("s.yaml").write_text(SCENARIO if kind == "dialogue" else MEETING, encoding="utf-8")
    known = "English (en), German (de), Spanish (es), French (fr) and Chinese (zh)"
    warnings = cli("scenarios", "check", "s.yaml", "--set", "language=th", "--json").json["warnings"]
    (warning,) = [text for text in warnings if "Thai" in text]
    assert warning.startswith("there are no prompts in Thai (th): they are in English")
    assert warning.endswith(f"; there are prompts in {known}")
    (other,) = cli("scenarios", "check", "s.yaml", "--set", "language=tlh", "--json").json["warnings"]
    assert other.startswith("there are no prompts in 'tlh': they are in English")
    for language in ("de", "fr", "es", "zh"):
        assert cli("scenarios", "check", "s.yaml", "--set", f"language={language}", "--json").json["warnings"] == []
    Path("s.yaml").write_text(f"{SCENARIO}language: klingon\n", encoding="utf-8")
    cli("scenarios", "check", "s.yaml").complains(2, "s.yaml:8: language: 'klingon' is no code of a language", known)
    for language, read in (("no", False), ("5", 5)):
        Path("s.yaml").write_text(f"{SCENARIO}language: {language}\n", encoding="utf-8")
        wanted = f"s.yaml:8: language: takes a text, not {read} (if this is one, put it in quotes)"
        cli("scenarios", "check", "s.yaml").complains(2, wanted)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Der Verein hat Geld für eine Reparatur und muss sagen, für welche; das Dach ist nicht dicht.", "de"),
        ("Le club a de l'argent pour une réparation et doit dire laquelle, avec les autres et sur place.", "fr"),
        ("El club tiene dinero para un arreglo y hay que decir para cuál, con los demás y por escrito.", "es"),
        ("The youth club has money for one repair, and four people have to say which of the roofs it is.", "en"),
        ("O clube tem dinheiro para uma reparação e quatro pessoas que dizem como e por que se faz.", None),
        ("Il circolo ha i soldi per una riparazione con il tetto, e la gente del posto dice su quale.", None),
        ("", None),
    ],
)
def test_common_words_tell_a_language(text: str, language: str | None) -> None:
    assert language_by_words([text]) == language


def test_a_check_says_that_texts_are_in_another_language_than_prompts(cli: Cli) -> None:
    german = MEETING.replace(
        "青年社的钱只够修一处，大家要决定修哪里。", "Das Geld ist für eine Reparatur und nicht für das Haus."
    )
    german = german.translate(str.maketrans("屋顶门钱修好省小红明老王", "ABCDEFGHIJKL"))
    Path("s.yaml").write_text(german, encoding="utf-8")
    (warning,) = cli("scenarios", "check", "s.yaml", "--json").json["warnings"]
    assert warning.startswith("its texts seem to be in German, and its prompts are in English; write `language: de`")
    assert cli("scenarios", "check", "s.yaml", "--set", "language=de", "--json").json["warnings"] == []


def test_a_scenario_chooses_its_language(cli: Cli) -> None:
    def language(scenario: str, *settings: str) -> str:
        Path("s.yaml").write_text(scenario, encoding="utf-8")
        run = cli("run", "s.yaml", "--rehearse", "--rounds", "1", *settings, "--json").json["run"]
        found: str = cli("show", run, "--json").json["parameters"]["language"]
        return found

    assert language(SCENARIO) == "zh", "by its script"
    assert language(SCENARIO + "language: en\n") == "en", "by its file"
    assert language(SCENARIO + "language: en\n", "--set", "language=zh") == "zh", "by the user"
    Path("s.yaml").write_text(SCENARIO + "language: 7\n", encoding="utf-8")
    cli("run", "s.yaml", "--rehearse").complains(2, "language")


def test_a_model_that_does_not_speak_it_is_named() -> None:
    def notes(language: str, traits: Any) -> list[str]:
        model = SimpleNamespace(id="m", traits=traits)
        parameters = Parameters().with_settings({"language": language, "removal_factor": 0})
        context = SimpleNamespace(
            start=chinese_case(),
            parameters=parameters,
            model=model,
            participant_models={},
            embedder=RehearsalEmbedder(),
        )
        return list(language_notes(context))  # type: ignore[arg-type]

    assert notes("en", TRAITS) == []
    (note,) = notes("zh", TRAITS)
    assert note.startswith("m speaks English only: what it writes in Chinese can't be relied on")


MEETING = """
kind: group_chat
name: 修屋顶
description: 青年社的钱只够修一处，大家要决定修哪里。
time: 2026-05-14 18:00:00
participants: [{name: 小红, goals: [修好屋顶]}, {name: 小明, goals: [修好门]}, {name: 老王, goals: [省钱]}]
"""


@pytest.fixture
def without_cognition(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language whose templates are there but for two files."""
    lacking = ("cognition", "town")
    monkeypatch.setattr(
        "tertulia.runs.planning.prompt_language.is_translated", lambda name, language: name not in lacking
    )


@pytest.mark.usefixtures("without_cognition")
def test_a_meeting_says_what_is_english_in_it(cli: Cli) -> None:
    Path("s.yaml").write_text(MEETING, encoding="utf-8")
    run = cli("run", "s.yaml", "--rehearse", "--rounds", "2")
    assert "prompts are in Chinese (zh), but for what is English: cognition\n" in run.err + run.out
