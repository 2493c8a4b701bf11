"""Make again the two pictures of docs/lambda.md from stored figures: `python docs/pictures/make_lambda_pictures.py`.

lambda_units.svg is a prompt of the shipped example store (`tertulia view --example`); lambda_effects.svg is drawn from
docs/results/laboratory/arms_figures.csv. No model is loaded.
"""

import csv
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt

import tertulia as tt
from tertulia.viewer.example import example_store

DOCS = Path(__file__).parents[1]
ARMS = DOCS / "results" / "laboratory" / "arms_figures.csv"
KEPT, REMOVED = "#3b6ea5", "#d9a441"
LABEL, TURN = "λ = 0.5", 2

#: A metric of the figures, and how the picture calls it.
EFFECTS = {
    "items removed": "share of the prompt's units removed",
    "sim": "similarity of the dialogues of a case",
    "entropy of the next line": "uncertainty about the next word, nats",
    "match": "how well dialogues match their case",
}
SETTINGS = {"Full": 0.0, "λ=0.25": 0.25, "λ=0.5": 0.5, "λ=0.75": 0.75, "λ=1": 1.0}


def draw_units(path: Path) -> None:
    """Draw the units of one prompt by attention, with what λ = 0.5 removed."""
    with tempfile.TemporaryDirectory() as folder, tt.Store(example_store(Path(folder))) as store:
        turn = store.runs(label=LABEL)[0].turn(TURN)
        units = sorted((unit for unit in turn.units if unit.removable), key=lambda unit: unit.score or 0)
        reached = turn.removed_share
    total = sum(unit.score or 0 for unit in units)
    shares = [100 * (unit.score or 0) / total for unit in units]
    figure, axes = plt.subplots(figsize=(9, 4.6), layout="constrained")
    axes.barh(range(len(units)), shares, color=[REMOVED if unit.removed else KEPT for unit in units], height=0.75)
    axes.set_yticks(range(len(units)), [_first_words(unit.text) for unit in units], fontsize=7.5)
    axes.set(xlabel="share of the score: attention of possible replies, heads weighed, %")
    gone, percent = sum(unit.removed for unit in units), 100 * (reached or 0)
    labels = {
        REMOVED: f"removed at λ = 0.5: {gone} of {len(units)} units, with {percent:.1f} % of the score",
        KEPT: "kept; one that would overshoot is passed over",
    }
    patches = [plt.Rectangle((0, 0), 1, 1, color=color) for color in labels]
    axes.legend(patches, labels.values(), frameon=False, fontsize=8, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def draw_effects(path: Path) -> None:
    """Draw what changes along λ: means over cases with their 95 % intervals."""
    with ARMS.open(encoding="utf-8", newline="") as file:
        rows = {(row["metric"], row["setting"]): row for row in csv.DictReader(file)}
    figure, grid = plt.subplots(1, len(EFFECTS), figsize=(11, 2.9), layout="constrained")
    for axes, (metric, title) in zip(grid, EFFECTS.items(), strict=True):
        found = [(factor, rows[metric, setting]) for setting, factor in SETTINGS.items()]
        means = [float(row["here"]) for _, row in found]
        lows = [float(row["interval_low"] or row["here"]) for _, row in found]
        highs = [float(row["interval_high"] or row["here"]) for _, row in found]
        factors = [factor for factor, _ in found]
        axes.fill_between(factors, lows, highs, color=KEPT, alpha=0.18, linewidth=0)
        axes.plot(factors, means, color=KEPT, marker="o", markersize=4)
        axes.set_title(title, fontsize=8.5)
        axes.set(xlabel="λ", xticks=[0, 0.5, 1])
        axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def _first_words(text: str) -> str:
    """Return the beginning of a unit's first line."""
    line = text.strip().splitlines()[0].removeprefix("- ")
    return line if len(line) <= 72 else line[:70].rsplit(" ", 1)[0] + " …"


def _save(figure: "plt.Figure", path: Path) -> None:
    """Save without a date, so that the same figures are the same file."""
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def main(folder: Path) -> None:
    """Draw both pictures into a folder."""
    with plt.rc_context({"svg.hashsalt": "tertulia", "svg.fonttype": "path"}):
        draw_units(folder / "lambda_units.svg")
        draw_effects(folder / "lambda_effects.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
