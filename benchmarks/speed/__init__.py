"""Seconds and memory of processes, utterances and batches."""
