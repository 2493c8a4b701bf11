"""Executors: the processes and machines that drive the cohorts of an experiment."""
