"""How well the embedded model's feelings and mechanisms follow made-up lines, read from its probabilities.

`python -m benchmarks.talk.decisions` (`make bench-meetings`); docs/readings.md quotes it.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence

from support.choices_of import ratios

from tertulia.cli.environment import cache_folder
from tertulia.models.loading import open_model
from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.nodes.meeting.choices import feeling_of, feeling_options, switch_options, switches_of
from tertulia.state.meeting import EMOTIONS
from tertulia.state.randomness import keyed_generator

#: Lines, and the feelings that they may well give. None of them was used to choose the sentence that is completed.
MOMENTS: Sequence[tuple[str, frozenset[str]]] = (
    ("You ruin everything that you touch, Ana. Get out of my sight.", frozenset({"annoyed", "sad", "afraid"})),
    ("Only a fool would have signed that, Ana, and you did.", frozenset({"annoyed", "sad", "worried"})),
    ("They have chosen you, Ana! You got the post!", frozenset({"glad", "eager"})),
    ("The test came back, and you are perfectly healthy.", frozenset({"glad", "calm"})),
    ("The water is rising, and the boat has a hole.", frozenset({"afraid", "worried"})),
    ("Don't move. There is a snake behind your chair.", frozenset({"afraid", "worried"})),
    ("The parrot answered the phone, and the priest said good morning to it!", frozenset({"amused", "glad"})),
    ("He put salt in the cake instead of sugar, and they all ate it politely. Ha ha!", frozenset({"amused", "glad"})),
    ("My grandmother was buried on Friday.", frozenset({"sad"})),
    ("We have to sell the boat that your father built.", frozenset({"sad", "worried", "annoyed"})),
    ("Wait, I have not finished. There are twelve more points on my list.", frozenset({"impatient", "annoyed"})),
    ("The queue has not moved for two hours.", frozenset({"impatient", "annoyed", "worried"})),
    ("Somebody has left a parcel for you, without a name on it.", frozenset({"curious", "eager", "worried"})),
    ("Listen: where does that music come from?", frozenset({"curious", "amused"})),
    ("Come along, we start at once, and you go first!", frozenset({"eager", "glad"})),
    ("The bank has sent a letter about your debts.", frozenset({"worried", "afraid", "sad"})),
    ("There is no hurry at all. Let us sit in the shade.", frozenset({"calm", "glad"})),
    ("You took my place again without asking.", frozenset({"annoyed"})),
)

#: Lines that call for a mechanism.
CALLS_FOR: Sequence[tuple[str, str]] = (
    ("What was the name of the man who sold us the engine?", "memory_retrieval"),
    ("Ana, you were there in spring. What happened then?", "memory_retrieval"),
    ("So the day is fixed. What else did you want to get done?", "goal_summary"),
    ("We have come to an agreement on the price.", "goal_summary"),
    ("Why are we suddenly talking about your cousin's wedding?", "topic_analysis"),
    ("We have lost the thread completely.", "topic_analysis"),
    ("The harbour closes in a quarter of an hour.", "time_analysis"),
    ("My bus leaves at five, so be quick.", "time_analysis"),
    ("You have been talking all the time, Cy.", "speech_frequency"),
    ("We haven't heard anything from Dee.", "speech_frequency"),
)

#: The same said mildly and strongly.
GRADED: Sequence[tuple[str, str]] = (
    ("It is a pity about the cup.", "It is a catastrophe, we have lost everything we had!"),
    ("That was not so clever, Ana.", "I hate you, Ana, you have destroyed my life!"),
    ("That is quite nice.", "This is the greatest day of our lives!"),
    ("The step is a bit loose.", "The roof is coming down on us, run!"),
)


async def try_moments() -> None:
    """Print what the embedded model makes of the moments."""
    model = open_model("smollm2", cache=cache_folder(), precision="float32")
    options, drawn, likeliest = feeling_options(), 0.0, 0
    for line, fitting in MOMENTS:
        found = await ratios(model, line, "feeling", options)
        draws = [feeling_of(found, keyed_generator(seed, node="feeling")) for seed in range(100)]
        counts = Counter(feeling for feeling, _ in draws)
        ((top, count),) = counts.most_common(1)
        likeliest, drawn = likeliest + (top in fitting), drawn + sum(counts[feeling] for feeling in fitting) / 100
        print(f"{'+' if top in fitting else '-'} {top} in {count} of 100 draws: {line}")
    chance = sum(len(fitting) for _, fitting in MOMENTS) / len(MOMENTS) / len(EMOTIONS)
    fits = f"likeliest fits in {likeliest} of {len(MOMENTS)}, a draw in {drawn / len(MOMENTS):.0%}"
    print(f"feelings: {fits} (chance {chance:.0%})")
    names = list(dict.fromkeys(name for _, name in CALLS_FOR))
    due, otherwise = 0, 0
    for line, wanted in CALLS_FOR:
        words = switch_options([MECHANISMS[name].description for name in names])
        switched = [choice.active for choice in switches_of(await ratios(model, line, "mechanism", words))]
        due += switched[names.index(wanted)]
        otherwise += sum(switched) - switched[names.index(wanted)]
    rest = len(CALLS_FOR) * (len(names) - 1)
    print(f"switches: on in {due} of {len(CALLS_FOR)} where due, in {otherwise} of {rest} elsewhere")
    for mild, strong in GRADED:
        pair = [await ratios(model, line, "feeling", options) for line in (mild, strong)]
        means = [
            sum(feeling_of(found, keyed_generator(s, node="feeling"))[1] for s in range(100)) / 100 for found in pair
        ]
        print(f"strength {means[0]:.1f} mildly, {means[1]:.1f} strongly: {mild} / {strong}")


if __name__ == "__main__":
    asyncio.run(try_moments())
