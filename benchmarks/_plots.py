"""Pictures of a record, and of nothing else: growth curves with their exponents, and bars of ratios."""

from pathlib import Path
from typing import Any

from benchmarks.growth import fitted

_STAGES = {"training": ("C0", "o"), "coding": ("C1", "s")}


def draw(record: dict[str, Any], folder: Path) -> list[Path]:
    """Write the SVGs that the record has figures for."""
    import matplotlib

    matplotlib.use("svg")
    # The same record gives the same file.
    with matplotlib.rc_context(
        {"svg.hashsalt": "sdgs", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False}
    ):
        written = []
        for table in record["tables"]:
            if "points" in table:
                written.append(_growth(table["points"], folder))
        for name, title, key, more in (
            ("coding-floor", "Coding: times the bare product", "of the product", {}),
            ("coding-rivals", "Coding: times faster than the fastest other solver", "faster", {}),
            ("training-floor", "A training sweep: times its three products", "of the products", {"second": "dtype"}),
        ):
            bars = _bars_of(record, key, **more)
            if bars:
                written.append(_bars(bars, title, folder / f"{name}.svg"))
        whole = next((t for t in record["tables"] if t["subject"] == "whole_task" and "times" in t["title"]), None)
        if whole:
            last = whole["rows"][-1]
            bars = [(method, value) for method, value in last.items() if method != "data"]
            title = f"Fit and predict, {last['data']}: times SDGS"
            written.append(_bars(bars, title, folder / "whole-task.svg"))
    return written


def _bars_of(record: dict[str, Any], key: str, second: str | None = None) -> list[tuple[str, float]]:
    rows = [row for table in record["tables"] for row in table["rows"] if row.get(key) is not None and "problem" in row]
    if key == "faster":
        rows = [row for row in rows if "fastest" in row]
    return [(f"{row['problem']}, {row[second]}" if second else row["problem"], row[key]) for row in rows]


def _growth(points: list[dict[str, Any]], folder: Path) -> Path:
    """Time above memory, a column for each thing that grows."""
    from matplotlib.figure import Figure

    exponents = {(row["grows"], row["stage"]): row for row in fitted(points)}
    names = list(dict.fromkeys(point["grows"] for point in points))
    measures = [("seconds", "seconds")]
    if all(point["peak_mib"] is not None for point in points):
        measures.append(("peak_mib", "MiB"))
    figure = Figure(figsize=(2.3 * len(names), 2.4 * len(measures)), layout="constrained")
    axes = figure.subplots(len(measures), len(names), squeeze=False)
    for line, (measure, unit) in zip(axes, measures, strict=True):
        line[0].set_ylabel(f"{unit}, at most" if unit == "MiB" else unit)
        for axis, name in zip(line, names, strict=True):
            for stage, (colour, marker) in _STAGES.items():
                curve = [point for point in points if (point["grows"], point["stage"]) == (name, stage)]
                slope = exponents[name, stage][f"exponent of {unit}"]
                sizes, values = ([point[key] for point in curve] for key in ("size", measure))
                axis.loglog(
                    sizes, values, color=colour, marker=marker, ms=3, lw=1, label=f"{stage}, exponent {slope:.2f}"
                )
            axis.set_xlabel(name)
            axis.legend(frameon=False, fontsize=6)
    return _save(figure, folder / "growth.svg")


def _bars(bars: list[tuple[str, float]], title: str, path: Path) -> Path:
    """Horizontal bars on a logarithmic axis, 1 being as fast."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 0.7 + 0.22 * len(bars)), layout="constrained")
    axis = figure.subplots()
    names, values = zip(*bars, strict=True)
    drawn = axis.barh(range(len(bars)), [value - 1 for value in values], left=1, color="C0", height=0.7)
    axis.bar_label(drawn, [f"{value:.3g}" for value in values], padding=2, fontsize=7)
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
