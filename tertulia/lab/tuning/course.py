"""A course: lessons in a drawn order, some of them held out, each read with a drawn share of its units removed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tertulia.lab.tuning.lesson import Dropout, Lesson, sequence_of
from tertulia.models.tuning.sequence import TrainingSequence
from tertulia.state.language_model import Tokenizer
from tertulia.state.randomness import keyed_generator

#: Shares of the removable units that are removed to measure the held-out loss.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Course:
    """Lessons for a training, and those that are held out and only measure.

    Attributes:
        seed: Of the order, and of the removals.
        batch: Lessons per step.
        longest: The most tokens of a sequence; the rest is not read.
    """

    lessons: tuple[Lesson, ...]
    held_out: tuple[Lesson, ...]
    dropout: Dropout
    seed: int
    batch: int
    longest: int

    def sequences(self, tokenizer: Tokenizer) -> Callable[[int], list[TrainingSequence]]:
        """Return the lessons of a step: each epoch has every lesson once, in an order of its own."""

        def of_step(step: int) -> list[TrainingSequence]:
            read = []
            for place in range(step * self.batch, (step + 1) * self.batch):
                epoch, at = divmod(place, len(self.lessons))
                lesson = self.lessons[self._order(epoch)[at]]
                generator = keyed_generator(self.seed, round=place, node="dropout")
                removed = self.dropout.draw(lesson.removable(), generator)
                read.append(shortened(sequence_of(lesson, removed, tokenizer), self.longest))
            return [sequence for sequence in read if sequence.learned or sequence.drafts]

        return of_step

    def held_out_at(self, share: float, tokenizer: Tokenizer) -> list[TrainingSequence]:
        """Return the held-out lessons with this share of their removable units removed, the same at each call."""
        read = []
        for place, lesson in enumerate(self.held_out):
            units = lesson.removable()
            removed = keyed_generator(self.seed, round=place, node="held_out").sample(units, round(share * len(units)))
            read.append(shortened(sequence_of(lesson, removed, tokenizer), self.longest))
        return [sequence for sequence in read if sequence.count]

    def _order(self, epoch: int) -> list[int]:
        order = list(range(len(self.lessons)))
        keyed_generator(self.seed, round=epoch, node="order").shuffle(order)
        return order


def course_of(
    by_source: Sequence[Sequence[Lesson]], *, dropout: Dropout, seed: int, batch: int, longest: int, held_out: float
) -> Course:
    """Return a course of lessons by scene or run, of which a share is held out; all of one stay on one side."""
    learned: list[Lesson] = []
    measured: list[Lesson] = []
    for number, of_source in enumerate(by_source):
        lessons = [lesson for lesson in of_source if lesson.learned or lesson.answer or lesson.drafts]
        is_held_out = keyed_generator(seed, round=number, node="split").random() < held_out
        (measured if is_held_out else learned).extend(lessons)
    return Course(tuple(learned or measured), tuple(measured), dropout, seed, batch, longest)


def shortened(sequence: TrainingSequence, longest: int) -> TrainingSequence:
    """Return the beginning of a sequence, of so many tokens at most; drafts come after all of it, or not at all."""
    if len(sequence.tokens) <= longest:
        return sequence
    spans = tuple((first, min(last, longest)) for first, last in sequence.learned if first < longest)
    return TrainingSequence(sequence.tokens[:longest], spans, sequence.source)
