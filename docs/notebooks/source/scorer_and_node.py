# %% [markdown]
# # A scorer and a node of your own
#
# Every step of an utterance is a node that you can replace: from a cell, with a decorator. The run keeps the source
# and a hash of what it used.

# %%
import tertulia as tt

run = tt.run("tidewell:3", removal_factor=0.5, rounds=4, rehearse=True, seed=1)

# %% [markdown]
# ## A scorer
#
# Attention is one answer to which facts matter. A scorer gives each unit a number; λ removes the highest first.


# %%
@tt.scorer
def about_the_school(units):
    """How often a unit mentions the school."""
    return [unit.text.lower().count("school") for unit in units]


forgetful = run.fork(
    at=2, removal_factor=1, additions=tt.Additions(nodes={"score": about_the_school}), label="without the school"
)
[unit.text[:80] for unit in forgetful.turn(2).units if unit.removed and unit.score]

# %% [markdown]
# ## An ending
#
# `tt.node(place)` makes a node of a function from the state to what changes. This one ends after three lines.


# %%
@tt.node("decide_ending", reads=["turn"])
def after_three(state, runtime):
    """End a conversation when three lines were said."""
    return {"ended": state["turn"] >= 3}


short = tt.run(
    "tidewell:3",
    removal_factor=0.5,
    rounds=8,
    rehearse=True,
    seed=1,
    additions=tt.Additions(nodes={"decide_ending": after_three}),
)
short

# %% [markdown]
# ## A mechanism of thought
#
# In a meeting, people choose which mechanisms to think with. A new one is a function of what they see.


# %%
@tt.mechanism("look for a question that nobody has answered yet")
def open_question(view):
    """Find the last question."""
    asked = [line for line in view.lines() if line.text.endswith("?")]
    return f"{asked[-1].speaker} asked: {asked[-1].text}" if asked else None


meeting = tt.run("team_building", rounds=4, rehearse=True, seed=1, additions=tt.Additions(mechanisms=[open_question]))
chosen = meeting.participation().agents
for agent in chosen:
    print(f"{agent.agent:6} thought with it in {agent.mechanisms['open_question'].on} of {agent.decisions} rounds")

# %% [markdown]
# ## What the record keeps

# %%
(extension,) = forgetful.record.extensions
print(extension.source, extension.hash[:12])
print(extension.code)

# %% [markdown]
# ## Wrong turns have a sentence


# %%
@tt.scorer
def too_few(units):
    """Give one score for all units."""
    return [1.0]


try:
    run.fork(at=2, additions=tt.Additions(nodes={"score": too_few}))
except tt.TertuliaError as error:
    print(error)
