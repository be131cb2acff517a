"""The display of one decomposed sample."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._last_step import at_last_step
from sdgs._utils._validation import check_int, check_names
from sdgs.displays import _style

_MAX_LABELS = len(_style.COLOURS)  # if there are more, the labels with the smallest shares are drawn as one part


class SampleDecompositionDisplay:
    """A sample, the contributions of its labels and the residual: as bars per feature, or as images.

    Parameters
    ----------
    sample : ndarray of shape (p,)
        NaN where an entry is missing.
    contributions : ndarray of shape (m, p)
        The contribution of each label.
    label_names : array-like of shape (m,), optional
    feature_names : array-like of shape (p,), optional
    baseline : ndarray of shape (p,), optional
        The part that belongs to no label. The sample minus the baseline and all contributions is the residual.
    unit : ndarray of shape (p,), optional
        The scale of each feature: bars are divided by it, so that features in different units are comparable.
    probabilities, shares : ndarray of shape (m,), optional
        Probability of each label and share of the sample that it explains, written beside its name.
    corrupted : ndarray of int, optional
        Indices of columns to mark as corrupted.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        sample: NDArray[Any],
        contributions: NDArray[Any],
        label_names: Any = None,
        feature_names: Any = None,
        baseline: NDArray[Any] | None = None,
        unit: NDArray[Any] | None = None,
        probabilities: NDArray[Any] | None = None,
        shares: NDArray[Any] | None = None,
        corrupted: NDArray[np.intp] | None = None,
    ) -> None:
        self.sample = sample
        self.contributions = contributions
        self.label_names = label_names
        self.feature_names = feature_names
        self.baseline = baseline
        self.unit = unit
        self.probabilities = probabilities
        self.shares = shares
        self.corrupted = corrupted

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sample: int = 0,
        labels: Any = None,
        feature_names: Any = None,
        label_names: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a sample of ``X``, decomposed by a fitted model or pipeline; the options are those of :meth:`plot`."""
        rows = slice(sample, None if sample == -1 else sample + 1)
        X = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        labels = None if labels is None else labels.iloc[rows] if hasattr(labels, "iloc") else labels[rows]
        model, X, features = at_last_step(estimator, X, feature_names)
        explanation = model.explain(X, labels, feature_names=features, label_names=label_names)
        return cls.from_explanation(explanation[0]).plot(ax=ax, **options)

    @classmethod
    def from_predictions(cls, sample: Any, contributions: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw a sample (p,) and its contributions (m, p); the options are those of the class and of :meth:`plot`."""
        plot_options = {name: options.pop(name) for name in ("shape", "max_features") if name in options}
        sample, contributions = np.asarray(sample), np.asarray(contributions)
        return cls(sample=sample, contributions=contributions, **options).plot(ax=ax, **plot_options)

    @classmethod
    def from_explanation(cls, explanation: Any) -> Self:
        """Create the display of one sample of ``model.explain(X)`` without drawing it."""
        return cls(
            sample=explanation.sample,
            contributions=explanation.contributions,
            label_names=explanation.label_names,
            feature_names=explanation.terms.feature_names,
            baseline=None if explanation.terms.baseline is None else explanation.baseline,
            unit=None if (explanation.terms.unit == 1).all() else explanation.terms.unit,
            probabilities=explanation.probabilities,
            shares=explanation.shares,
            corrupted=explanation.corrupted,
        )

    def plot(self, ax: Any = None, *, shape: tuple[int, ...] | None = None, max_features: int = 15) -> Self:
        """Draw the decomposition.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        shape : tuple of 2 ints, optional
            Height and width of the samples as images. Default: draw bars.
        max_features : int, default=15
            The maximum number of features with bars. Those with the largest values and contributions are drawn.

        Returns
        -------
        self
        """
        parts, titles = self._ordered_parts()
        if shape is not None:
            return self._draw_images(ax, shape, parts, titles)
        features = check_names(self.feature_names, "feature_names", self.sample.size, None)
        return self._draw_bars(ax, check_int(max_features, "max_features", minimum=1), parts, titles, features)

    def _ordered_parts(self) -> tuple[list[NDArray[Any]], list[tuple[str, str]]]:
        """Contributions, largest share first, and (name, probability and share) of each."""
        m = len(self.contributions)
        names, titles = check_names(self.label_names, "label_names", m, range(m)), []
        for i in range(m):
            notes = [] if self.probabilities is None else [f"p = {self.probabilities[i]:.2f}"]
            notes += [] if self.shares is None else [f"{100 * self.shares[i]:.0f} %"]
            titles.append((_style.shorten(names[i]), ", ".join(notes)))
        sizes = np.square(self.contributions).sum(axis=1) if self.shares is None else self.shares
        order = np.argsort(-sizes, kind="stable")
        parts, titles = [self.contributions[i] for i in order], [titles[i] for i in order]
        if m > _MAX_LABELS:
            parts = [*parts[: _MAX_LABELS - 1], np.sum(parts[_MAX_LABELS - 1 :], axis=0)]
            titles = [*titles[: _MAX_LABELS - 1], (f"{m - _MAX_LABELS + 1} others", "")]
        return parts, titles

    def _residual(self) -> NDArray[Any]:
        residual = self.sample - self.contributions.sum(axis=0) - (0 if self.baseline is None else self.baseline)
        return np.where(np.isnan(self.sample), 0, residual)

    def _residual_share(self) -> str:
        return "" if self.shares is None else f"{100 * (1 - self.shares.sum()):.0f} %"

    def _draw_images(self, ax: Any, shape: tuple[int, ...], parts: list[Any], titles: list[tuple[str, str]]) -> Self:
        if len(shape) != 2 or int(np.prod(shape)) != self.sample.size:
            raise ValueError(
                f"shape must be the height and width of an image of {self.sample.size} pixels, got {shape}."
            )
        images = [("sample", "", self.sample)]
        if self.baseline is not None:
            images.append(("baseline", "", self.baseline))
        places_of_labels = range(len(images), len(images) + len(parts))
        images += [(*title, part) for title, part in zip(titles, parts, strict=True)]
        images.append(("residual", self._residual_share(), self._residual()))
        ax = _style.axes_for(self, ax, 1.6 * len(images) * max(shape[1] / shape[0], 0.8), 2.3)
        ax.axis("off")
        colormap = _style.signed_colormap().with_extremes(bad=_style.COLOURS[6])
        limit = float(np.nanmax(np.abs([image for *_, image in images]), initial=0.0)) or 1.0
        width = 1 / (len(images) + 0.25 * (len(images) - 1))
        corrupted = np.empty(0, dtype=np.intp) if self.corrupted is None else self.corrupted
        for place, (name, note, image) in enumerate(images):
            left = place * width * 1.25
            inset = ax.inset_axes((left, 0.02, width, 0.74))
            inset.imshow(image.reshape(shape), cmap=colormap, vmin=-limit, vmax=limit, interpolation="nearest")
            inset.set_xticks([])
            inset.set_yticks([])
            is_label = place in places_of_labels
            inset.spines[:].set(edgecolor=_style.INK if is_label else _style.MUTED, linewidth=1.4 if is_label else 0.7)
            inset.set_title(f"{name}\n{note}", fontsize=9, color=_style.INK if is_label else _style.MUTED)
            if place:
                operator = "=" if place == 1 else "+"
                ax.text(left - width * 0.125, 0.39, operator, ha="center", va="center", fontsize=13, color=_style.MUTED)
            if place in (0, len(images) - 1) and corrupted.size:
                rows, columns = np.unravel_index(corrupted, shape)
                inset.scatter(columns, rows, marker="x", s=26, linewidth=1.3, color="#D55E00")
        notes = ["✗ looks corrupted"] if corrupted.size else []
        notes += ["yellow: missing"] if np.isnan(self.sample).any() else []
        ax.text(0, -0.02, "; ".join(notes), transform=ax.transAxes, fontsize=8, color=_style.MUTED, va="top")
        return self

    def _draw_bars(
        self, ax: Any, max_features: int, parts: list[Any], titles: list[tuple[str, str]], features: Any
    ) -> Self:
        unit = np.ones(self.sample.size) if self.unit is None else self.unit
        values = (self.sample if self.baseline is None else self.sample - self.baseline) / unit
        layers = np.vstack([*parts, self._residual()]) / unit
        sizes = np.abs(np.nan_to_num(values)) + np.abs(layers[:-1]).sum(axis=0)
        shown = np.argsort(-sizes, kind="stable")[:max_features]
        ax = _style.axes_for(self, ax, 7.5, 1.5 + 0.27 * len(shown) + 0.2 * len(layers))
        rows = np.arange(len(shown))
        labels = [", ".join(filter(None, title)) for title in (*titles, ("residual", self._residual_share()))]
        negative_end, positive_end = np.zeros(len(shown)), np.zeros(len(shown))
        fills = [*zip(_style.COLOURS[: len(parts)], _style.HATCHES, strict=False), ("white", None)]
        for layer, label, (colour, hatch) in zip(layers[:, shown], labels, fills, strict=True):
            start = np.where(layer < 0, negative_end, positive_end)
            frame = {"edgecolor": _style.INK, "linewidth": 0.6, "height": 0.72}
            label = f" {label}" if label.startswith("_") else label  # matplotlib leaves it out of the legend
            ax.barh(rows, layer, left=start, color=colour, hatch=hatch, label=label, **frame)
            negative_end, positive_end = negative_end + np.minimum(layer, 0), positive_end + np.maximum(layer, 0)
        mark = {"markersize": 13, "markeredgewidth": 2.4, "path_effects": _style.white_outline(4.6)}
        ax.plot(values[shown], rows, "|", color="black", label="the sample", **mark)
        ax.axvline(0, color=_style.INK, linewidth=0.8)
        corrupted = set() if self.corrupted is None else set(self.corrupted.tolist())
        names = [_style.shorten(features[j], 34) + (" ✗" if j in corrupted else "") for j in shown]
        ax.set_yticks(rows, names, fontsize=8.5)
        for tick, j in zip(ax.get_yticklabels(), shown, strict=True):
            if np.isnan(self.sample[j]):
                tick.set(style="italic", color=_style.MUTED)
        ax.invert_yaxis()
        ax.set_xlabel(self._bars_label(len(shown), has_corrupted=bool(corrupted)))
        _style.hide_spines(ax)
        longest = max((len(" ".join(title)) for title in titles), default=0)
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
        ax.legend(**above, ncols=1 if longest > 30 else 2, frameon=False)
        return self

    def _bars_label(self, n_shown: int, *, has_corrupted: bool) -> str:
        quantity = "value" if self.unit is None else "value, as weighted by the model"
        if self.baseline is not None:
            quantity = "standard deviations from the mean"
        notes = [f"{n_shown} of {self.sample.size} features"] if n_shown < self.sample.size else []
        notes += ["✗ looks corrupted"] if has_corrupted else []
        notes += ["in italics: missing"] if np.isnan(self.sample).any() else []
        return f"{quantity} ({'; '.join(notes)})" if notes else quantity
