"""The experiments of the papers as data: settings of this program, published figures, and statements on them.

A report is a table or a figure of a paper, or a question of ours beside it. Its file in `lab/papers/` has its question,
the settings as parameters, the published figures of each, the published orderings, and two sizes: `quick` for a small
model on a processor, `full` as in the paper. Short forms in a file (pairs, grids) are written out here.

Lines are drawn alike in all settings of a report (`decoding: plain`): one draft at the paper's temperature, nothing
amplified or banned. A model's own settings (the embedded one's drafts and bans) would else be part of the comparison.
`plain` is the report about the effect of the model's own settings.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from typing import Annotated, Any, Literal

from pydantic import Field

from tertulia.lab.experiments.experiment import Experiment, Setting, experiment_with
from tertulia.lab.reports.paper_files import base_of, document, title_of, written_out
from tertulia.state.errors import NotFoundError, nearest_hint
from tertulia.state.records import Record
from tertulia.worlds.catalog import sample_evenly

#: The reports in the order in which they are listed; `all` of a command means these.
REPORTS = (
    *("table2", "table3", "table4", "table6", "table7"),
    *("fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9"),
    *("chatagents", "people", "arms", "ways", "scorers", "strength", "plain"),
)

#: The cases if none are given: the conversations of the shipped town, in the order of their times.
CASES = tuple(f"tidewell:{number}" for number in range(8))


class Metric(Record):
    """A metric as reports show it."""

    title: str = Field(description="as a heading")
    meaning: str
    bounds: tuple[float, float] = Field((-inf, inf), description="between what it can be")
    least: float | None = Field(None, description="the least difference that anybody would turn a knob for")
    more_varied: Literal["lower", "higher"] | None = Field(
        None, description="which figures belong to more varied conversations; unset: it does not measure variety"
    )


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
    """A curve of one metric over another lies above a second, as far as both reach; either may be one point."""

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
    """A paper's statement about the order of its figures, for these conversations to bear out or not."""

    id: str
    text: str
    source: str
    claim: Claim
    published: float | None = Field(None, description="by how much, in the paper; above 0")
    must_hold: str = Field("", description="why it holds whatever a model does; empty: it can fail")


class Unmeasured(Record):
    """A published figure that no report can measure."""

    text: str
    why: str


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
    decoding: Literal["plain"] | None = Field(
        None, description="plain: lines are drawn alike in all settings, one draft each; unset: as the model has it"
    )
    settings: dict[str, Setting]
    baseline: str
    metrics: tuple[str, ...]
    primary: tuple[str, ...] = Field((), description="metrics of the primary outcome: their orderings are a family")
    by_index: bool = Field(False, description="metrics are also taken at every utterance index, as `dist3@2`")
    over_time: bool = Field(False, description="figures of cases are shown over the simulated time of each")
    curves: dict[str, Curve] = Field({}, description="settings that belong on one line of a plot, by its label")
    rows: dict[str, tuple[str, str]] = Field(
        {}, description="comparisons of a setting A with a setting B, which stand in the place of settings in figures"
    )
    groups: int | None = Field(
        None,
        description="for rows, the trials are split into so many groups in their order; each row is the mean over A's "
        "group i against B's group i + 1, behind the last the first",
    )
    published: dict[str, dict[str, float]] = Field({}, description="by setting (or row) and metric")
    orderings: tuple[Ordering, ...] = ()
    full_only: tuple[str, ...] = Field((), description="ids of the orderings that this size has no settings for")
    unmeasured: tuple[Unmeasured, ...] = ()
    profile: Profile


def report_of(name: str, quick: bool = False) -> Report:
    """Return the report of this name in its full or quick size, with settings, figures and orderings written out.

    Raises:
        NotFoundError: There is no such report; the nearest name is given.
    """
    if name not in REPORTS:
        hint = nearest_hint(name, REPORTS, otherwise=f"; there are {', '.join(REPORTS)}")
        raise NotFoundError(f"there is no report {name!r}{hint}")
    return Report.model_validate(written_out(name, document(name), "quick" if quick else "full"))


def experiment_of_report(
    report: Report,
    name: str,
    *,
    cases: Sequence[str] | None = None,
    trials: int | None = None,
    rounds: int | None = None,
    model: str | None = None,
) -> Experiment:
    """Return the experiment of a report, under this name.

    Args:
        cases: In the order of their times, if known; all of them are taken. Without them, as many of the report's own
            as its size says.
        trials, rounds, model: Instead of those of its size, and of the default.
    """
    most = report.profile.cases or len(report.cases)
    chosen = tuple(cases) if cases is not None else tuple(sample_evenly(report.cases, min(most, len(report.cases))))
    values: dict[str, Any] = {
        "name": name,
        "description": f"{report.title}. {report.question}",
        "cases": chosen,
        "settings": report.settings,
        "trials": trials or report.profile.trials,
        "rounds": rounds or report.profile.rounds,
        "baseline": report.rows[report.baseline][0] if report.baseline in report.rows else report.baseline,
    }
    return experiment_with(values if model is None else values | {"model": model})


@cache
def metrics_by_name() -> Mapping[str, Metric]:
    """Return every metric that reports show, by its name."""
    return {name: Metric.model_validate(values) for name, values in document("metrics").items()}


def metric_named(name: str) -> Metric:
    """Return a metric by its name; `dist3@2` is dist-3 at utterance index 2, `spoken:Eva` that of a person."""
    metric = metrics_by_name()[base_of(name)]
    return metric.model_copy(update={"title": title_of(name)})
