"""The units that λ removed from a turn's prompt, in words, with remarks if λ seems to ask for another removal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tertulia.nodes.utterance.walks.calm import calm
from tertulia.prompts.units import FIXED_UNITS
from tertulia.state.context import Context
from tertulia.state.graph_state import EDITED_SCORES
from tertulia.state.parameters import REMOVAL_TOLERANCE, Parameters
from tertulia.state.records import BLOCK_INITIALS, HOSTED_SCENARIO, Candidate, Prompt, RunRecord
from tertulia.state.text import beside, clean, in_words
from tertulia.state.variation import BlockLength
from tertulia.views.reading.faults import faults_in_words
from tertulia.views.reading.turns import LineDetails, parameters_of_speaker

#: From this share of the removable weight on, a unit that is passed over gets a remark.
_MOST = 0.5
#: The rounding error of sums of shares.
_ROUNDING = 1e-9
#: Characters of a unit's text that a remark quotes.
_QUOTED = 40


def whole_of_share(details: LineDetails) -> str:
    """Return the whole of a share: attention, or the scores of another scorer."""
    parameters = parameters_of_speaker(details)
    return "score" if "score" in parameters.nodes or parameters.reducer == "learned" else "attention"


def removal_in_words(details: LineDetails) -> list[str]:
    """Return sentences about the units removed from the prompt of a turn; the remarks come last."""
    what_if, scores = details.what_if, details.record.scores
    factor = details.removal_factor if what_if is None else what_if
    if factor is not None and what_if is None and details.pace is not None and details.pace.steering is not None:
        factor = round(factor, 3)
    pace = [details.pace.reason] if details.pace is not None and what_if is None else []
    if what_if is None and is_edited(details):
        gone, removable = details.removed_items, len(details.removable)
        share = "" if scores is None else f": {details.removed_share:.1%} of their {whole_of_share(details)}"
        edit = f"✗ {gone} of {removable} removable items were removed by an edit of the state, not by λ{share}"
        return [edit, *remarks(details).values()]
    if scores is None:
        unscored = f"λ = {factor}: not scored, nothing removed (--set record_scores=true records scores)"
        return [unscored, *pace, *remarks(details).values()]
    removable, gone = len(details.removable), details.removed_items
    would = "would be" if what_if is not None else "were"
    why = f"at λ = {factor}"
    if (kept := retained(details.run)) is not None and details.record.removal_factor is None:
        if what_if is not None:
            why = f"{why}, were {kept} not retained"
        elif gone < removable:
            why = f"but {kept}"
        else:
            why = f"(this prompt has no {kept.rpartition(' of ')[2]} to retain one of)"
    if parameters_of_speaker(details).removal_order == "placebo" and (gone or what_if):
        why = f"{why}, drawn at random (placebo)"
    texts = len(details.removed) - gone
    emptied = f", and {texts} {'text' if texts == 1 else 'texts'} of blocks that lost all items" if texts else ""
    return [
        f"✗ {gone} of {removable} removable items {would} removed {why}: {details.removed_share:.1%} of their "
        f"{whole_of_share(details)} (λ reached: {details.removed_share:.3f}; scored by {details.record.scored_by})"
        f"{emptied}",
        *pace,
        *remarks(details).values(),
    ]


def variations_in_words(details: LineDetails, prompt: Prompt) -> list[str]:
    """Return in words how the prompt of a turn was varied, and the candidates asked for in one reply."""
    parameters = parameters_of_speaker(details)
    variations = [f"blocks left out: {parameters.removed_blocks}"] if parameters.removed_blocks else []
    variations += [f"items of another case: {parameters.items_from} (placebo)"] if parameters.items_from else []
    variations += [f"lengths: {parameters.block_lengths}"] if parameters.block_lengths else []
    if parameters.names != "own":
        variations.append(
            f"names: {parameters.names}, {details.record.turn.speaker} is {prompt.speaker}, put back in what is said"
        )
    if parameters.generation == "sequential":
        variations.append(f"{parameters.sequential_candidates} candidates in one reply, {details.distinct} distinct")
    if parameters.generation == "verbalized":
        tail = f" below {parameters.verbalized_below:g}" if parameters.verbalized_below < 1 else ""
        asked = f"{parameters.written_together} replies in one, each with its probability{tail}"
        variations.append(f"{asked}, {details.distinct} distinct")
    if parameters.generation == "string_seed":
        variations.append("a random string before the reply, which it was to follow from")
    return variations


def written_in_words(candidate: Candidate) -> str:
    """Return the stated probability or random string by which a candidate was drawn, and how these were read."""
    told = [] if candidate.probability is None else [f"stated probability {candidate.probability:.3g}"]
    told += [f"random string: {clean(candidate.string_seed)}"] if candidate.string_seed else []
    return "; ".join([*told, *([candidate.remark] if candidate.remark else [])])


def remarks(details: LineDetails) -> dict[str, str]:
    """Return remarks on a turn by kind: a unit too heavy for λ, nothing that fits, λ not reached, zeros, no sense."""
    scores, parameters = details.record.scores, parameters_of_speaker(details)
    factor = details.removal_factor if details.what_if is None else details.what_if
    is_by_retaining = parameters.retain is not None and details.what_if is None
    of_sense = {"sense": faults_in_words(details.faults)} if details.faults else {}
    if scores is None or not factor or is_by_retaining:
        return of_sense
    return dict(_remarks(details, scores, factor, parameters)) | of_sense


def _remarks(
    details: LineDetails, scores: dict[str, float], factor: float, parameters: Parameters
) -> Iterator[tuple[str, str]]:
    removable = [unit for unit in details.removable if unit.id in scores]
    if not removable:
        return
    total = sum(scores[unit.id] for unit in removable)
    staying = [unit for unit in removable if unit.id not in details.removed]
    heaviest = max(removable, key=lambda unit: scores[unit.id])
    by_score = parameters.removal_order != "placebo"
    if details.what_if is None and is_edited(details):
        yield "edited", f"λ = {factor:g} would have removed other units: the state was edited before the line was drawn"
        return
    if scores_are_edited(details):
        yield "edited", "the scores were edited before the line was drawn: they are not the scorer's"
    if by_score and total and heaviest in staying and scores[heaviest.id] > _MOST * total:
        share = scores[heaviest.id] / total
        stays = _why_it_stays(share, parameters)
        yield "heavy", f"one unit holds {share:.0%} of the removable weight ({_quoted(heaviest.text)}): {stays}"
    if len(staying) == len(removable):
        yield "nothing", _why_nothing([scores[unit.id] for unit in removable], factor, parameters)
    if by_score and total and abs(details.removed_share - factor) > REMOVAL_TOLERANCE + _ROUNDING:
        yield "reached", _why_not_reached(details, factor, parameters)
    zero = sum(scores[unit.id] == 0 for unit in staying)
    if by_score and factor == 1 and zero:
        yield (
            "zero",
            f"{zero} removable {'item has' if zero == 1 else 'items have'} a score of 0 and "
            f"{'stays' if zero == 1 else 'stay'} at λ = 1: Algorithm 1 stops once the target is reached",
        )


def _why_it_stays(share: float, parameters: Parameters) -> str:
    """Return why the heaviest unit stays, and the least λ of two digits that takes it if it comes first."""
    if parameters.removal_walk == "calm":
        return "it goes where that comes nearer to λ"
    if parameters.removal_order == "ascending":
        return "it comes last"
    # The nearest walk removes it once λ is nearer to its share than to zero.
    is_nearest = parameters.removal_walk == "nearest"
    least = next(at / 100 for at in range(101) if (at / 100 > share / 2 if is_nearest else at / 100 >= share))
    stays = "λ passes over it" if parameters.removal_walk == "paper" else "the walk stops at it"
    return f"{stays}, and takes it from λ = {least:g} on"


def is_edited(details: LineDetails) -> bool:
    """Return whether other units are gone than those that the run's walk takes, as a graph's user has edited them."""
    record, factor, parameters = details.record, details.removal_factor, parameters_of_speaker(details)
    if details.run.scenario != HOSTED_SCENARIO or "prune" in parameters.nodes:
        return False
    if parameters.removal_order == "placebo" or (record.removal_factor is None and parameters.retain is not None):
        return False
    from tertulia.nodes.utterance.prune import WALKS  # with LangGraph, which other runs do without

    walked: list[str] = []
    if record.scores is not None and factor:
        walked = WALKS[parameters.removal_walk](details.removable, record.scores, factor, _order(parameters))
    return {*walked} != {unit.id for unit in details.removable if unit.id in record.removed}


def scores_are_edited(details: LineDetails) -> bool:
    """Return whether a graph's user has edited the scores by which λ removed units."""
    return (details.record.scored_by or "").endswith(EDITED_SCORES)


def _order(parameters: Parameters) -> Literal["ascending", "descending"]:
    return "ascending" if parameters.removal_order == "ascending" else "descending"


def _why_nothing(scores: Sequence[float], factor: float, parameters: Parameters) -> str:
    is_stopping = parameters.removal_walk in ("first_overshoot", "nearest")
    is_heaviest = is_stopping and parameters.removal_order != "ascending"
    total = sum(scores)
    weight = (max(scores) if is_heaviest else min(scores)) / total if total else 0.0
    which = f"the {'heaviest' if is_heaviest else 'lightest'} of {len(scores)} removable items"
    where = ", where this walk begins and stops" if is_heaviest else ""
    share = f"{beside(weight * 100, factor * 100, 1)}%"
    return f"nothing fits under λ = {factor:g}, as {which} has {share} of their weight{where}: nothing is removed"


def _why_not_reached(details: LineDetails, factor: float, parameters: Parameters) -> str:
    """Return how far λ was reached, and the setting under which more of it is, if there is one."""
    reached, scores = details.removed_share, details.record.scores or {}
    said = f"λ = {factor:g} was asked for, and {reached:.3f} reached"
    if "prune" in parameters.nodes:
        return f"{said}: nodes.prune={parameters.nodes['prune']} decides what goes"
    nearer = calm(details.removable, scores, factor, _order(parameters))
    share = sum(scores[unit] for unit in nearer) / sum(scores[unit.id] for unit in details.removable)
    if abs(share - factor) >= abs(reached - factor) - _ROUNDING:
        return f"{said}: no walk comes nearer, as no removable unit has a share that would fit"
    return f"{said}; --set removal_walk=calm would reach {share:.3f}"


def notes_of_turn(context: Context, turn: int) -> Iterator[tuple[str, str]]:
    """Yield notes on a turn's prompt by kind: lengths of blocks that it lacks, and `remarks`."""
    lengths, record = context.parameters.lengths, context.store.turn_record(context.run, turn)
    if record.prompt is None or not (lengths or record.scores):
        return
    run, prompt = context.store.run(context.run), context.store.prompt(record.prompt)
    yield from _lengths_without_items(lengths, prompt)
    details = LineDetails(run=run, record=record, prompt=prompt, candidates=(), removed=frozenset(record.removed))
    # The weights of a rehearsal are random: the heaviest unit, and the share reached, say nothing about the prompt.
    of_weights = {"heavy", "reached"} if run.is_rehearsal else set()
    yield from ((kind, text) for kind, text in remarks(details).items() if kind not in of_weights)


def _lengths_without_items(lengths: Mapping[str, BlockLength], prompt: Prompt) -> Iterator[tuple[str, str]]:
    has_items = {unit.block for unit in prompt.units if unit.kind == "item" and unit.id not in FIXED_UNITS}
    for letter, length in lengths.items():
        block = BLOCK_INITIALS[letter]
        if not length.exact and block not in has_items:
            yield f"length of {letter}", f"block_lengths passes over {in_words(block)}: this prompt has none of it"


def _quoted(text: str) -> str:
    text = clean(text)
    return f"“{text}”" if len(text) <= _QUOTED else f"“{text[: _QUOTED - 1].rstrip()}…”"


def retained(run: RunRecord) -> str | None:
    """Return in words the only item of a block that a prompt retains; `None` if λ decides."""
    which = run.parameters.get("retain")
    return f"the {which} of {in_words(BLOCK_INITIALS[str(run.parameters['retain_block'])])}" if which else None
