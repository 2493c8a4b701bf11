"""Scorers: functions that score every unit of a prompt before λ acts. A file each; `attention` is the default.

A scorer writes `scores`, a number of 0 or more for every unit of the prompt, and `scored_by`. λ removes that share of
the removable units' total (`nodes/utterance/prune.py`), whatever the numbers are made of.
"""
