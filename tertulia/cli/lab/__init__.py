"""What the commands of `lab` share, and those with a file of their own; the group is `tertulia/cli/commands/lab.py`."""
