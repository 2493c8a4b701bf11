"""Generative Agents logs in other languages than English: what is read of fields, and what of words."""

from pathlib import Path

import pytest
from support.ga_builder import RunBuilder, node

from tertulia.runs.planning.prompt_language import texts_of
from tertulia.state.languages import language_of
from tertulia.state.recall import may_be_recalled
from tertulia.state.records import Case
from tertulia.worlds.ga_files import address_in_words
from tertulia.worlds.generative_agents import read_log
from tertulia.worlds.log_words import activity_in, is_asleep, is_conversation, is_idle
from tertulia.worlds.town import open_town

#: By language: a verb phrase for "X is reading", and a bed that is idle, as versions of the program write them.
READING = {
    "zh": ("{name}此时正在看书", "看书"),
    "zh, English frame": ("{name} is 正在看书", "看书"),
    "zh, spaced": ("{name} 正在 看书", "看书"),
    "zh, no progressive": ("{name}在图书馆看书", "在图书馆看书"),
    "ja": ("{name}は本を読んでいる", "本を読んでいる"),
    "ko": ("{name}은 책을 읽고 있다", "책을 읽고 있다"),
    "es": ("{name} está leyendo un libro", "leyendo un libro"),
    "fr": ("{name} est en train de lire", "lire"),
    "ar": ("{name} تقرأ كتابا", "تقرأ كتابا"),
    "th": ("{name}กำลังอ่านหนังสือ", "อ่านหนังสือ"),
    "xx, unknown": ("{name} legas libron", "legas libron"),
    "no name": ("看书", "看书"),
}

#: Descriptions of an idle thing, with predicate and object of the record.
IDLE = [
    ("床 是 空闲的", "是", "空闲的"),
    ("床是空闲的", "is", "idle"),
    ("床此时空闲", "此时", "空闲"),
    ("床处于闲置状态", "处于", "闲置状态"),
    ("床無人使用", "無人使用", ""),
    ("ベッドは使われていない", "は", "使われていない"),
    ("침대는 비어 있다", "비어 있다", ""),
    ("cama está desocupada", "estar", "desocupada"),
    ("lit est inoccupé", "être", "inoccupé"),
    ("Bett ist unbenutzt", "sein", "unbenutzt"),
    ("кровать свободна", "быть", "свободна"),
    ("السرير شاغر", "يكون", "شاغر"),
    ("เตียงว่างอยู่", "", "ว่างอยู่"),
    ("bed is idle", "is", "idle"),
]

#: What is no idleness, though its words are near.
BUSY = [
    "床不空闲",
    "空闲时间他去公园",
    "玛丽亚下午有空闲",
    "床正在被使用",
    "libre comercio",
    "idle talk",
    "is not idle",
    "",
]


def chinese_run(folder: Path) -> RunBuilder:
    lines = [["玛丽亚", "早上好！"], ["克劳斯", "早上好，睡得好吗？"]]
    run = RunBuilder(folder)
    run.person("玛丽亚", node("event", "09:00:00", "玛丽亚此时正在整理笔记", "玛丽亚", "整理", "笔记"), innate="好奇")
    run.person("玛丽亚", node("event", "09:10:00", "床是空闲的", "小镇:宿舍:卧室:床", "是", "空闲的"))
    run.person("玛丽亚", node("event", "09:11:00", "克劳斯正在写论文", "克劳斯", "写", "论文"))
    run.person("玛丽亚", node("event", "09:20:00", "玛丽亚正在与小红聊天", "玛丽亚", "聊天", "小红"))
    run.person("玛丽亚", node("thought", "09:30:00", "玛丽亚是一个勤奋的学生", "玛丽亚", "是", "学生"))
    run.person("克劳斯", node("event", "09:05:00", "克劳斯正在写论文", "克劳斯", "写", "论文"), innate="安静")
    for name, partner in (("玛丽亚", "克劳斯"), ("克劳斯", "玛丽亚")):
        run.person(name, node("chat", "12:00:00", "谈论论文", name, "聊天", partner, filling=lines))
    return run


def case_of(run: RunBuilder) -> Case:
    return read_log(run.write()).case(0, "a run")


def test_activities_of_a_chinese_log_are_from_the_people_s_events(tmp_path: Path) -> None:
    case = case_of(chinese_run(tmp_path / "run"))
    assert (case.initiator.activity, case.partner.activity) == ("整理笔记", "写论文")
    assert language_of(texts_of(case)) == "zh"


def test_idle_things_of_a_chinese_log_are_no_memories(tmp_path: Path) -> None:
    run = chinese_run(tmp_path / "run")
    texts = [memory.text for memory in case_of(run).initiator.memories if may_be_recalled(memory)]
    assert "床是空闲的" not in texts
    assert "克劳斯正在写论文" in texts
    town = open_town(f"ga:{run.folder}", from_log=False)
    assert "床是空闲的" not in [memory.text for memory in town.memories["玛丽亚"]]


@pytest.mark.parametrize(("described", "activity"), READING.values(), ids=list(READING))
@pytest.mark.parametrize("name", ["Ana Ruiz", "王小明"])
def test_an_activity_is_what_stands_behind_the_name(tmp_path: Path, described: str, activity: str, name: str) -> None:
    text = described.format(name=name)
    assert activity_in(text, name) == activity
    run = RunBuilder(tmp_path / "run").person(name, node("event", "09:00:00", text, name, "p", "o"))
    run.talk("12:00:00", name, "Bea", [[name, "…"], ["Bea", "…"]])
    assert case_of(run).initiator.activity == activity


@pytest.mark.parametrize(("text", "predicate", "object"), IDLE, ids=[text for text, _, _ in IDLE])
def test_an_idle_thing_is_no_memory_in_any_language(tmp_path: Path, text: str, predicate: str, object: str) -> None:
    name = text.partition(" ")[0]
    run = RunBuilder(tmp_path / "run").person(
        "Ana", node("event", "09:00:00", text, f"T:H:R:{name}", predicate, object)
    )
    run.person("Ana", node("event", "09:00:00", "…", f"T:H:R:{name}", "p", "o")).talk(
        "12:00:00", "Ana", "Bea", [["Ana", "…"]]
    )
    assert [m.text for m in case_of(run).initiator.memories if may_be_recalled(m)] == ["…"]


@pytest.mark.parametrize("state", BUSY)
def test_what_is_busy_is_not_idle(state: str) -> None:
    assert not is_idle(state)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("小镇:咖啡馆:厨房:炉子", "咖啡馆的厨房"),
        ("小镇:咖啡馆", "咖啡馆"),
        ("町:カフェ:台所", "カフェの台所"),
        ("the Ville:Hobbs Cafe:cafe:counter", "cafe at Hobbs Cafe"),
    ],
)
def test_a_place_is_put_as_its_language_puts_it(address: str, words: str) -> None:
    assert address_in_words(address) == words


def test_sleep_and_talk_are_known_in_other_languages() -> None:
    assert all(map(is_asleep, ["sleeping", "睡觉", "正在睡觉", "durmiendo", "寝ている", "นอนหลับ"]))
    assert not any(map(is_asleep, ["整理睡衣", "reading", "baking", "studying"]))
    assert all(map(is_conversation, ["conversing about tea", "和克劳斯谈论论文", "conversando sobre el tiempo"]))
    assert not any(map(is_conversation, ["看书", "baking bread"]))
