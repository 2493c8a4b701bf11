"""Parts that `lab` commands share, and commands with their own file; the group is `tertulia/cli/commands/lab.py`."""
