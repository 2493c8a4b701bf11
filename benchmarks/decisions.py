"""What agents feel, switch on and think: how much of it is the example's, and whether it follows what is said.

python -m benchmarks.decisions STORE     # by run: copies of the example, entropy of feelings, continued thoughts
python -m benchmarks.decisions           # the embedded model in made-up moments, read from its probabilities
"""

import asyncio
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tertulia.cli.environment import cache_folder
from tertulia.models.loading import open_model
from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.nodes.meeting.choices import feeling_of, feeling_options, log_ratios_of, switch_options, switches_of
from tertulia.prompts.choices import assemble_choice, assemble_neutral
from tertulia.prompts.cognition import AgentSituation
from tertulia.prompts.templates import template
from tertulia.state.cognition import Assessment, Bid, Character
from tertulia.state.language_model import LanguageModel
from tertulia.state.meeting import EMOTIONS, Attendee, Meeting
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Persona, Turn
from tertulia.state.store import Store
from tertulia.storage.store import SqlStore

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


def figures_of(store: Store, run: str) -> dict[str, float | int]:
    """Return the figures of a run: of decisions, of feelings and of thoughts."""
    copied: dict[str, list[bool]] = {}
    for call in store.calls(run):
        if call.node in ("assess", "choose_mechanisms") and call.replies:
            for name, same in _copies(store, call.prompt, call.replies[0].fields).items():
                copied.setdefault(name, []).append(same)
    assessments = store.steps(run, "assess", Assessment)
    bids = store.steps(run, "bid", Bid)
    thoughts = Counter((agent, assessment.thought) for (_, agent), assessment in assessments.items())
    feelings = Counter(assessment.emotion for assessment in assessments.values())
    strengths = Counter(assessment.emotion_strength for assessment in assessments.values())
    return {
        **{f"{name} equals the example": sum(same) / len(same) for name, same in sorted(copied.items())},
        "decisions": len(assessments),
        "entropy of feelings, bits": entropy(feelings),
        "entropy of strengths, bits": entropy(strengths),
        "thoughts said before": len(assessments) - len(thoughts),
        "bids": len(bids),
        "bids with a continued thought": sum(bid.similarity > 0 for bid in bids.values()),
    }


def _copies(store: Store, prompt: str, answer: Mapping[str, object]) -> dict[str, bool]:
    """Return by decision whether the answer is the example's; switches count together as well."""
    shown = next((unit.text for unit in store.prompt(prompt).units if unit.id == "example.2"), None)
    if shown is None:
        return {}
    example = json.loads(shown)
    decisions = [name for name, value in answer.items() if isinstance(value, bool | int) or name == "feeling"]
    return {name: answer[name] == example[name] for name in decisions if name in example}


def entropy(counts: Counter[str] | Counter[float]) -> float:
    """Return the entropy of a distribution in bits."""
    shares = [count / counts.total() for count in counts.values()]
    return sum(share * -math.log2(share) for share in shares)


# --- made-up moments ------------------------------------------------------------------------------------------------


def situation(line: str) -> AgentSituation:
    """Return the situation of somebody who has heard a single line."""
    people = [
        Attendee(persona=Persona(name=name, background=f"{name} keeps a boat."), memories=())
        for name in ("Ana", "Bo", "Cy")
    ]
    now = datetime(2026, 5, 6, 15)
    meeting = Meeting(
        scenario="quay", title="The quay", description="Boat owners meet.", time=now, participants=tuple(people),
        mechanisms=(),
    )  # fmt: skip
    character = Character(big_five=(), descriptions=(), plan=())
    turn = Turn(turn=1, round=1, speaker="Bo", text=line, sim_time_s=0, ended=False)
    return AgentSituation(meeting, people[0], character, now, meeting.names, "calm", 0.5, (turn,), False)


async def ratios(model: LanguageModel, line: str, entry: str, options: Sequence[str]) -> list[float]:
    """Return how much likelier each option is after a line than after lines without content, as logarithms."""
    moment, ask = situation(line), template("choices").fill(f"{entry}.ask", {"name": "Ana"})
    neutral = [await model.probabilities(prompt, options) for prompt in assemble_neutral(moment, ask, model.tokenizer)]
    found = await model.probabilities(assemble_choice(moment, ask, model.tokenizer), options)
    return log_ratios_of(found, neutral)


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


def main() -> None:
    """Print the figures of a store's runs, or of the made-up moments."""
    if len(sys.argv) < 2:
        asyncio.run(try_moments())
        return
    with SqlStore.open(Path(sys.argv[1])) as store:
        for run in store.runs():
            print(f"{run.run}: {run.scenario}, seed {run.seed}, {run.turns} rounds")
            for name, value in figures_of(store, run.run).items():
                print(f"  {value:{'.2f' if isinstance(value, float) else 'd'}}  {name}")


if __name__ == "__main__":
    main()
