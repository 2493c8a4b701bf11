"""The number of our own forward passes, which a run's platform tells: others have other last digits."""

ENGINE = "4"
