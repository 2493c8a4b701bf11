# %% [markdown]
# # λ on recorded scores
#
# Tertulia ships a small store of conversations that the embedded model held (`tertulia view --example`). Each has the
# scores of its prompts, so every λ can be tried on them without a model. What λ is, in plain words:
# [explanation](../lambda.md).

# %%
from pathlib import Path

import matplotlib.pyplot as plt

import tertulia as tt
from tertulia.viewer.example import example_store

store = tt.Store(example_store(Path(".")))
run = store.runs(label="λ = 0.5")[0]
run

# %% [markdown]
# ## What each λ removes from the prompt of turn 3

# %%
factors = [step / 20 for step in range(21)]
tried = [run.what_if(turn=3, removal_factor=factor) for factor in factors]
for factor, turn in list(zip(factors, tried, strict=True))[::4]:
    gone = [unit for unit in turn.units if unit.removed and unit.removable]
    print(f"λ = {factor:.1f}  reached {turn.removed_share:.3f}  {len(gone):2d} units removed")

# %% [markdown]
# `removed_share` never exceeds λ: a unit that would overshoot is passed over, and a lighter one is taken. So at a
# larger λ one heavy unit may go in the place of several light ones, and the count may even fall.

# %%
names = [unit.text.split("\n")[0][:60] for unit in run.turn(3).units if unit.removable]
gone = [[unit.removed for unit in turn.units if unit.removable] for turn in tried]
scores = [unit.score for unit in run.turn(3).units if unit.removable]
order = sorted(range(len(names)), key=lambda index: scores[index])

figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
axes.imshow([[column[index] for column in gone] for index in order], aspect="auto", origin="lower", cmap="Oranges")
axes.set_yticks(range(len(order)), [names[index] for index in order], fontsize=7)
axes.set_xticks(range(0, 21, 4), [f"{factors[index]:.1f}" for index in range(0, 21, 4)])
axes.set(xlabel="λ", title="Removed (orange) at each λ, most attended units above")
plt.show()

# %% [markdown]
# ## How concentrated is attention, over all lines?
#
# `frame("units")` has the units of all prompts of a run. How many of the most attended units carry half of it?

# %%
units = run.frame("units").query("removable")
shares = []
for _, prompt in units.groupby("turn"):
    heaviest = prompt["score"].sort_values(ascending=False)
    carried = (heaviest.cumsum() / heaviest.sum() < 0.5).sum() + 1
    shares.append((int(carried), len(heaviest)))
print("units that carry half of the attention, and all units, by turn:", shares)

# %% [markdown]
# ## The words at three λ
#
# What would be *removed* needs no model; what would be *said* does. The store has the same conversation at three λ.

# %%
for factor in (0, 0.5, 1):
    other = store.runs(label=f"λ = {factor}")[0]
    print(f"λ = {factor}")
    for turn in other.turns[:3]:
        print(f"   {turn.speaker}: {turn.text}")
