"""Runs in the formats of other tools: Inspect's log, a data set for Hugging Face's library, MLflow, OpenTelemetry."""
