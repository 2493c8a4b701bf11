# %% [markdown]
# # A meeting and its minds
#
# Nobody hands out turns. In every round each person perceives what was said, thinks, and decides whether to speak;
# those who want to race for the floor. This meeting was held by the embedded model, and is shipped with Tertulia.

# %%
from pathlib import Path

import tertulia as tt
from tertulia.viewer.example import example_store

store = tt.Store(example_store(Path(".")))
meeting = store.runs(scenario="mothers_house")[0]
meeting

# %% [markdown]
# ## One round, everybody
#
# A row per person and round: what they thought, how much they wanted to speak, how long they would have taken, and
# who won. `latency_s` is drawn: who wants more is likely to be faster.

# %%
rounds = meeting.frame("agent_rounds")
rounds.query("round == 3")[["agent", "thought", "willingness", "willing", "latency_s", "won"]]

# %%
print(meeting.turn(3).why)

# %% [markdown]
# ## Who wanted to speak, who did

# %%
by_person = rounds.groupby("agent").agg(wanted=("willing", "sum"), spoke=("won", "sum"), mean=("willingness", "mean"))
by_person.sort_values("spoke", ascending=False)

# %%
figure = rounds.pivot(index="round", columns="agent", values="willingness").plot(
    figsize=(8, 3), marker="o", ylabel="willingness", title="How much everybody wants to speak"
)

# %% [markdown]
# The same figures as `tertulia stats --paper`:

# %%
figures = meeting.participation()
for agent in figures.agents:
    print(f"{agent.agent:7} spoke {agent.spoken} times, wanted to {agent.wanting_to_speak} times, {agent.words} words")
print(f"evenness {figures.evenness:.2f} (1: everybody alike), {figures.silences} silence")

# %% [markdown]
# ## A meeting of your own, as it happens
#
# `rehearse=True` speaks without a model: the words are a stand-in, the race is not. `tt.stream` gives events.

# %%
async for event in tt.stream("team_building", rounds=5, rehearse=True, seed=1):
    if isinstance(event, tt.TurnFinished):
        print(f"{event.turn.sim_time_s:5.1f} s  {event.turn.speaker or '(silence)'}: {event.turn.text}")

# %% [markdown]
# The same people and seed under another speaking order:

# %%
tt.run("team_building", rounds=5, rehearse=True, seed=1, order="designated")
