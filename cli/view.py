"""`view`: a local page over a store."""

from typing import Annotated

import typer

from cli.environment import store_path
from cli.options import StoreOption


def view(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="The run that the page opens at, or @last.")] = None,
    port: Annotated[int, typer.Option(metavar="N", help="The port; the next free one where it is in use.")] = 8017,
    store: StoreOption = None,
) -> None:
    """Show runs as a page in the browser, also while they go on.

    Example: tertulia view @last
    """
    import uvicorn

    from viewer.server import build_app

    print(f"http://127.0.0.1:{port}/" + (f"#/runs/{run}" if run else ""), flush=True)
    uvicorn.run(build_app(store_path(store)), host="127.0.0.1", port=port, log_level="warning")
