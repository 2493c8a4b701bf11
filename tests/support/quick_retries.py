"""Imported by a process that forks commands: a failed request to a remote model is repeated after milliseconds."""

from tertulia.models.served import chat_errors

chat_errors.FIRST_WAIT_S = 0.01
