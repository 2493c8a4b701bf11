"""Other choices of units than Algorithm 1 (`nodes/utterance/prune.py`), each a file: walks, the placebo, Retain-1."""
