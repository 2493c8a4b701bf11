"""People in the files of other programs: read as people of a scenario, and written again."""
