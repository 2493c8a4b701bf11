"""Tertulia by its Python API, at λ = 0: another model would have to score the prompts of one that is served.

Options: `order` is the speaking order of a meeting.
"""

import asyncio

import tertulia as tt
from benchmarks.peers.drivers.conversation import Conversation, Stopwatch, given


async def hold(conversation: Conversation) -> None:
    """Hold the conversation, or what is left of it, and report."""
    store = conversation.path / "tertulia.db"
    kept = 0
    if conversation.resumes and store.exists():
        run = tt.open_store(store).run("@last")
        kept = len(spoken(run, conversation))
        watch = Stopwatch()
        run = await asyncio.to_thread(run.resume, progress=False)
    else:
        events = tt.stream(
            conversation.scenario,
            removal_factor=0,
            rounds=conversation.turns,
            order=conversation.options.get("order"),
            model=f"{conversation.address}#{conversation.model}",
            store=store,
        )
        watch = Stopwatch()
        async for event in events:
            if isinstance(event, tt.RunStarted):
                watch = Stopwatch()
        run = tt.open_store(store).run("@last")
    watch.report(spoken(run, conversation), kept)


def spoken(run: tt.Run, conversation: Conversation) -> list[tuple[str, str]]:
    """Return the utterances, without silences and without the line that stands before the first turn."""
    turns = [(turn.speaker, turn.text) for turn in run.turns if turn.speaker]
    return turns[1:] if conversation.opening else turns


if __name__ == "__main__":
    asyncio.run(hold(given()))
