"""Names of chat models, and their providers: packages, keys, the form of a name.

A name is `PROVIDER:NAME`, or `http://HOST:PORT/v1#NAME` for a server of the user's that speaks OpenAI's protocol; of
several servers of one model, `http://HOST:PORT/v1,http://HOST:PORT/v1#NAME`.
`chat` opens the model of a name; this module imports no library.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tertulia.state.errors import UsageError, extra_hint
from tertulia.state.language_model import ModelTraits
from tertulia.state.parameters import LONG

#: The traits of a model that was trained to follow instructions, and shows nothing but text.
TRAITS = ModelTraits(
    context_window=None,
    layout="single_message",
    judge="rating",
    ending="reply",
    lengths=LONG,
    text_only=True,
    takes_min_p=False,
)


@dataclass(frozen=True)
class Provider:
    """A provider of chat models, with the package of its LangChain classes and the command that installs it.

    The key is an environment variable; `None` if it needs none, or LangChain's class finds it by itself.
    """

    package: str
    install: str
    key: str | None


def _by_pip(package: str, key: str | None) -> Provider:
    return Provider(package, f"pip install {package}", key)


#: By LangChain's name of the provider. The first three have extras of their own; other providers of LangChain work too.
PROVIDERS = {
    "openai": Provider("langchain-openai", extra_hint("chat"), "OPENAI_API_KEY"),
    "anthropic": Provider("langchain-anthropic", extra_hint("anthropic"), "ANTHROPIC_API_KEY"),
    "ollama": Provider("langchain-ollama", extra_hint("ollama"), None),
    "deepseek": _by_pip("langchain-deepseek", "DEEPSEEK_API_KEY"),
    "google_genai": _by_pip("langchain-google-genai", "GOOGLE_API_KEY"),
    "groq": _by_pip("langchain-groq", "GROQ_API_KEY"),
    "mistralai": _by_pip("langchain-mistralai", "MISTRAL_API_KEY"),
    "openrouter": _by_pip("langchain-openrouter", "OPENROUTER_API_KEY"),
    "xai": _by_pip("langchain-xai", "XAI_API_KEY"),
    "bedrock_converse": _by_pip("langchain-aws", None),
}

#: Addresses in a form that every library parses alike.
_ADDRESS = re.compile(r"(https?)://([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?(?:/[^\s?#@\\,]*)?", re.ASCII | re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}

#: Beginnings of the address of a server.
ADDRESS = ("http://", "https://")

#: The variable with the key of the user's server: no other key is ever sent there.
SERVER_KEY = "TERTULIA_SERVER_KEY"


def is_chat_name(name: str) -> bool:
    """Return whether a name is that of a chat model: `PROVIDER:NAME`, or `http://ADDRESS#NAME`."""
    return bool(re.match(r"[a-z_]+:", name)) or name.startswith(ADDRESS)


def key_variable(name: str) -> str | None:
    """Return the environment variable that has the key of a chat model; `None` if none is known."""
    if name.startswith(ADDRESS):
        return SERVER_KEY
    provider = PROVIDERS.get(name.partition(":")[0])
    return provider.key if provider else None


def check_chat_name(name: str) -> None:
    """Refuse a name that no chat model can have.

    Raises:
        UsageError: It is incomplete, or an address that holds a key.
    """
    if name.startswith(ADDRESS):
        split_addresses(name)
    elif not name.partition(":")[2]:
        raise UsageError(f"{name} write {name}NAME, the name that the provider has for the model")


def split_addresses(name: str) -> tuple[list[str], str]:
    """Return the addresses of servers and the name of their model, from `http://HOST:PORT/v1,http://…/v1#NAME`.

    Raises:
        UsageError: One is no address, holds a key, or is repeated; or the model's name is missing.
    """
    named, _, model = name.partition("#")
    addresses = [address.rstrip("/") for address in named.split(",")]
    for address in addresses:
        authority = re.sub(r"^\w+://", "", address).partition("/")[0]
        if "@" in authority or "?" in address:
            raise UsageError(
                f"a server's address holds no key: it would be stored; set {SERVER_KEY} in the environment"
            )
        if origin_of(address) is None:
            raise UsageError(
                "a server's address is not one; write http://HOST:PORT/v1#NAME, and of several servers of one model "
                "http://HOST:PORT/v1,http://HOST:PORT/v1#NAME"
            )
        if addresses.count(address) > 1:
            raise UsageError(f"the server {address} is named twice; name each once")
    if not model:
        raise UsageError(f"{named}: the model's name is missing; write {named}#NAME")
    return addresses, model


def keys_of_servers(addresses: Sequence[str], value: str) -> dict[str, str]:
    """Return the key that each server is sent, by address; empty for none.

    The value of `SERVER_KEY` is one key for all servers that the user has named, or several, each for its own server:
    `http://HOST:PORT=KEY` with blanks between them. A key with an origin goes to no other.
    """
    parts = [part.partition("=") for part in value.split()]
    if not any(key and origin_of(origin) for origin, _, key in parts):
        return dict.fromkeys(addresses, value)
    by_origin = {origin_of(origin): key for origin, _, key in parts}
    return {address: by_origin.get(origin_of(address), "") for address in addresses}


def origin_of(address: str) -> str | None:
    """Return scheme, host and port of an address, `http://127.0.0.1:8000`, in one spelling; `None` for other texts."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return None
    scheme, host = found[1].lower(), found[2].lower().rstrip(".")
    port = int(found[3] or _DEFAULT_PORTS[scheme])
    return f"{scheme}://{host}:{port}" if host and 0 < port < 65536 else None


def places_of(name: str) -> list[str]:
    """Return the destinations of a chat model's requests: the origins of its servers, or its provider, `openai:`.

    Raises:
        UsageError: The name is incomplete, or an address that holds a key.
    """
    if not name.startswith(ADDRESS):
        return [name.partition(":")[0] + ":"]
    return list(dict.fromkeys(str(origin_of(address)) for address in split_addresses(name)[0]))


def is_same_served(name: str, other: str) -> bool:
    """Return whether two names are of one model on servers of the user's, maybe on different ones."""
    if not (name.startswith(ADDRESS) and other.startswith(ADDRESS)):
        return name == other
    return name.partition("#")[2] == other.partition("#")[2]
