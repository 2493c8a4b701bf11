"""Lines that people say, labelled by hand with what they do. Few, made up, and ours.

The threshold of `metrics.speech_acts` was chosen on `CALIBRATION`, and the prototypes were widened once after a look at
what it got wrong there, so figures on it flatter. `HELD_OUT` was labelled before that, and looked at only afterwards.
"""

import random

#: Pairs of a line and its acts: Proposes, Agrees, Objects, Mediates, Steers, minds Time, Jokes, Closes; `-` for none.
CALIBRATION: tuple[tuple[str, str], ...] = (
    ("We might rent two boats and row over to the island.", "P"),
    ("How about an evening of bowling for all of us?", "P"),
    ("I would propose a cooking course in the old mill.", "P"),
    ("What if everyone brings a dish from home?", "P"),
    ("Let's take the train to the hills and have lunch up there.", "P"),
    ("Perhaps the first Friday in June would be best.", "P"),
    ("Why not ask the museum for a guided tour?", "P"),
    ("Yes, I would love that.", "A"),
    ("Good thinking, Bob, I am all for it.", "A"),
    ("That sounds lovely.", "A"),
    ("You are right, the park is the safest choice.", "A"),
    ("Fine with me.", "A"),
    ("I think the same as Cindy.", "A"),
    ("Absolutely, let it be the lake.", "A"),
    ("No, hiking is far too hard for some of us.", "O"),
    ("I really don't think that a raft is safe.", "O"),
    ("That costs much more than we have.", "O"),
    ("I can't support that plan.", "O"),
    ("Sorry, but I find that boring.", "O"),
    ("You are wrong about the bus.", "O"),
    ("That won't work, the mill is closed on Fridays.", "O"),
    ("Bob wants safety and Cindy wants nature, and a gentle walk would give us both.", "M"),
    ("Could we meet halfway, with the park in the morning and the lake later?", "M"),
    ("You two are not so far apart, listen to each other for a moment.", "M"),
    ("Both ideas are good, so why not join them together?", "M"),
    ("Let us not fight about it, there is room for everybody's wish.", "M"),
    ("I can see Bob's side and Cindy's side as well.", "M"),
    ("Enough about the fruit, we still have to choose a date.", "S"),
    ("Let us come back to what we are here for.", "S"),
    ("Next point on the list: who books the place?", "S"),
    ("Can we talk about the transport now?", "S"),
    ("First of all we ought to clear up where it takes place.", "S"),
    ("I would like to turn to the budget.", "S"),
    ("There are five minutes to go.", "T"),
    ("I need to be off at half past.", "T"),
    ("The clock is ticking, people.", "T"),
    ("We should come to an end soon, it is nearly three.", "T"),
    ("A customer expects me in ten minutes.", "T"),
    ("We have no time for that today.", "T"),
    ("My grandmother rows faster than our whole sales team.", "J"),
    ("I will bring the umbrella and David can bring the bad weather.", "J"),
    ("Only if the ducks are allowed to vote too.", "J"),
    ("I once lost a race against a snail, and it had a head cold.", "J"),
    ("Ha, then I shall be the mascot.", "J"),
    ("So we take the lake, on the fifth of June, and that is final.", "C"),
    ("Then everything is decided, thank you.", "C"),
    ("Let me sum it up: Friday, the park, and a grill.", "C"),
    ("Bye everyone, until tomorrow.", "C"),
    ("Done, I shall put it into the minutes.", "C"),
    ("The garden belongs to a painter by the river.", "-"),
    ("Last year it rained the whole day.", "-"),
    ("I have two cats and a dog.", "-"),
    ("The bus goes every twenty minutes from the station.", "-"),
    ("She works on the third floor.", "-"),
    ("What do you all think?", "-"),
    ("My sister has a bakery in the old town.", "-"),
    ("How many of us are there?", "-"),
    ("The boxes are in the cellar.", "-"),
    ("That's a good idea, but I need to leave in five minutes.", "AT"),
    ("Good point. Now let us move to the next question.", "AS"),
    ("No, I don't want that. How about a museum instead?", "OP"),
    ("Time is short. Let's agree that it is the park.", "TC"),
)

HELD_OUT: tuple[tuple[str, str], ...] = (
    ("I propose that we paint the shed together.", "P"),
    ("We could hire a guide for the old town.", "P"),
    ("How about tea at my place afterwards?", "P"),
    ("Maybe a quiz evening would be nice.", "P"),
    ("Let's ask the farmer whether he lends us the barn.", "P"),
    ("I like that very much.", "A"),
    ("Sounds great, I am in.", "A"),
    ("True, Eva, that is how I see it too.", "A"),
    ("Okay, Friday suits me.", "A"),
    ("I don't think so.", "O"),
    ("That is much too far for a single day.", "O"),
    ("I am not convinced, somebody might get hurt.", "O"),
    ("Absolutely not, we did that last year and it was awful.", "O"),
    ("Why can't we do both, first the walk and then the boats?", "M"),
    ("Calm down, you two, there is a way that pleases you both.", "M"),
    ("Alice and Bob both have good reasons, so let us meet in the middle.", "M"),
    ("Back to our subject, please.", "S"),
    ("Shall we speak about the food next?", "S"),
    ("We have drifted away, the question was who pays.", "S"),
    ("Let us leave the games aside and look at the costs.", "S"),
    ("I must go in a few minutes.", "T"),
    ("Only a quarter of an hour remains.", "T"),
    ("We are running late.", "T"),
    ("My train leaves at four, so be quick.", "T"),
    ("If I cook, please have the fire brigade at hand.", "J"),
    ("I tried yoga once and got stuck till Tuesday.", "J"),
    ("Sure, and I will come riding on a goat.", "J"),
    ("Good, that settles it.", "C"),
    ("We have an agreement: it is the barn on Saturday.", "C"),
    ("Thank you, that was all for today.", "C"),
    ("See you next week.", "C"),
    ("The barn has a new roof.", "-"),
    ("My brother plays the trumpet.", "-"),
    ("It was cold this morning.", "-"),
    ("Who is the man with the hat?", "-"),
    ("The letter came on Monday.", "-"),
    ("He paints houses in the summer.", "-"),
    ("I had soup for lunch.", "-"),
    ("I agree. We have to finish, though, it is nearly five.", "AT"),
    ("I am against the boats. What about bicycles?", "OP"),
)

#: Lines that steer, lines that stay with what they steer to, and lines that do not: for `NEAR` of `metrics.behaviour`.
STEERED: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Enough about the fruit, we still have to choose a date.",
        (
            "The first Friday of June suits me.",
            "June is full for me, what about the end of May?",
            "Does the tenth work for everybody?",
        ),
        (
            "I would take more strawberries, they keep better.",
            "And who brings the bowls for the cherries?",
            "My cat sleeps all day.",
        ),
    ),
    (
        "Can we talk about the transport now?",
        ("We could rent a small bus.", "The train is cheaper than cars.", "I can drive three people."),
        ("I still think that we should cook ourselves.", "The museum closes at five.", "It rained yesterday."),
    ),
    (
        "We have drifted away, the question was who pays.",
        (
            "The firm gives us two hundred for it.",
            "I can't afford more than twenty each.",
            "Let us ask the boss for money.",
        ),
        ("The band played until midnight.", "I liked the second song best.", "Her dress was green."),
    ),
    (
        "What about the food, has anybody thought of that?",
        ("I can make a potato salad.", "There is a bakery on the way.", "Two of us eat no meat."),
        ("The path is too steep for me.", "We need better shoes.", "The bus goes at nine."),
    ),
    (
        "Let us turn to the place before we go on.",
        ("The lake would be lovely.", "I vote for the park by the canal.", "Not the mill again, please."),
        ("I shall bring my guitar.", "At four I have an appointment.", "He said that it was a joke."),
    ),
)


# --- lines by which nobody means anything ---------------------------------------------------------------------------

_WORDS = (
    "the of a bus lake tree on green seven table quickly under run sleep paper because moon fish bread if window "
    "laughs stone blue into"
)


def _words_at_random(number: int) -> str:
    draw = random.Random(number)
    return " ".join(draw.choice(_WORDS.split()) for _ in range(draw.randint(5, 14))).capitalize() + "."


def _letters_at_random(number: int) -> str:
    draw = random.Random(number)
    return "".join(draw.choice("abcdefghijklmnopqrstuvwxyz    ") for _ in range(draw.randint(20, 60))).strip()


WORDS_AT_RANDOM = tuple(_words_at_random(number) for number in range(200))
LETTERS_AT_RANDOM = tuple(_letters_at_random(number) for number in range(200))

#: Words of prompts that the rehearsal takes up.
_TOPICS = (
    "crane", "quay", "meeting", "catch", "agreement", "spirit", "picnic", "honour", "moment", "office", "harbour"
)  # fmt: skip


def _rehearsed(number: int) -> str:
    """Return an utterance as the rehearsal puts it together: an opening, a remark, an ending, or some of them."""
    from tertulia.models.rehearsed_words import WORDS

    draw, words = random.Random(number), WORDS
    a, b = (f"the {topic}" for topic in draw.sample(_TOPICS, 2))
    parts = [draw.choice(words.openings), draw.choice(words.remarks), draw.choice(words.endings)]
    kept = [part for part in parts if part == parts[1] or draw.random() < 0.5]
    return " ".join(part.format(a=a, b=b) for part in kept)


REHEARSED = tuple(_rehearsed(number) for number in range(200))
