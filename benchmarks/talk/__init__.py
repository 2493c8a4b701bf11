"""Behaviour of the embedded model and of meetings."""
