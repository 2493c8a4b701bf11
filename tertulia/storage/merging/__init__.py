"""Uniting stores: runs and simulations of one become those of another, with all rows that they refer to."""
