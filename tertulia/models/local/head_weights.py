"""Learned weights of attention heads as files: those that are shipped, and those that `tertulia scores fit` keeps.

A file is called after the fingerprint of its model, so that weights are never taken for another one.
"""

import hashlib
from pathlib import Path

from pydantic import ValidationError

from tertulia.models.local import embedded
from tertulia.models.local.adapters import Adapters, hash_of_base
from tertulia.state.errors import ModelError, NotFoundError
from tertulia.state.files import read_text
from tertulia.state.head_weights import HeadWeights
from tertulia.state.language_model import Tokenizer
from tertulia.state.written_files import refuse_link, write_lines
from tertulia.state.wrong_values import wrong_value

#: The weights that are shipped.
SHIPPED = Path(__file__).parents[1] / "head_weights"

#: The largest file that is read: the heads of a model of a hundred layers take a tenth of that.
_MOST_BYTES = 10**6


def fingerprint_of(base: str, source: str, adapters: Adapters | None, tokenizer: Tokenizer) -> str:
    """Return the fingerprint of a model, 8 bytes in hexadecimal: of its weights, its adapters and its chat markup.

    Args:
        base: The name of the model without its adapters.
        source: The folder or hub id of its weights.
    """
    weights = embedded.CONVERSION if embedded.is_embedded(base) else hash_of_base(source)
    markup = tokenizer.chat_markup(("user", "assistant", "user"))
    parts = (weights, None if adapters is None else adapters.hash, markup)
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def kept_in(cache: Path) -> Path:
    """Return the folder of the weights that were learned on this machine."""
    return cache / "scores"


def find_head_weights(fingerprint: str, cache: Path) -> HeadWeights | None:
    """Return the weights of heads for a model: those that were learned here, else those that are shipped, if any.

    Raises:
        ModelError: Their file is damaged.
    """
    for folder in (kept_in(cache), SHIPPED):
        if (file := folder / f"{fingerprint}.json").exists():
            return require_weights_of(read_head_weights(file), fingerprint, file.stem)
    return None


def require_weights_of(weights: HeadWeights, fingerprint: str, model: str) -> HeadWeights:
    """Return weights of heads if they are those of a model; `ModelError` if they are another's."""
    if weights.fingerprint != fingerprint:
        raise ModelError(
            f"these weights of heads are of {weights.model} ({weights.fingerprint}), and {model} is another model, or "
            f"has other adapters or another chat template ({fingerprint}); run `tertulia scores fit {model}`"
        )
    return weights


def read_head_weights(file: Path) -> HeadWeights:
    """Return the weights of heads in a file.

    Raises:
        NotFoundError: There is no such file.
        ModelError: It holds none.
    """
    try:
        return HeadWeights.model_validate_json(read_text(file, _MOST_BYTES))
    except FileNotFoundError:
        raise NotFoundError(f"no file {file}") from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "the file"
        raise ModelError(f"{file} holds no weights of heads: {place}: {wrong_value(problem)}") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} can't be read as weights of heads ({error})") from None


def keep_head_weights(weights: HeadWeights, folder: Path) -> Path:
    """Write weights of heads to a folder, whole or not at all, and return their file."""
    refuse_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{weights.fingerprint}.json"
    write_lines(file, [weights.model_dump_json()])
    return file
