"""The command line: one module per group of commands, errors as one line, exit codes as documented."""

import sys

import typer
from pydantic import ValidationError

from cli import checking, inspecting, measuring, running, statistics
from cli.output import clean
from state.errors import NotFoundError, PolylogueError, UsageError

app = typer.Typer(
    name="polylogue",
    help="Conversations between language-model agents, with one knob over how varied they are.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (running, inspecting, statistics, measuring, checking):
    module.register(app)


def main() -> None:
    """Run the command line and exit: 0 ok, 1 failed, 2 usage, 3 not found, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except typer.TyperException as error:
        code = _complain(f"{error.format_message()}{_given(error)} (see `polylogue --help`)", 2)
    except PolylogueError as error:
        code = _complain(str(error), exit_code(error))
    except OSError as error:
        code = _complain(f"{error.filename or 'the output'}: {error.strerror}", 1)
    sys.exit(code or 0)


def _complain(problem: str, code: int) -> int:
    print(f"error: {clean(problem)}", file=sys.stderr)
    return code


def _given(error: typer.TyperException) -> str:
    """Return the value that is not acceptable, which Typer's message leaves out."""
    cause = error.__cause__
    return f", not {cause.errors()[0]['input']!r}" if isinstance(cause, ValidationError) else ""


def exit_code(error: PolylogueError) -> int:
    """Return the exit code for an error."""
    if isinstance(error, UsageError):
        return 2
    return 3 if isinstance(error, NotFoundError) else 1


if __name__ == "__main__":
    main()
