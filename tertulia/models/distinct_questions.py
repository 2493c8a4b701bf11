"""Questions of a batch that are the same in all: each is answered once. Knows no torch."""

import random
from collections.abc import Sequence
from dataclasses import replace

from tertulia.state.questions import Answer, Generation, Question, ScoredGeneration


def distinct_questions(questions: Sequence[Question]) -> tuple[list[int], list[int]]:
    """Return the numbers of the questions to be answered, and by question, the number of the one with its answer.

    Two questions are the same if an answer to one is an answer to the other to the last digit: kind, prompt, fields,
    sampling, and the states of the generators.
    """
    by_content: dict[object, list[tuple[int, Question]]] = {}
    distinct: list[int] = []
    answered_by: list[int] = []
    for number, question in enumerate(questions):
        same = by_content.setdefault(_content(question), [])
        plain = _without_generators(question)
        known = next((at for at, other in same if plain == other), None)
        if known is None:
            same.append((number, plain))
            distinct.append(number)
        answered_by.append(number if known is None else known)
    return distinct, answered_by


def spread_answers(questions: Sequence[Question], answered_by: Sequence[int], found: dict[int, Answer]) -> list[Answer]:
    """Return the answers of all questions, and leave their generators as if each had been answered by itself."""
    answers: list[Answer] = []
    for number, (question, source) in enumerate(zip(questions, answered_by, strict=True)):
        if number != source:
            pairs = zip(_generators(question), _generators(questions[source]), strict=True)
            for generator, drawn in pairs:
                generator.setstate(drawn.getstate())
        answer = found[source]
        if isinstance(answer, tuple):
            replies, scores = answer
            answer = list(replies), dict(scores)
        elif isinstance(answer, list):
            answer = answer.copy()
        answers.append(answer)
    return answers


def _content(question: Question) -> object:
    """Return the parts of a question that can be hashed: they tell most questions apart."""
    prompt = question.request.prompt if isinstance(question, Generation | ScoredGeneration) else question.prompt
    states = tuple(generator.getstate() for generator in _generators(question))
    return type(question), prompt.input_ids, states


def _without_generators(question: Question) -> Question:
    if isinstance(question, Generation | ScoredGeneration):
        return replace(question, request=replace(question.request, generators=()))
    return question


def _generators(question: Question) -> tuple[random.Random, ...]:
    return question.request.generators if isinstance(question, Generation | ScoredGeneration) else ()
