"""What `tertulia lab album` writes: a page, its tables as CSV, and plots."""

from pathlib import Path

from tertulia.lab.albums.album_comparison import AlbumComparison, page, table
from tertulia.lab.albums.album_plots import PLOTS, album_plots
from tertulia.lab.pages.page_files import make_folder
from tertulia.lab.pages.plots import check_plots, write_plots
from tertulia.runs.files.written_files import write_lines
from tertulia.storage.addresses import StoreAddress

PAGE, FIGURES, ROUNDS = "album.md", "figures.csv", "rounds.csv"


def check_folder(folder: Path, store: StoreAddress, force: bool = False) -> None:
    """Refuse a folder that can't be written into, before anything is run or written; make it where there is none.

    Raises:
        UsageError: It is a file, has files of these names already, or matplotlib is not installed.
        OSError: It can't be made.
    """
    check_plots()
    make_folder(folder, (PAGE, FIGURES, ROUNDS, *(f"{name}.svg" for name in PLOTS)), store, force)


def write_folder(compared: AlbumComparison, folder: Path) -> list[Path]:
    """Write the comparison into a folder, and return its files."""
    plots = write_plots(album_plots(compared), folder)
    write_lines(folder / PAGE, page(compared, plots))
    write_lines(folder / FIGURES, table(compared.whole))
    write_lines(folder / ROUNDS, table(compared.rounds))
    return [folder / name for name in (PAGE, FIGURES, ROUNDS, *plots)]
