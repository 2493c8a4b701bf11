"""The figures of an experiment by setting, each case with its source, as reports and the viewer have them."""

from collections.abc import Sequence
from dataclasses import replace

from tertulia.lab.experiments.sources import source_of
from tertulia.lab.reports.measures import Measuring
from tertulia.lab.reports.ordering_tests import Figures


def figures_by_setting(measuring: Measuring, metrics: Sequence[str]) -> Figures:
    """Return the figures of the cases by setting and metric, each with its source."""
    return with_sources(measuring.figures(metrics))


def with_sources(figures: Figures) -> Figures:
    """Return figures of cases with the source of each."""
    return {
        setting: {
            metric: {case: replace(figure, source=source_of(case)) for case, figure in sample.items()}
            for metric, sample in of_setting.items()
        }
        for setting, of_setting in figures.items()
    }
