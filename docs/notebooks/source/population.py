# %% [markdown]
# # A population, and what they answer
#
# People can be made up, written, or read from a table. They meet, and can be asked anything at any turn, in
# character, without leaving a trace in the conversation. Rehearsed: the answers are a stand-in's.

# %%
import tertulia as tt

people = tt.generate_people(4, seed=1)
people.append(tt.Person(name="Nora", traits=["extroverted", "conscientious"], goals=["leave with one decision"]))
for person in people:
    print(person.name, "|", ", ".join(str(trait) for trait in person.traits))

# %%
meeting = tt.Meeting(
    "the leaking roof",
    people,
    time="2026-05-14 18:00",
    description="The club has money for one repair.",
    opening=("Nora", "Listen to that bucket. We have to decide today."),
)
run = tt.run(meeting, rounds=8, rehearse=True, seed=1)
run

# %% [markdown]
# A file is the same meeting, for `tertulia run roof.yaml`:

# %%
meeting.write("roof.yaml")
print(meeting.yaml()[:400])

# %% [markdown]
# ## Asking

# %%
sign = tt.Question(text="Would you sign the plan?", options=["yes", "no", "not yet"])
content = tt.Question(text="How content are you?", scale=(1, 7))
for person in people:
    first, second = run.ask(person.name, [sign, content])
    print(f"{person.name:20}  {first.answer:8}  {second.answer}  p(yes) = {first.probabilities['yes']:.2f}")

# %% [markdown]
# Before the meeting and after it; `at` is a turn, 0 before the first:

# %%
for at in (0, 4, 8):
    print(at, run.ask("Nora", content, at=at)[0].answer)

# %% [markdown]
# The Big Five Inventory, 44 items at once:

# %%
run.ask("Nora", "inventory", at=0).traits

# %% [markdown]
# All that was asked is stored beside the run, which is as it was:

# %%
run.asked.frame()[["person", "at", "question", "answer"]].head(8)

# %% [markdown]
# ## A hundred people

# %%
import collections

crowd = tt.generate_people(100, seed=2)
collections.Counter(trait for person in crowd for trait in person.traits).most_common(6)
