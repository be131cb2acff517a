"""The page about a comparison, rendered into one file that loads nothing."""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from sdgs._utils._templates import template
from sdgs._utils._version import __version__
from sdgs.comparison._comparison_figures import critical_difference_figure, interval_axis, times_figure
from sdgs.comparison._comparison_result import Comparison, MethodSummary, format_p, format_seconds
from sdgs.comparison._measure_units import digits, factor, titled
from sdgs.comparison._method_ranks import MethodRanks, rank_methods
from sdgs.comparison._resampled_t import corrected_mean
from sdgs.metrics import ALL_METRICS, METRICS
from sdgs.persistence._atomic_write import write_atomically

_MAX_LABELS = 40  # of which the F1 is shown
_N_BEST = 3  # methods whose F1 per label is shown


def write_comparison_page(
    comparisons: Comparison | Mapping[str, Comparison], path: str | Path, *, title: str | None = None
) -> Path:
    """Write a page about a comparison, or about comparisons on several data sets.

    The page is a single file that works offline and has no script. Needs the extra ``report``: Jinja2.

    Parameters
    ----------
    comparisons : Comparison, or dict of str to Comparison
        By the name of the data set.
    path : str or Path
        File to write, such as ``comparison.html``. Its folder is created if needed.
    title : str, optional

    Returns
    -------
    Path
        The file.
    """
    named = {"Comparison of methods": comparisons} if isinstance(comparisons, Comparison) else dict(comparisons)
    if not named:
        raise ValueError("comparisons must not be empty.")
    only_name = next(iter(named)) if len(named) == 1 else f"{len(named)} data sets"
    content = {
        "title": title or (only_name if isinstance(comparisons, Comparison) else f"Methods compared on {only_name}"),
        "version": __version__,
        "datasets": [_dataset(name, comparison, i) for i, (name, comparison) in enumerate(named.items())],
        "ranks": _ranks(named) if len(named) > 1 else None,
        "several": len(named) > 1,
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _render(content))
    return path


def _render(content: dict[str, Any]) -> str:
    page = template("sdgs.comparison", "comparison.html")
    from markupsafe import Markup  # a dependency of Jinja2

    style = (files("sdgs.comparison") / "templates" / "comparison.css").read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    # The browser applies only this style and runs nothing, even if names of labels contain HTML.
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    return str(page.render(content=content, policy=policy, style=Markup(style)))


def _dataset(name: str, comparison: Comparison, number: int) -> dict[str, Any]:
    rows = comparison.summary()
    axis = interval_axis(rows, factor(comparison.metric))
    return {
        "id": f"data-{number}",
        "name": name,
        "metric": ALL_METRICS[comparison.metric].title,
        "metric_unit": titled(comparison.metric),
        "conclusion": comparison.conclusion(),
        "facts": [
            ("samples", f"{comparison.n_samples:,}"),
            ("features", f"{comparison.n_features:,}"),
            ("labels", f"{comparison.n_labels:,}"),
            ("methods", str(len(rows))),
            ("splits", str(comparison.n_total_splits)),
        ],
        "rows": [_row(row, axis, comparison.metric) for row in rows],
        "ticks": axis.labelled_ticks(),
        "times": times_figure(rows, factor(comparison.metric)),
        "measures": _measures(comparison, rows, list(METRICS)),
        "further": _measures(comparison, rows, [name for name in ALL_METRICS if name not in METRICS]),
        "labels": _labels(comparison),
        "left_out": list(comparison.left_out.items()),
        "failures": list(comparison.failures().items()),
        "warnings": [
            (method.title, text, count) for method in comparison.methods for text, count in method.warnings.items()
        ],
        "how": comparison.how(),
        "notes": comparison.notes,
        "test_share": f"{comparison.test_share:.3g}",
        "n_splits": comparison.n_total_splits,
        "versions": ", ".join(f"{library} {version}" for library, version in comparison.versions.items()),
        "parameters": [(method.title, method.parameters) for method in comparison.methods],
    }


def _row(row: MethodSummary, axis: Any, metric: str) -> dict[str, Any]:
    """A row of the table. Without a value if the method failed."""
    times = {"fit": format_seconds(row.fit_seconds), "predict": format_seconds(row.predict_seconds)}
    if not row.has_value:
        return {"title": row.title, "problem": row.problem}
    is_first, unit, n = bool(np.isnan(row.p_value)), factor(metric), digits(metric)
    return {
        "title": row.title,
        "problem": "",
        "mean": f"{unit * row.mean:.{n}f}",
        "interval": f"{unit * row.low:.{n}f} to {unit * row.high:.{n}f}",
        "difference": "best" if is_first else f"{unit * row.difference:+.{n}f}".replace("-", "\N{MINUS SIGN}"),
        "difference_interval": ""
        if is_first
        else f"{unit * row.difference_low:+.{n}f} to {unit * row.difference_high:+.{n}f}".replace(
            "-", "\N{MINUS SIGN}"
        ),
        "p_value": "" if is_first else format_p(row.p_value),
        "similar": not row.distinguishable,
        "x": axis.position(unit * row.mean),
        "x1": axis.position(unit * row.low),
        "x2": axis.position(unit * row.high),
        **times,
    }


def _measures(comparison: Comparison, rows: tuple[MethodSummary, ...], names: list[str]) -> dict[str, Any]:
    """Means of measures with half of the length of their intervals; the best of each is marked."""
    by_name = {method.name: method for method in comparison.methods}
    succeeded = [row for row in rows if not row.n_failures]
    columns, titles = [], []
    for name in names:
        unit, metric = factor(name), ALL_METRICS[name]
        means = [corrected_mean(by_name[row.name].measures[name], comparison.test_share) for row in succeeded]
        known = [mean.mean for mean in means if not np.isnan(mean.mean)]
        if known:
            best = (max if metric.greater_is_better else min)(known)
            titles.append(titled(name))
            columns.append(
                [
                    {"text": _mean_text(unit * m.mean, unit * (m.high - m.low) / 2), "best": m.mean == best}
                    for m in means
                ]
            )
    cells = [(row.title, [column[i] for column in columns]) for i, row in enumerate(succeeded)]
    return {"titles": titles, "rows": cells if titles else []}


def _mean_text(mean: float, error: float) -> str:
    """A mean and half of its interval, with no-break spaces; a dash if there is no value."""
    if np.isnan(mean):
        return "\N{EN DASH}"
    return f"{mean:.2f}" if np.isnan(error) else f"{mean:.2f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{error:.2f}"


def _labels(comparison: Comparison) -> dict[str, Any]:
    """The F1 of the most frequent labels by the best methods, the most frequent label first."""
    best = [method for method in comparison.methods if not method.failures][:_N_BEST]
    order = np.argsort(-comparison.label_counts, kind="stable")[:_MAX_LABELS]
    rows = []
    for j in order:
        values = [float(method.label_f1[j]) for method in best]
        rows.append(
            {
                "name": comparison.label_names[j],
                "count": f"{comparison.label_counts[j]:,}",
                "values": [
                    {"share": 0.0 if np.isnan(value) else round(100 * value, 1), "known": not np.isnan(value)}
                    for value in values
                ],
            }
        )
    return {"titles": [method.title for method in best], "rows": rows, "more": comparison.n_labels - len(rows)}


def _ranks(named: Mapping[str, Comparison]) -> dict[str, Any]:
    """The ranks over all data sets; only a sentence if there are none."""
    try:
        ranks = rank_methods(named)
    except ValueError as error:
        return {"problem": str(error)}
    return {
        "problem": None,
        "conclusions": ranks.conclusions(),
        "metric": titled(ranks.metric, arrow=False),
        "figure": critical_difference_figure(ranks),
        "names": ranks.dataset_names,
        "rows": _rank_rows(ranks),
        "friedman": f"{ranks.friedman.statistic:.2f}",
        "friedman_p": format_p(ranks.friedman.p_value_f),
        "difference": f"{ranks.critical_difference:.3f}",
    }


def _rank_rows(ranks: MethodRanks) -> list[dict[str, Any]]:
    unit, n = factor(ranks.metric), digits(ranks.metric)
    return [
        {
            "title": title,
            "mean_rank": f"{ranks.mean_ranks[j]:.2f}",
            "p_value": "" if np.isnan(ranks.wilcoxon_p_values[j]) else format_p(float(ranks.wilcoxon_p_values[j])),
            "cells": [
                (f"{unit * value:.{n}f}", f"{rank:g}")
                for value, rank in zip(ranks.values[:, j], ranks.ranks[:, j], strict=True)
            ],
        }
        for j, title in enumerate(ranks.titles)
    ]
