"""Runs in Chinese from end to end: nothing that a model is asked in them is English but keys and names of fields."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.ga_builder import RunBuilder, node
from support.protocol_server import serving

from tertulia.models import rehearsed_words
from tertulia.models.rehearsed_words import Words
from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.state.cognition import Assessment, Finding
from tertulia.state.meeting import EMOTIONS
from tertulia.storage.store import SqlStore

MEETING = """
kind: group_chat
name: 修屋顶
description: 青年社的钱只够修一处，大家要决定修哪里。
time: 2026-05-14 18:00:00
ends: 2026-05-14 18:20:00
place: 活动室
opening: {speaker: 小红, text: 小明，钱只够修一处，你说呢？}
participants:
  - name: 小红
    background: 小红管着青年社的账。
    traits: [extroverted, closed]
    interests: [账目, 屋顶]
    relations: {小明: 小明欠小红一个人情。}
    setting: 小红坐在门口。
    goals: [{goal: 修好屋顶, sub_goals: [说服小明。, 定下日子]}]
    memories: [小红去年被雨淋过。]
    emotion: worried
  - {name: 小明, goals: [修好门], schedule: {joins: "18:00", leaves: "18:02", reason: 去接妹妹。}}
  - {name: 老王, goals: [省钱], schedule: {joins: "18:01"}}
"""

DIALOGUE = """
name: 丢失的钥匙
description: 旅舍里从昨天起少了一把钥匙。
time: 2024-05-14 09:30:00
place: 青年旅舍的厨房
participants:
  - {name: 李雷, age: 41, traits: 安静, activity: 翻抽屉, background: 李雷管着旅舍。, memories: [李雷昨天在公园散步。]}
  - {name: 韩梅梅, activity: 煮咖啡, memories: [韩梅梅回家时没穿外套。]}
previous_dialogues:
  - {time: 2024-04-01 10:00:00, lines: [[李雷, 门锁了吗？], [韩梅梅, 锁了。]]}
"""

VILLAGERS = """
title: 集市
place: 集市广场
villagers:
  - {name: 玛丽, properties: {职业: 面包师}, album: [红风筝, 石桥]}
  - {name: 王明, properties: {职业: 渔夫}, album: [铜壶, 小船]}
"""

#: What a model may read in Latin letters: the form's name, its booleans, names of fields and values.
FIELDS = ("topic", "goal", "emotion", "personality", "yes", "no", "none", "meeting", "task")
ALLOWED = {"JSON", "true", "false", *MECHANISMS, *FIELDS}
LETTERS = re.compile(r"[A-Za-z_]+")
KEY = re.compile(r'"(?:[^"\\]|\\.)*"(?=:)|“\w+”(?=这个键)')


@pytest.fixture(autouse=True)
def rehearsal_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = ("屋顶", "门", "钱")  # a prompt's own words may be keys of forms
    words = Words(
        openings=("嗯。", "有道理。"),
        remarks=("小明，{a}的事你怎么看？", "我一直在想{a}。", "{a}比{b}要紧。"),
        endings=("{b}呢？", "你们说呢？"),
        comments=("{a}和{b}合不到一块儿。", "先把{a}弄清楚。", "大家在说{a}。"),
        named="{}",
        topic=lambda _, generator: generator.choice(topics),
    )
    monkeypatch.setattr(rehearsed_words, "WORDS", words)


def english_in(text: str) -> set[str]:
    """The words in Latin letters that are neither keys of JSON nor allowed."""
    return set(LETTERS.findall(KEY.sub("", text))) - ALLOWED


def texts_asked(store: SqlStore) -> Iterator[tuple[str, str]]:
    """The prompt of every call with the node that asked, and the continuations and choices offered beside it."""
    for run in store.runs():
        for call in store.calls(run.run):
            units = [unit.text for unit in store.prompt(call.prompt).units]
            choices = [choice for field in call.parameters.get("fields", ()) for choice in field.get("choices", ())]
            yield call.node, "\n".join([*units, *choices, *call.parameters.get("options", ())])


def nodes_asked(cli: Cli, *arguments: str, scenario: str = MEETING) -> set[str]:
    """Who asked a model in a run, after a look at what they asked."""
    Path("s.yaml").write_text(scenario, encoding="utf-8")
    run = cli(*arguments, "--store", "s.db")
    assert run.code == 0, run.err
    assert "English" not in run.err + run.out
    with SqlStore.open("s.db") as store:
        asked = list(texts_asked(store))
    assert [(node, found, text) for node, text in asked if (found := english_in(text))] == []
    return {node for node, _ in asked}


@pytest.mark.parametrize(
    ("settings", "asks"),
    [
        (("layout=single_message", "human_needs=true"), {"generate"}),
        (("layout=chat_turns", "human_needs=true", "ending=continuation"), {"generate"}),
        (("judge=rating", "revision=combined", "inconsistency_threshold=1"), {"judge", "rewrite"}),
        (("generation=sequential", "layout=single_message"), {"generate"}),
    ],
)
def test_a_chinese_dialogue_is_asked_for_in_chinese(cli: Cli, settings: tuple[str, ...], asks: set[str]) -> None:
    given = [word for setting in settings for word in ("--set", setting)]
    arguments = ("run", "s.yaml", "--rehearse", "--rounds", "4", "--lambda", "0.7", *given)
    assert nodes_asked(cli, *arguments, scenario=DIALOGUE) >= asks


@pytest.mark.parametrize("setting", ["low", "high"])
def test_a_chinese_album_chat_is_asked_for_in_chinese(cli: Cli, setting: str) -> None:
    given = ("villagers=s.yaml", "language=zh", "layout=chat_turns", f"setting={setting}")
    arguments = ("run", "villagers", "--rehearse", "--rounds", "3", *(f"--set={value}" for value in given))
    assert len(nodes_asked(cli, *arguments, scenario=VILLAGERS)) >= 3  # the plan, the question and the answer


#: The steps that make use of a mechanism, and the others.
MECHANISM_STEPS = {"goal_summary", "memory_retrieval", "topic_analysis"}
EVERY_STEP = {"personality", "plan", "choose_mechanisms", *MECHANISM_STEPS, "assess"}


@pytest.mark.parametrize(
    "settings", [("layout=single_message",), ("layout=chat_turns", "willingness=rated", "hearing=noticed")]
)
def test_a_chinese_meeting_asks_its_agents_in_chinese(cli: Cli, settings: tuple[str, ...]) -> None:
    given = [word for setting in settings for word in ("--set", setting)]
    nodes = nodes_asked(cli, "run", "s.yaml", "--rehearse", "--rounds", "8", "--lambda", "0.5", *given)
    assert nodes >= EVERY_STEP | ({"decide"} if len(settings) > 1 else set())
    with SqlStore.open("s.db") as store:  # what a model chose in Chinese is stored in English
        (run,) = [run.run for run in store.runs()]
        assessed = store.steps(run, "assess", Assessment, 1, 8).values()
        topics = store.steps(run, "topic_analysis", Finding, 1, 8).values()
    assert {assessment.emotion for assessment in assessed} <= set(EMOTIONS)
    assert {finding.data["move"] for finding in topics} <= {"keep", "shift", "pause"}
    assert all((assessed, topics))


def test_choices_by_probabilities_are_offered_in_chinese(cli: Cli) -> None:
    settings = ("--set", "choices=probabilities", "--set", "layout=chat_turns")
    nodes = nodes_asked(cli, "run", "s.yaml", "--rehearse", "--rounds", "6", *settings)
    assert nodes >= {"weigh_feeling", "weigh_mechanism", "weigh_step_0"}


@pytest.mark.parametrize(("order", "node"), [("centralised", "centralised"), ("designated", "designated")])
def test_who_speaks_next_is_asked_in_chinese(cli: Cli, order: str, node: str) -> None:
    assert node in nodes_asked(cli, "run", "s.yaml", "--rehearse", "--rounds", "5", "--set", f"order={order}")


def test_days_of_a_chinese_town_are_remembered_in_chinese(cli: Cli, tmp_path: Path) -> None:
    lines = [["玛丽亚", "早上好！"], ["克劳斯", "早上好，睡得好吗？"]]
    run = RunBuilder(tmp_path / "run").talk("12:00:00", "玛丽亚", "克劳斯", lines, "谈论论文")
    for name, doing in (("玛丽亚", "看书"), ("克劳斯", "散步")):
        did = node("event", "09:00:00", f"{name}正在{doing}", name, "正在", doing)
        run.person(name, did, innate="安静", currently=f"{name}在准备考试")
    run.write()
    town = ("simulate", f"ga:{run.folder}", "--days", "1", "--encounters-per-day", "2", "--rehearse")
    nodes = nodes_asked(cli, *town, "--set", "reflection_threshold=1", "--set", "layout=chat_turns")
    assert nodes >= {"summarise", "rate_importance", "reflect"}


def test_a_hosted_model_is_told_in_chinese_what_form_its_reply_has(cli: Cli) -> None:
    def answer(request: dict[str, Any]) -> str:
        form = json.loads(re.findall(r"\{.*\}", request["messages"][-1]["content"])[-1])
        return json.dumps({name: value_of(described) for name, described in form.items()}, ensure_ascii=False)

    def value_of(described: str) -> object:
        if numbers := re.fullmatch(r"从(\d+)到(\d+)的整数", described):
            return f"{numbers[2]}分"
        if described == "true 或 false":
            return "是"
        if described.startswith("以下之一："):
            return described.removeprefix("以下之一：").split("、")[-1]
        return "先修屋顶吧。"

    with serving(answer=answer, failures=["wrong_json", "half_json"]) as served:
        nodes = nodes_asked(cli, "run", "s.yaml", "--model", served.model, "--rounds", "3", "--lambda", "0")
    assert nodes >= EVERY_STEP - MECHANISM_STEPS
    messages = [message for request in served.requests for message in request["messages"]]
    sent = [message["content"] for message in messages if message["role"] != "assistant"]
    assert [(found, text) for text in sent if (found := english_in(text))] == []
    assert any(text.startswith("这个回答不能用：其中没有 JSON 对象。") for text in sent)
    schemas = [request["response_format"]["json_schema"] for request in served.requests]
    described = [field["description"] for schema in schemas for field in schema["schema"]["properties"].values()]
    assert {word for text in described for word in english_in(text)} == set()
