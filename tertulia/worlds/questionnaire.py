"""Questions to people of a conversation: as objects of Python, as plain texts, and from a YAML file."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from tertulia.state.errors import UsageError, nearest_of
from tertulia.state.wrong_values import shown
from tertulia.worlds.catalog import FILE_ENDINGS
from tertulia.worlds.scenario_parts import Part, Text
from tertulia.worlds.yaml_file import Problem, YamlFile, complete_problem

#: The questionnaire that is shipped: 44 items of the Big Five Inventory.
INVENTORY = "inventory"

#: The most numbers of a scale, options of a question, and questions that are asked at once.
_MOST_STEPS, _MOST_OPTIONS, _MOST_QUESTIONS = 101, 50, 1000


class Question(Part):
    """A question to a person: answered in words, or by an option, or by a whole number of a scale.

    ::

        tertulia.Question(text="What do you hope for?")
        tertulia.Question(text="Will you sign?", options=["yes", "no", "not yet"])
        tertulia.Question(text="How content are you?", scale=(1, 7))

    Raises:
        UsageError: The question is empty, or its options or its scale are invalid.
    """

    text: Text
    options: tuple[Text, ...] = Field(default=(), max_length=_MOST_OPTIONS, description="the answers to choose from")
    scale: tuple[int, int] | None = Field(default=None, description="the lowest and the highest number")

    if not TYPE_CHECKING:  # checkers know the fields

        def __new__(cls, *given: Any, **fields: Any) -> Self:
            """Refuse values without the names of their fields."""
            if given:
                raise UsageError(f"Question: takes its fields by name: Question(text={shown(given[0])})")
            return super().__new__(cls)

    @field_validator("scale", mode="before")
    @classmethod
    def _two_numbers(cls, value: Any) -> Any:
        if value is not None and not (isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2):
            raise complete_problem(f"takes the lowest and the highest number, as in (1, 7), not {shown(value)}")
        return value

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, values: Any, validated: Callable[[Any], Self]) -> Self:
        if isinstance(values, cls):
            return values
        if isinstance(values, Mapping) and isinstance(text := values.get("text"), str) and not text.strip():
            raise UsageError("a question is empty; ask something")
        try:
            question = validated(values)
        except ValidationError as error:
            file = YamlFile(Path("Question"), None, values, has_lines=False)
            raise UsageError(str(file.unfit(error, cls, {}))) from None
        if (problem := question._problem()) is not None:
            raise UsageError(f"Question {shown(question.text)}: {problem}")
        return question

    def _problem(self) -> str | None:
        if self.options and self.scale is not None:
            return "has options and a scale; keep one of them"
        if len(self.options) == 1:
            return "has one option; give two or more, or none for an answer in words"
        if len(set(self.options)) < len(self.options):
            return "has an option twice"
        if self.scale is not None and not 0 < self.scale[1] - self.scale[0] < _MOST_STEPS:
            return f"the scale goes from a lower number to a higher one, {_MOST_STEPS} numbers at most: {self.scale}"
        return None


class _Questionnaire(Part):
    questions: tuple[Any, ...] = Field(min_length=1, max_length=_MOST_QUESTIONS)


Questions = str | os.PathLike[str] | Question | Sequence[str | Question | Mapping[str, Any]]


def read_questions(given: object) -> tuple[Question, ...] | None:
    """Return the questions of a text, an object, a list of either, or a YAML file; `None` for the inventory.

    A text that ends in `.yaml` is a file, `inventory` the shipped questionnaire, and any other a question.

    Raises:
        NotFoundError: There is no such file.
        UsageError: There is no question, or one is not acceptable.
    """
    if given == INVENTORY:
        return None
    if isinstance(given, os.PathLike) or (isinstance(given, str) and given.endswith(FILE_ENDINGS)):
        return _read_file(Path(given).expanduser())
    listed = [given] if isinstance(given, str | Question | Mapping) else given
    if not isinstance(listed, Iterable):
        raise UsageError(f"questions={shown(given)}: a question is a text; give one, or a list of several")
    questions = tuple(_question(each) for each in listed)
    if not questions:
        raise UsageError("there is no question; ask something")
    if len(questions) > _MOST_QUESTIONS:
        raise UsageError(f"{len(questions):,} questions are asked at once, and {_MOST_QUESTIONS:,} can be; ask fewer")
    return questions


def _question(given: object) -> Question:
    if given == INVENTORY:
        raise UsageError(f"{INVENTORY} is a questionnaire by itself; ask the other questions in another call")
    if isinstance(given, str) and given.isalpha() and nearest_of(given, [INVENTORY], 0.7):
        raise UsageError(f"{given!r} is no question (did you mean {INVENTORY!r}?)")
    return Question.model_validate({"text": given} if isinstance(given, str) else given)


def _read_file(path: Path) -> tuple[Question, ...]:
    """Return the questions of a file: a list, or a list under `questions`."""
    file = YamlFile.read(path, "file of questions")
    values = {"questions": file.values} if isinstance(file.values, list) else file.values
    listed = YamlFile(path, file.root, values).parse(_Questionnaire, {}).questions
    location: tuple[str, ...] = () if isinstance(file.values, list) else ("questions",)
    questions: list[Question] = []
    for number, entry in enumerate(listed):
        try:
            questions.append(_question(entry))
        except UsageError as error:
            problem: Problem = (*location, number), str(error).removeprefix("Question: ")
            raise file.error(problem) from None
    return tuple(questions)
