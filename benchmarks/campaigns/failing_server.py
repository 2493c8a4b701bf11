"""A server that answers deterministically, fails a fifth of the time, and talks nonsense on demand.

Failures on the way are drawn at random, for the same request is answered later. An answer that is no JSON belongs to
its request, or two runs of one conversation would differ.
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.protocol_server import Served, serving, values_for

#: Share of the requests that fail on their way, and of those whose answer is no JSON.
ON_THE_WAY, NO_JSON = 0.2, 0.06

#: Whole bodies that nobody can take for an answer.
_NONSENSE = (
    *(b"<html><body>Welcome to the hotel's network</body></html>", b"{}", b"[]", b"null", b"\xff\xfe\x00"),
    *(b'{"choices": []}', b'{"choices": {"message": "Yes."}}', b'{"object": "error", "message": "no such thing"}'),
    b'{"choices": [{"message": {"role": "assistant", "content": 17}}]}',
)


@contextmanager
def failing_server() -> Iterator[Served]:
    """Serve while inside."""
    with serving(failure_rate=ON_THE_WAY, drawn=("429", "500", "cut"), answer=_answer) as served:
        yield served


def talk_nonsense(served: Served, is_nonsense: bool) -> None:
    """Let the server talk nonsense, or refuse every fifth request as wrong; or let it talk sense again."""
    served.altered = (lambda _: random.choice(_NONSENSE)) if is_nonsense else bytes
    served.drawn = ("400",) if is_nonsense else ("429", "500", "cut")


def _answer(request: dict[str, Any]) -> str:
    drawn = random.Random(json.dumps([request["messages"], request.get("seed")]))
    text = json.dumps(values_for(request))
    if drawn.random() < NO_JSON:
        return drawn.choice(("I would rather not answer in that form.", text[: len(text) // 3], ""))
    return text
