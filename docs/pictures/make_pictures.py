"""Make again what the documentation shows of real runs: `python docs/pictures/make_pictures.py [picture] [notebook]`.

`picture` is show_turn.svg, the screen of `tertulia show @last --turn 2`. `notebook` executes docs/notebook.ipynb and
writes its outputs into it, without progress bars and times. Both take about a minute with the embedded model.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import tertulia as tt

DOCS = Path(__file__).parents[1]
COLUMNS = 104

#: As rich has it, without fonts from a server: the reader's own is taken.
SVG = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "font-family: Fira Code, monospace", "font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)

#: Dark, with colours that are legible on it; rich's default theme prints dim text too dark.
THEME = TerminalTheme(
    (24, 26, 31),
    (214, 217, 224),
    [
        *((24, 26, 31), (240, 113, 120), (152, 195, 121), (229, 192, 123)),
        *((97, 175, 239), (198, 120, 221), (86, 212, 221), (214, 217, 224)),
    ],
)


def make_picture(picture: Path) -> None:
    """Hold the first two turns of `make demo`, and write the screen of the second as an SVG."""
    command = [sys.executable, "-m", "tertulia.cli.main", "show", "@last", "--turn", "2"]
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "picture.db")
        tt.run("tidewell", removal_factor=0.5, rounds=2, seed=10, store=store)
        terminal = {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
        environment = {**os.environ, **terminal, "TERTULIA_STORE": store, "PYTHONPATH": str(DOCS.parent)}
        screen = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    console = Console(width=COLUMNS, record=True, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text.from_ansi(screen.rstrip()))
    console.save_svg(str(picture), title="tertulia show @last --turn 2", theme=THEME, code_format=SVG)


def execute_notebook(notebook: Path) -> None:
    """Execute a notebook by a kernel of this Python, and write its outputs into it."""
    document = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            document, timeout=900, kernel_name="python3", record_timing=False, resources={"metadata": {"path": folder}}
        ).execute()
    for cell in document.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    document.metadata.pop("language_info", None)
    nbformat.write(document, notebook)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["picture", "notebook"]
    if "picture" in wanted:
        make_picture(DOCS / "pictures" / "show_turn.svg")
    if "notebook" in wanted:
        execute_notebook(DOCS / "notebook.ipynb")
