"""The figures of the report, as SVG elements for a page."""

import io
from typing import Any

from sdgs.experiments._analysis import Ranking
from sdgs.experiments._extended_comparison import TITLES
from sdgs.experiments._extended_tables import TUNED_SDGS, MeanResult
from sdgs.experiments._protocol import METHODS
from sdgs.experiments._result_tables import Record, title_of

# Okabe and Ito's colours, which colour-blind readers can distinguish.
_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#B0B0B0"
_STYLES = {
    "sdgs-cv": (_BLUE, "o-"),
    "br": (_ORANGE, "s--"),
    "br-mean": (_ORANGE, "v:"),
    "br-knn": (_ORANGE, "s--"),
    "ecc": ("#CC79A7", "^--"),
    "mlknn": ("#56B4E9", "D:"),
    "forest": (_GREEN, "x-."),
    "boosting": ("#000000", "+:"),
}


def _figure(width: float, height: float, **options: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(**options)


def _svg(figure: Any) -> str:
    """The figure as an SVG element with searchable text; equal figures give equal bytes."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "sdgs", "font.family": "sans-serif"}):
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    text = out.getvalue()
    return text[text.index("<svg") :]


def _hide_spines(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def critical_difference(ranking: Ranking) -> str:
    """Mean ranks on a line, with bars that join methods without a significant difference (Demsar, 2006)."""
    k = len(ranking.methods)
    order = sorted(range(k), key=lambda i: ranking.ranks[i])
    n_left = (k + 1) // 2  # names on the left side
    figure, axes = _figure(7.0, 1.0 + 0.27 * n_left)
    axes.set_xlim(1, k)
    axes.set_ylim(-0.6 - 0.8 * n_left, 1.8)
    axes.axis("off")
    axes.plot([1, k], [0, 0], color="black", lw=1)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, 0.12], color="black", lw=1)
        axes.text(tick, 0.2, str(tick), ha="center", va="bottom", fontsize=9)
    for place, i in enumerate(order):
        left = place < n_left
        depth = -1.2 - 0.8 * (place if left else k - 1 - place)
        rank, edge = ranking.ranks[i], 1.0 if left else float(k)
        axes.plot([rank, rank, edge], [0, depth, depth], color=_BLUE if ranking.methods[i] == "sdgs" else "black", lw=1)
        name = f"{METHODS[ranking.methods[i]].title}  {rank:.2f}"
        axes.text(edge, depth + 0.08, name, ha="left" if left else "right", va="bottom", fontsize=9)
    if ranking.critical_difference is not None:
        difference = ranking.critical_difference
        axes.plot([1, 1 + difference], [1.2, 1.2], color=_ORANGE, lw=3, solid_capstyle="butt")
        axes.text(
            1 + difference / 2, 1.3, f"critical difference {difference:.2f}", ha="center", va="bottom", fontsize=8
        )
        height = -0.35
        for first, last in tied_runs([float(ranking.ranks[i]) for i in order], difference):
            axes.plot([first - 0.02, last + 0.02], [height, height], color=_GREY, lw=4, solid_capstyle="butt")
            height -= 0.25
    return _svg(figure)


def tied_runs(ranks: list[float], difference: float) -> list[tuple[float, float]]:
    """First and last rank of the maximal runs of at least two sorted ranks within ``difference``."""
    runs: list[tuple[float, float]] = []
    for start in ranks:
        end = max(rank for rank in ranks if rank - start <= difference)
        if end > start and not (runs and end <= runs[-1][1]):
            runs.append((start, end))
    return runs


def convergence(studies: list[Record]) -> str:
    """Error after each sweep, one panel per data set."""
    figure, panels = _figure(8.0, 2.9, ncols=len(studies), squeeze=False)
    styles = {"svd": ("o-", "black", 6), "brp": (".-", _BLUE, 4), "brp-fresh": ("x--", _ORANGE, 4)}
    for axes, study in zip(panels[0], studies, strict=True):
        for solver, (style, color, size) in styles.items():
            curve = study["curves"][solver]
            sweeps = range(1, len(curve["error"]) + 1)
            seconds = curve["seconds"]["wall"] / len(curve["error"])
            fill = "none" if solver == "svd" else color
            label = f"{solver}  ({1e3 * seconds:.3g} ms per sweep)"
            axes.semilogy(sweeps, curve["error"], style, color=color, ms=size, mfc=fill, lw=1.2, label=label)
        name = "planted subspaces" if study["dataset"] == "planted" else title_of(study["dataset"])
        axes.set_title(f"{name}, rank {study['rank']}", fontsize=10, loc="left")
        axes.set_xlabel("sweep", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.legend(fontsize=8, frameon=False)
        _hide_spines(axes)
    panels[0][0].set_ylabel("error / ||X||\N{SUPERSCRIPT TWO}", fontsize=9)
    return _svg(figure)


def most_frequent(studies: list[Record], highlighted: str) -> str:
    """F1 of SDGS against the number of labels that have a subspace."""
    figure, axes = _figure(7.0, 3.2)
    for study in sorted(studies, key=lambda study: study["dataset"] == highlighted):
        is_highlighted = study["dataset"] == highlighted
        color, width = (_ORANGE, 2.2) if is_highlighted else (_GREY, 1.0)
        f1 = [100 * value for value in study["f1"]]
        axes.plot(study["most_frequent"], f1, ".-", color=color, lw=width, zorder=3 if is_highlighted else 2)
    # Names in a column at the right, as close to the ends of their lines as possible without overlap.
    height = -10.0
    for study in sorted(studies, key=lambda study: study["f1"][-1]):
        end, color = 100 * study["f1"][-1], _ORANGE if study["dataset"] == highlighted else "#606060"
        height = max(height + 6.0, end)
        axes.plot([study["most_frequent"][-1], 480], [end, height], color=color, lw=0.4, zorder=1)
        axes.text(500, height, title_of(study["dataset"]), fontsize=8, va="center", color=color)
    axes.set_xscale("log", base=2)
    ticks = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    axes.set_xticks(ticks, labels=[str(tick) for tick in ticks], fontsize=8)
    axes.set_xlim(0.9, 480)
    axes.set_ylim(0, 100)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("number of labels with a subspace at prediction, most frequent first", fontsize=9)
    axes.set_ylabel("F1 on the test samples", fontsize=9)
    _hide_spines(axes)
    return _svg(figure)


def damage_curves(results: list[MeanResult], kind: str) -> str:
    """F1 against the share of damaged entries, one panel per data set."""
    datasets = list(dict.fromkeys(r.dataset for r in results if r.kind == kind))
    n_columns = min(4, len(datasets))
    n_rows = -(-len(datasets) // n_columns)
    figure, grid = _figure(2.3 * n_columns + 0.4, 2.5 * n_rows + 0.7, nrows=n_rows, ncols=n_columns, squeeze=False)
    panels = [axes for row in grid for axes in row]
    for axes in panels[len(datasets) :]:
        axes.axis("off")
    lines: dict[str, Any] = {}
    for axes, dataset in zip(panels, datasets, strict=False):
        for method, (color, style) in _STYLES.items():
            damaged = [r for r in results if (r.dataset, r.kind, r.method) == (dataset, kind, method)]
            if not damaged:
                continue
            # Clean data have nothing to impute.
            clean_key = (dataset, "spikes", 0.0, {"br-mean": "br", "br-knn": "br"}.get(method, method))
            clean = [r for r in results if (r.dataset, r.kind, r.share, r.method) == clean_key]
            f1 = {r.share: r.values["f1"] for r in [*clean, *damaged]}
            size = {"lw": 2.2, "ms": 4.5, "zorder": 3} if method == TUNED_SDGS else {"lw": 1.1, "ms": 3.5, "zorder": 2}
            shares, values = zip(*sorted(f1.items()), strict=True)
            (lines[method],) = axes.plot([100 * share for share in shares], values, style, color=color, **size)
        axes.set_title(title_of(dataset), fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        _hide_spines(axes)
    for axes in panels[: len(datasets)]:
        axes.set_xlabel({"spikes": "entries corrupted, %", "missing": "entries missing, %"}[kind], fontsize=8)
    for row in grid:
        row[0].set_ylabel("F1", fontsize=9)
    names = [TITLES[method] for method in lines]
    figure.legend(
        lines.values(), names, loc="outside lower center", ncols=min(4, len(names)), fontsize=8, frameon=False
    )
    return _svg(figure)
