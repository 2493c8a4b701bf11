"""Figures of stored runs and of files: diversity, participation, pruning, costs."""
