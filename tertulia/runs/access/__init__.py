"""Resources of a run: models by name, installed packages, and the hosts and files that the user trusts."""
