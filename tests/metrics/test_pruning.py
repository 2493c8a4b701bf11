"""What was removed, how inconsistent it is, and where attention went, on a prompt whose figures are known."""

from support.stored import a_candidate, a_turn_record

from tertulia.metrics.post_removal import mean_post_removal, post_removal
from tertulia.metrics.pruning import inconsistency_of, mean_inconsistency, mean_removal, removal_of
from tertulia.state.records import Prompt, Unit


def unit(id: str, block: str, text: str, kind: str = "item", removable: bool = True) -> Unit:
    return Unit.model_validate({"id": id, "block": block, "kind": kind, "text": text, "removable": removable})


PROMPT = Prompt(
    units=(
        unit("head", "memory", "What she remembers:", "text", False),
        unit("m1", "memory", "one two three four"),
        unit("m2", "memory", "five six"),
        unit("b1", "basic_info", "seven eight"),
        unit("now", "current_dialogue", "nine", removable=False),
    ),
    speaker="Ana",
    layout="single_message",
)
SCORES = {"head": 1.0, "m1": 4.0, "m2": 2.0, "b1": 2.0, "now": 7.0}


def test_shares_of_what_was_removed() -> None:
    found = removal_of(a_turn_record(removed=("head", "m1", "m2"), scores=SCORES), PROMPT)
    assert found is not None
    assert (found.items, found.words, found.attention) == (2 / 3, 6 / 8, 6 / 8)
    assert (found.units_of_prompt, found.words_of_prompt, found.attention_of_prompt) == (3 / 5, 9 / 12, 7 / 16)
    unscored = removal_of(a_turn_record(), PROMPT)
    assert unscored is not None
    assert (unscored.items, unscored.words, unscored.attention) == (0, 0, None)
    mean = mean_removal([found, None, unscored])
    assert (mean.prompts, mean.items, mean.scored, mean.attention) == (2, 1 / 3, 1, 6 / 8)
    assert removal_of(a_turn_record(), None) is None
    assert mean_removal([None]).items is None
    fixed = Prompt(units=PROMPT.units[-1:], speaker="Ana", layout="single_message")
    assert removal_of(a_turn_record(), fixed).items is None  # type: ignore[union-attr]


def test_inconsistency_is_of_the_first_candidate_and_the_chosen_one() -> None:
    candidates = [a_candidate(1, inconsistency=4.0), a_candidate(0, inconsistency=8.0), a_candidate(2)]
    found = inconsistency_of(a_turn_record(chosen=1), candidates)
    assert (found.judged, found.before, found.after, found.revised) == (1, 8.0, 4.0, 1.0)
    kept = inconsistency_of(a_turn_record(chosen=0), candidates)
    assert (kept.before, kept.after, kept.revised) == (8.0, 8.0, 0.0)
    unjudged = [inconsistency_of(a_turn_record(chosen=2), candidates), inconsistency_of(a_turn_record(), [])]
    mean = mean_inconsistency([found, kept, *unjudged])
    assert (mean.judged, mean.before, mean.after, mean.revised) == (2, 8.0, 6.0, 0.5)
    assert mean_inconsistency(unjudged).before is None


def test_attention_is_compared_between_full_and_pruned_prompt() -> None:
    found = post_removal(PROMPT, ["m1"], SCORES, {"head": 1.0, "m2": 3.0, "b1": 1.0, "now": 9.0})
    assert found.model_dump() == {
        "prompts": 1,
        "kept": 4 / 8,
        "top1": 3 / 4,
        "top3": 1.0,
    }
    untouched = post_removal(PROMPT, [], SCORES, SCORES)
    assert (untouched.kept, untouched.top1) == (1.0, 4 / 8)
    emptied = post_removal(PROMPT, ["head", "m1", "m2", "b1"], SCORES, {"now": 9.0})
    assert (emptied.kept, emptied.top1) == (0.0, None)
    mean = mean_post_removal([found, emptied])
    assert (mean.prompts, mean.kept, mean.top1) == (2, 1 / 4, 3 / 4)
    assert mean_post_removal([]).kept is None
