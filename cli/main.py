"""The command line: one module per group of commands, errors as one line, exit codes as documented."""

import sys
from importlib import import_module

try:
    from tertulia.name_collisions import ROOMS, check_rooms

    check_rooms((*ROOMS, "lab"))
except ImportError as collision:  # before any other room is imported
    sys.exit(f"error: {collision}")

import typer
from pydantic import ValidationError

from cli.terminal.commands import usage_hint
from state.errors import NotFoundError, TertuliaError, UsageError
from tertulia.phrases import clean

#: The modules of this room that have commands, in the order of the help, with the commands of each.
COMMANDS = {
    "run": ("run",),
    "resume": ("resume",),
    "fork": ("fork",),
    "simulate": ("simulate",),
    "days": ("days",),
    "runs": ("runs",),
    "show": ("show",),
    "timeline": ("timeline",),
    "replay": ("replay",),
    "diff": ("diff",),
    "export": ("export",),
    "search": ("search",),
    "stats": ("stats",),
    "inventory": ("inventory",),
    "behaviour": ("behaviour",),
    "score": ("score",),
    "metrics": ("metrics",),
    "gc": ("gc",),
    "scenarios": ("scenarios",),
    "doctor": ("doctor",),
    "nodes": ("nodes",),
    "graph": ("graph",),
}


def build_app(command: str | None = None) -> typer.Typer:
    """Return the command line; where a command is named, only the module that has it is imported."""
    app = typer.Typer(
        name="tertulia",
        help="Conversations between language-model agents, with one knob over how varied they are.",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        callback=lambda: None,  # else Typer takes a single command for the whole
    )
    named = [module for module, commands in COMMANDS.items() if command in commands]
    for module in named or COMMANDS:
        import_module(f"cli.{module}").register(app)
    return app


def main() -> None:
    """Run the command line and exit: 0 ok, 1 failed, 2 usage, 3 not found, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    arguments = sys.argv[1:] or ["--help"]
    try:
        if sum(one == "--store" or one.startswith("--store=") for one in arguments) > 1:
            raise UsageError("--store is given twice; a command works on one store")
        code = build_app(arguments[0])(arguments, standalone_mode=False)
    except typer.TyperException as error:
        code = _complain(f"{error.format_message()}{_given(error)}{usage_hint(error)}", 2)
    except TertuliaError as error:
        code = _complain(str(error), exit_code(error))
    except OSError as error:
        code = _complain(f"{error.filename or 'the output'}: {error.strerror}", 1)
    except MemoryError:
        code = _complain("there is not enough memory; close other programs, then try again", 1)
    except KeyboardInterrupt:  # while a command was still imported
        code = 130
    sys.exit(code or 0)


def _complain(problem: str, code: int) -> int:
    print(f"error: {clean(problem)}", file=sys.stderr)
    return code


def _given(error: typer.TyperException) -> str:
    """Return the value that is not acceptable, which Typer's message leaves out."""
    cause = error.__cause__
    return f", not {cause.errors()[0]['input']!r}" if isinstance(cause, ValidationError) else ""


def exit_code(error: TertuliaError) -> int:
    """Return the exit code for an error."""
    if isinstance(error, UsageError):
        return 2
    return 3 if isinstance(error, NotFoundError) else 1


if __name__ == "__main__":
    main()
