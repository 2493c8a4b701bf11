"""Who leads, mediates, proposes and gets things done, with the lines that show it. Source: ChatAgents, Fig. 5."""

from collections.abc import Sequence

from rich.console import Console

from cli.terminal.output import plain
from cli.terminal.tables import Row, print_table
from cli.views.annotated import print_heading
from lab.behaviour_report import BehaviourReport
from metrics.behaviour import Line, PersonBehaviour
from metrics.speech_acts import ACTS
from tertulia.phrases import in_words, percent


def print_behaviour(console: Console, report: BehaviourReport) -> None:
    """Print speech acts and roles of everybody, then the lines that show them."""
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
    if not (person.steering or person.mediation or person.proposals or person.plan):
        return
    console.print(plain(person.agent, "bold"))
    for steering in person.steering:
        thinking = f" ({', '.join(map(in_words, steering.mechanisms))})" if steering.mechanisms else ""
        outcome = "followed" if steering.followed else "not followed"
        _print_line(console, f"steers, {outcome}{thinking}", steering, [("stays with it", steering.followed_by)])
    for mediation in person.mediation:
        beside = [
            ("before it, objects", mediation.objections),
            ("agrees", mediation.agreed_by),
            ("objects", mediation.objected_by),
        ]
        _print_line(console, f"mediates, {'settled' if mediation.settled else 'not settled'}", mediation, beside)
    for proposal in person.proposals:
        beside = [("agrees", proposal.agreed_by), ("objects", proposal.objected_by)]
        _print_line(console, f"proposes, novelty {proposal.novelty:.2f}", proposal, beside)
    for step in person.plan or ():
        done = "open" if step.done_in_round is None else f"done in round {step.done_in_round}"
        console.print("  ", plain(f"wants ({step.share:.0%}), {done}:", "dim"), " ", plain(step.text), sep="")
        if step.line:
            _print_evidence_line(console, "had heard", step.line)
    console.print()


def _print_line(console: Console, what: str, line: Line, beside: Sequence[tuple[str, Sequence[Line]]]) -> None:
    console.print("  ", plain(f"{what}:", "dim"), " ", plain(f"turn {line.turn} · {line.text}"), sep="")
    for how, lines in beside:
        for evidence in lines:
            _print_evidence_line(console, how, evidence)


def _print_evidence_line(console: Console, how: str, line: Line) -> None:
    console.print(
        "    ", plain(f"{how}:", "dim"), " ", plain(f"turn {line.turn} · {line.speaker}: {line.text}"), sep=""
    )
