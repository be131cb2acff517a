"""SVG plots of a record: growth curves with their exponents, and bars of ratios."""

from pathlib import Path
from typing import Any

from benchmarks.growth import fit_exponents
from benchmarks.whole_task import RATIO_TITLE

_STAGE_STYLES = {"training": ("C0", "o"), "coding": ("C1", "s")}
# File name, title, column of the ratio, and a column to add to the name of the problem
_RATIO_PLOTS = (
    ("coding-lower-bound", "Coding: time over that of the bare product", "sdgs / product", None),
    ("coding-other-solvers", "Coding: speed-up over the fastest other solver", "speed-up", None),
    ("training-lower-bound", "A training sweep: time over that of its three products", "sweep / products", "dtype"),
)


def draw_plots(record: dict[str, Any], folder: Path) -> list[Path]:
    """Write the SVGs for which the record has results."""
    import matplotlib

    matplotlib.use("svg")
    style = {"svg.hashsalt": "sdgs", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False}
    with matplotlib.rc_context(style):  # the fixed salt makes equal records give equal files
        written = [_draw_growth(table["points"], folder) for table in record["tables"] if "points" in table]
        for name, title, column, suffix in _RATIO_PLOTS:
            bars = _ratio_bars(record, column, suffix)
            if bars:
                written.append(_draw_bars(bars, title, folder / f"{name}.svg"))
        for table in record["tables"]:
            if table["title"] == RATIO_TITLE:
                last = table["rows"][-1]
                bars = [(method, value) for method, value in last.items() if method != "data"]
                title = f"Fit and predict, {last['data']}: time over that of SDGS"
                written.append(_draw_bars(bars, title, folder / "whole-task.svg"))
    return written


def _ratio_bars(record: dict[str, Any], column: str, suffix: str | None) -> list[tuple[str, float]]:
    rows = [row for table in record["tables"] for row in table["rows"] if row.get(column) is not None]
    return [(f"{row['problem']}, {row[suffix]}" if suffix else row["problem"], row[column]) for row in rows]


def _draw_growth(points: list[dict[str, Any]], folder: Path) -> Path:
    """Time above memory, with one column per growing size."""
    from matplotlib.figure import Figure

    exponents = {(row["grows"], row["stage"]): row for row in fit_exponents(points)}
    names = list(dict.fromkeys(point["grows"] for point in points))
    measures = [("seconds", "seconds")]
    if all(point["peak_mib"] is not None for point in points):
        measures.append(("peak_mib", "MiB"))
    figure = Figure(figsize=(2.3 * len(names), 2.4 * len(measures)), layout="constrained")
    axes = figure.subplots(len(measures), len(names), squeeze=False)
    for axes_row, (measure, unit) in zip(axes, measures, strict=True):
        axes_row[0].set_ylabel(f"peak {unit}" if unit == "MiB" else unit)
        for axis, name in zip(axes_row, names, strict=True):
            for stage, (colour, marker) in _STAGE_STYLES.items():
                curve = [point for point in points if (point["grows"], point["stage"]) == (name, stage)]
                slope = exponents[name, stage][f"exponent of {unit}"]
                sizes, values = ([point[key] for point in curve] for key in ("size", measure))
                axis.loglog(
                    sizes, values, color=colour, marker=marker, ms=3, lw=1, label=f"{stage}, exponent {slope:.2f}"
                )
            axis.set_xlabel(name)
            axis.legend(frameon=False, fontsize=6)
    return _save(figure, folder / "growth.svg")


def _draw_bars(bars: list[tuple[str, float]], title: str, path: Path) -> Path:
    """Horizontal bars on a logarithmic axis that start at 1, equal times."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 0.7 + 0.22 * len(bars)), layout="constrained")
    axis = figure.subplots()
    names, values = zip(*bars, strict=True)
    rectangles = axis.barh(range(len(bars)), [value - 1 for value in values], left=1, color="C0", height=0.7)
    axis.bar_label(rectangles, [f"{value:.3g}" for value in values], padding=2, fontsize=7)
    axis.set_yticks(range(len(bars)), names)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.margins(x=0.1)
    axis.axvline(1, color="black", lw=0.8)
    axis.set_title(title, loc="left")
    return _save(figure, path)


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None})
    return path
