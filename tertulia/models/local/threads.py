"""How the threads of a local model wait for each other: without using a processor, which others may need.

On a machine with other work, threads that wait actively take the time of those they wait for. OpenMP reads how they
wait from the environment when torch is loaded, and from nowhere else; so this module alone, outside the command line,
looks there and writes there.
"""

import os
import sys

#: How threads wait, in OpenMP's words; and the variables of its two libraries that say it more finely.
_POLICY, _FINER = "OMP_WAIT_POLICY", ("GOMP_SPINCOUNT", "KMP_BLOCKTIME")

#: How many there are, in OpenMP's words.
_NUMBER = "OMP_NUM_THREADS"


def wait_passively() -> None:
    """Have the threads of torch wait passively, unless the user has said how, or torch is loaded already."""
    if "torch" not in sys.modules and not any(name in os.environ for name in (_POLICY, *_FINER)):
        os.environ[_POLICY] = "PASSIVE"


def use_threads(number: int) -> None:
    """Have torch compute with so many threads, whether it is loaded already or will be."""
    os.environ[_NUMBER] = str(number)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(number)


def threads_in_force() -> tuple[int, str]:
    """Return how many threads torch uses, and how they wait: `passive`, `active`, and the user's further settings."""
    import torch

    policy = [os.environ[_POLICY].lower()] if _POLICY in os.environ else []
    finer = [f"{name}={os.environ[name]}" for name in _FINER if name in os.environ]
    return torch.get_num_threads(), ", ".join([*policy, *finer]) or "active for a while"
