"""Driving conversations and towns, turn by turn, as events; and stopping them."""
