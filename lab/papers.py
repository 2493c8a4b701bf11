"""The experiments of the papers as data: settings of this program, published figures, and what the papers say of them.

A report is a table or a figure of a paper, or a question of ours beside it. Its file in `lab/papers/` has what it asks,
the settings as parameters, the published figures of each, what was published about their order, and two sizes: `quick`
for a small model on a processor, `full` as in the paper. What a file says in short (pairs, grids) is written out here.

Conversations are had with the model as it is shipped: what it sets by itself (of the embedded one a temperature, drafts
and a strength of context) holds in every setting that does not name it. The papers' settings say how they differ from
that. `plain` is the report about what the model's own settings change.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field

from lab.experiment import Experiment, Setting
from state.errors import NotFoundError, nearest_hint
from state.records import Record

#: The reports in the order in which they are listed; `all` of a command means these.
REPORTS = (
    *("table2", "table3", "table4", "table6", "table7"),
    *("fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9"),
    *("chatagents", "scorers", "strength", "plain"),
)

#: The cases where none are given: the conversations of the shipped town, in the order of their times.
CASES = tuple(f"tidewell:{number}" for number in range(8))


class Metric(Record):
    """A metric as reports show it."""

    title: str = Field(description="as a heading")
    meaning: str
    diverse: Literal["higher", "lower"] | None = Field(None, description="which way dialogues are more varied, if any")


class Profile(Record):
    """How many conversations a report has."""

    cases: int | None = Field(None, description="at most so many of the cases, evenly over their order; unset: all")
    trials: int
    rounds: int | None = Field(None, description="most turns of each; unset: the scenario's")


class Term(Record):
    """A metric in a setting, with its weight in a sum."""

    setting: str
    metric: str
    weight: float = 1.0


class WeightedSum(Record):
    """The weighted sum of some figures, plus a constant, is above 0."""

    kind: Literal["weighted_sum"] = "weighted_sum"
    terms: tuple[Term, ...]
    constant: float = 0.0


class EverySum(Record):
    """Each of several sums is above 0."""

    kind: Literal["every_sum"] = "every_sum"
    sums: tuple[WeightedSum, ...] = Field(min_length=1)


class Curve(Record):
    """Settings along a curve, each with its position."""

    points: tuple[tuple[float, str], ...]


class Rising(Record):
    """A metric rises along a curve, or falls."""

    kind: Literal["rising"] = "rising"
    metric: str
    curve: Curve
    falls: bool = False


class Efficient(Record):
    """A curve of one metric over another lies above a second curve, where both reach."""

    kind: Literal["efficient"] = "efficient"
    position: str = Field(description="the metric that is the position")
    metric: str
    better: tuple[str, ...] = Field(description="settings of the upper curve")
    worse: tuple[str, ...]


class OverTime(Record):
    """The weighted sum of some figures of a case rises with the simulated time of the case, or falls."""

    kind: Literal["over_time"] = "over_time"
    terms: tuple[Term, ...]
    falls: bool = False


Claim = Annotated[WeightedSum | EverySum | Rising | Efficient | OverTime, Field(discriminator="kind")]


class Ordering(Record):
    """What a paper says about the order of its figures, as something that these conversations can bear out or not."""

    id: str
    text: str
    source: str
    claim: Claim
    published: float | None = Field(None, description="by how much, in the paper; above 0")


class Report(Record):
    """A table or figure of a paper, in one of its two sizes."""

    name: str
    title: str
    question: str
    source: str
    notes: tuple[str, ...] = Field((), description="what must be known before the figures are read")
    cases: tuple[str, ...] = CASES
    resampled: Literal["cases", "runs"] = Field(
        "cases", description="what intervals are over; runs: each is a case of its own, as there is one scenario"
    )
    settings: dict[str, Setting]
    baseline: str
    metrics: tuple[str, ...]
    curves: dict[str, Curve] = Field({}, description="settings that belong on one line of a plot, by its label")
    rows: dict[str, tuple[str, ...]] = Field(
        {}, description="comparisons of settings that stand in the place of settings in figures (table6)"
    )
    published: dict[str, dict[str, float]] = Field({}, description="by setting (or row) and metric")
    orderings: tuple[Ordering, ...] = ()
    profile: Profile


def report_of(name: str, quick: bool = False) -> Report:
    """Return a report with its settings, figures and orderings written out.

    Args:
        name: One of `REPORTS`.
        quick: The small size.

    Raises:
        NotFoundError: There is no such report; the nearest name is given.
    """
    if name not in REPORTS:
        hint = nearest_hint(name, REPORTS, otherwise=f"; there are {', '.join(REPORTS)}")
        raise NotFoundError(f"there is no report {name!r}{hint}")
    return _written_out(name, _document(name), "quick" if quick else "full")


def experiment_of(
    report: Report,
    name: str,
    *,
    cases: Sequence[str] | None = None,
    trials: int | None = None,
    rounds: int | None = None,
    model: str | None = None,
) -> Experiment:
    """Return the experiment of a report.

    Args:
        report: Which.
        name: What the experiment is called in the store.
        cases: In the order of their times, if known; all of them are taken. Without them, the report's own, of which
            there are as many as its size says.
        trials, rounds: In the place of its size's.
        model: Everybody's; without it, the experiment's default.
    """
    chosen = tuple(cases) if cases is not None else evenly(report.cases, report.profile.cases)
    values: dict[str, Any] = {
        "name": name,
        "description": f"{report.title}. {report.question}",
        "cases": chosen,
        "settings": report.settings,
        "trials": trials or report.profile.trials,
        "rounds": rounds or report.profile.rounds,
        "baseline": report.baseline,
    }
    return Experiment.model_validate(values if model is None else values | {"model": model})


def evenly(cases: Sequence[str], most: int | None) -> tuple[str, ...]:
    """Return at most so many cases, evenly over their order. Source: APP §2 (20 of 290 dialogues)."""
    if most is None or most >= len(cases):
        return tuple(cases)
    return tuple(cases[(2 * number + 1) * len(cases) // (2 * most)] for number in range(most))


@cache
def metrics_by_name() -> Mapping[str, Metric]:
    """Return every metric that reports show, by its name."""
    return {name: Metric.model_validate(values) for name, values in _document("metrics").items()}


def metric_named(name: str) -> Metric:
    """Return a metric by its name; `dist3@2` is dist-3 at utterance index 2, `spoken:Eva` that of a person."""
    base, at, place = name.partition("@")
    base, by, person = base.partition(":")
    metric = metrics_by_name()[base]
    where = f" at index {place}" if at else f" of {person}" if by else ""
    return metric.model_copy(update={"title": metric.title + where, "meaning": metric.meaning + where})


def more_varied(metric: str) -> int:
    """Return 1 where a higher figure means more varied dialogues, −1 where a lower one does, 0 where neither."""
    return {"higher": 1, "lower": -1, None: 0}[metric_named(metric).diverse]


# --- files ----------------------------------------------------------------------------------------------------------


@cache
def _document(name: str) -> Mapping[str, Any]:
    text = files("lab").joinpath("papers", f"{name}.yaml").read_text(encoding="utf-8")
    document: Mapping[str, Any] = yaml.safe_load(text)
    return document


def _written_out(name: str, document: Mapping[str, Any], size: Literal["quick", "full"]) -> Report:
    """Return a report: grids become settings and curves, pairs and shorthands of claims become orderings."""
    values = {key: value for key, value in document.items() if key in Report.model_fields}
    common = document.get("common", {})
    settings = {setting: common | (given or {}) for setting, given in document.get("settings", {}).items()}
    curves = {label: {"points": points} for label, points in document.get("curves", {}).items()}
    for grid in document.get("grids", ()):
        points = [(position, _point(grid["name"], position)) for position in _positions(grid[size])]
        for position, setting in points:
            settings[setting] = common | grid.get("settings", {}) | {grid["parameter"]: position}
        curves[grid["label"]] = {"points": points}
    published = _published(document)
    orderings = [
        *(ordering for pair in document.get("pairs", ()) for ordering in _of_pair(pair, published, document)),
        *(_ordering(given, curves, document) for given in document.get("orderings", ())),
    ]
    return Report.model_validate(
        values
        | {
            "name": name,
            "settings": settings,
            "curves": curves,
            "published": published,
            "orderings": orderings,
            "profile": document[size],
        }
    )


def _positions(given: Sequence[float] | Mapping[str, float]) -> list[float]:
    """Return the positions of a grid, given one by one or as first, last and step."""
    if not isinstance(given, Mapping):
        return [float(position) for position in given]
    count = round((given["to"] - given["from"]) / given["step"])
    return [round(given["from"] + number * given["step"], 10) for number in range(count + 1)]


def _point(name: str, position: float) -> str:
    return name.replace("{x}", f"{position:g}")


def _published(document: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the published figures by setting and metric; a file has them as rows under `columns`."""
    given = document.get("published", {})
    columns = given.get("columns", ())
    return {
        setting: {metric: figure for metric, figure in zip(columns, row, strict=True) if figure is not None}
        for setting, row in given.get("rows", {}).items()
    }


def _of_pair(
    pair: Sequence[str], published: Mapping[str, Mapping[str, float]], document: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return an ordering for every metric whose published figures of two settings differ."""
    first, second = pair
    orderings = []
    for metric, figure in published[first].items():
        against = published[second].get(metric)
        if against is None or against == figure:
            continue
        (higher, more), (lower, less) = sorted([(first, figure), (second, against)], key=lambda p: p[1], reverse=True)
        orderings.append(
            {
                "id": f"{metric}: {higher} > {lower}",
                "text": f"{metric_named(metric).title}: {higher} ({more:g}) above {lower} ({less:g})",
                "source": document["source"],
                "claim": _difference(metric, higher, lower),
                "published": round(more - less, 6),
            }
        )
    return orderings


def _difference(metric: str, higher: str, lower: str) -> dict[str, Any]:
    terms = [
        {"setting": higher, "metric": metric, "weight": 1.0},
        {"setting": lower, "metric": metric, "weight": -1.0},
    ]
    return {"kind": "weighted_sum", "terms": terms}


def _ordering(given: Mapping[str, Any], curves: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ordering of a file with its claim written out."""
    (kind, values), *_ = ((kind, given[kind]) for kind in _CLAIMS if kind in given)
    return {
        "id": given["id"],
        "text": given["text"],
        "source": given.get("source", document["source"]),
        "claim": _CLAIMS[kind](values, curves),
        "published": given.get("published"),
    }


def _above(values: Mapping[str, Any], curves: Mapping[str, Any]) -> dict[str, Any]:
    """`{metric, higher, lower}`, or `terms` of setting, metric and weight with a `constant`."""
    if "terms" not in values:
        return _difference(values["metric"], values["higher"], values["lower"])
    return {"kind": "weighted_sum", "terms": _terms(values["terms"]), "constant": values.get("constant", 0.0)}


def _extreme(sign: int) -> Any:
    def written_out(values: Mapping[str, Any], curves: Mapping[str, Any]) -> dict[str, Any]:
        """`{metric, setting, among}` where settings are compared, or `{setting, metric, among_metrics}`."""
        if "among_metrics" in values:
            sums = [
                _terms([(values["setting"], values["metric"], sign), (values["setting"], metric, -sign)])
                for metric in values["among_metrics"]
                if metric != values["metric"]
            ]
        else:
            among = values["among"]
            settings = [setting for _, setting in curves[among]["points"]] if isinstance(among, str) else among
            sums = [
                _terms([(values["setting"], values["metric"], sign), (setting, values["metric"], -sign)])
                for setting in settings
                if setting not in (values["setting"], *values.get("except", ()))
            ]
        return {"kind": "every_sum", "sums": [{"terms": terms} for terms in sums]}

    return written_out


def _above_line(values: Mapping[str, Any], curves: Mapping[str, Any]) -> dict[str, Any]:
    """`{metric, curve, at_0, slope}`: the metric is above a line at every position of the curve but its ends."""
    points = curves[values["curve"]]["points"][1:-1]
    sums = [
        {
            "terms": _terms([(setting, values["metric"], 1.0)]),
            "constant": -(values["at_0"] + values["slope"] * position),
        }
        for position, setting in points
    ]
    return {"kind": "every_sum", "sums": sums}


def _rising(falls: bool) -> Any:
    def written_out(values: Mapping[str, Any], curves: Mapping[str, Any]) -> dict[str, Any]:
        """`{metric, curve}`, on the part of a curve `from` a position `to` another."""
        low, high = values.get("from", float("-inf")), values.get("to", float("inf"))
        points = [point for point in curves[values["curve"]]["points"] if low <= point[0] <= high]
        return {"kind": "rising", "metric": values["metric"], "curve": {"points": points}, "falls": falls}

    return written_out


def _efficient(values: Mapping[str, Any], curves: Mapping[str, Any]) -> dict[str, Any]:
    """`{position, metric, better, worse, to}`: two curves, up to the position `to` of their points."""
    most = values.get("to", float("inf"))
    sides = {
        side: [setting for position, setting in curves[values[side]]["points"] if position <= most]
        for side in ("better", "worse")
    }
    return {"kind": "efficient", "position": values["position"], "metric": values["metric"], **sides}


def _over_time(values: Mapping[str, Any], curves: Mapping[str, Any]) -> dict[str, Any]:
    """`{terms, falls}`."""
    return {"kind": "over_time", "terms": _terms(values["terms"]), "falls": values.get("falls", False)}


def _terms(given: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    return [{"setting": setting, "metric": metric, "weight": weight} for setting, metric, weight in given]


#: The shorthands of claims, by the key that an ordering of a file has.
_CLAIMS = {
    "above": _above,
    "highest": _extreme(1),
    "lowest": _extreme(-1),
    "above_line": _above_line,
    "rises": _rising(falls=False),
    "falls": _rising(falls=True),
    "efficient": _efficient,
    "over_time": _over_time,
}
