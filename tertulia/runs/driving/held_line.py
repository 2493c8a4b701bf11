"""A held line: it is stored for the page, and the run waits until a reader there lets it pass, or rewrites it."""

import asyncio
import time
from typing import Any

from tertulia.runs.driving.events import Emit, Noted
from tertulia.runs.driving.page_seat import LOOK_EVERY_S
from tertulia.state.context import Context
from tertulia.state.errors import LeftError
from tertulia.state.line_edit import EDITED, HELD, HeldLine, LineEdit
from tertulia.state.seat import PATIENCE_S


async def wait_for_edit(context: Context, asked: dict[str, Any], emit: Emit, patience_s: float = PATIENCE_S) -> None:
    """Store a held line, and return once its outcome is stored.

    Args:
        asked: The value with which the graph was interrupted.
        patience_s: Until the run is interrupted, in seconds.

    Raises:
        LeftError: Nobody has answered for so long; the run can be resumed, and holds the same line.
    """
    line = HeldLine.model_validate(asked[HELD])
    context.store.save_step(context.run, line.round, "", HELD, line)
    text = f"turn {line.turn}: paused from the page before {line.speaker} speaks; it goes on from there"
    emit(Noted(context.run, text))
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if context.store.step(context.run, line.round, "", EDITED, LineEdit) is not None:
            return
        await asyncio.sleep(LOOK_EVERY_S)
    raise LeftError(f"the line of {line.speaker} in turn {line.turn} was held, and nobody has let it pass")
