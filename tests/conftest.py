"""One thread per process: the tests' models are tiny, and machines that run them are often shared."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
