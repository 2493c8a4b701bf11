"""Counts of what was tried and what passed."""

from dataclasses import dataclass, field


@dataclass
class Tally:
    """What a part of a test tried.

    Attributes:
        tried: How many.
        passed: How many of them were as they should be.
        problems: What was wrong with the others, and where it is kept.
        seconds: How long it took.
        untold: How many of those that passed did so because what is wrong with them can't be told.
    """

    tried: int = 0
    passed: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    untold: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.tried + other.tried,
            self.passed + other.passed,
            self.problems + other.problems,
            self.seconds + other.seconds,
            self.untold + other.untold,
        )

    def count(self, problems: list[str], times: int = 1) -> None:
        """Count something that was tried, with what is wrong with it."""
        self.tried += times
        self.passed += 0 if problems else times
        self.problems += problems
