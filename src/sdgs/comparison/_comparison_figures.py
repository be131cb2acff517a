"""Positions of what the figures of the page show. Those in percent of the width or height fit any screen."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgs.comparison._comparison_result import MethodSummary
from sdgs.comparison._method_ranks import MethodRanks

_STEPS = (1, 2, 5, 10)
_CIRCLE = (2.6, 6.0)  # width and height of a circle in percent of a figure of usual size
_MARGIN = 0.06  # of an axis, on both sides


class Axis:
    """A linear axis from the smallest to the largest value, with round ticks, in percent of its length."""

    def __init__(self, values: Sequence[float], n_ticks: int = 7) -> None:
        finite = [value for value in values if np.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        margin = max(high - low, 1e-9 + abs(high) * 1e-3) * _MARGIN
        self._low, self._high = low - margin, high + margin
        self.ticks = round_ticks(self._low, self._high, n_ticks)

    def position(self, value: float) -> float:
        """Percent from the start of the axis."""
        return round(100 * (value - self._low) / (self._high - self._low), 2)

    def labelled_ticks(self) -> list[tuple[float, str]]:
        """Positions of the ticks and their texts."""
        digits = max(0, -int(np.floor(np.log10(self.ticks[1] - self.ticks[0])))) if len(self.ticks) > 1 else 1
        return [(self.position(tick), f"{tick:.{digits}f}") for tick in self.ticks]


def round_ticks(low: float, high: float, n_ticks: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between both limits."""
    raw = (high - low) / n_ticks
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(factor * power for factor in _STEPS if factor * power >= raw * (1 - 1e-9))
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [float(i * step) for i in range(first, last + 1)]


def interval_axis(rows: Sequence[MethodSummary], unit: float) -> Axis:
    """The axis of means and intervals, multiplied by ``unit``."""
    values = [unit * value for row in rows if row.has_value for value in (row.mean, row.low, row.high)]
    return Axis(values)


def times_figure(rows: Sequence[MethodSummary], unit: float = 100.0) -> dict[str, Any]:
    """Points of mean fit times, on a logarithmic axis, and means of the measure; numbered as in the table."""
    shown = [(i, row) for i, row in enumerate(rows, 1) if row.has_value]
    seconds = [max(row.fit_seconds, 1e-4) for _, row in shown]
    x_axis, y_axis = Axis(list(np.log10(seconds)) or [0.0]), Axis([unit * row.mean for _, row in shown])
    points = [
        {
            "number": number,
            "title": row.title,
            "x": x_axis.position(float(np.log10(second))),
            "y": round(100 - y_axis.position(unit * row.mean), 2),
            "text": f"{row.title}: {unit * row.mean:.2f}, {second:.3g} s",
            "best": not row.distinguishable,
        }
        for (number, row), second in zip(shown, seconds, strict=True)
    ]
    moved = _separate(points)
    return {
        "points": points,
        "moved": moved,
        "x_ticks": _time_ticks(x_axis),
        "y_ticks": [(round(100 - position, 2), text) for position, text in y_axis.labelled_ticks()],
    }


def _separate(points: list[dict[str, Any]]) -> bool:
    """Move points that would cover an earlier one to the right; whether there are any."""
    moved = False
    for i, point in enumerate(points):
        while any(
            abs(point["x"] - other["x"]) < _CIRCLE[0] and abs(point["y"] - other["y"]) < _CIRCLE[1]
            for other in points[:i]
        ):
            point["x"] = round(point["x"] + _CIRCLE[0] / 4, 2)
            moved = True
    return moved


def _time_ticks(axis: Axis) -> list[tuple[float, str]]:
    """Times at which a person has a clock: 1, 2 and 5 times powers of ten, not more than seven."""
    candidates = [factor * 10.0**power for power in range(-4, 6) for factor in (1, 2, 5)]
    inside = [seconds for seconds in candidates if 0 <= axis.position(float(np.log10(seconds))) <= 100]
    powers = [seconds for seconds in inside if np.isclose(np.log10(seconds) % 1, 0)]
    chosen = inside if len(inside) <= 7 or len(powers) < 2 else powers
    return [(axis.position(float(np.log10(seconds))), f"{seconds:g} s") for seconds in chosen]


def critical_difference_figure(ranks: MethodRanks) -> dict[str, Any]:
    """The diagram of Demsar (2006): mean ranks on an axis, names at both sides, bars over groups; in pixels."""
    m = len(ranks.titles)
    left, right, top, line_height = 200, 480, 46, 20
    bar_top, bar_height = top + 10, 9
    names_top = bar_top + bar_height * len(ranks.groups) + 16

    def x(rank: float) -> float:
        return round(left + (right - left) * (rank - 1) / max(m - 1, 1), 1)

    n_left = (m + 1) // 2
    methods = []
    for j, (title, rank) in enumerate(zip(ranks.titles, ranks.mean_ranks.tolist(), strict=True)):
        is_left = j < n_left
        line = j if is_left else m - 1 - j
        methods.append(
            {
                "x": x(rank),
                "y": names_top + line_height * line,
                "end": left - 8 if is_left else right + 8,
                "text_x": left - 12 if is_left else right + 12,
                "anchor": "end" if is_left else "start",
                "text": f"{_shortened(title)} {rank:.2f}" if is_left else f"{rank:.2f} {_shortened(title)}",
            }
        )
    mean_ranks = ranks.mean_ranks
    bars = [
        {"x1": x(mean_ranks[group[0]]) - 3, "x2": x(mean_ranks[group[-1]]) + 3, "y": bar_top + bar_height * i}
        for i, group in enumerate(ranks.groups)
    ]
    difference = x(1 + ranks.critical_difference)
    return {
        "width": left + right,
        "height": names_top + line_height * n_left,
        "axis": {"x1": left, "x2": right, "y": top},
        "ticks": [(x(rank), rank) for rank in range(1, m + 1)],
        "methods": methods,
        "bars": bars,
        "difference": {"x2": min(difference, left + right - 4), "text": f"CD = {ranks.critical_difference:.2f}"},
    }


def _shortened(title: str, limit: int = 24) -> str:
    return title if len(title) <= limit else f"{title[: limit - 1]}…"
