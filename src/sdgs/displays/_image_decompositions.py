"""Images decomposed by label, one row per sample, beside the truth: the figure of ``sdgs demo``."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.displays._style import MUTED, PALE, as_drawn, signed_colormap

_INK, _WARM, _COOL = "#14213d", "#d1570f", "#1b6ca8"
# In units of one image: space for + and =, between predictions and truth, for the header, and per row of images.
_OPERATOR, _GAP, _HEADER, _ROW = 0.34, 1.75, 1.42, 1.46
_MARGIN, _INCHES = 0.35, 0.92


def plot_image_decompositions(
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
    """Draw decomposed samples, one per row: contributions of the predicted labels, the residual, and the true parts.

    Parameters
    ----------
    samples : ndarray of shape (n, p)
    contributions : ndarray of shape (n, k, p)
        The contribution of each label.
    predicted, truth : ndarray of shape (n, k)
        Predicted and true labels, 0 or 1.
    true_parts : ndarray of shape (n, k, p)
        The part that was added to the sample for each true label.
    image_shape : tuple
        Height and width of the samples as images.
    label_names : sequence of k str
    title, subtitle : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    n_images = max(1, int(predicted.sum(axis=1).max())) + 2  # with the sample and the residual
    positions = [i * (1 + _OPERATOR) for i in range(n_images)]
    n_true = max(1, int(truth.sum(axis=1).max()))
    true_positions = [positions[-1] + _GAP + i * (1 + _OPERATOR) for i in range(n_true)]
    grid = _ImageGrid(len(samples), true_positions[-1] + 1, image_shape)
    for row, sample in enumerate(samples):
        limit = float(np.abs(sample).max()) or 1.0
        labels = np.flatnonzero(predicted[row]).tolist()
        residual = sample - contributions[row][labels].sum(axis=0)
        grid.add_image(row, positions[0], sample, limit, "sample", MUTED)
        for label, x in zip(labels, positions[1:], strict=False):
            right = bool(truth[row, label])
            name, colour = f"{label_names[label]} {'✓' if right else '✗'}", _COOL if right else _WARM
            grid.add_operator(row, x, "=" if x == positions[1] else "+")
            grid.add_image(row, x, contributions[row, label], limit, name, colour, bold=True)
        grid.add_operator(row, positions[1 + len(labels)], "+" if len(labels) else "=")
        grid.add_image(row, positions[1 + len(labels)], residual, limit, "residual", MUTED)
        for label, x in zip(np.flatnonzero(truth[row]).tolist(), true_positions, strict=False):
            missed = not predicted[row, label]
            name = f"{label_names[label]} missed" if missed else label_names[label]
            if x != true_positions[0]:
                grid.add_operator(row, x, "+")
            grid.add_image(row, x, true_parts[row, label], limit, name, _WARM if missed else _INK)
    grid.add_vertical_line(true_positions[0] - 0.42)
    if title:
        grid.add_text(0, 0.38, title, 13, _INK, fontweight="bold", va="center")
    if subtitle:
        grid.add_text(0, 0.62, subtitle, 8.5, va="top", linespacing=1.5)
    for x, text in ((positions[1], "contribution of each predicted label"), (true_positions[0], "truth")):
        grid.add_text(x, _HEADER - 0.1, text, 9, va="center", style="italic")
    return grid.figure


class _ImageGrid:
    """A figure with rows of images. Positions are in units of one image, from the top left."""

    def __init__(self, n_rows: int, width: float, image_shape: tuple[int, int]) -> None:
        from matplotlib.figure import Figure

        self._n_rows, self._image_shape, self._colormap = n_rows, image_shape, signed_colormap()
        self._width, self._height = width + 2 * _MARGIN, n_rows * _ROW + _HEADER + 0.15
        self.figure = Figure((self._width * _INCHES, self._height * _INCHES), dpi=150, facecolor="white")

    def add_image(
        self, row: int, x: float, image: NDArray[Any], limit: float, title: str, colour: str, *, bold: bool = False
    ) -> None:
        left, bottom = self._fractions(x, _HEADER + row * _ROW + 0.28 + 1)
        axes = self.figure.add_axes((left, bottom, 1 / self._width, 1 / self._height))
        image = image.reshape(self._image_shape)
        axes.imshow(image, cmap=self._colormap, vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set(edgecolor=colour, linewidth=1.8 if bold else 0.7)
        axes.set_title(as_drawn(title), fontsize=9, color=colour, pad=3, fontweight="bold" if bold else "normal")

    def add_operator(self, row: int, x: float, operator: str) -> None:
        """Write + or = to the left of the image at ``x``."""
        y = _HEADER + row * _ROW + 0.28 + 0.5
        self.add_text(x - _OPERATOR / 2, y, operator, 13, ha="center", va="center")

    def add_text(self, x: float, y: float, text: str, size: float, colour: str = MUTED, **options: Any) -> None:
        self.figure.text(*self._fractions(x, y), as_drawn(text, keep="\n"), fontsize=size, color=colour, **options)

    def add_vertical_line(self, x: float) -> None:
        from matplotlib.lines import Line2D

        ends = [self._fractions(x, y) for y in (_HEADER + self._n_rows * _ROW - 0.18, _HEADER - 0.16)]
        self.figure.add_artist(Line2D(*zip(*ends, strict=True), color=PALE, linewidth=1))

    def _fractions(self, x: float, y: float) -> tuple[float, float]:
        return (x + _MARGIN) / self._width, 1 - y / self._height
