"""Scenarios: files, the shipped towns and meetings, logs of Generative Agents runs. Imports only `state`."""
