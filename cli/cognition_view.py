"""A round of group chat, looked into: what each agent noticed, needed, thought and bid, and how they raced."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.lines import in_words, silence
from cli.output import bar, clean, number, plain
from cli.rounds import AgentRound, Round
from state.cognition import Bid, Call, Character, WillingnessParts
from state.parameters import Parameters
from state.store import Store

_BAR = 24
_PARTS = tuple(WillingnessParts.model_fields)


# --- JSON -----------------------------------------------------------------------------------------------------------


def agent_json(one: AgentRound) -> dict[str, Any]:
    """Return what went on in an agent; what was not recorded is null."""
    need, assessment, bid = one.need, one.assessment, one.bid
    return {
        "agent": one.agent,
        "perception": one.perception.model_dump(mode="json"),
        "key_information": need.key_information if need else None,
        "mechanisms": {name: choice.model_dump() for name, choice in need.mechanisms.items()} if need else {},
        "findings": {name: finding.model_dump(mode="json") for name, finding in one.findings.items()},
        "situation": assessment.situation if assessment else None,
        "thought": assessment.thought if assessment else None,
        "emotion": assessment.emotion if assessment else None,
        "emotion_strength": assessment.emotion_strength if assessment else None,
        "plan_done": list(assessment.done) if assessment else None,
        "willingness": bid.willingness if bid else None,
        "willingness_parts": bid.parts.model_dump() if bid and bid.parts else None,
        "weights": one.weights.model_dump(),
        "willing": bid.willing if bid else None,
        "similarity": bid.similarity if bid else None,
        "similarity_max": bid.similarity_max if bid else None,
        "latency_scale_s": bid.latency_scale_s if bid else None,
        "latency_spread_s": bid.latency_spread_s if bid else None,
        "persistence": bid.persistence if bid else None,
        "latency_s": bid.latency_s if bid else None,
        "won": bid.won if bid else None,
        "typed": one.typed,
    }


def calls_json(calls: Iterable[Call], store: Store) -> list[dict[str, Any]]:
    """Return calls of models with their prompts and replies."""
    return [
        {
            "node": call.node,
            "attempt": call.attempt,
            "model": call.model,
            "prompt": [
                unit.model_dump(include={"id", "block", "kind", "text"}) for unit in store.prompt(call.prompt).units
            ],
            "replies": [{"text": reply.text, "fields": reply.fields} for reply in call.replies],
        }
        for call in calls
    ]


# --- in the terminal ------------------------------------------------------------------------------------------------


def print_round(console: Console, round: Round, parameters: Parameters, agent: str | None = None) -> None:
    """Print a round: what went on in each agent (or in one of them alone), then the race."""
    for one in round.agents:
        if agent in (None, one.agent):
            _print_agent(console, one, parameters, whole=agent is not None)
    _print_race(console, round, parameters)


def print_thoughts(console: Console, round: Round, parameters: Parameters) -> None:
    """Print a round in short: the race, with each agent's thought and the mechanisms that were on."""
    table = _plain_table("left", "left", "right", "right", "left")
    for one, start in _race_rows(round):
        thought = Text(clean(one.assessment.thought) if one.assessment else "–", "italic")
        if one.typed is not None:
            thought = plain(_typed(one.typed))
        if one.active:
            thought.append(f"  [{', '.join(in_words(name) for name in one.active)}]", "dim not italic")
        willingness = f"W {number(one.bid.willingness, 2)}" if one.bid else "–"
        table.add_row(*start, willingness, thought)
    console.print(_indented(table, 5))
    console.print(_indented(plain(_how_the_floor_was_given(round, parameters), "dim"), 5))
    console.print()


def _print_agent(console: Console, one: AgentRound, parameters: Parameters, whole: bool) -> None:
    """Print what went on in an agent; if whole, with the reasons against the mechanisms that were off."""
    won = one.bid is not None and one.bid.won
    console.print(Text.assemble(plain(one.agent, "bold cyan"), ("  → speaks", "green") if won else ""))
    table = _plain_table()
    table.add_column(style="dim", width=9)
    table.add_row("noticed", plain(_perceived(one, parameters)))
    if one.need is not None:
        if one.need.key_information:
            table.add_row("needs", plain(one.need.key_information))
        for name in one.active:
            line = Text.assemble((in_words(name), "bold"), plain(f": {one.need.mechanisms[name].reason or '–'}"))
            table.add_row(Text("on", "green"), line)
            if finding := one.findings.get(name):
                for found in finding.lines:
                    table.add_row("", plain(f"· {found}"))
                if finding.problem:
                    table.add_row("", plain(f"went without: {finding.problem}", "red"))
        off = {name: choice.reason for name, choice in one.need.mechanisms.items() if not choice.active}
        if whole:
            for name, reason in off.items():
                table.add_row("off", plain(f"{in_words(name)}: {reason or '–'}", "dim"))
        elif off:
            table.add_row("off", plain(", ".join(map(in_words, off)), "dim"))
    if assessment := one.assessment:
        table.add_row("situation", plain(assessment.situation or "–"))
        table.add_row("thought", plain(assessment.thought or "–", "italic"))
        table.add_row("feels", plain(f"{assessment.emotion}, {assessment.emotion_strength:.1f}"))
    if one.typed is not None:
        table.add_row("typed", plain(one.typed or "–"))
    if one.bid is not None and (one.bid.parts is not None or parameters.order == "self_driven"):
        table.add_row("willing", _willingness(one, one.bid, parameters))
    console.print(_indented(table))
    console.print()


def _typed(words: str) -> str:
    return f"typed: {words}" if words else "stayed silent"


def _perceived(one: AgentRound, parameters: Parameters) -> str:
    seen = one.perception
    what = f"turn {seen.turn}" if seen.turn else "how it opened"
    figures = f"relevance {seen.relevance:.2f}"
    if not seen.noticed:
        return f"not {what}: {figures}, below {parameters.perception_threshold:g}"
    return f"{what}: {figures}, importance {seen.importance:.1f}{', called by name' if seen.named else ''}"


def _willingness(one: AgentRound, bid: Bid, parameters: Parameters) -> Text:
    """Return Eq. 1 of ChatAgents with its numbers; a person says it themselves."""
    sign, said = ("≥", "yes") if bid.willing else ("<", "no")
    line = Text.assemble((said, "green" if bid.willing else "yellow"), ": ")
    if bid.parts is None:
        return line.append("as they said")
    terms = " + ".join(f"{getattr(one.weights, part):g} × {getattr(bid.parts, part):.2f} {part}" for part in _PARTS)
    return line.append(f"{terms} = {bid.willingness:.2f} {sign} θ = {parameters.willingness_threshold:g}")


def _print_race(console: Console, round: Round, parameters: Parameters) -> None:
    console.print(plain("the floor", "bold cyan"))
    table = _plain_table("left", "left", "right", "left")
    for one, start in _race_rows(round):
        table.add_row(*start, Text(_terms_of_the_race(one, parameters), "dim"))
    console.print(_indented(table))
    console.print(_indented(plain(_how_the_floor_was_given(round, parameters))))
    console.print()


def _race_rows(round: Round) -> Sequence[tuple[AgentRound, tuple[Text, Text, str]]]:
    """Return who raced, the fastest first, with mark and name, bar, and latency; those who did not draw come last."""
    drawn = {one.agent: one.bid.latency_s for one in round.agents if one.bid and one.bid.latency_s is not None}
    longest = max(drawn.values(), default=0.0) or 1.0
    rows = []
    for one in sorted(round.agents, key=lambda one: drawn.get(one.agent, float("inf"))):
        won = one.bid is not None and one.bid.won
        name = Text.assemble(("→ " if won else "  ", "green"), plain(one.agent, "bold" if won else ""))
        latency_s = drawn.get(one.agent)
        chart = Text(bar((latency_s or 0.0) / longest, _BAR), "green" if won else "cyan")
        rows.append((one, (name, chart, "–" if latency_s is None else f"{latency_s:.2f} s")))
    return rows


def _terms_of_the_race(one: AgentRound, parameters: Parameters) -> str:
    bid = one.bid
    if bid is None:
        return "made no bid"
    if bid.latency_s is None:
        if bid.willing:
            return "willing, not asked"
        if bid.willingness is None:
            return "was not asked" if one.typed is None else "stayed silent"
        return f"not willing: W {bid.willingness:.2f} < θ {parameters.willingness_threshold:g}"
    if bid.parts is None and parameters.seat_clock == "runs":
        return "as long as they took"
    terms = f"μ {bid.latency_scale_s:.2f} s, σ {bid.latency_spread_s:.2f} s"
    if bid.similarity:
        terms += f", thought goes on from before: {bid.similarity:.2f}"
    return terms + (f", unheard before: × {bid.persistence:g}" if bid.persistence < 1 else "")


def _how_the_floor_was_given(round: Round, parameters: Parameters) -> str:
    floor = round.floor
    if floor is None:
        return "the floor was not given: the round was interrupted"
    parts = [in_words(floor.order)]
    if floor.reason:
        parts.append(floor.reason)
    if floor.looks > 1:
        parts.append(f"willingness was looked at {floor.looks} times, every {parameters.reevaluation_s:g} s")
    if floor.tied:
        parts.append(f"a tie of {' and '.join(floor.tied)} was drawn")
    if floor.waited_s is not None:
        parts.append(f"first word after {floor.waited_s:.2f} s")
        return "; ".join(parts)
    fastest = min(
        (one.bid.latency_s for one in round.agents if one.bid and one.bid.latency_s is not None), default=None
    )
    if fastest is None:
        parts.append("nobody was willing")
    else:
        first_s = (floor.looks - 1) * parameters.reevaluation_s + fastest
        parts.append(f"the first word would have come after {first_s:.2f} s")
    return "; ".join([*parts, silence(parameters.silence_s)])


def print_character(console: Console, name: str, character: Character) -> None:
    """Print a participant as they entered the meeting."""
    console.print(plain(name, "bold cyan"))
    table = _plain_table()
    table.add_column(style="dim", width=9)
    table.add_row("traits", plain(", ".join(character.big_five)))
    for at, text in enumerate(character.descriptions):
        table.add_row("is" if at == 0 else "", plain(text))
    for at, step in enumerate(character.plan):
        table.add_row("plans" if at == 0 else "", plain(f"{step.text} ({step.share:.0%})"))
    console.print(_indented(table))
    console.print()


def print_calls(console: Console, calls: Sequence[Call], store: Store) -> None:
    """Print calls of models: each unit of the prompt, then the replies."""
    for call in calls:
        again = f", call {call.attempt + 1}" if call.attempt else ""
        console.print(plain(f"{in_words(call.node)}: a call of {call.model}{again}", "bold cyan"))
        block = None
        for unit in store.prompt(call.prompt).units:
            if unit.block != block:
                block = unit.block
                console.print(_indented(plain(in_words(block), "dim")))
            console.print(_indented(plain(unit.text, "" if unit.kind == "item" else "italic"), 4))
        for reply in call.replies:
            console.print(Text.assemble(("  → ", "green"), plain(reply.text)))
        console.print()


def _plain_table(*columns: Literal["left", "right"]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for justify in columns:
        table.add_column(justify=justify)
    return table


def _indented(what: Table | Text, columns: int = 2) -> Padding:
    return Padding(what, (0, 0, 0, columns), expand=False)
