"""What came of a conversation by rules, on scenes of a few lines whose outcome is plain."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.metrics.outcome_records import RANGES, Outcomes, PersonInScene, PersonOutcome, SaidLine
from tertulia.metrics.outcomes import outcomes
from tertulia.metrics.stance import agreement_of, confirms, content_words, tone_of
from tertulia.models.loading import open_embedder
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.state.language_model import Embedder
from tertulia.views.reading.sense import faults_in

GOAL = "borrow the ladder from Bo"
SECRET = "Bo crashed the red van into the harbour wall."


def scene(
    text: str,
    goal: str | None = None,
    secret: str | None = None,
    known: Sequence[str] = (),
    about: str | None = None,
    embedder: Embedder | None = None,
) -> Outcomes:
    """The outcomes of lines `Ana: …` and `Bo: …`; the goal is Ana's, the secret Bo's, and Ana knows what is known."""
    said = [tuple(line.strip().split(": ", 1)) for line in text.strip().splitlines()]
    dialogue = [(speaker, words) for speaker, words in said]
    lines = [
        SaidLine(
            turn=turn,
            speaker=speaker,
            text=words,
            to=tuple({"Ana", "Bo"} - {speaker}),
            heard_by=tuple({"Ana", "Bo"} - {speaker}),
            faulty=bool(faults),
        )
        for turn, ((speaker, words), faults) in enumerate(zip(dialogue, faults_in(dialogue), strict=True), start=1)
    ]
    people = [
        PersonInScene(agent="Ana", goals=((goal, ()),) if goal else (), known=tuple(known)),
        PersonInScene(agent="Bo", secret=secret),
    ]
    return outcomes(people, lines, about, embedder or RehearsalEmbedder())


def ana(text: str, **given: object) -> PersonOutcome:
    return scene(text, **given).people[0]  # type: ignore[arg-type]


def bo(text: str, **given: object) -> PersonOutcome:
    return scene(text, **given).people[1]  # type: ignore[arg-type]


def sure(score: float | None) -> float:
    """A score that there has to be."""
    assert score is not None
    return score


# --- goals ----------------------------------------------------------------------------------------------------------

ASKED = "Ana: Could I borrow your ladder from tomorrow on?"


def test_a_goal_that_is_granted_is_reached_and_one_that_is_refused_is_not() -> None:
    granted = ana(f"{ASKED}\nBo: Of course, take it from the shed.", goal=GOAL).goal
    half = ana(f"{ASKED}\nBo: Maybe, but only if it does not rain. Certainly not for long.", goal=GOAL).goal
    refused = ana(f"{ASKED}\nBo: No, the ladder stays with me.", goal=GOAL).goal
    assert refused == 0
    assert sure(granted) > 7 > sure(half)


def test_the_last_word_counts_most() -> None:
    at_last = ana(
        f"{ASKED}\nBo: No, never.\nAna: Please, the ladder is safe with me.\nBo: All right, take it.", goal=GOAL
    )
    withdrawn = ana(f"{ASKED}\nBo: All right, take it.\nAna: The ladder is heavy.\nBo: No, leave it here.", goal=GOAL)
    assert sure(at_last.goal) > 5 > sure(withdrawn.goal)
    assert at_last.goals[0].turns == (2, 4)


RECITED = (
    "Ana: Borrow the ladder from Bo.\nBo: Borrow the ladder from Bo.\nAna: I borrow the ladder.\nBo: The ladder.",
    "Ana: I borrow the ladder from Bo.\nBo: Yes.\nAna: Borrow the ladder.\nBo: Yes.\nAna: Ladder.\nBo: Yes.",
    "Ana: Thank you.\nBo: Thank you too.\nAna: Thanks.\nBo: You are welcome.",
)


@pytest.mark.parametrize("text", RECITED)
def test_reciting_a_goal_and_thanks_reach_nothing(text: str) -> None:
    assert sure(ana(text, goal=GOAL).goal) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("text", [*RECITED, "Ana: The herons are back.\nBo: Yes, I love them. Of course."])
def test_nor_do_they_where_meaning_is_compared_and_nor_does_another_subject(text: str) -> None:
    assert sure(ana(text, goal=GOAL, embedder=open_embedder("minilm")).goal) <= 3


def test_what_is_to_be_found_out_is_found_by_an_answer() -> None:
    goal = "find out when the ferry leaves"
    answered = ana("Ana: When does the ferry leave?\nBo: The ferry leaves at 7 from the north pier.", goal=goal).goal
    not_known = ana("Ana: When does the ferry leave?\nBo: I have no idea when it leaves.", goal=goal).goal
    assert sure(answered) > 5 > sure(not_known)


def test_what_is_to_be_withheld_is_kept_by_a_refusal() -> None:
    goal = "keep the ladder"
    asked = "Bo: Give me the ladder, please."
    kept, given_away = (ana(f"{asked}\nAna: {reply}", goal=goal).goal for reply in ("No, never.", "Of course."))
    assert given_away == 0
    assert sure(kept) > 7
    assert ana("Bo: The herons are back.\nAna: I saw them.", goal=goal).goal is None  # nobody wanted the ladder


def test_a_meeting_is_settled_by_two_who_agree() -> None:
    about = "The ladder has to be bought."
    asked = "Ana: The ladder has to be bought by somebody, who pays for the ladder?\n"
    settled = scene(f"{asked}Bo: I will pay for the ladder.\nAna: Agreed, the ladder is yours to buy.", about=about)
    open_still = scene(f"{asked}Bo: No, I won't pay for the ladder.\nAna: Nor can I.", about=about)
    assert settled.meeting
    assert sure(settled.meeting.score) > 5
    assert open_still.meeting
    assert open_still.meeting.score == 0
    assert scene(asked).meeting is None


# --- the other dimensions -------------------------------------------------------------------------------------------


def test_thanks_and_praise_are_warm_and_blame_is_cold() -> None:
    warm = scene("Ana: You are a dear friend, thank you.\nBo: You are most kind, Ana.")
    cold = scene("Ana: You are so selfish, it is all your fault.\nBo: Leave me alone, you liar.")
    assert warm.pairs[0].score > 2 > -2 > cold.pairs[0].score
    assert [person.relationship for person in warm.people] == [warm.pairs[0].score] * 2
    assert ana("Ana: Thank you, how kind.").relationship is not None
    assert tone_of("That is not kind of you at all.") == 0


def test_a_secret_is_told_hinted_at_or_kept() -> None:
    asked = "Ana: What happened at the harbour?\n"
    told = bo(f"{asked}Bo: I crashed the red van into the harbour wall.", secret=SECRET)
    kept = bo(f"{asked}Bo: The fishermen mended their nets.", secret=SECRET)
    owned_up = bo("Ana: Was it you who crashed the red van into the wall?\nBo: Yes, I admit it.", secret=SECRET)
    denied = bo("Ana: Was it you who crashed the red van into the wall?\nBo: No, of course not.", secret=SECRET)
    assert sure(told.secret) <= -8
    assert sure(owned_up.secret) <= -5
    assert sure(kept.secret) > -3
    assert denied.secret == 0
    assert told.told_in == (2,)
    assert bo(f"{asked}Bo: I crashed the red van.").secret is None


def test_facts_that_others_bring_up_are_learned_unless_they_are_known() -> None:
    news = "Bo: The caretaker changes all locks on the 9th of June."
    assert [fact.text for fact in ana(f"Ana: And?\n{news}").learned] == [news.removeprefix("Bo: ")]
    assert ana(f"Ana: And?\n{news}", known=["On the 9th of June the caretaker changes all locks."]).knowledge == 0
    assert ana(f"Ana: And?\n{news}\nAna: Oh!\n{news}").knowledge == ana(f"Ana: And?\n{news}").knowledge
    assert bo(f"Ana: And?\n{news}").knowledge == 0
    assert ana("Ana: And?\nBo: Shall the caretaker change the locks on the 9th of June?").knowledge == 0


def test_many_vague_sentences_teach_no_more_than_a_single_fact() -> None:
    vague = "".join(f"Bo: The {word} were standing near some {word} tables.\n" for word in "abcdefghijklmnop")
    found = ana(f"Ana: And?\n{vague}").knowledge
    fact = ana("Ana: And?\nBo: The caretaker changes all locks on the 9th of June.").knowledge
    assert sure(found) <= sure(fact)


def test_who_repeats_themselves_is_not_believable() -> None:
    line = "I was thinking of the harbour and of the nets all night."
    assert bo(f"Ana: And?\nBo: {line}\nAna: Well?\nBo: {line}").believability == 5
    assert ana(f"Ana: And?\nBo: {line}").believability == 10


# --- nothing can be said --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Ana: 12.\nBo: 9.", "Ana: 钥匙在哪里？\nBo: 在抽屉里。", "Ana: …\nBo: !?"])
def test_of_talk_that_the_rules_can_not_read_nothing_is_said(text: str) -> None:
    found = scene(text, goal=GOAL, secret=SECRET, about="The ladder.")
    for person in found.people:
        assert (person.goal, person.relationship, person.secret, person.knowledge) == (None,) * 4
        assert person.believability is not None
    assert found.meeting is None


def test_without_goal_secret_or_line_a_score_is_none() -> None:
    (first, second) = scene("Ana: The nets are dry.", secret=SECRET).people
    assert (first.goal, first.secret, second.secret, second.believability) == (None, None, None, None)
    assert second.lines == 0
    assert first.knowledge is None  # nobody told her anything
    empty = outcomes([PersonInScene(agent="Ana", goals=((GOAL, ()),))], [], "The ladder.", RehearsalEmbedder())
    assert all(getattr(empty.people[0], dimension) is None for dimension in RANGES)
    assert empty.meeting is None


WORDS = st.sampled_from(
    [
        "yes",
        "no",
        "ladder",
        "borrow",
        "Ana",
        "Bo",
        "thank",
        "never",
        "van",
        "crashed?",
        "fault.",
        "maybe",
        "7",
        "钥匙",
        ",",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(("Ana", "Bo")), st.lists(WORDS, max_size=8)), max_size=8))
def test_every_score_is_in_its_range(said: list[tuple[str, list[str]]]) -> None:
    text = "\n".join(f"{speaker}: {' '.join(words)}" for speaker, words in said if words)
    if not text:
        return
    found = scene(text, goal=GOAL, secret=SECRET, about="Who borrows the ladder?")
    for person in found.people:
        for dimension, (low, high) in RANGES.items():
            score = getattr(person, dimension)
            assert score is None or low <= score <= high


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stand"),
    [
        ("Yes, gladly.", 1),
        ("No problem.", 1),
        ("No, I can't.", -1),
        ("Is that all right?", 0),
        ("The nets are dry.", 0),
        ("I’m afraid that is out of the question.", -1),
        ("Maybe, yes.", 0.5),
    ],
)
def test_yes_and_no_are_told_apart(text: str, stand: float) -> None:
    assert agreement_of(text) == stand


def test_content_words_lose_their_endings() -> None:
    assert content_words(["The boats' repairing", "a boat repaired"]) == content_words(["boat repair"])
    assert confirms("All right, it was me.")
    assert not confirms("No, that is a lie.")
