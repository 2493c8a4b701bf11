"""Participation: people, their cognition, and their share of the floor. Source: ChatAgents, Table II."""

from rich.console import Console
from rich.text import Text

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.metrics.participation import AgentFigures, Participation
from tertulia.state.cognition import WillingFor
from tertulia.state.meeting import Meeting, Start
from tertulia.state.text import count, in_words, number, percent

#: The reasons to be willing, and their headings.
_REASONS: dict[WillingFor, str] = {"content": "by content", "asked": "by being asked", "waiting": "by waiting"}


def print_participation(
    console: Console, start: Start, figures: Participation, published: Participation | None = None
) -> None:
    """Print participation, with the published figures below those of the run."""
    _print_people(console, figures)
    if isinstance(start, Meeting):
        _print_cognition(console, figures, published)
        _print_reasons(console, figures)
    _print_floor(console, figures, published)
    _print_whole(console, "the run", figures)
    if published:
        _print_whole(console, "the paper", published)
        console.print(plain("the paper's Table II (agents) and text (the line above) are of two different runs", "dim"))


def _print_people(console: Console, figures: Participation) -> None:
    rows = []
    for agent in figures.agents:
        if agent.latency is not None:
            latency = f"scale {agent.latency.scale_s:.3g} s, spread {agent.latency.spread_s:.3g} s"
            latency += f" {agent.latency.latency_class}" if agent.latency.latency_class else ""
            traits, setting = ", ".join(agent.traits or ()) or "–", agent.setting or "–"
            rows.append(Row((plain(agent.agent, "bold"), latency, traits, setting)))
    if rows:
        print_table(console, ("", "latency", "traits", "setting"), rows)
        console.print()


def _print_cognition(console: Console, figures: Participation, published: Participation | None) -> None:
    mechanisms = list(dict.fromkeys(name for agent in figures.agents for name in agent.mechanisms or {}))
    headings = ["", "spoken", "wanting\nto speak", "silent"]
    headings += [in_words(name).replace(" ", "\n", 1) for name in mechanisms]
    headings += ["wanting\nafter\nsilence", "speaking\nafter\nsilence"]
    rows = []
    for label, agent, style in _rows(figures, published):
        choices = [(agent.mechanisms or {}).get(name) for name in mechanisms]
        cells: list[Text | str] = [
            label,
            *map(count, (agent.spoken, agent.wanting_to_speak, agent.silent)),
            *("–" if choice is None else f"{choice.on}-{choice.off}" for choice in choices),
            *map(count, (agent.wanting_after_silence, agent.speaking_after_silence)),
        ]
        rows.append(Row(cells, style))
    print_table(console, headings, rows, right=headings[1:])
    console.print(plain("silent: decisions without wanting to speak; mechanisms: rounds on-off", "dim"))
    console.print()


def _print_reasons(console: Console, figures: Participation) -> None:
    """Print everybody's reasons to want to speak, if known; an agent that speaks by a timer only has none."""
    rows = [
        Row((plain(agent.agent, "bold"), *(str(agent.wanting_for[reason]) for reason in _REASONS)))
        for agent in figures.agents
        if agent.wanting_for is not None
    ]
    if rows:
        print_table(console, ("wanting to speak", *_REASONS.values()), rows, right=_REASONS.values())
        console.print(
            plain("content: by the matter, goal, feeling and character; else asked, or long without a word", "dim")
        )
        console.print()


def _print_floor(console: Console, figures: Participation, published: Participation | None) -> None:
    headings = ("", "spoken", "share of\nutterances", "words", "speaking\ntime", "share of\ntime")
    rows = []
    for label, agent, style in _rows(figures, published):
        seconds = None if agent.speaking_time_s is None else round(agent.speaking_time_s)
        cells: tuple[Text | str, ...] = (
            label,
            str(agent.spoken),
            percent(agent.share_of_utterances),
            count(agent.words),
            "–" if seconds is None else f"{seconds // 60}:{seconds % 60:02d}",
            percent(agent.share_of_speaking_time),
        )
        rows.append(Row(cells, style))
    print_table(console, headings, rows, right=headings[1:])
    console.print()


def _print_whole(console: Console, what: str, figures: Participation) -> None:
    turns = f"{what}: {figures.turns} turns in {number(figures.sim_minutes, 2)} simulated minutes"
    silences = f"silences: {figures.silences}, {figures.silence_s:g} s together"
    console.print(plain(f"{turns}; {silences}; evenness: {number(figures.evenness, 2)}"))


def _rows(figures: Participation, published: Participation | None) -> list[tuple[Text, AgentFigures, str]]:
    """Return the rows of a table as label, figures and style; the paper's figures are below those of the run."""
    of_paper = {agent.agent: agent for agent in published.agents} if published else {}
    rows: list[tuple[Text, AgentFigures, str]] = []
    for agent in figures.agents:
        rows.append((plain(agent.agent, "bold"), agent, ""))
        if agent.agent in of_paper:
            rows.append((Text("  paper"), of_paper[agent.agent], "dim"))
    return rows
