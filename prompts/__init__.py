"""Prompts as data: templates, blocks and units, assembling, removing, rendering. Knows no model."""
