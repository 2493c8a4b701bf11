"""`ask`: questions to a person of a stored conversation, in character, at any turn."""

from typing import Annotated

import typer

from tertulia.cli.opening import open_existing
from tertulia.cli.option_values import named_model
from tertulia.cli.options import JsonOption, RunArgument, StoreOption
from tertulia.cli.terminal.asking import ask as answers_of
from tertulia.cli.terminal.output import data, plain, print_json


def ask(
    run: RunArgument,
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Who is asked: the name of a participant.")],
    questions: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION", help="What they are asked; `inventory` for the 44 items of the Big Five."),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="TURN", help="After which turn; 0 is before the first, the end if not given."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="Questions in YAML, with options or scales.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Who answers; the model that speaks for them if it is not given.")
    ] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Let a stand-in without weights answer.")] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed of the answers; the run's if it is not given.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a person anything after a turn, in character, while the conversation never hears of it.

    Answers are kept beside the run with their prompts; a question that was asked once is not asked again.

    Example: tertulia ask @last Bob "What do you think of Alice now?" --at 4
    """
    from tertulia.lab.annotations.asking import asked_document, inquiry, questions_given, responses

    chosen = named_model(model, rehearse)
    listed = questions_given(questions or (), file)
    with open_existing(store) as opened:
        asked = inquiry(opened, opened.run(run), person, listed, at, seed)
        answers = answers_of(opened, asked.run, chosen, asked.requests, asked.model)
        found = responses(opened, answers)
    if as_json:
        print_json(asked_document(asked, found))
        return
    when = f"after turn {asked.at}" if asked.at else "before the first turn"
    models = ", ".join(dict.fromkeys(response.model for response in found))
    data().print(plain(f"{asked.person} of run {asked.run.run}, {when}, answered by {models}", "bold"))
    for response in found:
        data().print()
        data().print(plain(response.question, "dim"), plain(f"{response.answer}"), sep="\n")
        if response.probabilities is not None:
            shares = (f"{option} {share:.2f}" for option, share in response.probabilities.items())
            data().print(plain(f"probabilities: {', '.join(shares)}", "dim"))
