"""What the commands of `lab` share, and those with a file of their own; the group is `cli/commands/lab.py`."""
