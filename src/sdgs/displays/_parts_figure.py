"""Pictures. Takes arrays only, and loads matplotlib when a picture is drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INK, _WARM, _COOL, _MUTED = "#14213d", "#d1570f", "#1b6ca8", "#6b7280"


def ink_map() -> Any:
    """Ink for what is there, orange for less than nothing, paper for zero: told apart in print and without colours."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("ink", [_WARM, "#f0b48a", "#ffffff", "#8397b8", _INK])


def plot_parts(
    samples: NDArray[Any],
    contributions: NDArray[Any],
    predicted: NDArray[Any],
    truth: NDArray[Any],
    true_parts: NDArray[Any],
    *,
    image_shape: tuple[int, int],
    label_names: Sequence[str],
    title: str | None = None,
    subtitle: str | None = None,
) -> Any:
    """Samples taken apart, one a line: what each predicted label contributed, the residual, and the truth.

    Parameters
    ----------
    samples : ndarray of shape (n, p)
    contributions : ndarray of shape (n, k, p)
        What each label contributed.
    predicted, truth : ndarray of shape (n, k)
        Predicted and true labels, 0 or 1.
    true_parts : ndarray of shape (n, k, p)
        What was really added for each label.
    image_shape : tuple
        Height and width of the images that samples are.
    label_names : sequence of k str
    title, subtitle : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    ink = ink_map()
    n = len(samples)
    shown = [np.flatnonzero(row).tolist() for row in predicted]
    real = [np.flatnonzero(row).tolist() for row in truth]
    width = max(1, *(len(labels) for labels in shown))
    real_width = max(1, *(len(labels) for labels in real))

    # Columns: sample, =, predicted labels with + between them, residual, gap, truth; in units of one image.
    sign = 0.34
    starts = [0.0]
    for _ in range(width + 1):
        starts.append(starts[-1] + 1 + sign)
    truth_at = [starts[-1] + 1.75 + i * (1 + sign) for i in range(real_width)]
    across = truth_at[-1] + 1
    head, cell, unit = 1.42, 1.46, 0.92
    total_w, total_h = across + 0.7, n * cell + head + 0.15
    figure = Figure(figsize=(total_w * unit, total_h * unit), dpi=150, facecolor="white")

    def draw(line: int, at: float, image: NDArray[Any], limit: float, text: str, colour: str, weight: str) -> None:
        top = head + line * cell + 0.28
        axes = figure.add_axes(((at + 0.35) / total_w, 1 - (top + 1) / total_h, 1 / total_w, 1 / total_h))
        axes.imshow(image.reshape(image_shape), cmap=ink, vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_edgecolor(colour)
            spine.set_linewidth(1.8 if weight == "bold" else 0.7)
        axes.set_title(text, fontsize=9, color=colour, pad=3, fontweight=weight)

    def write(line: float, at: float, text: str, size: float, colour: str = _MUTED, **options: Any) -> None:
        figure.text((at + 0.35) / total_w, 1 - line / total_h, text, fontsize=size, color=colour, **options)

    for line in range(n):
        limit = float(np.abs(samples[line]).max()) or 1.0
        middle = head + line * cell + 0.28 + 0.5
        draw(line, starts[0], samples[line], limit, "sample", _MUTED, "normal")
        rest = samples[line] - contributions[line][shown[line]].sum(axis=0)
        for place, label in enumerate(shown[line]):
            right = bool(truth[line, label])
            name = f"{label_names[label]} {'✓' if right else '✗'}"
            colour = _COOL if right else _WARM
            draw(line, starts[place + 1], contributions[line, label], limit, name, colour, "bold")
            write(middle, starts[place + 1] - sign / 2, "=" if place == 0 else "+", 13, ha="center", va="center")
        last = 1 + len(shown[line])
        write(middle, starts[last] - sign / 2, "+" if last > 1 else "=", 13, ha="center", va="center")
        draw(line, starts[last], rest, limit, "residual", _MUTED, "normal")
        for place, label in enumerate(real[line]):
            found = bool(predicted[line, label])
            name = label_names[label] if found else f"{label_names[label]} missed"
            draw(line, truth_at[place], true_parts[line, label], limit, name, _INK if found else _WARM, "normal")
            if place:
                write(middle, truth_at[place] - sign / 2, "+", 13, ha="center", va="center")

    rule = (truth_at[0] - 0.42 + 0.35) / total_w
    figure.add_artist(
        Line2D(
            [rule, rule],
            [1 - (head + n * cell - 0.18) / total_h, 1 - (head - 0.16) / total_h],
            color="#d5d9e0",
            linewidth=1,
        )
    )
    if title:
        write(0.38, 0, title, 13, _INK, fontweight="bold", va="center")
    if subtitle:
        write(0.62, 0, subtitle, 8.5, _MUTED, va="top", linespacing=1.5)
    write(head - 0.1, truth_at[0], "truth", 9, _MUTED, va="center", style="italic")
    write(head - 0.1, starts[1], "what each predicted label contributed", 9, _MUTED, va="center", style="italic")
    return figure
