import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ga_builder import DAY, RunBuilder, chat, event, node, real_run, sight, until

from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.state.records import Case
from tertulia.worlds.ga_files import address_in_words
from tertulia.worlds.generative_agents import read_log

HELLO = [["Ann", "Hello Bea."], ["Bea", "Hello Ann."]]
LATER = [["Bea", "There you are again."], ["Ann", "Here I am."]]
SUMMARY = "conversing about the missing boat"


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    """Ann and Bea, each with a single memory from before noon."""
    builder = RunBuilder(tmp_path / "run")
    builder.person("Ann", event("08:00:00", "Ann", "baking bread"))
    return builder.person("Bea", event("08:30:00", "Bea", "mending a net"))


def case_of(run: RunBuilder, number: int = 0) -> Case:
    return read_log(run.write()).case(number, "a run")


# --- which dialogues there are --------------------------------------------------------------------------------------


def test_one_dialogue_is_one_pair_with_one_text_at_its_earliest_time(run: RunBuilder) -> None:
    run.person("Ann", chat("12:00:10", "Ann", "Bea", HELLO)).person("Bea", chat("12:00:00", "Bea", "Ann", HELLO))
    log = read_log(run.write())
    assert [str(dialogue.time) for dialogue in log.dialogues] == [f"{DAY} 12:00:00"]
    assert log.memory_counts(0) == {"Ann": 1, "Bea": 1}


@pytest.mark.parametrize("empty", [None, [], "", [["Ann", " "]]])
def test_chats_without_text_or_partner_are_skipped_and_counted(run: RunBuilder, empty: object) -> None:
    run.talk("12:00:00", "Ann", "Bea", HELLO)
    run.person("Ann", chat("13:00:00", "Ann", "Bea", empty), chat("14:00:00", "Ann", "Zoe", [["Zoe", "Hi."]]))
    log = read_log(run.write())
    assert (len(log.dialogues), dict(log.skipped)) == (1, {"without_text": 1, "partner_without_folder": 1})


def test_who_begins_is_who_speaks_first(run: RunBuilder) -> None:
    case = case_of(run.talk("12:00:00", "Ann", "Bea", LATER))
    assert (case.initiator.persona.name, case.partner.persona.name) == ("Bea", "Ann")


def test_previous_dialogues_are_earlier_ones_of_the_same_pair(run: RunBuilder) -> None:
    run.person("Cai").talk("10:00:00", "Ann", "Bea", HELLO).talk("11:00:00", "Ann", "Cai", [["Cai", "Hm."]])
    run.talk("12:00:00", "Ann", "Bea", LATER)
    previous = case_of(run, 2).previous_dialogues
    assert [(dialogue.time.hour, [line.text for line in dialogue.utterances]) for dialogue in previous] == [
        (10, ["Hello Bea.", "Hello Ann."])
    ]


# --- what may be known ----------------------------------------------------------------------------------------------


def test_a_memory_keeps_id_kind_importance_and_time(run: RunBuilder) -> None:
    run.person("Ann", node("thought", "09:00:00", "Ann likes Bea", "Ann", "like", "Bea", poignancy=7, extra=[1]))
    memory = case_of(run.talk("12:00:00", "Ann", "Bea", HELLO)).initiator.memories[1]
    assert (memory.id, memory.kind, memory.importance) == ("node_2", "thought", 7)
    assert memory.created == datetime(2023, 2, 13, 9)


def test_only_what_lasts_is_taken_from_scratch(run: RunBuilder) -> None:
    run.person("Ann", learned="Ann bakes.", living_area="Town:Mill:attic", daily_plan_req="to sell buns at noon")
    case = case_of(run.talk("12:00:00", "Ann", "Bea", HELLO))
    persona = case.initiator.persona
    assert (persona.age, persona.character, persona.background, persona.home) == (
        30,
        "calm",
        ("Ann bakes.",),
        "attic at Mill",
    )
    assert "knows how the day ended" not in case.model_dump_json()
    assert "sell buns" not in case.model_dump_json()
    assert "currently, daily_plan_req of Ann: the run holds them as of its end" in case.withheld


def test_a_memory_of_the_very_conversation_is_counted_but_kept_out(run: RunBuilder) -> None:
    run.person(
        "Ann",
        event("11:59:50", "Bea", SUMMARY),
        node("thought", "11:59:50", "Ann wonders where it drifted", "Ann", "wonder", "boat", filling=["node_2"]),
    ).talk("12:00:00", "Ann", "Bea", HELLO, SUMMARY)
    log = read_log(run.write())
    case = log.case(0, "a run")
    assert log.memory_counts(0) == {"Ann": 3, "Bea": 1}
    assert [memory.id for memory in case.initiator.memories] == ["node_1"]
    assert "node_2, node_3 in the memory of Ann: from before, yet about this very conversation" in case.withheld


def test_a_summary_that_an_earlier_dialogue_has_too_gives_nothing_away(run: RunBuilder) -> None:
    run.talk("10:00:00", "Ann", "Bea", HELLO, SUMMARY).talk("12:00:00", "Ann", "Bea", LATER, SUMMARY)
    assert [memory.kind for memory in case_of(run, 1).partner.memories] == ["event", "chat"]


# --- what they were doing, and where --------------------------------------------------------------------------------


def test_the_activity_is_that_of_the_last_step_before(run: RunBuilder) -> None:
    run.step("09:00:00", "Ann", "kneading dough @ Town:Mill:bakehouse:trough")
    run.step("12:00:00", "Ann", "laughing @ Town:Mill:yard:bench")
    case = case_of(run.talk("12:00:00", "Ann", "Bea", HELLO))
    assert (case.initiator.activity, case.place) == ("kneading dough", "bakehouse at Mill")
    assert case.partner.activity == "mending a net", "no step of Bea's: from her own events"


@pytest.mark.parametrize("described", [f"{SUMMARY} @ <persona> Bea", f"baking ({SUMMARY}) @ Town:Mill:yard:bench"])
def test_the_step_that_plans_the_conversation_is_passed_over(run: RunBuilder, described: str) -> None:
    run.step("09:00:00", "Ann", "kneading dough @ Town:Mill:bakehouse:trough").step("11:59:50", "Ann", described)
    assert case_of(run.talk("12:00:00", "Ann", "Bea", HELLO, SUMMARY)).initiator.activity == "kneading dough"


def test_without_movement_the_activity_is_the_last_own_event_that_is_neither_idle_nor_a_chat(run: RunBuilder) -> None:
    run.person("Ann", event("09:00:00", "Ann", "idle"), event("09:01:00", "Bea", "waving"))
    run.person("Ann", node("event", "09:02:00", "Ann is talking to Cai", "Ann", "chat with", "Cai"))
    case = case_of(run.talk("12:00:00", "Ann", "Bea", HELLO))
    assert case.initiator.activity == "baking bread"
    assert any("master_movement.json is not there" in note for note in case.withheld)


def test_what_cannot_be_known_is_said(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run").talk("12:00:00", "Ann", "Bea", HELLO)
    case = case_of(run)
    assert (case.initiator.activity, case.place) == (None, None)
    assert "what Ann was doing: nothing from before says so" in case.withheld
    assert "where they are: nothing from before says so" in case.withheld


def test_something_just_seen_tells_the_place_better_than_where_an_activity_is_meant(run: RunBuilder) -> None:
    run.step("11:50:00", "Ann", "fetching flour @ Town:Mill:loft:sack")
    run.person("Bea", sight("11:59:30", "Town:Quay:net hall:hook"))
    assert case_of(run.talk("12:00:00", "Ann", "Bea", HELLO)).place == "net hall at Quay"


def test_something_seen_long_ago_tells_no_more_than_the_building(run: RunBuilder) -> None:
    run.step("11:50:00", "Ann", "fetching flour @ Town:Mill:loft:sack")
    run.person("Bea", sight("11:40:00", "Town:Quay:net hall:hook"))
    case = case_of(run.talk("12:00:00", "Ann", "Bea", HELLO))
    assert case.place == "Quay"
    assert "the room at Quay: what was seen last is too long ago" in case.withheld


@pytest.mark.parametrize(("rooms", "place"), [(["net hall"], "net hall at Quay"), (["net hall", "loft"], "Quay")])
def test_a_building_with_one_room_tells_the_room(run: RunBuilder, rooms: list[str], place: str) -> None:
    run.person("Bea", sight("11:40:00", "Town:Quay:net hall:hook")).talk("12:00:00", "Ann", "Bea", HELLO)
    run.write()
    run.file("Ann", "spatial_memory").write_text(json.dumps({"Town": {"Quay": {room: [] for room in rooms}}}))
    assert read_log(run.folder).case(0, "a run").place == place


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("The Ville:Hobbs Cafe:cafe", "cafe at Hobbs Cafe"),
        ("The Ville:College:hallway:<random>", "hallway at College"),
        ("The Ville:College:<random>", "College"),
        ("The Ville:Park", "Park"),
        ("<persona> Ann", None),
    ],
)
def test_an_address_as_people_say_it(address: str, expected: str | None) -> None:
    assert address_in_words(address) == expected


# --- bad input ------------------------------------------------------------------------------------------------------


def _spoil_node(run: RunBuilder, **changes: object) -> None:
    at = run.file("Ann", "nodes")
    nodes = json.loads(at.read_text())
    nodes["node_1"] = {key: value for key, value in (nodes["node_1"] | changes).items() if value != "gone"}
    at.write_text(json.dumps(nodes))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"created": "yesterday"}, "node_1.created: takes a time of the form YYYY-MM-DD HH:MM:SS, not 'yesterday'"),
        ({"poignancy": 11}, "node_1.poignancy: takes 10 at most, not 11"),
        ({"type": "chat", "filling": [["Ann"]]}, "node_1.filling.0: needs 2 or more, not 1"),
    ],
)
def test_a_wrong_node_is_named_with_file_node_and_field(run: RunBuilder, changes: dict, complaint: str) -> None:
    run.talk("12:00:00", "Ann", "Bea", HELLO).write()
    _spoil_node(run, **changes)
    with pytest.raises(ScenarioError) as raised:
        read_log(run.folder)
    assert str(raised.value).startswith(f"{run.file('Ann', 'nodes')}: {complaint}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("which", ["nodes", "scratch", "spatial_memory"])
def test_broken_json_is_named_with_file_line_and_column(run: RunBuilder, which: str) -> None:
    run.talk("12:00:00", "Ann", "Bea", HELLO).write()
    run.file("Bea", which).write_text('{\n "name": "Bea",\n "age": }')
    with pytest.raises(ScenarioError, match=r"Bea.*\.json:3:9: broken JSON: Expecting value"):
        read_log(run.folder)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("master_movement.json", {"0": {"Ann": {"movement": [1, 2]}}}, "0.Ann.description: is missing; add it"),
        ("master_movement.json", {"noon": {}}, "'noon' is not the number of a step"),
        ("meta.json", {"start_date": "2023-02-13", "sec_per_step": 10}, "start_date: '2023-02-13' is not a date of"),
    ],
)
def test_wrong_movement_files_are_named(run: RunBuilder, name: str, content: object, complaint: str) -> None:
    run.step("09:00:00", "Ann", "kneading @ Town:Mill").talk("12:00:00", "Ann", "Bea", HELLO).write()
    (run.folder / name).write_text(json.dumps(content))
    with pytest.raises(ScenarioError) as raised:
        read_log(run.folder)
    assert str(raised.value).startswith(f"{run.folder / name}: {complaint}")


@pytest.mark.parametrize("which", ["nodes", "scratch"])
def test_a_missing_required_file_is_named(run: RunBuilder, which: str) -> None:
    run.talk("12:00:00", "Ann", "Bea", HELLO).write()
    run.file("Bea", which).unlink()
    with pytest.raises(ScenarioError) as raised:
        read_log(run.folder)
    assert str(raised.value).startswith(f"{run.file('Bea', which)} is missing")


@pytest.mark.parametrize(
    ("scratch", "complaint"),
    [
        ({"name": "Anna"}, "name: 'Anna' is not the name of the folder"),
        ({"age": "30"}, "age: takes a whole number, not '30'"),
    ],
)
def test_a_wrong_scratch_is_named(run: RunBuilder, scratch: dict, complaint: str) -> None:
    run.talk("12:00:00", "Ann", "Bea", HELLO).person("Ann", **scratch).write()
    with pytest.raises(ScenarioError) as raised:
        read_log(run.folder)
    assert str(raised.value).startswith(f"{run.file('Ann', 'scratch')}: {complaint}")


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no such folder"):
        read_log(tmp_path / "gone")
    with pytest.raises(ScenarioError, match="holds no personas/ folder"):
        read_log(tmp_path)
    (tmp_path / "personas").mkdir()
    with pytest.raises(ScenarioError, match="personas is empty"):
        read_log(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ScenarioError, match="file is not a folder"):
        read_log(tmp_path / "file")


def test_a_run_in_which_nobody_talks_is_refused(run: RunBuilder) -> None:
    run.person("Ann", chat("12:00:00", "Ann", "Bea", None))
    with pytest.raises(ScenarioError, match=r"holds no dialogue to start from \(1 chats without text, 0 with"):
        read_log(run.write())


@pytest.mark.parametrize("number", [-1, 1])
def test_a_case_out_of_range_is_told_how_many_there_are(run: RunBuilder, number: int) -> None:
    with pytest.raises(NotFoundError, match=f"there is no case {number}: the run has 1, numbered from 0 to 0"):
        case_of(run.talk("12:00:00", "Ann", "Bea", HELLO), number)


# --- no future, on any run ------------------------------------------------------------------------------------------

PEOPLE = ("Ann", "Bea", "Cai")
MOMENTS = st.integers(0, 40).map(lambda step: str(timedelta(hours=9, seconds=10 * step)).rjust(8, "0"))
PAIRS = st.permutations(PEOPLE).map(lambda order: order[:2])
TOPICS = st.sampled_from(["conversing about boats", "conversing about bread", "conversing about nets"])


@st.composite
def runs(draw: st.DrawFn) -> list[tuple]:
    talks = draw(st.lists(st.tuples(MOMENTS, PAIRS, TOPICS, st.integers(0, 3)), min_size=1, max_size=6))
    events = draw(st.lists(st.tuples(MOMENTS, st.sampled_from(PEOPLE), TOPICS | st.just("resting")), max_size=12))
    steps = draw(st.lists(st.tuples(MOMENTS, st.sampled_from(PEOPLE), TOPICS | st.just("resting")), max_size=12))
    return [talks, events, steps]


@settings(max_examples=25, deadline=None)
@given(runs())
def test_a_case_is_the_same_when_all_that_came_later_never_happened(
    tmp_path_factory: pytest.TempPathFactory, drawn: list
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    talks, events, steps = drawn
    run = RunBuilder(folder / "run")
    for name in PEOPLE:
        run.person(name, event("08:00:00", name, "waking up"))
    for at, (initiator, partner), topic, text in talks:
        run.talk(at, initiator, partner, [[initiator, f"Line {text}"], [partner, "Oh."]], topic)
    for at, who, doing in events:
        run.person(who, event(at, who, doing))
    for at, who, doing in [("00:00:00", "Ann", "sleeping"), *steps]:
        run.step(at, who, f"{doing} @ Town:Mill:loft:bed")
    log = read_log(run.write())
    times = [dialogue.time for dialogue in log.dialogues]
    assert times == sorted(times)
    for number, dialogue in enumerate(log.dialogues):
        case = log.case(number, "a run")
        for participant in (case.initiator, case.partner):
            assert all(memory.created < case.time for memory in participant.memories)
            assert len(participant.memories) <= log.memory_counts(number)[participant.persona.name]
        assert all(earlier.time < case.time for earlier in case.previous_dialogues)
        cut = read_log(until(run.folder, case.time, dialogue.utterances, folder / f"until_{number}"))
        again = next(n for n, kept in enumerate(cut.dialogues) if kept.utterances == dialogue.utterances)
        assert cut.case(again, "a run") == case


# --- the published run ----------------------------------------------------------------------------------------------


def test_the_published_run_has_eight_cases() -> None:
    log = read_log(real_run())
    assert [(str(dialogue.time)[11:], dialogue.initiator, dialogue.partner) for dialogue in log.dialogues] == [
        ("09:55:50", "Klaus Mueller", "Maria Lopez"),
        ("11:22:40", "Isabella Rodriguez", "Klaus Mueller"),
        ("12:35:10", "Maria Lopez", "Klaus Mueller"),
        ("14:54:10", "Maria Lopez", "Klaus Mueller"),
        ("15:19:20", "Isabella Rodriguez", "Maria Lopez"),
        ("17:25:30", "Isabella Rodriguez", "Klaus Mueller"),
        ("18:19:20", "Isabella Rodriguez", "Maria Lopez"),
        ("19:02:00", "Maria Lopez", "Klaus Mueller"),
    ]
    assert log.memory_counts(5) == {"Isabella Rodriguez": 721, "Klaus Mueller": 396}
    assert [len(log.case(number, "x").previous_dialogues) for number in range(8)] == [0, 0, 1, 2, 0, 1, 1, 3]
    assert [log.case(number, "x").place for number in range(8)] == [
        "Dorm for Oak Hill College",
        "cafe at Hobbs Cafe",
        "kitchen at Dorm for Oak Hill College",
        "library at Oak Hill College",
        "store at The Willows Market and Pharmacy",
        "cafe at Hobbs Cafe",
        "store at The Willows Market and Pharmacy",
        "common room at Dorm for Oak Hill College",
    ]
