"""Axes, colours, names and heat maps that the displays share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._text import printable

# Okabe and Ito's colours. Each has a hatch, a marker and a dash, for print in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo")
MARKERS = ("o", ">", "<", "s", "D", "^", "v")
DASHES = (":", "--", "-.", "-", (0, (5, 1, 1, 1, 1, 1)))
INK, MUTED, PALE = "#222222", "#6b7280", "#d5d9e0"
HEAT_COLORMAP = "cividis"  # perceptually uniform, also for colour-blind readers
_MAX_ANNOTATED_LABELS = 12  # heat maps with more labels have no percentages in their cells
_BRIGHTEST_QUANTILE = 0.995  # of the values of a heat map: the upper end of its colour scale


def signed_colormap() -> Any:
    """A diverging matplotlib colormap for signed images: dark blue is positive, white zero, orange negative.

    Use it with limits that are symmetric around zero. Positive and negative values also differ in grey.
    """
    from matplotlib.colors import LinearSegmentedColormap

    colours = ["#d1570f", "#f0b48a", "#ffffff", "#8397b8", "#14213d"]
    return LinearSegmentedColormap.from_list("signed", colours)


def axes_for(display: Any, ax: Any, width: float, height: float) -> Any:
    """Set the axes of a display: ``ax``, or new axes of this size in inches if it is None."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("Displays need matplotlib to draw: pip install 'sdgs[plot]'.") from None
        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def hide_spines(ax: Any, *sides: str) -> None:
    """Hide the frame on these sides, by default at the top and at the right."""
    ax.spines[list(sides or ("top", "right"))].set_visible(False)


def white_outline(width: float) -> list[Any]:
    """Path effects that make a line visible on any background."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


def as_drawn(name: Any, *, keep: str = "") -> str:
    r"""A name for matplotlib, which parses what is between two ``$`` as mathematics, and draws ``\$`` as ``$``."""
    return printable(name, keep=keep).replace("$", r"\$")


def abbreviate(name: Any, max_length: int = 28) -> str:
    """Replace the middle of a long name by an ellipsis, because either end may distinguish it from other names."""
    text = printable(name)
    if len(text) <= max_length:
        return text
    tail = (max_length - 1) // 2
    return f"{text[: max_length - 1 - tail]}…{text[-tail:]}"


def shorten(name: Any, max_length: int = 28) -> str:
    """An abbreviated name for matplotlib."""
    return as_drawn(abbreviate(name, max_length))


def set_tick_names(ax: Any, axis: str, names: Sequence[Any], max_names: int, *, max_length: int = 28) -> None:
    """Write names at the ticks 0, 1, ... of an axis; if there are more than ``max_names``, at every few ticks."""
    step = -(-len(names) // max_names)
    ticks = range(0, len(names), step)
    options = {"rotation": 90} if axis == "x" and max(len(str(name)) for name in names) > 2 else {}
    size = float(np.clip(320 / max(len(ticks), 1), 6.5, 9.5))
    getattr(ax, f"set_{axis}ticks")(ticks, [shorten(names[i], max_length) for i in ticks], fontsize=size, **options)


def draw_heat_map(ax: Any, values: NDArray[Any], names: Sequence[Any], max_names: int, **options: Any) -> Any:
    """A square heat map of shares between labels, with names at both axes, and percentages if there are few labels."""
    values = values.copy()
    np.fill_diagonal(values, np.nan)  # always 1: it would dominate the colour scale
    # A few very similar pairs among many labels would leave all other cells dark.
    upper, largest = np.nanquantile(values, [_BRIGHTEST_QUANTILE, 1.0]) if len(values) > 1 else (1.0, 1.0)
    scale = {"cmap": HEAT_COLORMAP, "vmin": 0.0, "vmax": max(float(upper), 0.05)}
    image = ax.imshow(values, **{"interpolation": "nearest", **scale, **options})
    set_tick_names(ax, "x", names, max_names)
    set_tick_names(ax, "y", names, max_names)
    extend = {"extend": "max"} if largest > image.norm.vmax * 1.001 else {}
    ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, **extend)
    if len(values) <= _MAX_ANNOTATED_LABELS:
        for row, column in np.argwhere(np.isfinite(values)):
            value = float(values[row, column])
            colour = text_colour(image, value)
            ax.text(column, row, f"{100 * value:.0f} %", ha="center", va="center", fontsize=8, color=colour)
    return image


def draw_signed_map(ax: Any, values: NDArray[Any], names: Sequence[Any], quantity: str, **options: Any) -> Any:
    """A square map of signed values between labels, with names at both axes, and values if there are few labels."""
    others = np.abs(values[~np.eye(len(values), dtype=bool)])
    # What a label adds to itself would leave all other cells pale.
    limit = float(np.quantile(others, _BRIGHTEST_QUANTILE)) if others.any() else float(np.abs(values).max())
    scale = {"cmap": signed_colormap(), "vmin": -limit, "vmax": limit}
    image = ax.imshow(values, **{"interpolation": "nearest", **scale, **options})
    set_tick_names(ax, "x", names, len(names))
    set_tick_names(ax, "y", names, len(names))
    extend = {"extend": "both"} if np.abs(values).max() > image.norm.vmax * 1.001 else {}
    ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, label=quantity, **extend)
    if len(values) <= _MAX_ANNOTATED_LABELS:
        decimals = int(np.clip(np.ceil(-np.log10(image.norm.vmax)) + 1, 0, 3))
        for row, column in np.ndindex(*values.shape):
            value = round(float(values[row, column]), decimals)
            text = f"{value:+.{decimals}f}".replace("-", "\N{MINUS SIGN}") if value else "0"
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=text_colour(image, value))
    return image


def heat_map_size(n_labels: int) -> tuple[float, float]:
    """Width and height in inches of a heat map with its names."""
    side = float(np.clip(0.22 * n_labels, 3.4, 7.5))
    return side + 2.3, side + 1.2


def text_colour(image: Any, value: float) -> str:
    """Black or white, whichever is readable on the colour of this value."""
    red, green, blue, _ = image.cmap(image.norm(value))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
