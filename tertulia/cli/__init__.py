"""Commands; the only room that reads the environment and writes to the terminal."""

import gc
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def program() -> None:
    """Run the command line; a stop signal ends it quietly even while it is imported or ends."""
    heard: list[int] = []
    stopping = [signal.SIGINT, signal.SIGTERM]
    stopping += [signal.SIGHUP] * (signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)  # as nohup asks for

    def at_once(number: int, frame: FrameType | None) -> None:
        os._exit(130)

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        heard.append(number)
        raise KeyboardInterrupt

    def not_lost(error: "UnraisableHookArgs") -> None:
        if issubclass(error.exc_type, KeyboardInterrupt):  # raised in code that passes on no exception
            os._exit(130)
        sys.__unraisablehook__(error)

    sys.unraisablehook = not_lost
    for number in stopping:
        signal.signal(number, at_once)
    from tertulia.cli.main import main

    try:
        for number in stopping:
            signal.signal(number, stop)
        main()
    except KeyboardInterrupt:  # before the command, or after it
        os._exit(130)
    except Exception:
        if heard:  # compiled code, as pydantic's, tells an interrupt as an error of its own
            os._exit(130)
        raise
    finally:
        for number in stopping:
            signal.signal(number, at_once)
        gc.freeze()  # or the interpreter looks for garbage among all modules, some times over, before it ends
