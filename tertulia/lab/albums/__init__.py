"""Comparisons of two album chats."""
