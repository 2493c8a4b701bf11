"""Reports on experiments: measured figures next to published ones, verdicts, pages."""
