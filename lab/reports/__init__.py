"""What was measured of an experiment beside what was published: figures, verdicts, pages."""
