"""Statements and values of the store as psycopg takes them."""

import re
from functools import lru_cache

from tertulia.state.errors import StorageError
from tertulia.storage.postgres.text import decoded, encoded
from tertulia.storage.terms import Term
from tertulia.storage.values import LARGEST_BYTES, Value, bound_number


def words_query(name: str, term: Term) -> str:
    """Return SQL for the words of a term in their order; the last begins a word if the term is a prefix."""
    words = f"regexp_replace(search_words(:{name}), ' +', ' <-> ', 'g')"
    beginning = " || ':*'" if term.is_prefix else ""
    return f"to_tsquery('simple', {words}{beginning})"


@lru_cache(maxsize=512)
def numbered(sql: str) -> str:
    """Return SQL with psycopg's marks in the place of `?`."""
    return sql.replace("%", "%%").replace("?", "%s")


@lru_cache(maxsize=512)
def named(sql: str) -> str:
    """Return SQL with psycopg's named marks in the place of `:name`."""
    return re.sub(r"(?<!:):([a-z]\w*)", r"%(\1)s", sql.replace("%", "%%"))


def bound(value: Value) -> Value:
    """Return a value as it is written; `StorageError` if it is too large."""
    if isinstance(value, str):
        value = encoded(value)
    elif not isinstance(value, bytes):
        return int(value) if isinstance(value, bool) else bound_number(value)
    if len(value) > LARGEST_BYTES:
        raise StorageError(f"a value of more than {LARGEST_BYTES >> 20} MB can't be stored")
    return value


def read(value: Value) -> Value:
    """Return the value of a column that holds no bytes as it was before it was written."""
    return decoded(value) if isinstance(value, str) else value
