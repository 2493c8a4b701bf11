"""Commands; the only room that reads the environment and writes to the terminal."""

import atexit
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from tertulia.runs.driving.stop_signals import is_stopped, listen, reacting, stop_signals

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def program() -> None:
    """Run the command line; a stop signal ends it quietly even while it is imported or ends."""

    def stop(number: int) -> NoReturn:
        raise KeyboardInterrupt

    def not_lost(error: "UnraisableHookArgs") -> None:
        if issubclass(error.exc_type, KeyboardInterrupt):  # raised in code that passes on no exception
            os._exit(130)
        sys.__unraisablehook__(error)

    atexit.register(signal.pthread_sigmask, signal.SIG_BLOCK, stop_signals())  # called last; the handler goes then
    listen(lambda number: os._exit(130))
    sys.unraisablehook = not_lost
    try:
        from tertulia.cli.main import main

        with reacting(stop):
            main()
    except KeyboardInterrupt:  # before the command, or after it
        os._exit(130)
    except Exception:
        if is_stopped():  # compiled code, as pydantic's, tells an interrupt as an error of its own
            os._exit(130)
        raise
    finally:
        gc.freeze()  # or the interpreter looks for garbage among all modules, some times over, before it ends
