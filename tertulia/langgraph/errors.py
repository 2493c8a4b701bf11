"""Errors of the graphs within a user's own graph."""

from tertulia.state.errors import UsageError


class ParentStateError(UsageError):
    """The state of the parent graph lacks a field, or a field holds a value that can't be read."""


class PeopleError(UsageError):
    """The people can't be used: one has no name, two have the same, or a field of one is not acceptable."""
