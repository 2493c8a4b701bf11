"""The command line: one module per command, errors as one line, exit codes as documented."""

import gc
import importlib.metadata
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from tertulia.cli.terminal.commands import Group, ParsingError, add_module, with_options
from tertulia.cli.terminal.output import discard_output
from tertulia.cli.terminal.remedies import explained
from tertulia.state.errors import NotFoundError, ScenarioError, TertuliaError, UsageError
from tertulia.state.standard_error import dispensable_errors
from tertulia.state.text import clean

#: The commands by panel of the help; each is in the module of its name.
PANELS = {
    "Converse": ("run", "resume", "stop", "fork", "simulate", "sweep"),
    "Look": ("view", "runs", "show", "timeline", "replay", "days", "search"),
    "Compare": ("diff", "metrics"),
    "Measure": ("stats", "behaviour", "outcomes", "inventory", "ask", "score", "lab"),
    "Extend": ("scenarios", "people", "settings", "nodes", "graph", "tune", "scores"),
    "Maintain": ("export", "merge", "backup", "restore", "gc", "trust", "doctor"),
}

#: Garbage is collected after so many new objects, not after 700: most imported objects stay.
_NEW_OBJECTS = 50_000

_EPILOG = """
Data goes to standard output, progress and errors to standard error. What reads takes --json, and --explain, which
ends with a sentence on each term that was printed.

\b
Exit codes:
  0    ok
  1    the run failed
  2    usage: what was given can't be done
  3    not found
  4    `diff --exit-code` found a difference
  130  interrupted, stopped or out of budget; the line to resume with is printed

Example: tertulia run tidewell --lambda 0.5 --rounds 6
"""


class Program(Group):
    """All commands, in the order of their panels."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the names of the commands."""
        return [name for names in PANELS.values() for name in names if name in self.commands]


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"tertulia {importlib.metadata.version('tertulia')}")
        raise typer.Exit(0)


def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Conversations between language-model agents, with one knob over how varied they are: λ."""


def build_app(command: str | None = None) -> typer.Typer:
    """Return the command line; for a known command, import only its module."""
    app = typer.Typer(
        name="tertulia", cls=Program, pretty_exceptions_enable=False, rich_markup_mode=None, epilog=_EPILOG
    )
    app.callback()(_program)
    is_known = any(command in names for names in PANELS.values())
    for panel, names in PANELS.items():
        for name in names:
            if name == command or not is_known:
                add_module(app, import_module(f"tertulia.cli.commands.{name}"), name, panel)
    return app


@dispensable_errors()
def main() -> None:
    """Run the command line and exit: 0 ok, 1 failed, 2 usage, 3 not found, 130 interrupted."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="replace")
    arguments = sys.argv[1:] or ["--help"]
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        if sum(argument == "--store" or argument.startswith("--store=") for argument in arguments) > 1:
            raise UsageError("--store is given twice; a command works on one store")
        code = build_app(arguments[0])(arguments, prog_name="tertulia", standalone_mode=False)
        sys.stdout.flush()  # here, as an error at the end of the interpreter is a traceback
    except ParsingError as error:
        code = _print_error(explained(error, arguments), 2)
    except TertuliaError as error:
        code = _print_error(with_options(str(error)), exit_code(error))
        for problem in error.further if isinstance(error, ScenarioError) else ():
            _print_error(with_options(problem), code)
    except BrokenPipeError:
        discard_output()
        code = 0
    except OSError as error:
        if error.filename is None:
            discard_output()
        code = _print_error(f"{error.filename or 'the output'}: {error.strerror}", 1)
    except MemoryError:
        code = _print_error("there is not enough memory for all of this at once; ask for less of it", 1)
    except KeyboardInterrupt:  # while a command was still imported
        code = 130
    gc.set_threshold(*before)
    gc.unfreeze()  # objects that the command froze (tertulia/cli/opening.py): a caller in Python may go on
    sys.exit(code or 0)


def _print_error(problem: str, code: int) -> int:
    print(f"error: {clean(problem)}", file=sys.stderr)
    return code


def exit_code(error: TertuliaError) -> int:
    """Return the exit code for an error."""
    if isinstance(error, UsageError):
        return 2
    return 3 if isinstance(error, NotFoundError) else 1


if __name__ == "__main__":
    main()
