"""What a run may use: models by name, what is installed, and whom and which files the user trusts."""
