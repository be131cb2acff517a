"""One sample taken apart."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_int, check_names
from sdgs.displays._parts_figure import ink_map
from sdgs.displays._style import COLOURS, HATCHES, INK, MUTED, axes_for, outlined, plain, short

_MOST_LABELS = len(COLOURS)


class SampleDecompositionDisplay:
    """A sample and what it is made of: bars for features with names, images where a shape is given.

    Parameters
    ----------
    sample : ndarray of shape (p,)
        NaN where an entry is missing.
    contributions : ndarray of shape (m, p)
        What each label contributes.
    label_names : array-like of shape (m,), optional
    feature_names : array-like of shape (p,), optional
    baseline : ndarray of shape (p,), optional
        What is there before any label. What is left of the sample is the residual.
    unit : ndarray of shape (p,), optional
        What bars are divided by, so that features in different units can stand side by side.
    probabilities, shares : ndarray of shape (m,), optional
        Of the labels, to be written beside their names.
    corrupted : ndarray of int, optional
        Columns that look corrupted, to be marked.

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
        """Draw a sample of ``X``, taken apart by a fitted model; the options are those of :meth:`plot`."""
        one = slice(sample, None if sample == -1 else sample + 1)
        X = X.iloc[one] if hasattr(X, "iloc") else X[one]
        labels = None if labels is None else labels.iloc[one] if hasattr(labels, "iloc") else labels[one]
        explanation = estimator.explain(X, labels, feature_names=feature_names, label_names=label_names)
        return cls.from_explanation(explanation[0]).plot(ax=ax, **options)

    @classmethod
    def from_predictions(cls, sample: Any, contributions: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw a sample (p,) and its contributions (m, p); ``options`` of the class and of :meth:`plot`."""
        drawing = {name: options.pop(name) for name in ("shape", "max_features") if name in options}
        sample, contributions = np.asarray(sample), np.asarray(contributions)
        return cls(sample=sample, contributions=contributions, **options).plot(ax=ax, **drawing)

    @classmethod
    def from_explanation(cls, explanation: Any) -> Self:
        """The display of one sample of ``model.explain(X)``, not drawn yet."""
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
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        shape : tuple of 2 ints, optional
            Height and width of the image that a sample is. Default: bars.
        max_features : int, default=15
            Bars for so many features, those with most to them.

        Returns
        -------
        self
        """
        m, p = self.contributions.shape
        names, heads = check_names(self.label_names, "label_names", m, range(m)), []
        for i in range(m):
            notes = [] if self.probabilities is None else [f"p = {self.probabilities[i]:.2f}"]
            notes += [] if self.shares is None else [f"{100 * self.shares[i]:.0f} %"]
            heads.append((short(names[i]), ", ".join(notes)))
        # The weakest share a place where there are more labels than can be told apart.
        weight = np.square(self.contributions).sum(axis=1) if self.shares is None else self.shares
        order = np.argsort(-weight, kind="stable")
        parts = [self.contributions[i] for i in order]
        heads = [heads[i] for i in order]
        if m > _MOST_LABELS:
            parts = [*parts[: _MOST_LABELS - 1], np.sum(parts[_MOST_LABELS - 1 :], axis=0)]
            heads = [*heads[: _MOST_LABELS - 1], (f"{m - _MOST_LABELS + 1} others", "")]
        if shape is not None:
            return self._images(ax, shape, parts, heads)
        features = check_names(self.feature_names, "feature_names", p, None)
        return self._bars(ax, check_int(max_features, "max_features", minimum=1), parts, heads, features)

    def _residual(self) -> NDArray[Any]:
        rest = self.sample - self.contributions.sum(axis=0) - (0 if self.baseline is None else self.baseline)
        return np.where(np.isnan(self.sample), 0, rest)

    def _images(self, ax: Any, shape: tuple[int, ...], parts: list[Any], heads: list[tuple[str, str]]) -> Self:
        if len(shape) != 2 or int(np.prod(shape)) != self.sample.size:
            raise ValueError(
                f"shape must be the height and width of an image of {self.sample.size} pixels, got {shape}."
            )
        cells = [("sample", "", self.sample), *((*head, part) for head, part in zip(heads, parts, strict=True))]
        if self.baseline is not None:
            cells.insert(1, ("baseline", "", self.baseline))
        rest = "" if self.shares is None else f"{100 * (1 - self.shares.sum()):.0f} %"
        cells.append(("residual", rest, self._residual()))
        ratio = shape[1] / shape[0]
        ax = axes_for(self, ax, 1.6 * len(cells) * max(ratio, 0.8), 2.3)
        ax.axis("off")
        cmap = ink_map().with_extremes(bad=COLOURS[6])
        limit = float(np.nanmax(np.abs([image for *_, image in cells]), initial=0.0)) or 1.0
        width = 1 / (len(cells) + 0.25 * (len(cells) - 1))
        for place, (name, note, image) in enumerate(cells):
            left = place * width * 1.25
            inset = ax.inset_axes((left, 0.02, width, 0.74))
            inset.imshow(image.reshape(shape), cmap=cmap, vmin=-limit, vmax=limit, interpolation="nearest")
            inset.set_xticks([])
            inset.set_yticks([])
            label = name not in ("sample", "baseline", "residual")
            for spine in inset.spines.values():
                spine.set(edgecolor=INK if label else MUTED, linewidth=1.4 if label else 0.7)
            inset.set_title(f"{name}\n{note}", fontsize=9, color=INK if label else MUTED)
            if place:
                sign = "=" if place == 1 else "+"
                ax.text(left - width * 0.125, 0.39, sign, ha="center", va="center", fontsize=13, color=MUTED)
            if name in ("sample", "residual") and self.corrupted is not None and self.corrupted.size:
                rows, columns = np.unravel_index(self.corrupted, shape)
                inset.scatter(columns, rows, marker="x", s=26, linewidth=1.3, color="#D55E00")
        notes = ["✗ looks corrupted"] if self.corrupted is not None and self.corrupted.size else []
        notes += ["yellow: missing"] if np.isnan(self.sample).any() else []
        ax.text(0, -0.02, "; ".join(notes), transform=ax.transAxes, fontsize=8, color=MUTED, va="top")
        return self

    def _bars(self, ax: Any, most: int, parts: list[Any], heads: list[tuple[str, str]], features: Any) -> Self:
        unit = np.ones(self.sample.size) if self.unit is None else self.unit
        less = self.sample if self.baseline is None else self.sample - self.baseline
        value = less / unit
        layers = np.vstack([*parts, self._residual()]) / unit
        size = np.abs(np.nan_to_num(value)) + np.abs(layers[:-1]).sum(axis=0)
        shown = np.argsort(-size, kind="stable")[:most]
        ax = axes_for(self, ax, 7.5, 1.5 + 0.27 * len(shown) + 0.2 * len(layers))
        places = np.arange(len(shown))
        left, right = np.zeros(len(shown)), np.zeros(len(shown))
        wrong = set() if self.corrupted is None else set(self.corrupted.tolist())
        for i, layer in enumerate(layers[:, shown]):
            start = np.where(layer < 0, left, right)
            style: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "hatch": HATCHES[i % len(HATCHES)]}
            text = ", ".join(part for part in (heads[i] if i < len(heads) else ("residual", "")) if part)
            if i == len(layers) - 1:
                style = {"color": "white", "hatch": None}
                text = text if self.shares is None else f"{text}, {100 * (1 - self.shares.sum()):.0f} %"
            ax.barh(places, layer, left=start, height=0.72, edgecolor=INK, linewidth=0.6, label=text, **style)
            left, right = left + np.minimum(layer, 0), right + np.maximum(layer, 0)
        mark = {"markersize": 13, "markeredgewidth": 2.4, "path_effects": outlined(4.6)}
        ax.plot(value[shown], places, "|", color="black", label="the sample", **mark)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(places, [short(features[j], 34) + (" ✗" if j in wrong else "") for j in shown], fontsize=8.5)
        for tick, j in zip(ax.get_yticklabels(), shown, strict=True):
            if np.isnan(self.sample[j]):
                tick.set(style="italic", color=MUTED)
        ax.invert_yaxis()
        ax.set_xlabel(self._meaning(len(shown), wrong))
        plain(ax)
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
        ax.legend(
            **above, ncols=1 if max(len(" ".join(head)) for head in [*heads, ("", "")]) > 30 else 2, frameon=False
        )
        return self

    def _meaning(self, n_shown: int, wrong: set[int]) -> str:
        what = "value" if self.unit is None else "value, as the model weights it"
        if self.baseline is not None:
            what = "standard deviations from the mean"
        notes = [f"{n_shown} of {self.sample.size} features"] if n_shown < self.sample.size else []
        notes += ["✗ looks corrupted"] if wrong else []
        notes += ["in italics: missing"] if np.isnan(self.sample).any() else []
        return f"{what} ({'; '.join(notes)})" if notes else what
