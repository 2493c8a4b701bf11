"""Experiments as data and as runs: cases × settings × trials, what is missing of them, and calibrating λ."""
