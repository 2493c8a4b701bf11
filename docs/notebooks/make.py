"""Make the notebooks of docs/notebooks/ from their sources, with their outputs: `make notebooks`.

A source is a Python file with cells: `# %% [markdown]` begins text, whose lines are comments, and `# %%` code. Each is
executed in an empty folder by a kernel of this Python, one notebook after another.
"""

import re
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).parent
SOURCES = FOLDER / "source"

_CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)


def notebook_of(source: str) -> Any:
    """Return the notebook of a source, without outputs."""
    _, *parts = _CELL.split(source)
    cells = []
    for kind, text in zip(parts[::2], parts[1::2], strict=True):
        text = text.strip("\n")
        if kind:
            cells.append(nbformat.v4.new_markdown_cell(re.sub(r"^# ?", "", text, flags=re.MULTILINE)))
        else:
            cells.append(nbformat.v4.new_code_cell(text))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # random ids would change at each making
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def execute(notebook: Any, kernel: str = "python3") -> None:
    """Execute a notebook in an empty folder, and leave out progress bars, times and what differs by machine."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, kernel_name=kernel, timeout=900, resources={"metadata": {"path": folder}})
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _whole(output for output in cell.outputs if output.get("name") != "stderr")
    notebook.metadata.pop("language_info", None)


def _whole(outputs: Iterable[Any]) -> list[Any]:
    """Return the outputs, those that were printed after one another as one."""
    whole: list[Any] = []
    for output in outputs:
        if whole and output.output_type == "stream" == whole[-1].output_type:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def main(names: list[str]) -> None:
    """Make the notebooks with these names; none: all."""
    for source in sorted(SOURCES.glob("*.py")):
        if names and source.stem not in names:
            continue
        begun = time.monotonic()
        notebook = notebook_of(source.read_text(encoding="utf-8"))
        execute(notebook)
        nbformat.write(notebook, FOLDER / f"{source.stem}.ipynb")
        print(f"{source.stem}: {time.monotonic() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
