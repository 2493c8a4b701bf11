"""People that lead, mediate, propose and get things done, with the lines that show it. Source: ChatAgents, Fig. 5."""

from collections.abc import Sequence

from rich.console import Console

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.cli.views.annotated import print_heading
from tertulia.lab.annotations.behaviour_report import BehaviourReport, evidence_of
from tertulia.metrics.behaviour import PersonBehaviour
from tertulia.metrics.speech_acts import ACTS
from tertulia.state.text import in_words, percent


def print_behaviour(console: Console, report: BehaviourReport) -> None:
    """Print speech acts and roles of everybody, then the evidence."""
    what = f"labelled by {report.labelled_by}, compared with {report.embedder}"
    print_heading(console, [report.run], what, report.rehearsed)
    for note in report.notes:
        console.print(plain(note, "yellow"))
    console.print()
    _print_acts(console, report.people)
    _print_roles(console, report.people)
    for person in report.people:
        _print_evidence(console, person)


def _print_acts(console: Console, people: Sequence[PersonBehaviour]) -> None:
    headings = ("utterances", *(in_words(act).replace(" ", "\n") for act in ACTS))
    rows = [
        Row((plain(person.agent, "bold"), str(person.utterances), *(str(person.acts[act]) for act in ACTS)))
        for person in people
    ]
    print_table(console, ("", *headings), rows, right=headings)
    console.print()


def _print_roles(console: Console, people: Sequence[PersonBehaviour]) -> None:
    headings = ("steering\nfollowed", "leadership", "mediation\nsettled", "proposals\ntaken up", "goals met")
    rows = []
    for person in people:
        settled = sum(mediation.settled for mediation in person.mediation)
        taken_up = sum(bool(proposal.agreed_by) for proposal in person.proposals)
        cells = (
            plain(person.agent, "bold"),
            f"{person.followed} of {len(person.steering)}",
            percent(person.leadership),
            f"{settled} of {len(person.mediation)}",
            f"{taken_up} of {len(person.proposals)}",
            percent(person.goals_met),
        )
        rows.append(Row(cells))
    print_table(console, ("", *headings), rows, right=headings)
    console.print(plain("leadership: share of all steering that was followed", "dim"))
    console.print()


def _print_evidence(console: Console, person: PersonBehaviour) -> None:
    if not (shown := evidence_of(person)):
        return
    console.print(plain(person.agent, "bold"))
    for evidence in shown:
        console.print("  " * evidence.depth, plain(f"{evidence.what}:", "dim"), " ", plain(evidence.text), sep="")
    console.print()
