"""A command of Polylogue and what it said, for tests of the command line."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        (line,) = self.out.splitlines()
        document: dict[str, Any] = json.loads(line)
        return document

    def complains(self, code: int, *words: str) -> None:
        """It failed with this code and one line that says these words."""
        complaints = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert (self.code, len(complaints)) == (code, 1), self
        assert "Traceback" not in self.err
        assert self.err.splitlines()[-1] == complaints[0]
        for word in words:
            assert word in complaints[0]


Cli = Callable[..., Said]
