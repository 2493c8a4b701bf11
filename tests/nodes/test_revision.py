"""The other ways to revise and to vary, as a graph goes through them: the path, what is asked, and what is recorded."""

import json
from itertools import repeat
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.dialogue_case import a_context, some_turns
from support.meeting_case import a_quay, held
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.nodes.utterance.judge import telling_comment
from tertulia.nodes.utterance.walks.retain_one import all_but_one
from tertulia.runs.driving.conversation import drive
from tertulia.state.context import Context
from tertulia.state.errors import UsageError
from tertulia.state.records import Candidate, Reply, TurnRecord, Unit
from tertulia.storage.store import SqlStore

START: dict[str, Any] = {"round": 1, "turn": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}


class Choosing(ScriptedModel):
    """A model that says by a script whether what was removed suffices to rewrite."""

    def __init__(self, enough: list[str] | None = None, **script: Any) -> None:
        super().__init__(**{"endings": repeat(False), **script})
        self._scripts["choice"] = iter(enough or [])


async def spoken(
    model: ScriptedModel, state: dict[str, Any] = START, context: Context | None = None, **settings: Any
) -> tuple[Context, dict[str, Any], list[str]]:
    """The context, the outcome and the path of one utterance; one run of the judge for each candidate."""
    context = context or a_context(model, **{"judge_runs": 1, "removal_factor": 0.5, **settings})
    steps, outcome = [], {}
    async for event in build_utterance_graph().astream(state, context=context, stream_mode=["tasks", "values"]):
        kind, data = event
        if kind == "values":
            outcome = data
        elif "input" in data:
            steps.append(data["name"])
    return context, outcome, steps


def asked_by_name(context: Context, node: str) -> list[str]:
    """The prompts of a step's calls, as they were read."""
    calls = [call for call in context.store.calls(context.run) if call.node == node]
    return ["\n".join(unit.text for unit in context.store.prompt(call.prompt or "").units) for call in calls]


def candidates(context: Context) -> dict[int, Candidate]:
    return {candidate.attempt: candidate for candidate in context.store.candidates(context.run, 1)}


# --- ways to revise -------------------------------------------------------------------------------------------------

ROLL, WRITE, ASK = "roll_back judge", "rewrite judge", "choose_revision"


@pytest.mark.parametrize(
    ("settings", "ratings", "enough", "path", "chosen", "rollbacks"),
    [
        ({"revision": "rewrite"}, [6], [], "", 0, 0),
        ({"revision": "rewrite"}, [9, 2], [], WRITE, 4, 0),
        ({"revision": "rewrite"}, [9, 8, 10, 8], [], f"{WRITE} {WRITE} {WRITE}", 4, 0),
        ({"revision": "rewrite", "max_rollbacks": 1}, [7, 9], [], WRITE, 0, 0),
        ({"revision": "combined"}, [9, 2], ["yes"], f"{ASK} {WRITE}", 4, 0),
        ({"revision": "combined"}, [9, 2], ["no"], f"{ASK} {ROLL}", 1, 1),
        ({"revision": "combined"}, [9, 9, 9, 1], ["no", "yes", "no"], f"{ASK} {ROLL} {ASK} {WRITE} {ASK} {ROLL}", 2, 2),
        ({"revision": "combined", "max_rollbacks": 2}, [9, 8, 10], ["yes", "no"], f"{ASK} {WRITE} {ASK} {ROLL}", 3, 1),
        ({"revision": "off"}, [9], [], "", 0, 0),
        ({"revision": "rollback"}, [9, 2], [], ROLL, 1, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("backups", ["with_utterance", "on_demand"])
async def test_a_conflict_goes_this_way(
    settings: dict[str, Any],
    ratings: list[int],
    enough: list[str],
    path: str,
    chosen: int,
    rollbacks: int,
    backups: str,
) -> None:
    context, outcome, steps = await spoken(Choosing(enough, ratings=ratings), backups=backups, **settings)
    main_line = "begin_utterance retrieve_memory score prune generate sense judge"
    path = path.replace("roll_back", "roll_back sense")
    assert steps == f"{main_line} {path} select_candidate score_line decide_ending".split()
    assert (outcome["chosen"], outcome["rollbacks"]) == (chosen, rollbacks)
    assert {candidate.inconsistency for candidate in candidates(context).values()} - {None} == set(map(float, ratings))


async def test_what_is_rewritten_is_told_by_what_and_judged_again() -> None:
    model = Choosing(ratings=[9, 2], comments=["She has no net."], speech=["I lost the net.", "I mend the net."])
    context, outcome, _ = await spoken(model, revision="rewrite")
    (question,) = asked_by_name(context, "rewrite")
    for unit in context.store.prompt(outcome["prompt"]).units:
        if unit.kind == "item":
            assert (unit.text.removeprefix("- ") in question) == (unit.id in outcome["removed"])
    assert '"I lost the net."' in question
    assert "She has no net." in question
    assert '"I mend the net."' in asked_by_name(context, "judge")[1]
    made = candidates(context)
    assert {n: (candidate.origin, candidate.text) for n, candidate in made.items()} == {
        0: ("drawn", "I lost the net."),
        4: ("rewritten", "I mend the net."),
    }
    assert outcome["chosen"] == 4


async def test_nothing_of_the_question_is_said_by_who_rewrites() -> None:
    model = Choosing(ratings=[9, 2], comments=["She has no net."], speech=["I lost the net.", "I mend the net."])
    context, _, _ = await spoken(model, revision="rewrite", layout="chat_turns")
    (question,) = asked_by_name(context, "rewrite")
    assert '{"Mara": "…"}' in question, "the form of a reply is that of the layout"
    *_, request, _ = model.asked("generate")  # the last one judges
    assert "I lost the net." in model.tokenizer.decode(request.prompt.input_ids)
    not_said = "\n".join(map(model.tokenizer.decode, request.no_repeat_from))
    assert "was about to say" in not_said
    assert "I lost the net." not in not_said
    assert "She has no net." not in not_said


async def test_the_comment_is_that_of_a_run_that_found_the_conflict() -> None:
    comments = ["Nothing is wrong.", "She has no net.", "Hardly a word."]
    model = Choosing(ratings=[1, 10, 10, 1, 1, 1], comments=comments)
    context = a_context(model, judge_runs=3, inconsistency_threshold=5, revision="rewrite")
    await spoken(model, context=context)
    (question,) = asked_by_name(context, "rewrite")
    assert "She has no net." in question
    assert not any(comment in question for comment in (comments[0], comments[2]))


@pytest.mark.parametrize(
    ("ratings", "comments", "told"),
    [
        ((9, 9, 10), ("A.", "B.", "C."), "C."),
        ((9, 10, 10), ("A.", "", "C."), "C."),
        ((9, 10, 10), ("A.", "Your comment", "your comment."), "A."),
        ((1, 10, 10), ("A.", "", "your comment"), None),
        ((1, 2, 2), ("A.", "B.", "C."), "B."),
    ],
)
def test_the_worst_run_that_says_something_is_heard(
    ratings: tuple[int, ...], comments: tuple[str, ...], told: str | None
) -> None:
    replies = [
        Reply(text="", tokens=(), text_tokens=(0, 0), fields={"comment": comment, "rating": rating})
        for comment, rating in zip(comments, ratings, strict=True)
    ]
    assert telling_comment(replies, 6.67, "your comment") == told


async def test_the_line_before_is_shown_to_who_rewrites() -> None:
    context = a_context(Choosing(ratings=[9, 2]), judge_runs=1, revision="rewrite")
    for turn in some_turns(1):
        context.store.save_turn(context.run, TurnRecord(turn=turn))
    await spoken(context.model, {**START, "round": 2, "turn": 2, "speaker": "Piotr"}, context)  # type: ignore[arg-type]
    assert "The last thing that was said: Mara: Line 1." in asked_by_name(context, "rewrite")[0]


@pytest.mark.parametrize("ended", [True, False])
async def test_a_rewritten_line_ends_the_conversation_if_the_first_one_did(ended: bool) -> None:
    _, outcome, _ = await spoken(Choosing(ratings=[9, 2], endings=[ended]), revision="rewrite")
    assert outcome["ended"] is ended


async def test_each_rewriting_begins_where_the_last_one_ended() -> None:
    model = Choosing(
        ratings=[9, 9, 9, 9], comments=["A.", "B.", "C.", "D."], speech=["No 0.", "No 1.", "No 2.", "No 3."]
    )
    context, _, _ = await spoken(model, revision="rewrite")
    for number, question in enumerate(asked_by_name(context, "rewrite")):
        assert f'"No {number}."' in question
        assert f"What is wrong with it: {'ABC'[number]}." in question


async def test_whether_it_can_be_rewritten_is_recorded_with_what_was_refused() -> None:
    context, _, _ = await spoken(Choosing(["no", "yes"], ratings=[9, 9, 2]), revision="combined", backups="on_demand")
    by_attempt = {n: (candidate.origin, candidate.rewritable) for n, candidate in candidates(context).items()}
    assert by_attempt == {0: ("drawn", False), 1: ("backup", True), 4: ("rewritten", None)}


async def test_a_likelihood_judge_reads_what_was_rewritten_as_if_it_had_been_said() -> None:
    figures = iter([-3.0, -1.0, -1.0, -3.0])  # with what was removed in view and without: a conflict, then none
    model = Choosing(speech=["I lost it.", "I have it."], likelihood=lambda _: next(figures))
    context, outcome, steps = await spoken(model, revision="rewrite", judge="likelihood", inconsistency_threshold=0.5)
    first, second = (
        call for call in context.store.calls(context.run) if call.node == "judge" and call.attempt in (0, 2)
    )
    assert [json.loads(str(call.parameters["reply"]))["Mara"] for call in (first, second)] == [
        "I lost it.",
        "I have it.",
    ]
    for candidate in candidates(context).values():
        reply, (first, past_last) = candidate.reply, candidate.reply.text_tokens
        assert RehearsalTokenizer().decode(reply.tokens[first:past_last]) == candidate.text
        assert RehearsalTokenizer().decode(reply.tokens) == reply.text
    assert (steps.count("rewrite"), outcome["chosen"]) == (1, 4)
    assert "What is wrong with it" not in asked_by_name(context, "rewrite")[0]  # this judge gives no reason


async def test_nothing_is_drawn_that_no_way_to_revise_would_take() -> None:
    for revision, drawn in (("rollback", 4), ("combined", 4), ("rewrite", 1), ("off", 1)):
        context, _, _ = await spoken(Choosing(ratings=[1]), revision=revision, backups="with_utterance")
        assert len(candidates(context)) == drawn


# --- several in one reply -------------------------------------------------------------------------------------------


async def test_candidates_of_one_reply_are_drawn_in_an_order_of_their_own() -> None:
    lines = [f"Line {n}." for n in range(10)]
    orders = []
    for seed in range(4):
        model = Choosing(speech=lines, ratings=[9, 2])
        context = a_context(model, seed=seed, judge_runs=1, generation="sequential", nodes={})
        context, outcome, steps = await spoken(model, context=context)
        made = candidates(context)
        orders.append([made[n].text for n in range(10)])
        assert sorted(orders[-1]) == lines
        assert [made[n].origin for n in range(10)] == ["drawn", *["backup"] * 9]
        assert (steps.count("roll_back"), outcome["chosen"]) == (1, 1)
        assert [made[n].inconsistency for n in range(10)] == [9.0, 2.0, *[None] * 8]
        (asked,) = [call for call in context.store.calls("k3f9") if call.node == "generate"]
        assert len(asked.parameters["fields"]) == 20
    assert len({tuple(order) for order in orders}) > 1


@pytest.mark.parametrize("generation", ["single", "sequential"])
async def test_in_the_paper_s_words_candidates_and_ratings_are_read(generation: str) -> None:
    model = Choosing(speech=[f"Line {n}." for n in range(10)], ratings=[9, 2], endings=repeat(True))
    settings = {"preset": "paper", "judge_runs": 1, "generation": generation, "backups": "on_demand"}
    context, outcome, _ = await spoken(model, **settings)
    made = candidates(context)
    assert [made[n].inconsistency for n in (0, 1)] == [9.0, 2.0]
    assert (outcome["chosen"], outcome["ended"], len(made)) == (1, True, 10 if generation == "sequential" else 2)
    judged, asked = asked_by_name(context, "judge"), asked_by_name(context, "generate")[0]
    assert all(f"going to say '{made[n].text}'. Are there inconsistencies" in judged[n] for n in (0, 1))
    assert asked.startswith("Context for the task:\n")
    assert ("Please output TEN candidates" in asked) is (generation == "sequential")
    units = {unit.id: unit.text for unit in context.store.prompt(outcome["prompt"]).units}
    assert all(f"{units[id]}\n" in judged[0] for id in outcome["removed"]), "removed units as they stood"


async def test_of_each_candidate_it_is_known_whether_it_ends_the_conversation() -> None:
    model = Choosing(speech=[f"Line {n}." for n in range(3)], endings=[False, True, False])
    for seed in range(6):
        context = a_context(model, seed=seed, generation="sequential", sequential_candidates=3, judge="off")
        model._scripts["speech"], model._scripts["boolean"] = iter(["A.", "B.", "C."]), iter([False, True, False])
        _, outcome, _ = await spoken(model, context=context)
        assert outcome["ended"] is (candidates(context)[0].text == "B.")


async def test_candidates_that_begin_with_who_says_them_lose_that_and_equal_ones_are_one() -> None:
    model = Choosing(speech=["Mara: Hm.", "Hm.", "Mara is here."])
    context, _, _ = await spoken(model, generation="sequential", sequential_candidates=3, removal_factor=0)
    assert sorted(candidate.text for candidate in candidates(context).values()) == ["Hm.", "Mara is here."]


async def test_there_are_no_more_backups_than_were_written() -> None:
    settings = {"generation": "sequential", "sequential_candidates": 2}
    _, outcome, steps = await spoken(Choosing(ratings=[9, 9, 9]), **settings)
    assert (outcome["rollbacks"], steps.count("judge")) == (1, 2)
    context, outcome, _ = await spoken(Choosing(ratings=[9, 9, 9, 1]), revision="rewrite", **settings)
    assert (outcome["chosen"], sorted(candidates(context))) == (4, [0, 1, 2, 3, 4])


async def test_sequential_generation_without_pruning_judges_nothing() -> None:
    context, outcome, steps = await spoken(Choosing(), generation="sequential", removal_factor=0)
    assert steps == [
        "begin_utterance",
        "retrieve_memory",
        "generate",
        "sense",
        "select_candidate",
        "score_line",
        "decide_ending",
    ]
    assert (outcome["chosen"], len(candidates(context))) == (0, 10)


# --- varied prompts -------------------------------------------------------------------------------------------------


async def test_what_was_varied_is_what_is_scored_pruned_and_answered() -> None:
    settings = {"removed_blocks": "p", "block_lengths": "m=3,b~40w", "names": "rare"}
    context, outcome, steps = await spoken(Choosing(ratings=[1]), **settings)
    assert steps[:5] == ["begin_utterance", "retrieve_memory", "vary_prompt", "score", "prune"]
    prompt = context.store.prompt(outcome["prompt"])
    assert set(outcome["scores"]) == {unit.id for unit in prompt.units}
    assert "previous_dialogues" not in prompt.blocks()
    assert sum(unit.block == "memory" and unit.kind == "item" for unit in prompt.units) == 3
    assert prompt.speaker == "Tifa Lockhart"
    assert not any(name in unit.text for unit in prompt.units for name in ("Mara", "Piotr"))
    (answered,) = context.model.asked("generate")[:1]  # type: ignore[attr-defined]
    assert set(answered.prompt.token_spans) == {unit.id for unit in prompt.units} - set(outcome["removed"])


async def test_a_prompt_that_is_as_it_was_is_not_varied() -> None:
    _, _, steps = await spoken(Choosing(ratings=[1]))
    assert "vary_prompt" not in steps


async def test_the_judge_and_who_rewrites_read_the_names_of_the_prompt() -> None:
    said = "Cloud Strife, I am Tifa and I lost the net."
    context, outcome, _ = await spoken(
        Choosing(["yes"], ratings=[9, 2], speech=[said, *["Hm."] * 9]),
        names="rare", revision="combined", backups="on_demand",
    )  # fmt: skip
    for node in ("judge", "choose_revision", "rewrite"):
        question = asked_by_name(context, node)[0]
        assert f"Tifa Lockhart is talking with Cloud Strife and {'is' if node == 'judge' else 'was'} about" in question
        assert said in question
        assert "Mara" not in question
        assert "Piotr" not in question
    assert candidates(context)[0].text == "Piotr, I am Mara and I lost the net."
    calls = context.store.calls(context.run)
    assert {call.agent for call in calls} == {"Mara"}
    assert outcome["ended"] is False


async def test_names_are_put_back_in_what_is_heard() -> None:
    model = Choosing(speech=["Good day, Cloud Strife."], ratings=repeat(1))
    context = a_context(model, names="rare", max_turns=2, removal_factor=0)
    await drive(context, InMemorySaver())
    first, second = context.store.turns(context.run)
    assert (first.speaker, first.text, second.speaker) == ("Mara", "Good day, Piotr.", "Piotr")
    prompt = context.store.prompt(context.store.turn_record(context.run, 2).prompt or "")
    assert "Tifa Lockhart: Good day, Cloud Strife." in [unit.text for unit in prompt.units]


async def test_a_reply_that_ends_the_conversation_ends_it_under_another_name() -> None:
    _, outcome, _ = await spoken(Choosing(endings=[True]), names="famous", removal_factor=0)
    assert outcome["ended"] is True


async def test_names_hold_in_a_meeting_too() -> None:
    context, turns = await held(a_quay(), names="famous", order="random", removal_factor=0.5, max_turns=3)
    spoken_turns = [turn for turn in turns if turn.speaker is not None]
    assert {turn.speaker for turn in spoken_turns} <= {"Ana", "Bo", "Cy", "Dee"}
    for turn in spoken_turns:
        prompt = context.store.prompt(context.store.turn_record(context.run, turn.turn).prompt or "")
        assert prompt.speaker in ("Harry Potter", "Severus Snape", "Sherlock Holmes", "Elizabeth Bennet")
        assert not any(f"{name}:" in unit.text for unit in prompt.units for name in ("Ana", "Bo", "Cy", "Dee"))


async def test_a_length_that_cant_be_reached_stops_the_run_with_words() -> None:
    with pytest.raises(UsageError, match="human_needs has no items in this prompt; leave h out"):
        await spoken(Choosing(), block_lengths="h=2")


def test_one_item_is_retained_the_highest_or_the_lowest_of_its_block() -> None:
    units = [
        Unit(id=id, block=id[0], kind="item", text=id, removable=id != "c1") for id in ("b1", "m1", "m2", "m3", "c1")
    ]
    scores = {"b1": 9.0, "m1": 2.0, "m2": 3.0, "m3": 3.0, "c1": 50.0}
    assert all_but_one(units, scores, "m", "highest") == ["b1", "m1", "m3"]
    assert all_but_one(units, scores, "m", "lowest") == ["b1", "m2", "m3"]
    assert all_but_one(units, scores, "p", "highest") == ["b1", "m1", "m2", "m3"]


@pytest.mark.parametrize("factor", [0, 0.5])
async def test_what_is_retained_stands_alone_whatever_lambda_is(factor: float) -> None:
    context, outcome, _ = await spoken(Choosing(ratings=[1]), retain="highest", retain_block="b", removal_factor=factor)
    units = context.store.prompt(outcome["prompt"]).units
    (kept,) = [unit for unit in units if unit.removable and unit.id not in outcome["removed"]]
    others = [unit for unit in units if unit.removable and unit.block == "basic_info"]
    assert kept.id == max(others, key=lambda unit: outcome["scores"][unit.id]).id


# --- runs -----------------------------------------------------------------------------------------------------------

EVERY_WAY = [
    {"revision": "rewrite"},
    {"revision": "combined"},
    {"revision": "combined", "generation": "sequential", "names": "rare"},
    {"wording": "paper", "revision": "rewrite", "generation": "sequential", "names": "rare", "human_needs": True},
    {"retain": "lowest", "block_lengths": "m=5", "names": "famous"},
]


@pytest.mark.parametrize("settings", EVERY_WAY, ids=str)
async def test_a_run_that_failed_anywhere_goes_on_to_the_same_end(settings: dict[str, Any]) -> None:
    settings = {"removal_factor": 0.6, "max_turns": 2, "inconsistency_threshold": 4, **settings}

    async def driven(store: SqlStore, fails_at: int | None = None) -> list[Any]:
        model = ScriptedModel(endings=repeat(False), fails_at=fails_at)
        context = a_context(model, store, **settings)
        try:
            await drive(context, InMemorySaver())
        except Exception:
            if fails_at is None:
                raise
        turns = store.turns("k3f9")
        return [
            len(model.calls),
            *((store.turn_record("k3f9", t.turn), store.candidates("k3f9", t.turn)) for t in turns),
        ]

    calls, *whole = await driven(SqlStore.open(":memory:"))
    assert len(whole) == 2
    for fails_at in (2, calls // 2, calls):
        store = SqlStore.open(":memory:")
        await driven(store, fails_at)
        _, *again = await driven(store)
        assert again == whole


async def test_a_persona_check_judges_what_nothing_was_removed_for_and_rolls_back() -> None:
    settings = {"removal_factor": 0, "judge": "rating", "judge_runs": 1, "ending": "off"}
    context, outcome, steps = await spoken(Choosing(ratings=[9, 9, 2]), **settings, persona_check=True)
    assert (outcome["rollbacks"], outcome["chosen"], steps.count("judge")) == (2, 2, 3)
    assert [candidates(context)[attempt].inconsistency for attempt in range(3)] == [9, 9, 2]
    asked = context.model.asked("generate")  # type: ignore[attr-defined]
    judged = next(request for request in asked if "rating" in [field.name for field in request.fields])
    shown = " ".join(unit.text for unit in judged.prompt.source.units)
    items = [unit.text for unit in context.store.prompt(outcome["prompt"]).units if unit.kind == "item"]
    assert items
    assert [text for text in items if text.strip("- \n") not in shown] == [], "all that the speaker is and remembers"
    _, outcome, steps = await spoken(Choosing(ratings=[9]), **settings)
    assert (outcome["rollbacks"], steps.count("judge")) == (0, 0), "nothing is judged where nothing is removed"
