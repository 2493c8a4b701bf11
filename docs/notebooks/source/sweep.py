# %% [markdown]
# # A sweep, measured, compared and plotted
#
# Three cases at three λ, two conversations each, all with the rehearsal: the method is real, the figures mean nothing.
# Leave `rehearse=True` out for the embedded model (minutes of a processor), or name one with `model=`.

# %%
import tertulia as tt

cases = ["tidewell:0", "tidewell:1", "tidewell:2"]
experiment = tt.sweep(cases, removal_factor=[0, 0.5, 1], trials=2, rounds=3, rehearse=True)
experiment

# %% [markdown]
# Means over cases with 95 % intervals; cases are what is drawn, so a case counts once:

# %%
experiment.measure("dist2", "sim").frame()

# %% [markdown]
# Paired differences to λ = 0, with p corrected for all that this call compares:

# %%
experiment.compare("dist2", "sim", baseline="λ = 0").frame()

# %%
experiment.plot("dist3")

# %% [markdown]
# A row per conversation, for anything else:

# %%
experiment.frame("dist1", "len").head(6)

# %% [markdown]
# The same call again runs only what is missing. Here nothing is, and more λ would add only those:

# %%
more = tt.sweep(cases, removal_factor=[0, 0.25, 0.5, 1], trials=2, rounds=3, rehearse=True)
print(len(experiment.runs), "conversations, then", len(more.runs))

# %% [markdown]
# ## With the embedded model's words
#
# The shipped store has an experiment of 8 cases × 3 λ × 3 trials, of one town. So few cases leave wide intervals: ask
# [the laboratory](../results/laboratory.md) for figures of more.

# %%
from pathlib import Path

from tertulia.viewer.example import example_store

shipped = tt.Store(example_store(Path("."))).experiment("example")
shipped.plot("sim")
