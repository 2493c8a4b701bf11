"""A seat in the page: its person is asked through the store; the page finds the question and puts the answer there.

So neither the page nor its server has to live as long as the run: an answer is stored before it is confirmed, and a
server that was killed finds the same question when it is started again.
"""

import asyncio
import time
from functools import partial

from tertulia.nodes.conversation.seat import answer_of, has_left
from tertulia.nodes.shared.called_up import calling
from tertulia.nodes.shared.memory import recall
from tertulia.nodes.utterance.retrieve import focal_points
from tertulia.state.context import Context
from tertulia.state.seat import ASKED, PATIENCE_S, Answer, Ask, Asked, Invitation

#: Seconds between two looks at the store.
LOOK_EVERY_S = 0.05


def asking_in_page(context: Context, patience_s: float = PATIENCE_S) -> Ask:
    """Return the function that asks the people in the seats of a run, in the page."""
    return partial(_ask, context, patience_s)


async def _ask(context: Context, patience_s: float, invitation: Invitation) -> Answer | None:
    """Store the question to a person; return their answer once it is stored, or `None` if they leave or do not come."""
    asked = Asked(invitation=invitation, memories=_recalled(context, invitation))
    context.store.save_step(context.run, invitation.round, invitation.agent, ASKED, asked)
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if has_left(context, invitation.agent, invitation.round):
            return None
        if (answer := answer_of(context, invitation.round, invitation.agent)) is not None:
            return answer
        await asyncio.sleep(LOOK_EVERY_S)
    return None


def _recalled(context: Context, invitation: Invitation) -> tuple[str, ...]:
    """Return the person's memories that bear on the conversation, as an agent in their place would recall them."""
    start, name, parameters = context.case_or_meeting, invitation.agent, context.parameters
    participant = start.participant(name)
    if participant.stream is None and not participant.memories:
        return ()
    listeners = [other for other in start.present(invitation.sim_time_s) if other != name]
    points = focal_points(start, name, listeners, invitation.lines, parameters.language, parameters.focal_lines)
    heard = calling(start, [turn.text for turn in invitation.lines if turn.speaker is not None])
    found = recall(participant, points, start.time, context.embedder, context.store, parameters, heard)
    return tuple(memory.text for memory in found)
