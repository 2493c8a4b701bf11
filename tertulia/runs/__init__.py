"""A run from its plan to its end: plan, open, drive, fork, resume, stop, merge, export."""
