"""The files of `tertulia/lab/papers/`, and their short forms written out.

A file has the fields of `papers.Report`, and these in the place of some:

* `common`: parameters of all settings, over those of `decoding`;
* `full_settings`: settings that only the full size has;
* `grids`: settings along a curve, with positions for either size. `shared` names the settings that stand at some
  positions already, so that the same conversations are not had twice; `also` has parameters of the same position;
* `published`: rows of figures under `columns`; `each`: metrics that there is one of for each person or trait, with the
  published figures of a setting;
* `pairs`: two settings whose published figures differ, an ordering for every metric;
* `orderings`: with one of the claims in `_CLAIMS`, whose functions name the arguments of each.

Orderings that need a setting which only the full size has are left out of the quick one, and named in `full_only`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal

import yaml

Document = Mapping[str, Any]

#: Fields that a report takes as its file has them.
_AS_THEY_ARE = (
    *("title", "question", "source", "notes", "cases", "resampled", "baseline", "by_index", "over_time", "rows"),
    *("groups", "unmeasured", "decoding", "primary"),
)

#: How lines are drawn in every setting of a report whose decoding is plain, unless the setting is about that: as APP §5
#: has it, with nothing that a model sets by itself.
PLAIN = {
    "temperature": 0.8,
    "top_p": 0.9,
    "context_strength": 0,
    "drafts": 1,
    "redraws": 0,
    "no_repeat_ngram": 0,
}


@cache
def document(name: str) -> Document:
    """Return the content of a file of `tertulia/lab/papers/`."""
    text = files("tertulia.lab").joinpath("papers", f"{name}.yaml").read_text(encoding="utf-8")
    content: Document = yaml.safe_load(text)
    return content


def base_of(metric: str) -> str:
    """Return the metric without its index or person: `dist3` of `dist3@2`."""
    return metric.partition("@")[0].partition(":")[0]


def title_of(metric: str) -> str:
    """Return the name of a metric in headings."""
    title: str = document("metrics")[base_of(metric)]["title"]
    if "@" in metric:
        return f"{title} at index {metric.partition('@')[2]}"
    return f"{title}: {metric.partition(':')[2]}" if ":" in metric else title


def written_out(name: str, given: Document, size: Literal["quick", "full"]) -> dict[str, Any]:
    """Return the fields of a report in one of its sizes."""
    # Eq. 1 whatever the model's own reducer is: the papers' claims are about it.
    common = {"reducer": "sum-mean"} | (PLAIN if given.get("decoding") == "plain" else {}) | given.get("common", {})
    named = given.get("settings", {}) | (given.get("full_settings", {}) if size == "full" else {})
    settings = {setting: common | (values or {}) for setting, values in named.items()}
    curves: dict[str, Any] = {label: {"points": points} for label, points in given.get("curves", {}).items()}
    for grid in given.get("grids", ()):
        points = [(position, _setting_at(grid, position)) for position in _positions(grid[size])]
        for position, setting in points:
            values = common | grid.get("settings", {}) | {grid["parameter"]: position}
            settings.setdefault(setting, values)
        curves[grid["label"]] = {"points": points}
    published = _published(given)
    orderings = [
        *(ordering for pair in given.get("pairs", ()) for ordering in _of_pair(pair, published, given["source"])),
        *(_ordering(ordering, curves, given["source"]) for ordering in given.get("orderings", ())),
    ]
    there = {*settings, *given.get("rows", ())}
    kept = [ordering for ordering in orderings if _settings_in(ordering["claim"]) <= there]
    return {key: given[key] for key in _AS_THEY_ARE if key in given} | {
        "name": name,
        "settings": settings,
        "metrics": _metrics(given),
        "curves": curves,
        "published": {setting: figures for setting, figures in published.items() if setting in there},
        "orderings": kept,
        "full_only": [ordering["id"] for ordering in orderings if ordering not in kept],
        "profile": given[size],
    }


# --- settings and figures -------------------------------------------------------------------------------------------


def _positions(given: Sequence[float] | Mapping[str, float]) -> list[float]:
    """Return the positions of a grid, given one by one or as first, last and step."""
    if not isinstance(given, Mapping):
        return [float(position) for position in given]
    count = round((given["to"] - given["from"]) / given["step"])
    return [round(given["from"] + number * given["step"], 10) for number in range(count + 1)]


def _setting_at(grid: Document, position: float) -> str:
    shared: str | None = grid.get("shared", {}).get(position)
    return shared or grid["name"].replace("{x}", f"{position:g}")


def _published(given: Document) -> dict[str, dict[str, float]]:
    table = given.get("published", {})
    published = {
        setting: {metric: figure for metric, figure in zip(table["columns"], row, strict=True) if figure is not None}
        for setting, row in table.get("rows", {}).items()
    }
    for group in given.get("each", ()):
        for metric, row in group["published"].items():
            figures = {f"{metric}:{name}": figure for name, figure in zip(group["names"], row, strict=True)}
            published.setdefault(group["setting"], {}).update(figures)
    return published


def _metrics(given: Document) -> list[str]:
    groups = given.get("each", ())
    named = [f"{metric}:{name}" for group in groups for metric in group["published"] for name in group["names"]]
    return [*given["metrics"], *named]


def _of_pair(pair: Sequence[str], published: Mapping[str, Mapping[str, float]], source: str) -> list[dict[str, Any]]:
    """Return an ordering for every metric with different published figures in two settings."""
    first, second = pair
    orderings = []
    for metric, figure in published[first].items():
        against = published[second].get(metric)
        if against is None or against == figure:
            continue
        (less, lower), (more, higher) = sorted([(figure, first), (against, second)])
        orderings.append(
            {
                "id": f"{metric}: {higher} > {lower}",
                "text": f"{title_of(metric)}: {higher} ({more:g}) above {lower} ({less:g})",
                "source": source,
                "claim": _difference(metric, higher, lower),
                "published": round(more - less, 6),
            }
        )
    return orderings


# --- orderings ------------------------------------------------------------------------------------------------------


def _ordering(given: Document, curves: Document, source: str) -> dict[str, Any]:
    """Return an ordering of a file with its claim written out."""
    ((kind, values),) = ((kind, given[kind]) for kind in _CLAIMS if kind in given)
    return {
        "id": given["id"],
        "text": given["text"],
        "source": given.get("source", source),
        "claim": _CLAIMS[kind](values, curves),
        "published": given.get("published"),
        "must_hold": given.get("must_hold", ""),
    }


def _settings_in(claim: Document) -> set[str]:
    terms = [*claim.get("terms", ()), *(term for part in claim.get("sums", ()) for term in part["terms"])]
    on_curves = [setting for _, setting in claim.get("curve", {}).get("points", ())]
    return {*(term["setting"] for term in terms), *on_curves, *claim.get("better", ()), *claim.get("worse", ())}


def _above(given: Document, curves: Document) -> dict[str, Any]:
    """`{metric, higher, lower}`, or `terms` of setting, metric and weight, with a `constant`."""
    if "terms" not in given:
        return _difference(given["metric"], given["higher"], given["lower"])
    return {"kind": "weighted_sum", "terms": _terms(given["terms"]), "constant": given.get("constant", 0.0)}


def _every(given: Sequence[Document], curves: Document) -> dict[str, Any]:
    """A list of values as `above` takes them."""
    return {"kind": "every_sum", "sums": [_above(part, curves) for part in given]}


def _extreme(given: Document, curves: Document, sign: int) -> dict[str, Any]:
    """`{metric, setting, among}`, settings or a curve; or `{setting, metric, among_names}`, of people in a setting."""
    setting, metric = given["setting"], given["metric"]
    if "among_names" in given:
        rivals = [f"{base_of(metric)}:{name}" for name in given["among_names"]]
        against = [(setting, rival) for rival in rivals if rival != metric]
    else:
        among = given["among"]
        rivals = [rival for _, rival in curves[among]["points"]] if isinstance(among, str) else among
        against = [(rival, metric) for rival in rivals if rival not in (setting, *given.get("except", ()))]
    sums = [_terms([(setting, metric, sign), (*rival, -sign)]) for rival in against]
    return {"kind": "every_sum", "sums": [{"terms": terms} for terms in sums]}


def _above_line(given: Document, curves: Document) -> dict[str, Any]:
    """`{metric, curve, at_0, slope}`: above a line at every position of the curve but its ends."""
    sums = [
        {
            "terms": _terms([(setting, given["metric"], 1.0)]),
            "constant": -(given["at_0"] + given["slope"] * position),
        }
        for position, setting in curves[given["curve"]]["points"][1:-1]
    ]
    return {"kind": "every_sum", "sums": sums}


def _mean_above(given: Document, curves: Document) -> dict[str, Any]:
    """`{metric, higher, lower, from, to}`: the mean of one curve is above another's, over positions that differ."""
    low, high = given.get("from", float("-inf")), given.get("to", float("inf"))
    below = dict(curves[given["lower"]]["points"])
    pairs = [
        (setting, below[position])
        for position, setting in curves[given["higher"]]["points"]
        if low <= position <= high and position in below and below[position] != setting
    ]
    terms = [
        term
        for more, less in pairs
        for term in ((more, given["metric"], 1 / len(pairs)), (less, given["metric"], -1 / len(pairs)))
    ]
    return {"kind": "weighted_sum", "terms": _terms(terms)}


def _every_above(given: Document, curves: Document) -> dict[str, Any]:
    """`{metric, higher, lower}`: one curve is above another at each position; either may be a single setting."""
    sides = {side: curves[given[side]]["points"] if given[side] in curves else None for side in ("higher", "lower")}
    positions = [position for position, _ in sides["higher"] or sides["lower"] or ()]
    higher = dict(sides["higher"] or [(position, given["higher"]) for position in positions])
    lower = dict(sides["lower"] or [(position, given["lower"]) for position in positions])
    shared = [position for position in positions if position in lower and higher[position] != lower[position]]
    sums = [_difference(given["metric"], higher[position], lower[position]) for position in shared]
    return {"kind": "every_sum", "sums": sums}


def _rises(given: Document, curves: Document, falls: bool = False) -> dict[str, Any]:
    """`{metric, curve}`, if wanted on the part of the curve `from` a position `to` another."""
    low, high = given.get("from", float("-inf")), given.get("to", float("inf"))
    points = [point for point in curves[given["curve"]]["points"] if low <= point[0] <= high]
    return {"kind": "rising", "metric": given["metric"], "curve": {"points": points}, "falls": falls}


def _efficient(given: Document, curves: Document) -> dict[str, Any]:
    """`{position, metric, better, worse, to}`: two curves, up to the position `to` of their points; or a setting."""
    most = given.get("to", float("inf"))
    sides = {
        side: [setting for position, setting in curves[given[side]]["points"] if position <= most]
        if given[side] in curves
        else [given[side]]
        for side in ("better", "worse")
    }
    return {"kind": "efficient", "position": given["position"], "metric": given["metric"], **sides}


def _over_time(given: Document, curves: Document) -> dict[str, Any]:
    """`{terms}` that rise with the simulated time of a case, or fall with `falls: true`."""
    return {"kind": "over_time", "terms": _terms(given["terms"]), "falls": given.get("falls", False)}


def _difference(metric: str, higher: str, lower: str) -> dict[str, Any]:
    return {"kind": "weighted_sum", "terms": _terms([(higher, metric, 1.0), (lower, metric, -1.0)])}


def _terms(given: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    return [{"setting": setting, "metric": metric, "weight": weight} for setting, metric, weight in given]


#: The possible claims of an ordering in a file, by key.
_CLAIMS: Mapping[str, Callable[[Any, Document], dict[str, Any]]] = {
    "above": _above,
    "every": _every,
    "highest": partial(_extreme, sign=1),
    "lowest": partial(_extreme, sign=-1),
    "above_line": _above_line,
    "mean_above": _mean_above,
    "every_above": _every_above,
    "rises": _rises,
    "falls": partial(_rises, falls=True),
    "efficient": _efficient,
    "over_time": _over_time,
}
