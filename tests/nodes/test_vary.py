"""Blocks left out and brought to a length, other names, several candidates in one reply: prompts in, prompts out."""

import random
import string
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.prompts.renaming import check_names, first_name, renaming_of
from tertulia.prompts.vary import (
    with_items_of,
    with_lengths,
    without_blocks,
    words_in,
)
from tertulia.state.errors import UsageError
from tertulia.state.parameters import Parameters
from tertulia.state.records import BLOCK_INITIALS, Prompt, Unit

PEOPLE = ("Mara Quill", "Ann Bell", "James")


def a_prompt(items: list[int], block: str = "memory", layout: str = "single_message") -> Prompt:
    """A prompt with a lead and items of so many words in a block, and a task."""
    units = [
        Unit(id=f"{block}.lead", block=block, kind="text", text="This is what Mara Quill remembers."),
        *(
            Unit(id=f"{block}.m{i}", block=block, kind="item", text="- " + "word " * words, removable=True)
            for i, words in enumerate(items)
        ),
        Unit(id="task.text_1", block="task", kind="text", text="What does Mara Quill say to Ann Bell?"),
        Unit(id="output_instruction.text_1", block="output_instruction", kind="text", text="Answer in JSON."),
    ]
    return Prompt(units=tuple(units), speaker="Mara Quill", layout=layout)


def brought_to(prompt: Prompt, lengths: str, seed: int = 1) -> Prompt:
    return with_lengths(prompt, Parameters().with_settings({"block_lengths": lengths}).lengths, random.Random(seed))


def items(prompt: Prompt, block: str = "memory") -> list[Unit]:
    return [unit for unit in prompt.units if unit.block == block and unit.kind == "item"]


def words(prompt: Prompt, block: str = "memory") -> int:
    return sum(words_in(unit.text) for unit in items(prompt, block))


# --- blocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letters", ["", "b", "m", "bmpe"])
def test_removed_blocks_leave_nothing_of_themselves_and_all_of_the_others(letters: str) -> None:
    units = [Unit(id=f"{block}.1", block=block, kind=kind, text=block)  # type: ignore[arg-type]
             for block in (*BLOCK_INITIALS.values(), "opening", "task") for kind in ("item", "text")]  # fmt: skip
    prompt = Prompt(units=tuple(units), speaker="Ana", layout="single_message")
    gone = {BLOCK_INITIALS[letter] for letter in letters}
    assert without_blocks(prompt, letters).units == tuple(unit for unit in units if unit.block not in gone)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20), st.integers(1, 60), st.integers(0, 99))
def test_a_block_has_exactly_so_many_items(sizes: list[int], count: int, seed: int) -> None:
    prompt = a_prompt(sizes)
    made = brought_to(prompt, f"m={count}", seed)
    assert len(items(made)) == count
    assert len({unit.id for unit in made.units}) == len(made.units)
    times = Counter(unit.text for unit in items(made))
    assert set(times) <= {unit.text for unit in items(prompt)}
    originals = [unit.id.partition(".copy")[0] for unit in items(made)]
    assert originals == sorted(originals, key=lambda id: int(id.removeprefix("memory.m")))  # order stays
    assert count < len(sizes) or set(originals) == {unit.id for unit in items(prompt)}  # dropped only to be shorter
    assert brought_to(prompt, f"m={count}", seed) == made
    assert [unit for unit in made.units if unit.block != "memory"] == list(prompt.units[-2:])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 70), st.integers(0, 9))
def test_a_length_in_words_is_exact_or_an_error_and_the_error_is_right(sizes: list[int], count: int, seed: int) -> None:
    """Against plain search: every selection for less, every multiplicity for more."""
    prompt, total = a_prompt(sizes), sum(sizes)
    sums = {0}
    if count <= total:
        for size in sizes:
            sums |= {reached + size for reached in sums}
    else:
        sums = {total}
        for _ in range(count):
            sums |= {reached + size for reached in sums for size in sizes if reached + size <= count}
    if count in sums:
        assert words(brought_to(prompt, f"m={count}w", seed)) == count
    else:
        with pytest.raises(UsageError, match=rf"m={count}w can't be reached.*m~{count}w"):
            brought_to(prompt, f"m={count}w", seed)
    near = words(brought_to(prompt, f"m~{count}w", seed))
    reachable = [length for length in sums if length] or [total]
    assert abs(near - count) <= min(abs(length - count) for length in reachable)


def test_a_copy_stands_behind_its_original_and_may_be_removed_as_it() -> None:
    made = items(brought_to(a_prompt([3]), "m=3"))
    assert [unit.id for unit in made] == ["memory.m0", "memory.m0.copy_1", "memory.m0.copy_2"]
    assert len({(unit.text, unit.removable) for unit in made}) == 1


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ("p=2", "p=2 can't be reached: previous_dialogues has no items in this prompt; leave p out"),
        ("m=13w", "m=13w can't be reached: whole items of memory make 12 or 14 words in this prompt; set m~13w"),
        ("m=1w", "whole items of memory make 3 words"),
    ],
)
def test_a_length_that_cant_be_reached_says_so(lengths: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        brought_to(a_prompt([3, 5, 9, 9]), lengths)
    assert message in str(refused.value)


# --- items of another case ------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.lists(st.integers(1, 30), min_size=1, max_size=12))
def test_items_of_another_case_stand_in_their_block_as_nearly_as_many_words(own: list[int], others: list[int]) -> None:
    prompt, other = a_prompt(own), a_prompt(others)
    others_units = (unit.model_copy(update={"text": unit.text.replace("word", "thing")}) for unit in other.units)
    other = other.model_copy(update={"units": tuple(others_units)})
    varied = with_items_of(prompt, other, random.Random(1))
    assert [unit for unit in varied.units if unit.kind == "text"] == [u for u in prompt.units if u.kind == "text"]
    taken = items(varied)
    assert varied.units[0].id == "memory.lead"
    ids = [unit.id.removesuffix(".other") for unit in taken]
    assert ids == [unit.id for unit in items(other) if unit.id in ids]  # in their order, none twice
    assert all(unit.id.endswith(".other") and unit.removable for unit in taken)
    sums = {0}
    for size in others:
        sums |= {total + size for total in sums}
    assert abs(words(varied) - sum(own)) == min(abs(total - sum(own)) for total in sums if total)


def test_what_may_not_be_removed_stays_and_a_block_of_which_the_other_has_nothing_goes() -> None:
    fixed = Unit(id="memory.fixed", block="memory", kind="item", text="Stays.")
    prompt, other = a_prompt([3, 4]), a_prompt([5], block="goals")
    instructions = ["task.text_1", "output_instruction.text_1"]
    assert [unit.id for unit in with_items_of(prompt, other, random.Random(1)).units] == instructions
    prompt = prompt.model_copy(update={"units": (fixed, *prompt.units)})
    kept = [unit.id for unit in with_items_of(prompt, other, random.Random(1)).units]
    assert kept == ["memory.fixed", "memory.lead", *instructions]


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"removed_blocks": "bmc"}, "the current dialogue (c) can't be removed"),
        ({"block_lengths": "x=3"}, "unknown block letter 'x'"),
        ({"block_lengths": "c=3"}, "the length of current_dialogue (c) can't be set"),
        ({"block_lengths": "m=0"}, "'m=0' is no length of a block, 1 to 9999; write m=10 (items), m=250w (words)"),
        ({"block_lengths": "m=10000"}, "'m=10000' is no length of a block, 1 to 9999"),
        ({"block_lengths": "m=ten"}, "'m=ten' is no length"),
        ({"block_lengths": "m~w"}, "'m~w' is no length"),
        ({"names": "famos"}, "names=famos: write own, famous, rare, or pairs A=B,C=D"),
        ({"names": "Ann=Bo,Ann=Cy"}, "'Ann' stands twice"),
        ({"names": "Ann=Bo,Cy=Bo"}, "'Bo' stands twice"),
        ({"names": 'Ann="{'}, "is no name"),
        ({"retain": "middle"}, "retain=middle"),
        ({"retain": "lowest", "retain_block": "c"}, "retain_block=c is no block of which all items but one may go"),
        ({"retain": "lowest", "removed_blocks": "m"}, "retain_block=m is no block"),
        ({"sequential_candidates": 1}, "sequential_candidates=1"),
    ],
)
def test_a_setting_that_makes_no_sense_says_why(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        Parameters().with_settings(settings)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


# --- names ----------------------------------------------------------------------------------------------------------

#: Words among which a name of PEOPLE is a word of its own.
lower = st.text(string.ascii_lowercase + "äö", min_size=1, max_size=8)
mentions = st.sampled_from(["Mara Quill", "Mara", "Ann Bell", "Ann", "James", "Mara's", "Ann Bell’s", "James's"])
endings = st.sampled_from([" ", ", ", ". ", "! ", ": ", "\n", ' "', " (", "; ", " – "])
texts = st.lists(st.tuples(st.one_of(lower, lower, mentions), endings), max_size=20).map(
    lambda parts: "".join(f"{word}{end}" for word, end in parts)
)


@given(texts, st.sampled_from(["famous", "rare", "Mara Quill=Bo Dahl,Ann=Cy Eck,James=Dee Fox"]))
def test_names_come_back_as_they_were(text: str, choice: str) -> None:
    renaming = renaming_of(PEOPLE, choice)
    assert renaming.put_back(renaming.rename(text)) == text


@given(texts)
def test_nobody_is_called_by_their_own_name_any_more(text: str) -> None:
    """Save where words with a capital letter stand beside each other: those are names of others."""
    renaming = renaming_of(PEOPLE, "rare")
    apart = text.replace("Mara Quill ", "Mara Quill, ").replace("Mara ", "Mara, ").replace("Ann Bell ", "Ann Bell, ")
    apart = apart.replace("Ann ", "Ann, ").replace("James ", "James, ").replace("Ann, Bell", "Ann Bell")
    apart = apart.replace("Mara, Quill", "Mara Quill").replace("’s ", "’s, ").replace("'s ", "'s, ")
    made = renaming.rename(apart)
    assert not any(name in made for name in ("Mara", "Quill", "Ann", "Bell", "James"))


@given(st.text(string.ascii_letters + "äéß", min_size=1), st.text(string.ascii_letters + "äéß", min_size=1))
def test_words_and_names_that_contain_a_name_are_untouched(before: str, after: str) -> None:
    renaming = renaming_of(PEOPLE, "famous")
    for name in ("Mara", "Ann", "James", "Mara Quill"):
        for text in (before + name, name + after, f"{before}-{name}", f"{name}-{after}", f"{before}x’{name}"):
            if text not in PEOPLE and "Ann Bell" not in text:
                assert renaming.rename(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mara Quill met Ann.", "Harry Potter met Severus."),
        ("Annual, Ann-Marie, O'Ann, Maranta", "Annual, Ann-Marie, O'Ann, Maranta"),
        ("Ann Marie Cole, and I met Mary Ann.", "Ann Marie Cole, and I met Mary Ann."),
        ("a walk to Mount Mara, in Ann Street", "a walk to Mount Mara, in Ann Street"),
        ("On Monday Ann came, Dr. Ann Bell as I know her.", "On Monday Severus came, Dr. Severus Snape as I know her."),
        ("Tell Mara I came.", "Tell Harry I came."),
        ("Hello Ann! Dear Mara, hello.", "Hello Severus! Dear Harry, hello."),
        ("Mara's boat, Ann Bell’s dog", "Harry's boat, Severus Snape’s dog"),
        ("Mara'll see to it", "Harry'll see to it"),
        ('{"Mara Quill": "Hm.", "by Ann Bell\'s?": true}', '{"Harry Potter": "Hm.", "by Severus Snape\'s?": true}'),
        ("Quill and Bell", "Quill and Bell"),
        ("MARA and mara", "MARA and mara"),
        ("Mary Ann sells fish. Then Ann came.", "Mary Ann sells fish. Then Severus came."),
        ("- Mary Ann sells fish, says Ann  Bell.", "- Mary Ann sells fish, says Severus Snape."),
        ("Ann de Vries, St. Ann's Church", "Ann de Vries, St. Ann's Church"),
        ("Потом Ann ушла", "Потом Severus ушла"),
    ],
)  # fmt: skip
def test_names_are_replaced_as_whole_words(text: str, expected: str) -> None:
    assert renaming_of(PEOPLE, "famous").rename(text) == expected


@pytest.mark.parametrize(
    ("people", "choice", "text", "expected"),
    [
        (("J. R. (Bob) Smith", "C++ Dev", "A.B."), "Bo Dahl,Cy Eck,Di Fox", "J. R. (Bob) Smith, C++, A.B.'s, AxB",
         "Bo Dahl, Cy, Di Fox's, AxB"),
        (("王伟", "李娜"), "Bo Dahl,Cy Eck", "王伟和李娜去了。", "Bo Dahl和Cy Eck去了。"),
        (("Иван Петров", "Анна"), "Bo Dahl,Cy Eck", "Иван и Анна, Анна-Мария", "Bo и Cy Eck, Анна-Мария"),
        (("राम", "Jose"), "Bo Dahl,Cy Eck", "राम रामा, Jose, Jose\u0301", "Bo Dahl रामा, Cy Eck, Jose\u0301"),
        (("James Ann", "Ann Bell"), "Bo Dahl,Cy Eck", "Ann and James Ann, James", "Cy and Bo Dahl, Bo"),
        (("Éloïse", "Luc Bo"), "Zoé Blanc,Al Ri", "d'Éloïse, qu’Éloïse, Lorsqu'Éloïse, D'Éloïse, s'Luc, Luc l'a vu",
         "d'Zoé Blanc, qu’Zoé Blanc, Lorsqu'Zoé Blanc, D'Éloïse, s'Al, Al l'a vu"),
        (("Dr. Ana Bell", "Mr Jones"), "Bo Dahl,Cy Eck", "Ana Bell, Dr. Ana Bell, Jones", "Bo Dahl, Bo Dahl, Cy"),
        (("Ann", "Ann Bell"), "Bo Dahl,Cy Eck", "Ann and Ann Bell", "Bo Dahl and Cy Eck"),
    ],
)  # fmt: skip
def test_names_of_any_kind_are_replaced(people: tuple[str, ...], choice: str, text: str, expected: str) -> None:
    pairs = ",".join(f"{old}={new}" for old, new in zip(people, choice.split(","), strict=False))
    renaming = renaming_of(people, pairs)
    assert renaming.rename(text) == expected
    assert renaming.rename(renaming.put_back(expected)) == expected


def test_only_those_are_renamed_who_are_named_and_nobody_is_taken_for_them() -> None:
    people = ("Mary Ann", "Ann Bell", "Mara Quill")
    assert renaming_of(people, "Ann Bell=Bo").rename("Mary Ann met Ann.") == "Mary Ann met Bo."
    alike = renaming_of(people, "Mara=Ann Cole")  # there is an Ann already: she has her full name, to be told apart
    assert alike.rename("Mara met Mary Ann") == "Ann Cole met Mary Ann"
    assert alike.put_back("Ann Cole met Ann, and Cole met me") == "Mara Quill met Ann, and Quill met me"
    assert renaming_of(people, "Mara=Bell Ann").put_back("I saw Ann.") == "I saw Ann."


def test_who_is_not_there_keeps_a_name_for_later_and_is_refused_at_the_start() -> None:
    assert renaming_of(("Mara Quill", "James"), "Mara=Bo,Ann=Cy").names == {"Mara Quill": "Bo"}
    with pytest.raises(UsageError, match=r"more than one here is called 'Ann'; say which of Ann Bell, Ann Cole"):
        check_names(("Ann Bell", "Ann Cole"), "Ann=Bo")


def test_last_names_by_themselves_are_put_back_but_not_those_of_others() -> None:
    renaming = renaming_of(PEOPLE, "famous")
    assert renaming.put_back("Professor Snape and Mr. Potter") == "Professor Bell and Mr. Quill"
    assert renaming.put_back("James Potter was his father.") == "James Potter was his father."
    assert renaming.put_back("Holmes, I think") == "James, I think"


def test_a_first_name_that_two_people_have_is_nobodys() -> None:
    people = ("Ann Bell", "Ann Cole", "Ann")
    assert renaming_of(people, "Ann Cole=Dee Fox").rename("Ann met Ann Cole") == "Ann met Dee Fox"
    assert renaming_of(people, "Ann=Dee Fox").rename("Ann met Ann Cole") == "Dee Fox met Ann Cole"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("Bob=Al", "nobody here is called 'Bob' (known: Mara Quill, Ann Bell, James)"),
        ("Mara Quil=Al", "(did you mean 'Mara Quill'?)"),
        ("Mara=Ann Bell", "two people would be called Ann Bell"),
        ("Mara=Al,Mara Quill=Bo", "Mara Quill stands twice"),
    ],
)
def test_names_that_cant_be_given_are_refused(choice: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_names(PEOPLE, choice)
    assert message in str(refused.value)


def test_lists_of_names_begin_with_the_papers_and_can_be_too_short() -> None:
    assert list(renaming_of(PEOPLE[:2], "famous").names.values()) == ["Harry Potter", "Severus Snape"]
    assert list(renaming_of(PEOPLE[:2], "rare").names.values()) == ["Tifa Lockhart", "Cloud Strife"]
    for choice in ("famous", "rare"):
        listed = renaming_of([f"Person {n}" for n in range(12)], choice).names.values()
        assert len({first_name(name) for name in listed}) == len({name.split()[-1] for name in listed}) == 12
        with pytest.raises(UsageError, match=rf"names={choice} has 12 names and here are 13 people"):
            renaming_of([f"Person {n}" for n in range(13)], choice)
