"""Tertulia by its Python API, at λ = 0: another model would have to score the prompts of one that is served.

Options: `order` is the speaking order of a meeting, `redraws` how often a line that makes no sense is drawn anew, as
all are that the server speaks. The cache is empty, so the embedder reads every text.
"""

import asyncio
from tempfile import TemporaryDirectory

import tertulia as tt
from benchmarks.peers.drivers.conversation import Conversation, Stopwatch, given


async def hold(conversation: Conversation, cache: str) -> None:
    """Hold the conversation, or what is left of it, and report."""
    store = conversation.path / "tertulia.db"
    kept = 0
    if conversation.resumes and store.exists():
        run = tt.open_store(store).run("@last")
        kept = len(spoken(run))
        watch = Stopwatch()
        run = await asyncio.to_thread(run.resume, cache=cache, progress=False)
    else:
        events = tt.stream(
            conversation.scenario,
            removal_factor=0,
            rounds=conversation.turns,
            order=conversation.options.get("order"),
            settings={name: value for name, value in conversation.options.items() if name != "order"},
            model=f"{conversation.address}#{conversation.model}",
            store=store,
            cache=cache,
        )
        watch = Stopwatch()
        async for event in events:
            if isinstance(event, tt.TurnFinished) and event.turn.turn and event.turn.speaker:
                watch.spoken()
        run = tt.open_store(store).run("@last")
    watch.report(spoken(run), kept)


def spoken(run: tt.Run) -> list[tuple[str, str]]:
    """Return the utterances, without silences."""
    return [(turn.speaker, turn.text) for turn in run.turns if turn.speaker]


if __name__ == "__main__":
    with TemporaryDirectory() as empty:
        asyncio.run(hold(given(), empty))
