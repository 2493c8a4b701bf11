"""Name the faults of sense in the candidate at hand, and draw it again while another may make more sense.

It comes before the judge: a line that makes no sense by itself need not be compared with the removed units. The rules
are in `nodes/shared/line_faults.py`; with `redraws=0`, as in `preset=paper`, nothing is looked at.
"""

from langgraph.runtime import Runtime

from tertulia.nodes.utterance.candidates import candidate_at, save_candidate, utterance_of
from tertulia.nodes.utterance.drafts import best_first, drafts_wanted, draw_replies
from tertulia.nodes.utterance.monitor import Monitor
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState

#: The first row of draws that are made because an earlier one made no sense, and the first attempt number of candidates
#: vetoed for that: beyond those of any drafts, backups and rewritings.
_REDRAWN = _VETOED = 1000


async def sense(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Look for faults in the candidate; while it has any, draw others, `redraws` times at most, and keep the best.

    A replaced draft is kept beside the better one, as vetoed. One of several candidates that were written in one reply
    is not drawn again: another reply would have others.
    """
    context = runtime.context.of(state["speaker"])
    if not context.parameters.redraws:
        return {}
    monitor, attempt = Monitor.of(state, context), state["attempt"]
    candidate = candidate_at(context, state["turn"], attempt, state.get("part", ""))
    reply, redraws = candidate.reply, context.parameters.redraws if context.parameters.written_together == 1 else 0
    faults = monitor.faults(utterance_of(reply, monitor.speaker))
    for again in range(redraws):
        if not faults:
            break
        drafts = drafts_wanted(state, context)
        rows = range(_REDRAWN + again * drafts, _REDRAWN + (again + 1) * drafts)
        drawn = await draw_replies(state, context, [(attempt, row) for row in rows])
        best = best_first([reply, *drawn], monitor)[0]
        if best is not reply:
            vetoed = _VETOED + attempt * context.parameters.redraws + again
            save_candidate(state, context, vetoed, reply, monitor.speaker, "vetoed", faults)
            reply, faults = best, monitor.faults(utterance_of(best, monitor.speaker))
    save_candidate(
        *(state, context, attempt, reply, monitor.speaker, candidate.origin, faults),
        probability=candidate.probability,
        remark=candidate.remark,
    )
    return {}
