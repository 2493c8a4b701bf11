"""What tests of remote models share: a server, and retries that are not waited for."""

from collections.abc import Iterator

import pytest
from support.protocol_server import Served, serving


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that speaks OpenAI's protocol; the first wait before a retry is 0.01 s."""
    monkeypatch.setattr("models.chat_errors.FIRST_WAIT_S", 0.01)
    with serving() as server:
        yield server
