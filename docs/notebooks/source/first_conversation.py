# %% [markdown]
# # First conversation
#
# Two people of the shipped town talk, spoken for by the embedded model of 135 million parameters. It fits into any
# processor; expect charm rather than sense. Other processors give other words.
#
# `removal_factor` is λ: the share of the attention to its prompt that a line has to do without. The settings keep
# prompts short, so that nobody waits.

# %%
import tertulia as tt

quick = {"memory_items_min": 8, "memory_items_max": 8, "previous_dialogues_max": 1, "scoring_responses": 1}
run = tt.run("tidewell:3", removal_factor=0.5, rounds=2, settings=quick)
run

# %% [markdown]
# The run is kept in `tertulia.db` in the current folder. Commands find it there (`tertulia show @last`), and so does
# `tt.open_store("tertulia.db").run("@last")`.
#
# ## Why was that said?

# %%
turn = run.turn(2)
print(turn.why)

# %% [markdown]
# That is read from the line. The prompt is made of units, and `line_score` says how much the line leaned on each.
# `score` is another thing: the attention of possible replies, drawn before. λ takes away the most attended units first,
# until their share is reached; what it took is no reason.

# %%
units = turn.units.frame()
columns = ["block", "text", "line_score", "score", "removed"]
units[units.removable].sort_values("score", ascending=False)[columns].head(8)

# %%
print(f"asked for λ = {run.parameters.removal_factor}, reached {turn.removed_share:.3f} of the attention")

# %% [markdown]
# Several candidates were drawn. A judge compares each with what was removed; one above its threshold is rolled back.

# %%
turn.candidates.frame()[["text", "inconsistency"]]

# %% [markdown]
# ## And at another λ?
#
# The scores are stored, so this asks no model: [λ on recorded scores](removal_factor.ipynb) goes on from here.

# %%
for factor in (0.2, 0.5, 0.8):
    gone = [unit for unit in run.what_if(turn=2, removal_factor=factor).units if unit.removed]
    print(f"λ = {factor}: {len(gone)} units removed")

# %% [markdown]
# In a notebook of your own, `run.view()` opens the page of `tertulia view` in a cell.
