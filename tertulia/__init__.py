"""Tertulia: conversations between language-model agents."""
