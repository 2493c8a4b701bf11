"""Uniting stores: runs and simulations of one become those of another, and what they refer to comes with them."""
