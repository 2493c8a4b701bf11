"""Annotations of stored runs by models: traits, behaviour, speech acts."""
