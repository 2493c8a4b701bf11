"""The numbers of our own forward passes, whose last digits differ: a run's platform tells its own.

2 has those of `lean_llama`. 3 reads what the context adds to drafts in one pass at their end, and a prompt's attention
in two parts. A run of 2 goes on with it, to the bit.
"""

ENGINE, FORMER_ENGINE = "3", "2"
