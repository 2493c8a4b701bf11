"""What MkDocs does besides: notebooks become pages, and links that leave docs/ go where their files are.

MkDocs knows this file by `hooks` of mkdocs.yml. Nothing here executes a notebook: its stored outputs are shown.
"""

import base64
import json
import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

#: Pages of the repository's root that the site has, too.
ROOT_PAGES = ("CONTRIBUTING.md", "SECURITY.md")

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
#: Fenced code, whose brackets are no links.
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files with a page per notebook, and the pages of the repository's root."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(file)
        notebook = json.loads(Path(str(file.abs_src_path)).read_text(encoding="utf-8"))
        content = markdown_of(notebook, Path(file.src_uri).name)
        files.append(File.generated(config, page_of(file.src_uri), content=content))
        files.append(file)
    return files


def page_of(uri: str) -> str:
    """Return the page that a file becomes: `notebooks/sweep.ipynb` is `notebooks/sweep.md`."""
    return re.sub(r"\.ipynb$", ".md", uri)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page whose links to notebooks, and out of docs/, lead somewhere in the site or in the repository."""
    parts = _FENCE.split(markdown)
    parts[::2] = [_LINK.sub(lambda link: _relinked(link, page.file.src_uri, config), part) for part in parts[::2]]
    return "".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Return a page without the marks that introduce code in docstrings."""
    return html.replace("<p>::</p>", "")


def _relinked(link: re.Match[str], uri: str, config: MkDocsConfig) -> str:
    """Return a link of the page with this address in the site, as the site needs it."""
    text, target = link.groups()
    path, mark, heading = target.partition("#")
    if "://" in target or not path:
        return link.group()
    folder = posixpath.dirname(uri)
    at = posixpath.normpath(posixpath.join("" if uri in ROOT_PAGES else "docs", folder, path))
    if not (ROOT / at).exists():
        return link.group()  # MkDocs says that it is missing
    if at == "README.md":
        at = "docs/index.md"
    if at.startswith("docs/") or at in ROOT_PAGES:
        found = posixpath.relpath(page_of(at.removeprefix("docs/")), folder or ".")
        return f"[{text}]({found}{mark}{heading})"
    return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{at})" if config.repo_url else text


def markdown_of(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown: its text, its code, and what its code showed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [_shown(output) for output in cell["outputs"]]
    heading, *rest = parts
    first, _, more = heading.partition("\n")
    download = f'<p class="notebook-file"><a href="../{name}" download>{name}</a>: the notebook itself</p>'
    return "\n\n".join([first, download, more, *rest])


def _shown(output: dict[str, Any]) -> str:
    """Return an output as HTML of one block, as Markdown would read blank lines as its end."""
    if output["output_type"] == "stream":
        return _preformatted("".join(output["text"]))
    data = {kind: value if isinstance(value, str) else "".join(value) for kind, value in output["data"].items()}
    if "image/png" in data:
        encoded = base64.b64encode(base64.b64decode(data["image/png"])).decode()
        return f'<p><img alt="What the code above draws" src="data:image/png;base64,{encoded}"></p>'
    if "text/html" in data and "<table" in data["text/html"]:
        table = data["text/html"].replace("\n", " ")
        return f'<div class="notebook-shown">{re.sub(r"<style.*?</style>", "", table)}</div>'
    return _preformatted(data["text/plain"])


def _preformatted(text: str) -> str:
    lines = escape(text.rstrip("\n"), quote=False).replace("\n", "&#10;")
    return f'<pre class="notebook-shown"><code>{lines}</code></pre>'
