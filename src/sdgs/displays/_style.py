"""What all displays have in common: axes, colours that everybody can tell apart, names that fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Okabe and Ito's colours, and beside each a hatch, a marker and a dash: for print in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo")
MARKERS = ("o", ">", "<", "s", "D", "^", "v")
DASHES = (":", "--", "-.", "-", (0, (5, 1, 1, 1, 1, 1)))
INK, MUTED, PALE = "#222222", "#6b7280", "#d5d9e0"
_FEW = 12  # labels whose percentages can be written into a map
_BRIGHT = 0.995  # of the values in a map are below its brightest colour
HEAT = "cividis"  # perceptually uniform, for colour-blind readers as well


def axes_for(display: Any, ax: Any, width: float, height: float) -> Any:
    """The axes to draw on, new ones of this size in inches if there are none; noted on the display."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("Displays need matplotlib to draw: pip install 'sdgs[plot]'.") from None
        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def plain(ax: Any, *sides: str) -> None:
    """No frame on these sides; by default none on top and at the right."""
    ax.spines[list(sides or ("top", "right"))].set_visible(False)


def outlined(width: float) -> list[Any]:
    """Path effects that set a line off against whatever is below it."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


def short(name: Any, most: int = 28) -> str:
    """A name that fits: both ends of it, for either may be what tells it from others."""
    text = str(name)
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"


def tick_names(ax: Any, which: str, names: Sequence[Any], most: int, *, length: int = 28) -> None:
    """Names at the places 0, 1, ... of an axis, of every so many only if there are more than ``most``."""
    step = -(-len(names) // most)
    places = range(0, len(names), step)
    options = {"rotation": 90} if which == "x" and max(len(str(name)) for name in names) > 2 else {}
    size = float(np.clip(320 / max(len(places), 1), 6.5, 9.5))
    getattr(ax, f"set_{which}ticks")(places, [short(names[i], length) for i in places], fontsize=size, **options)


def heat_map(ax: Any, values: NDArray[Any], names: Sequence[Any], most: int, **options: Any) -> Any:
    """A square map of shares, the larger the brighter, with names at both axes; percentages too where there are few."""
    values = values.copy()
    np.fill_diagonal(values, np.nan)  # what a label has in common with itself would outshine all that is said
    # A few twins among many labels must not leave all others in the dark.
    large, largest = np.nanquantile(values, [_BRIGHT, 1.0]) if len(values) > 1 else (1.0, 1.0)
    settings = {"cmap": HEAT, "vmin": 0.0, "vmax": max(float(large), 0.05), "interpolation": "nearest", **options}
    image = ax.imshow(values, **settings)
    tick_names(ax, "x", names, most)
    tick_names(ax, "y", names, most)
    beyond = {"extend": "max"} if largest > image.norm.vmax * 1.001 else {}
    ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, **beyond)
    if len(values) <= _FEW:
        for line, column in np.argwhere(np.isfinite(values)):
            value = float(values[line, column])
            colour = on_top_of(image, value)
            ax.text(column, line, f"{100 * value:.0f} %", ha="center", va="center", fontsize=8, color=colour)
    return image


def map_size(k: int) -> tuple[float, float]:
    """Inches for a map of k labels, with its names."""
    side = float(np.clip(0.22 * k, 3.4, 7.5))
    return side + 2.3, side + 1.2


def on_top_of(image: Any, value: float) -> str:
    """A colour that can be read on this value's."""
    red, green, blue, _ = image.cmap(image.norm(value))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
