"""Run the mechanisms that are switched on, side by side. Source: ChatAgents §III-A, App. A."""

import asyncio
from dataclasses import replace

from langgraph.runtime import Runtime
from pydantic import ValidationError

from tertulia.nodes.machinery.time_limit import time_limit
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.mechanisms.registry import mechanism_of
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Finding
from tertulia.state.context import Context
from tertulia.state.errors import ModelError, StorageError
from tertulia.state.graph_state import CognitionState
from tertulia.state.text import first_line
from tertulia.state.wrong_values import wrong_value

#: Seconds that a mechanism may take which declares no limit, its waiting for the model not counted.
TIMEOUT_S = 20.0


async def run_mechanisms(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Run the active mechanisms and store their findings; one that fails or takes too long has a problem."""
    view = View.of(state, runtime.context)
    broker, store = view.context.broker, view.context.store
    with broker.split(view.name, state["active"]):
        findings = await asyncio.gather(
            *(run_mechanism(view, mechanism_of(view.context, name)) for name in state["active"])
        )
    used = dict(view.mind["used"])
    for name, finding in zip(state["active"], findings, strict=True):
        store.save_step(view.context.run, view.round, view.name, name, finding)
        if finding.problem is None:
            _, count = used.get(name, (0, 0))
            used[name] = [view.round, count + 1]
    return {"mind": {**view.mind, "used": used}}


async def run_mechanism(view: View, mechanism: Mechanism) -> Finding:
    """Return a mechanism's finding, or its problem.

    The time that it waits for the model does not count towards its time limit.

    Raises:
        ModelError, StorageError: The model or the store failed, which is not the mechanism's fault.
    """
    limit = mechanism.timeout_s or TIMEOUT_S
    try:
        async with time_limit(limit, view.context) as context:
            finding = await mechanism.run(replace(view, context=context, part=mechanism.name))
        if not isinstance(finding, Finding):
            return Finding(problem=f"{mechanism.name} returned a {type(finding).__name__}, not a Finding")
        return finding
    except (ModelError, StorageError):
        raise
    except TimeoutError:
        return Finding(problem=f"{mechanism.name} took longer than {limit:g} s")
    except Exception as error:
        message = wrong_value(error.errors()[0]) if isinstance(error, ValidationError) else first_line(error)
        return Finding(problem=f"{mechanism.name} failed: {type(error).__name__}: {message}")
    finally:
        view.context.broker.leave(view.name, mechanism.name)
