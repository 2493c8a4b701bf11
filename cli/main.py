"""The command line: one module per group of commands, errors as one line, exit codes as documented."""

import sys

import click
import typer

from cli import checking, inspecting, measuring, running
from cli.output import clean
from state.errors import NotFoundError, PolylogueError, UsageError

app = typer.Typer(
    name="polylogue",
    help="Conversations between language-model agents, with one knob over how varied they are.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (running, inspecting, measuring, checking):
    module.register(app)


def main() -> None:
    """Run the command line and exit: 0 ok, 1 failed, 2 usage, 3 not found, 130 interrupted."""
    try:
        code = app(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = 2
    except click.exceptions.Abort:
        code = 130
    except PolylogueError as error:
        print(f"error: {clean(' '.join(str(error).split()))}", file=sys.stderr)
        code = exit_code(error)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    sys.exit(code or 0)


def exit_code(error: PolylogueError) -> int:
    """Return the exit code for an error."""
    if isinstance(error, UsageError):
        return 2
    return 3 if isinstance(error, NotFoundError) else 1


if __name__ == "__main__":
    main()
