"""The page of a run in a notebook's cell: a sandboxed frame with the whole file inside."""

import shlex
from html import escape
from importlib.metadata import entry_points

from tertulia.api.store_handle import StoreHandle
from tertulia.state.errors import UsageError
from tertulia.state.wrong_arguments import whole_number

#: The page may run scripts and save figures; it reaches neither the notebook nor a host.
_ALLOWED = "allow-scripts allow-downloads"


class CellPage:
    """The page of a run, which a notebook shows below a cell; it is made when it is shown, and needs no server.

    Attributes:
        height: The height of the frame in pixels.
    """

    def __init__(self, store: StoreHandle, run: str, height: int) -> None:
        self.height = whole_number("height", height, "the height of the frame is an integer, in pixels")
        if self.height < 1:
            raise UsageError(f"height={height} shows nothing; give a number of pixels: view(height=700)")
        self._store, self.run = store, run

    def html(self) -> str:
        """Return the page, as `tertulia export RUN --html FILE` writes it.

        Raises:
            UsageError: The page is not built.
            StorageError: The store can't be read.
        """
        (page,) = entry_points(group="tertulia.pages", name="run")  # the room that serves it is above this one
        with self._store.opened() as store:
            return "\n".join(page.load()(store, self.run))

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self.height}px; border: 1px solid #8888"
        title = escape(f"Run {self.run}")
        return f'<iframe title="{title}" sandbox="{_ALLOWED}" style="{style}" srcdoc="{escape(self.html())}"></iframe>'

    def __repr__(self) -> str:
        command = f"tertulia view {self.run} --store {shlex.quote(str(self._store.path))}"
        return f"the page of run {self.run}; a notebook shows it below the cell, a browser by: {command}"
