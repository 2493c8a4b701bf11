"""Executors: who drives the cohorts of an experiment beside this process, and where."""
