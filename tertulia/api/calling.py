"""Functions that drive a run, awaited."""

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from tertulia.runs.driving.session import awaited

P = ParamSpec("P")
Result = TypeVar("Result")


def awaitable(function: Callable[P, Result], about: str) -> Callable[P, Coroutine[Any, Any, Result]]:
    """Return an async function that does the same without blocking the event loop; cancelled, it interrupts the run."""

    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> Result:
        return await awaited(partial(function, *args, **kwargs))

    called.__name__ = f"a{function.__name__}"
    called.__qualname__ = f"{function.__qualname__.removesuffix(function.__name__)}{called.__name__}"
    called.__doc__ = about
    return called
