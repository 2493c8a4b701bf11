"""`Run.ask`: questions to the people of a stored run, in character, of which its conversation never hears."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tertulia.api.arguments import MODEL, speaking_model
from tertulia.api.calling import awaitable
from tertulia.api.store_handle import StoreHandle
from tertulia.api.tables import Records
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Emit
from tertulia.runs.driving.interrupting import run_or_abandon
from tertulia.runs.driving.session import events_of
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.wrong_arguments import (
    SEED,
    check_argument,
    check_texts,
    path_of,
    refusal,
    whole_number,
    with_named_arguments,
)
from tertulia.storage.parts.annotations import Annotations

if TYPE_CHECKING:
    from tertulia.lab.annotations.asking import Inquiry, Response
    from tertulia.state.annotation import Annotation
    from tertulia.worlds.people import Person
    from tertulia.worlds.questionnaire import Questions


class Responses(Records["Response"]):
    """Answers in the order of their questions; `.frame()` returns them as a pandas data frame."""

    __slots__ = ()

    @classmethod
    def of(cls, found: "Iterable[Response]") -> Self:
        """Return them as one object."""
        return cls(found)

    @property
    def traits(self) -> Mapping[str, float]:
        """The scores on the five traits, in [1, 5], of the whole inventory; empty for other questions."""
        from tertulia.lab.annotations.asking import trait_scores

        return trait_scores(self)

    def __repr__(self) -> str:
        moments = (f"after turn {each.at}" if each.at else "before the first turn" for each in self)
        lines = (
            f"{each.person}, {moment}: {each.question} — {each.answer}"
            for each, moment in zip(self, moments, strict=True)
        )
        return "\n".join(lines)


class Questioned:
    """Questions about a stored run."""

    store: StoreHandle
    id: str

    @with_named_arguments
    def ask(
        self,
        person: "str | Person",
        questions: "Questions",
        at: int | None = None,
        *,
        seed: int | None = None,
        model: str | None = None,
        rehearse: bool = False,
        cache: Path | str | None = None,
        api_keys: Mapping[str, str] | None = None,
    ) -> Responses:
        """Ask an agent anything after a turn, in character, and return the answers.

        The conversation does not change: nobody in it hears of a question, and a run that goes on goes on as it would.
        Each question is asked by itself. Answers are stored beside the run, with their prompts; the same question with
        the same seed is not asked again.

        ::

            run.ask("Bob", "What do you think of Alice now?", at=4)
            run.ask("Bob", tertulia.Question(text="Will you help?", options=["yes", "no"]))[0].probabilities
            run.ask("Bob", "inventory").traits

        Args:
            person: A participant, or their name.
            questions: A text, a `Question`, a list of either, a YAML file of questions, or `inventory` for the 44 items
                of the Big Five Inventory.
            at: The turn after which they are asked; 0 is before the first, and the end if it is not given.
            seed: Seed of the draws; the run's if it is not given. The inventory takes the likeliest answers.
            model: The model that answers; the one that speaks for them if it is not given.
            rehearse: Whether a stand-in without weights answers.
            cache, api_keys: As in `tertulia.run`.

        Raises:
            NotFoundError: There is no such turn, file, or person.
            UsageError: A question is empty, or they are not there at that moment.
            ModelError: The model failed; earlier answers are kept.
        """
        from tertulia.lab.annotations.asking import inquiry, responses
        from tertulia.worlds.questionnaire import read_questions

        check_argument("model", model, str, MODEL)
        check_texts("api_keys", api_keys, "keys are given by variable: api_keys={'OPENAI_API_KEY': …}")
        who = speaking_model(model, rehearse)
        name = getattr(person, "name", person)
        if not isinstance(name, str):
            raise refusal("person", person, "a person is named by a text")
        turn = None if at is None else whole_number("at", at, "a turn is an integer")
        drawn = None if seed is None else whole_number("seed", seed, SEED)
        listed = read_questions(questions)
        with self.store.opened() as store:
            asked = inquiry(store, store.run(self.id), name, listed, turn, drawn)
        access = ModelAccess(keys=dict(api_keys or {}))
        if cache is not None:
            access = ModelAccess(Path(path_of("cache", cache)), dict(api_keys or {}))
        answers = self._answers(asked, who or asked.model, access.naming([who] if who else []))
        with self.store.opened() as store:
            return Responses.of(responses(store, answers))

    aask = awaitable(
        ask,
        """Ask an agent anything after a turn without blocking the event loop (see `ask`).

        Args and Raises: As `ask`; CancelledError where it is cancelled: earlier answers are kept.
        """,
    )

    def _answers(self, asked: "Inquiry", model: str, access: ModelAccess) -> "list[Annotation]":
        from tertulia.lab.annotations.annotating import answers_to

        found: list[Annotation] = []

        def opened() -> LanguageModel:
            return access.language_model(model, Parameters.model_validate(asked.run.parameters))

        def drive(emit: Emit) -> None:
            with self.store.opened() as store:
                found.extend(run_or_abandon(answers_to(asked.requests, store, asked.run, model, opened)))

        with closing(events_of(drive)) as events:
            for _ in events:
                pass
        return found

    @property
    def asked(self) -> Responses:
        """The questions to its people, and their answers; of a fork, also those before it parted."""
        from tertulia.lab.annotations.asking import responses

        with self.store.opened() as store:
            kept = Annotations(store.file)
            answers = [*kept.of(self.id, "asked"), *kept.of(self.id, "self_inventory")]
            return Responses.of(responses(store, answers))
