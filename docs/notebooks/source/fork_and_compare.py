# %% [markdown]
# # Fork and compare
#
# A fork shares a conversation's beginning and changes one thing from a turn on. What was before is shared, not
# copied; where the two part is in the records. Here everything is rehearsed: no weights, and words without meaning.

# %%
import tertulia as tt

run = tt.run("tidewell:3", removal_factor=0.5, rounds=6, rehearse=True, seed=1)
run

# %% [markdown]
# ## Another λ from turn 4 on

# %%
bolder = run.fork(at=4, removal_factor=0.9)
bolder

# %%
divergence = tt.diff(run, bolder).first_divergence
print("they part in turn", divergence.turn, "in", ", ".join(divergence.aspects))
for name, turn in (("λ = 0.5", run.turn(4)), ("λ = 0.9", bolder.turn(4))):
    print(f"{name}: {sum(unit.removed for unit in turn.units):2d} units removed; {turn.text}")

# %% [markdown]
# `divergence.differences` has every value that differs, with its path and both sides:

# %%
[".".join(difference.path) for difference in divergence.differences][:8]

# %% [markdown]
# Turns 1 to 3 are the same; so is a fork that changes nothing:

# %%
same = run.fork(at=4, removal_factor=0.5)
print("same as the parent:", tt.diff(run, same).is_same)

# %% [markdown]
# ## Other words
#
# `say` puts words into the mouth of whoever speaks at that turn.

# %%
said = run.fork(at=2, say="I have changed my mind about all of it.")
for turn in said.turns:
    print(f"{turn.turn}  {turn.speaker}: {turn.text}")

# %% [markdown]
# ## A memory that goes
#
# `remember` gives a person a memory, `forget` takes one away, by its id.

# %%
speaker = run.turns[2].speaker
told = run.fork(at=3, remember={speaker: "The school opens at nine from Monday on."})
[unit.text for unit in told.turn(3).units if "nine from Monday" in unit.text]

# %% [markdown]
# ## All of them

# %%
for fork in (bolder, same, said, told):
    found = tt.diff(run, fork)
    where = "nowhere" if found.is_same else f"in turn {found.first_divergence.turn}"
    print(f"λ = {fork.parameters.removal_factor}: parts {where}")
