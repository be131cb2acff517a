"""The result of a comparison of methods on one data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sdgs._utils._validation import check_choice
from sdgs.audit._audit_tables import data_frame
from sdgs.comparison._measure_units import digits, factor, titled
from sdgs.comparison._resampled_t import CorrectedMean, corrected_mean, holm
from sdgs.metrics import ALL_METRICS

Array = NDArray[np.float64]
SIGNIFICANCE = 0.05


@dataclass(frozen=True, eq=False)
class MethodResult:
    """One method on all splits of one data set.

    Attributes
    ----------
    name : str
        As in the argument ``methods`` of :func:`sdgs.compare`.
    title : str
        The name to show.
    estimator : classifier
        Not fitted.
    parameters : dict
        Its class and all its parameters, as text.
    measures : dict of ndarray of shape (J,)
        All measures of ``sdgs.metrics.ALL_METRICS`` by name, one value per split; NaN where the method failed, or
        has no scores or probabilities that the measure needs.
    fit_seconds, predict_seconds : ndarray of shape (J,)
    label_f1 : ndarray of shape (k,)
        The F1 of each label, from the predictions of all splits together; NaN for a label that no sample has and that
        is never predicted.
    warnings : dict
        The number of splits by the text of the warning.
    failures : dict
        The error message by the number of the split, from 0.
    """

    name: str
    title: str
    estimator: Any
    parameters: Mapping[str, str]
    measures: Mapping[str, Array]
    fit_seconds: Array
    predict_seconds: Array
    label_f1: Array
    warnings: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MethodSummary:
    """One row of the table of a comparison.

    Attributes
    ----------
    name, title : str
    mean, low, high : float
        Mean of the measure over the splits, and its 95 % confidence interval; NaN if the method failed on any split, or
        has no scores that the measure needs.
    difference : float
        Mean difference from the best method; negative if a greater measure is better.
    difference_low, difference_high : float
        Its 95 % confidence interval.
    p_value : float
        The p-value of the paired test against the best method, corrected for the number of methods by Holm's method.
        NaN for the best method itself.
    distinguishable : bool
        Whether the p-value is below 0.05, or there is no value.
    fit_seconds, predict_seconds : float
        Means over the splits.
    n_failures : int
        The number of splits on which the method failed.
    """

    name: str
    title: str
    mean: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    p_value: float
    distinguishable: bool
    fit_seconds: float
    predict_seconds: float
    n_failures: int

    @property
    def has_value(self) -> bool:
        """Whether the measure is known on all splits."""
        return not np.isnan(self.mean)

    @property
    def problem(self) -> str:
        """What is shown in place of a value."""
        return "failed" if self.n_failures else "no scores"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared on one data set by cross-validation; returned by :func:`sdgs.compare`.

    Attributes
    ----------
    methods : tuple of MethodResult
        Best first by ``metric``; methods that failed on any split last.
    metric : str
        The measure that the methods are ranked by.
    left_out : dict
        Why a method was not compared, by its title.
    notes : tuple of str
        What was done to the data.
    n_samples, n_features, n_labels : int
    label_names : tuple of str
    label_counts : ndarray of shape (k,)
        The number of samples with each label.
    n_splits, n_repeats : int
        Number of folds, and how often the samples were divided into folds.
    random_state : int
    test_share : float
        Number of test samples divided by that of training samples, the mean over the splits.
    versions : dict
        The versions of the libraries that the results depend on, by name.
    """

    methods: tuple[MethodResult, ...]
    metric: str
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    n_samples: int
    n_features: int
    n_labels: int
    label_names: tuple[str, ...]
    label_counts: NDArray[np.int64]
    n_splits: int
    n_repeats: int
    random_state: int
    test_share: float
    versions: Mapping[str, str]

    def __repr__(self) -> str:
        n = len(self.methods)
        return f"<Comparison of {n} method{'' if n == 1 else 's'} on {self.n_total_splits} splits>"

    def __str__(self) -> str:
        return self.table()

    @property
    def n_total_splits(self) -> int:
        """Folds times repetitions."""
        return self.n_splits * self.n_repeats

    @property
    def has_best(self) -> bool:
        """Whether any method succeeded on all splits."""
        return bool(self.methods) and not np.isnan(self.methods[0].measures[self.metric]).any()

    @property
    def best_method(self) -> str:
        """The name of the method with the best mean of ``metric``."""
        if not self.has_best:
            raise ValueError(
                f"No method has a value of {self.metric} on all splits, so none is the best. See `failures` of each."
            )
        return self.methods[0].name

    def best_estimator(self) -> Any:
        """The best method, as an estimator that is not fitted: fit it to all samples to use it."""
        name = self.best_method
        return clone(next(method.estimator for method in self.methods if method.name == name))

    def summary(self, metric: str | None = None) -> tuple[MethodSummary, ...]:
        """The methods by a measure, best first: means, confidence intervals, and tests against the best.

        Parameters
        ----------
        metric : str, optional
            A name in ``sdgs.metrics.ALL_METRICS``. Default: the metric of the comparison.
        """
        name = self.metric if metric is None else check_choice(metric, "metric", tuple(ALL_METRICS))
        methods = sort_methods(self.methods, name)
        best = methods[0].measures[name] if methods else np.empty(0)
        means = [corrected_mean(method.measures[name], self.test_share) for method in methods]
        differences = [corrected_mean(method.measures[name] - best, self.test_share) for method in methods]
        p_values = np.asarray([difference.p_value for difference in differences])
        p_values[:1] = np.nan  # the best with itself
        corrected = holm(p_values)
        rows = zip(methods, means, differences, corrected.tolist(), strict=True)
        return tuple(_summary_row(method, mean, difference, p) for method, mean, difference, p in rows)

    def conclusion(self) -> str:
        """What follows from the comparison, in one or two sentences."""
        rows = self.summary()
        if not self.has_best:
            return "No method succeeded on all splits."
        best, others = rows[0], [row for row in rows[1:] if row.has_value]
        measure = ALL_METRICS[self.metric].title
        if not others:
            return f"{best.title} is the only method that succeeded on all splits."
        similar = [row.title for row in others if not row.distinguishable]
        first = f"{best.title} has the best mean {measure}"
        if not similar:
            return f"{first}, and all other methods are significantly worse."
        if len(similar) == len(others):
            return f"{first}, but no other method is distinguishable from it."
        verb = "method is" if len(similar) == 1 else "methods are"
        return f"{first}. {_number(len(similar))} {verb} not distinguishable from it: {join_names(similar)}."

    def table(self, metric: str | None = None) -> str:
        """The summary as a text table, with the conclusion and what was left out."""
        name = self.metric if metric is None else metric
        rows = [text_row(row, name) for row in self.summary(name)]
        head = ("method", titled(name, arrow=False), "95 % interval", "difference", "p", "fit s", "predict s")
        lines = [self.description(), *aligned([head, *rows])]
        if name == self.metric:
            lines.append(self.conclusion())
        lines += [f"{title}: {reason}" for title, reason in self.failures().items()]
        lines += [f"Left out: {title}: {reason}" for title, reason in self.left_out.items()]
        return "\n".join([*lines, *self.notes])

    def description(self) -> str:
        """Sizes of the data and how the methods were compared, in one line."""
        return f"{self.n_samples:,} samples, {self.n_features:,} features, {self.n_labels:,} labels. {self.how()}."

    def how(self) -> str:
        """How the methods were compared, in words."""
        repeats = {1: "", 2: ", twice"}.get(self.n_repeats, f", {self.n_repeats} times")
        return f"Stratified {self.n_splits}-fold cross-validation{repeats}, seed {self.random_state}"

    def failures(self) -> dict[str, str]:
        """Why methods failed, by their titles: on how many splits, and the first error."""
        reasons = {}
        for method in self.methods:
            if method.failures:
                first = next(iter(method.failures.values()))
                reasons[method.title] = f"failed on {len(method.failures)} of {self.n_total_splits} splits: {first}"
        return reasons

    def to_frame(self, *, per_split: bool = False) -> Any:
        """Convert to a DataFrame; needs pandas.

        Parameters
        ----------
        per_split : bool, default=False
            Whether to have one row per method and split, with all measures and times, instead of one row per method
            with the attributes of :class:`MethodSummary` and the means of all measures.

        Returns
        -------
        pandas.DataFrame
        """
        if per_split:
            return data_frame(_columns([row for method in self.methods for row in split_rows(method)]))
        by_name = {method.name: method for method in self.methods}
        rows = []
        for row in self.summary():
            means = {f"mean_{name}": float(values.mean()) for name, values in by_name[row.name].measures.items()}
            rows.append({**vars(row), **means})
        return data_frame(_columns(rows))


def sort_methods(methods: Sequence[MethodResult], metric: str) -> list[MethodResult]:
    """Best mean first, methods that failed last; among equal ones the order that they have."""
    sign = -1 if ALL_METRICS[metric].greater_is_better else 1

    def key(method: MethodResult) -> tuple[bool, float]:
        mean = float(method.measures[metric].mean())
        return bool(np.isnan(mean)), 0.0 if np.isnan(mean) else sign * mean

    return sorted(methods, key=key)


def split_rows(method: MethodResult) -> list[dict[str, Any]]:
    """One row per split: its number, all measures and the times."""
    rows = []
    for i in range(method.fit_seconds.size):
        values = {name: float(values[i]) for name, values in method.measures.items()}
        seconds = {"fit_seconds": float(method.fit_seconds[i]), "predict_seconds": float(method.predict_seconds[i])}
        rows.append({"method": method.name, "split": i, **values, **seconds, "error": method.failures.get(i, "")})
    return rows


def _summary_row(method: MethodResult, mean: CorrectedMean, difference: CorrectedMean, p_value: float) -> MethodSummary:
    return MethodSummary(
        method.name,
        method.title,
        mean.mean,
        mean.low,
        mean.high,
        difference.mean,
        difference.low,
        difference.high,
        p_value,
        bool(np.isnan(mean.mean)) or p_value < SIGNIFICANCE,
        float(method.fit_seconds.mean()),
        float(method.predict_seconds.mean()),
        len(method.failures),
    )


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def text_row(row: MethodSummary, metric: str) -> tuple[str, ...]:
    """The cells of a table."""
    if not row.has_value:
        return (row.title, row.problem, *[""] * 5)
    is_best, unit, n = bool(np.isnan(row.p_value)), factor(metric), digits(metric)
    return (
        row.title,
        f"{unit * row.mean:.{n}f}",
        f"{unit * row.low:.{n}f} to {unit * row.high:.{n}f}",
        "best" if is_best else f"{unit * row.difference:+.{n}f}",
        "" if is_best else format_p(row.p_value),
        format_seconds(row.fit_seconds),
        format_seconds(row.predict_seconds),
    )


def format_p(p_value: float) -> str:
    """A p-value with three digits after the point."""
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def format_seconds(seconds: float) -> str:
    """Seconds with two significant digits or more."""
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose first column is text and whose other columns are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def _number(n: int) -> str:
    return _NUMBERS[n] if n < len(_NUMBERS) else str(n)
