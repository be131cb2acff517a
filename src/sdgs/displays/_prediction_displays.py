"""The display of the reasons of one prediction."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from sdgs._utils._last_step import at_last_step
from sdgs._utils._validation import check_choice, check_int, check_names
from sdgs.displays import _style

Floats = NDArray[np.float64]

_MIN_SHARE = 0.1  # of the strongest feature or component; weaker ones are drawn as one row, as texts leave them out
_KINDS = ("features, directly", "features, through components of labels", "similar training samples")
# Marked on the axis of probabilities: a mark is left out if there is no room beside those before it.
_PROBABILITIES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 1e-4, 0.9999, 0.2, 0.8)
_MIN_GAP = 0.1  # between marks, relative to the axis


class _Row(NamedTuple):
    """What is drawn as one row: a feature, a component, a training sample, or several of them."""

    title: str
    parts: Floats  # (3,), in the order of _KINDS

    @property
    def part(self) -> float:
        return float(self.parts.sum())


class PredictionReasonsDisplay:
    """What the log-odds of a label of one sample are the sum of: as a waterfall, as bars, or as an image.

    ``base + features + features_through_components + neighbours``, and the same with ``components`` instead of
    ``features_through_components``, each summed over columns, are the log-odds.

    Parameters
    ----------
    base : float
        The log-odds without any reason.
    features : ndarray of shape (p,)
        What each feature adds directly.
    features_through_components : ndarray of shape (p,), optional
        What each feature adds through the components of labels.
    components : ndarray of shape (k,), optional
        What the component of each label, found in the sample, adds.
    neighbours : ndarray of shape (u,), optional
        What the similarity to each of u training samples adds.
    feature_names : array-like of shape (p,), optional
    label_names : array-like of shape (k,), optional
    neighbour_names : array-like of shape (u,), optional
    label_name : object, optional
        The name of the explained label.
    probability : float, optional
        The probability of the explained label.
    threshold : float, optional
        The probability above which the label is predicted.
    predicted : bool, optional
        Whether it is predicted.
    sample : ndarray of shape (p,), optional
        The sample, for images.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        base: float,
        features: Floats,
        features_through_components: Floats | None = None,
        components: Floats | None = None,
        neighbours: Floats | None = None,
        feature_names: Any = None,
        label_names: Any = None,
        neighbour_names: Any = None,
        label_name: Any = None,
        probability: float | None = None,
        threshold: float | None = None,
        predicted: bool | None = None,
        sample: NDArray[Any] | None = None,
    ) -> None:
        self.base = base
        self.features = features
        self.features_through_components = features_through_components
        self.components = components
        self.neighbours = neighbours
        self.feature_names = feature_names
        self.label_names = label_names
        self.neighbour_names = neighbour_names
        self.label_name = label_name
        self.probability = probability
        self.threshold = threshold
        self.predicted = predicted
        self.sample = sample

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sample: int = 0,
        label: Any = None,
        feature_names: Any = None,
        label_names: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the reasons of a label of a sample of ``X``, given by a fitted model or pipeline.

        ``label`` is the name of the label; default: the most probable one. The options are those of :meth:`plot`.
        """
        rows = slice(sample, None if sample == -1 else sample + 1)
        X = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        model, X, features = at_last_step(estimator, X, feature_names)
        labels = "all" if label is None else [label]
        (reasons,) = model.explain_prediction(X, labels, feature_names=features, label_names=label_names)
        position = int(np.argmax(reasons.probabilities))
        return cls.from_explanation(reasons, position).plot(ax=ax, **options)

    @classmethod
    def from_explanation(cls, explanation: Any, i: int = 0) -> Self:
        """Create the display of the label at position ``i`` of one sample of ``model.explain_prediction(X)``.

        Nothing is drawn.
        """
        if not explanation.labels.size:
            raise ValueError("No label of this sample is explained. Pass labels to explain_prediction.")
        parts, terms = explanation.parts(), explanation.terms
        names = terms.feature_names.astype(object)
        names[parts.columns] = [explanation.feature_title(int(column)) for column in parts.columns]
        features, through = np.zeros((2, names.size))
        features[parts.columns] = parts.features[i]
        through[parts.columns] = parts.features_through_components[i]
        probability, log_odds = float(explanation.probabilities[i]), float(explanation.log_odds[i])
        is_sigmoid = bool(np.isclose(expit(log_odds), probability, atol=1e-6))  # not for classes, which sum to 1
        return cls(
            base=float(parts.base[i]),
            features=features,
            features_through_components=through,
            components=parts.components[i],
            neighbours=parts.neighbours[i],
            feature_names=names,
            label_names=terms.label_names,
            neighbour_names=_neighbour_names(terms),
            label_name=explanation.label_names[i],
            probability=probability,
            threshold=explanation.decision(i).threshold if is_sigmoid else None,
            predicted=bool(explanation.predicted[i]),
            sample=explanation.sample,
        )

    @property
    def log_odds(self) -> float:
        """The sum of all parts."""
        return float(self.base + sum(part.sum() for part in self._parts()))

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "waterfall",
        by: str = "feature",
        max_reasons: int = 8,
        max_neighbours: int = 0,
        shape: tuple[int, ...] | None = None,
    ) -> Self:
        """Draw the reasons.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"waterfall", "bar"}, default="waterfall"
            The waterfall leads from the base to the log-odds. The bars begin at 0, and are split into what features add
            directly and through components.
        by : {"feature", "component"}, default="feature"
            Whether to name features, with what they add directly and through components, or the components of labels.
        max_reasons : int, default=8
            The maximum number of features or components to name: those with the largest parts, for and against. The
            others, and those with less than a tenth of the largest part, are drawn as one row.
        max_neighbours : int, default=0
            The maximum number of training samples to name; the others are drawn as one row.
        shape : tuple of 2 ints, optional
            Height and width of the samples as images: draw the sample, and what each pixel adds, directly and through
            components.

        Returns
        -------
        self
        """
        check_choice(kind, "kind", ("waterfall", "bar"))
        check_choice(by, "by", ("feature", "component"))
        check_int(max_reasons, "max_reasons", minimum=1)
        check_int(max_neighbours, "max_neighbours", minimum=0)
        if shape is not None:
            return self._draw_images(ax, shape)
        rows = [*self._reason_rows(by, max_reasons), *self._neighbour_rows(max_neighbours)]
        return self._draw_waterfall(ax, rows) if kind == "waterfall" else self._draw_bars(ax, rows)

    def _parts(self) -> tuple[Floats, Floats, Floats]:
        """Direct parts of features, those through components, and those of training samples."""
        through, neighbours = self.features_through_components, self.neighbours
        return (
            self.features,
            np.zeros_like(self.features) if through is None else through,
            np.empty(0) if neighbours is None else neighbours,
        )

    def _reason_rows(self, by: str, n: int) -> list[_Row]:
        direct, through, _ = self._parts()
        if by == "feature":
            names = check_names(self.feature_names, "feature_names", direct.size, None)
            return _named_rows(np.column_stack([direct, through, np.zeros_like(direct)]), names, "{}", "features", n)
        components = np.empty(0) if self.components is None else self.components
        names = check_names(self.label_names, "label_names", components.size, range(components.size))
        parts = np.zeros((components.size, 3))
        parts[:, 1] = components
        rows = _named_rows(parts, names, "component of {}", "components", n)
        return [_Row(_KINDS[0], np.array([direct.sum(), 0.0, 0.0])), *rows]

    def _neighbour_rows(self, n: int) -> list[_Row]:
        neighbours = self._parts()[2]
        if not neighbours.size:
            return []
        parts = np.zeros((neighbours.size, 3))
        parts[:, 2] = neighbours
        if n == 0:
            return [_Row(_KINDS[2], parts.sum(axis=0))]
        names = check_names(self.neighbour_names, "neighbour_names", neighbours.size, range(neighbours.size))
        return _named_rows(parts, names, "training sample {}", "training samples", n)

    def _title(self) -> str:
        verb = {None: "", True: " is predicted", False: " is not predicted"}[self.predicted]
        name = "the label" if self.label_name is None else _style.shorten(self.label_name)
        return f"{name}{verb}" + ("" if self.probability is None else f" (p = {_probability(self.probability)})")

    def _draw_waterfall(self, ax: Any, rows: list[_Row]) -> Self:
        ax = _style.axes_for(self, ax, 7.0, 1.8 + 0.3 * (len(rows) + 2))
        lengths = np.array([row.part for row in rows])
        stops = self.base + np.concatenate([[0.0], np.cumsum(lengths)])
        starts, ends, log_odds = stops[:-1], stops[1:], float(stops[-1])
        places = np.arange(1, len(rows) + 1)
        for chosen, colour, hatch in zip((lengths >= 0, lengths < 0), _style.COLOURS, _style.HATCHES, strict=False):
            frame = {"edgecolor": _style.INK, "linewidth": 0.6, "height": 0.66}
            ax.barh(places[chosen], lengths[chosen], left=starts[chosen], color=colour, hatch=hatch, **frame)
        ax.vlines(stops, np.arange(len(stops)), np.arange(len(stops)) + 1, color=_style.MUTED, linewidth=0.8, zorder=0)
        ax.plot([self.base, log_odds], [0, len(rows) + 1], "D", color=_style.COLOURS[2], markersize=7, clip_on=False)
        gap = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": 8.5}
        for end_place, value in ((0, self.base), (len(rows) + 1, log_odds)):
            ax.annotate(_number(value), (value, end_place), **{**gap, "xytext": (9, 0)})
        for place, row, start, end in zip(places, rows, starts, ends, strict=True):
            side = -1 if row.part < 0 else 1
            align = {"ha": "right" if side < 0 else "left", "xytext": (4 * side, 0)}
            ax.annotate(_signed(row.part), (min(start, end) if side < 0 else max(start, end), place), **gap | align)
        ax.set_yticks(range(len(rows) + 2), ["base", *(row.title for row in rows), "log-odds"], fontsize=8.5)
        low, high = float(stops.min()), float(stops.max())
        margin = 0.16 * (high - low) or 1.0
        ax.set(xlim=(low - margin, high + margin), ylim=(len(rows) + 1.7, -1), xlabel="log-odds")
        _style.hide_spines(ax, "top", "right", "left")
        ax.tick_params(axis="y", length=0)
        self._draw_probabilities(ax, log_odds)
        ax.set_title(self._title(), fontsize=10.5, loc="right")  # there is room above the names
        return self

    def _draw_probabilities(self, ax: Any, log_odds: float) -> None:
        """An axis of probabilities above, unless the probability is not a function of the log-odds alone."""
        if self.probability is not None and not np.isclose(expit(log_odds), self.probability, atol=1e-6):
            return
        from matplotlib.ticker import MaxNLocator

        low, high = ax.get_xlim()
        marks: list[float] = []
        evenly = np.array(MaxNLocator(5).tick_values(expit(low), expit(high)))  # if the others are too far apart
        for p in (*_PROBABILITIES, *evenly[(evenly > 0) & (evenly < 1)]):
            x = float(logit(p))
            if low < x < high and all(abs(x - logit(mark)) >= _MIN_GAP * (high - low) for mark in marks):
                marks.append(float(p))
        axis = ax.secondary_xaxis("top")
        axis.set_xticks(logit(marks), [f"{p:g}" for p in marks], fontsize=8.5)
        axis.set_xlabel("probability", fontsize=8.5)
        if self.threshold is not None and 0 < self.threshold < 1 and low < logit(self.threshold) < high:
            x = float(logit(self.threshold))
            ax.axvline(x, color=_style.MUTED, linestyle="--", linewidth=1.0, zorder=0)
            right = x > (low + high) / 2
            ax.annotate(
                f"predicted above p = {_probability(self.threshold)}",
                (x, -1),
                xytext=(-4 if right else 4, -3),
                textcoords="offset points",
                ha="right" if right else "left",
                va="top",
                fontsize=8,
                color=_style.MUTED,
            )

    def _draw_bars(self, ax: Any, rows: list[_Row]) -> Self:
        parts = np.array([row.parts for row in rows]).reshape(-1, 3)
        drawn = [kind for kind in range(3) if parts[:, kind].any()]
        ax = _style.axes_for(self, ax, 7.0, 1.7 + 0.3 * len(rows) + 0.2 * len(drawn))
        places = np.arange(len(rows))
        negative_end, positive_end = np.zeros((2, len(rows)))
        for kind in drawn:
            layer = parts[:, kind]
            start = np.where(layer < 0, negative_end, positive_end)
            style = {"color": _style.COLOURS[kind], "hatch": _style.HATCHES[kind], "label": _KINDS[kind]}
            ax.barh(places, layer, left=start, edgecolor=_style.INK, linewidth=0.6, height=0.7, **style)
            negative_end, positive_end = negative_end + np.minimum(layer, 0), positive_end + np.maximum(layer, 0)
        if (np.count_nonzero(parts, axis=1) > 1).any():
            mark = {"markersize": 13, "markeredgewidth": 2.4, "path_effects": _style.white_outline(4.6)}
            ax.plot(parts.sum(axis=1), places, "|", color="black", label="together", **mark)
        ax.axvline(0, color=_style.MUTED, linewidth=0.8)
        ax.set_yticks(places, [row.title for row in rows], fontsize=8.5)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel("added to the log-odds", loc="right")
        _style.hide_spines(ax)
        title = f"{self._title()}\n{self._sum()}"
        if not drawn:
            ax.set_title(title, fontsize=9.5, loc="right")
            return self
        above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.01), "borderaxespad": 0.0, "frameon": False}
        legend = ax.legend(title=title, alignment="left", fontsize=9, **above)
        legend.get_title().set_fontsize(9.5)
        return self

    def _sum(self) -> str:
        """The log-odds as a sum."""
        direct, through, neighbours = self._parts()
        text = f"log-odds {_number(self.log_odds)} = {_number(self.base)} base"
        text += f" {_signed_term(direct.sum() + through.sum())} features"
        return text + (f"\n{_signed_term(neighbours.sum())} similar training samples" if neighbours.size else "")

    def _draw_images(self, ax: Any, shape: tuple[int, ...]) -> Self:
        if len(shape) != 2 or int(np.prod(shape)) != self.features.size:
            raise ValueError(
                f"shape must be the height and width of an image of {self.features.size} pixels, got {shape}."
            )
        direct, through, _ = self._parts()
        images = [] if self.sample is None else [("the sample", self.sample)]
        images.append(("what each pixel adds", direct + through))
        ax = _style.axes_for(self, ax, 3.0 * len(images) * max(shape[1] / shape[0], 0.8) + 0.6, 3.8)
        ax.axis("off")
        ax.set_title(f"{self._title()}\n{self._sum()}", fontsize=10)
        colormap = _style.signed_colormap().with_extremes(bad=_style.COLOURS[6])
        width = 0.92 / (1.08 * len(images) - 0.08)
        for place, (title, image) in enumerate(images):
            inset = ax.inset_axes((place * 1.08 * width, 0.0, width, 0.9))
            limit = float(np.nanmax(np.abs(image), initial=0.0)) or 1.0
            options = {"cmap": colormap, "vmin": -limit, "vmax": limit, "interpolation": "nearest"}
            drawn = inset.imshow(image.reshape(shape), **options)
            inset.set_xticks([])
            inset.set_yticks([])
            inset.set_title(title, fontsize=9)
        ax.figure.colorbar(drawn, cax=inset.inset_axes((1.04, 0.0, 0.05, 1.0)), label="added to the log-odds")
        return self


def _neighbour_names(terms: Any) -> list[str]:
    """Training samples by their row and labels."""
    return [
        f"{row} ({', '.join(map(str, terms.label_names[labels])) or 'no label'})"
        for row, labels in zip(terms.training_samples, terms.training_labels, strict=True)
    ]


def _named_rows(parts: Floats, names: NDArray[Any], pattern: str, plural: str, n: int) -> list[_Row]:
    """One row for each of the ``n`` largest parts (q, 3) of names, unless they are small, and one for the others."""
    sizes = np.abs(parts.sum(axis=1))
    order = np.argsort(-sizes, kind="stable")
    order = order[parts[order].any(axis=1)]
    named = order[:n][sizes[order[:n]] >= _MIN_SHARE * sizes.max(initial=0.0)]
    rows = [_Row(pattern.format(_style.shorten(names[j], 34)), parts[j]) for j in named]
    others = order[named.size :]
    if not others.size:
        return rows
    number = f"{others.size} other" if rows else str(others.size)
    return [*rows, _Row(f"{number} {plural if others.size > 1 else plural[:-1]}", parts[others].sum(axis=0))]


def _probability(p: float) -> str:
    return f"{p:.2f}" if p >= 0.005 or p == 0 else f"{p:.1g}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def _signed_term(value: float) -> str:
    """``+ 1.20`` or ``- 1.20``, with a minus sign."""
    text = _signed(value)
    return f"{text[0]} {text[1:]}"
