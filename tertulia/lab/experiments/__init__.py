"""Experiments as data and as runs: cases × settings × trials, the missing ones, and calibrating λ."""
