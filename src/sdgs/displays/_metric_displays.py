"""Displays of training and of metrics: per label, and against a common threshold."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdgs import metrics
from sdgs._utils._last_step import known_label_names, last_step
from sdgs._utils._unobserved_labels import check_observed_labels
from sdgs._utils._validation import check_choice, check_int, check_names
from sdgs.displays._style import COLOURS, DASHES, INK, MARKERS, MUTED, PALE, axes_for, hide_spines, set_tick_names


class ConvergenceDisplay:
    """The objective of the training after each sweep.

    Parameters
    ----------
    objective : ndarray of shape (n_iter,)
    converged : bool, optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, *, objective: NDArray[np.float64], converged: bool | None = None) -> None:
        self.objective = objective
        self.converged = converged

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the objective of a fitted model or pipeline, or of a decomposition."""
        model = last_step(estimator)
        result = getattr(model, "decomposition_", model)
        return cls(objective=result.objective, converged=result.converged).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the objective; the options are those of matplotlib's ``plot``.

        Returns
        -------
        self
        """
        ax = axes_for(self, ax, 5.5, 3.4)
        sweeps = np.arange(1, len(self.objective) + 1)
        style = {"color": COLOURS[0], "marker": "o", "markersize": 4, "linewidth": 1.6, **options}
        ax.plot(sweeps, self.objective, **style)
        if (self.objective > 0).all():
            ax.set_yscale("log")
            ax.yaxis.set_minor_formatter("{x:.3g}")
            ax.yaxis.set_major_formatter("{x:.3g}")
        ax.set(xlabel="sweep", ylabel=r"error $\|X - \sum_i L^i - S\|_F^2$")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(axis="y", which="both", color=PALE, linewidth=0.6)
        hide_spines(ax)
        if self.converged is not None:
            end = f"{'converged' if self.converged else 'stopped'} after {len(self.objective)} sweeps"
            ax.text(0.98, 0.95, end, transform=ax.transAxes, ha="right", va="top", color=MUTED)
        return self


class LabelMetricsDisplay:
    """Precision, recall and F1 per label, with the number of samples of each label.

    Parameters
    ----------
    precision, recall, f1 : ndarray of shape (k,)
        NaN where undefined: the precision of a label that is never predicted, the recall of a label without samples.
    support : ndarray of shape (k,)
        Number of samples of each label.
    label_names : array-like of shape (k,), optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        precision: NDArray[np.float64],
        recall: NDArray[np.float64],
        f1: NDArray[np.float64],
        support: NDArray[np.int64],
        label_names: Any = None,
    ) -> None:
        self.precision = precision
        self.recall = recall
        self.f1 = f1
        self.support = support
        self.label_names = label_names

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, label_names: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the metrics of the predictions of a fitted classifier for ``X``."""
        names, y_pred = label_names, estimator.predict(X)
        if names is None and not hasattr(y, "columns"):
            names = known_label_names(estimator)
        if np.ndim(y) == 1 and hasattr(estimator, "classes_"):
            y, y_pred = (np.asarray(classes)[:, None] == estimator.classes_ for classes in (y, y_pred))
        return cls.from_predictions(y, y_pred, label_names=names, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, label_names: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the metrics of predictions: two matrices (n, k) of 0 and 1, or one class per sample (n,).

        NaN in ``y_true`` is an unobserved label, which is not counted.
        """
        if np.ndim(y_true) == 1:
            classes = np.unique(np.concatenate([y_true, y_pred])) if label_names is None else np.asarray(label_names)
            y_true, y_pred = (np.asarray(y)[:, None] == classes for y in (y_true, y_pred))
            label_names = classes
        names = getattr(y_true, "columns", None) if label_names is None else label_names
        values = metrics.evaluate_labels(y_true, y_pred)
        support = values.pop("samples")
        del values["predicted"]
        return cls(**values, support=support, label_names=names).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, max_labels: int = 30, sort_by: str = "support") -> Self:
        """Draw the metrics.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_labels : int, default=30
            The maximum number of labels: the first ones in the order of ``sort_by``.
        sort_by : {"support", "f1", "precision", "recall"}, default="support"
            Largest first.

        Returns
        -------
        self
        """
        check_choice(sort_by, "sort_by", ("support", "f1", "precision", "recall"))
        k = len(self.support)
        names = check_names(self.label_names, "label_names", k, range(k))
        sort_values = np.nan_to_num(getattr(self, sort_by), nan=-1.0)
        shown = np.argsort(-sort_values, kind="stable")[: check_int(max_labels, "max_labels", minimum=1)]
        ax = axes_for(self, ax, 6.5, 1.2 + 0.24 * len(shown))
        rows = np.arange(len(shown))
        values = np.vstack([self.precision[shown], self.recall[shown], self.f1[shown]])
        defined = np.where(np.isnan(values), np.nanmax(np.nan_to_num(values), axis=0), values)
        ax.hlines(rows, defined.min(axis=0), defined.max(axis=0), color=PALE, linewidth=2, zorder=1)
        for i, (name, metric_values) in enumerate(zip(("precision", "recall", "F1"), values, strict=True)):
            edge, marker = (COLOURS[5], COLOURS[2], COLOURS[0])[i], (MARKERS[1], MARKERS[2], MARKERS[0])[i]
            style = {"facecolors": "white" if i < 2 else COLOURS[0], "edgecolors": edge, "marker": marker}
            ax.scatter(metric_values, rows, s=44, linewidth=1.4, label=name, zorder=2 + i, **style)
        set_tick_names(ax, "y", [names[i] for i in shown], len(shown))
        text_style = {"transform": ax.get_yaxis_transform(), "ha": "right", "fontsize": 8.5, "color": MUTED}
        for row, i in zip(rows, shown, strict=True):
            ax.text(1.09, row, str(self.support[i]), va="center", **text_style)
        ax.text(1.09, -0.9, "samples", va="bottom", **text_style)
        ax.set(xlim=(-0.02, 1.02), ylim=(len(shown) - 0.4, -0.7))
        selection = f" ({len(shown)} of {k} labels)" if len(shown) < k else ""
        ax.set_xlabel(f"metrics per label{selection}")
        ax.grid(axis="x", color=PALE, linewidth=0.6)
        hide_spines(ax)
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, borderaxespad=0.0)
        return self


class ThresholdCurveDisplay:
    """The metrics of :mod:`sdgs.metrics` against a common threshold on the probabilities of all labels.

    Parameters
    ----------
    thresholds : ndarray of shape (m,)
        Labels with at least this probability are predicted.
    values : mapping from names of metrics to ndarrays of shape (m,)

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, *, thresholds: NDArray[np.float64], values: Mapping[str, NDArray[np.float64]]) -> None:
        self.thresholds = thresholds
        self.values = values

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_thresholds: int = 51, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the curves of a fitted classifier with ``predict_proba``, preferably on held-out samples."""
        if np.ndim(y) == 1:
            y = np.asarray(y)[:, None] == estimator.classes_
        return cls.from_predictions(y, estimator.predict_proba(X), n_thresholds=n_thresholds, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_proba: Any, *, n_thresholds: int = 51, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the curves for true labels (n, k), NaN where unobserved, and probabilities (n, k)."""
        true = check_observed_labels(y_true, name="y_true", some_positive=False)
        P = np.asarray(y_proba, dtype=np.float64)
        if P.shape != true.shape:
            raise ValueError(f"y_proba must have the shape of y_true, {true.shape}, got {P.shape}.")
        thresholds = np.linspace(0, 1, check_int(n_thresholds, "n_thresholds", minimum=2))
        scores = [metrics.evaluate(true, threshold <= P) for threshold in thresholds]
        values = {name: np.array([score[name] for score in scores]) for name in scores[0]}
        return cls(thresholds=thresholds, values=values).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the curves; the options are those of matplotlib's ``plot``.

        Returns
        -------
        self
        """
        ax = axes_for(self, ax, 7.8, 4.0)
        step = max(len(self.thresholds) // 8, 1)  # between markers
        for i, (name, values) in enumerate(self.values.items()):
            colour = (INK, COLOURS[5], COLOURS[2], COLOURS[0], COLOURS[3])[i % 5]
            style = {"color": colour, "linestyle": DASHES[i % 5], "marker": MARKERS[(i + 3) % 7], "linewidth": 1.6}
            marks = {"markevery": (i * step // 5, step), "markersize": 5, "markerfacecolor": "white"}
            metric = metrics.METRICS.get(name)
            label = name if metric is None else metric.title
            if metric is not None and not metric.greater_is_better:
                label += " (lower is better)"
            ax.plot(self.thresholds, values, label=label, **{**style, **marks, **options})
        if "f1" in self.values:
            best = int(np.nanargmax(self.values["f1"]))
            threshold, value = self.thresholds[best], self.values["f1"][best]
            ax.axvline(threshold, color=MUTED, linewidth=0.9, linestyle=":")
            text = f"best F1 {value:.3f} at {threshold:.2f}"
            ax.text(threshold + 0.01, 1.01, text, color=MUTED, fontsize=9, va="bottom")
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="threshold on the probability", ylabel="mean over samples")
        ax.grid(color=PALE, linewidth=0.6)
        hide_spines(ax)
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        return self
