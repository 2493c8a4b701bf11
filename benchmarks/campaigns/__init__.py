"""Disturb, damage and cut off whatever writes, and compare the results."""
