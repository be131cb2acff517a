"""The demo of `sdgs demo`: SDGS and binary relevance on composite digits, and a figure of decomposed samples."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from sdgs import metrics
from sdgs.datasets import CompositeDigits, make_composite_digits
from sdgs.displays._image_decompositions import plot_image_decompositions
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.persistence._atomic_write import write_atomically


@dataclass(frozen=True)
class MethodResult:
    """One method on the data of the demo."""

    name: str
    parameters: str
    scores: dict[str, float]
    tuning_seconds: float
    fit_seconds: float
    predict_seconds: float
    model: Any
    predicted: NDArray[np.int64]


@dataclass(frozen=True)
class DemoResult:
    """The data of the demo and the results of all methods, SDGS first."""

    train: CompositeDigits
    test: CompositeDigits
    methods: tuple[MethodResult, ...]


def run_demo(
    *, n_train: int = 3000, n_test: int = 1000, seed: int = 0, progress: Callable[[str], None] = lambda _: None
) -> DemoResult:
    """Fit the methods to sums of one or two digits, and test them on sums of other images.

    SDGS has its default parameters. SDGS as published and binary relevance have one parameter and one threshold for all
    labels, both chosen on the training data.
    """
    progress("Generating sums of handwritten digits")
    train = make_composite_digits(n_train, max_labels=2, subset="train", random_state=seed)
    test = make_composite_digits(n_test, max_labels=2, subset="test", random_state=seed + 1)
    sdgs, published = SDGSClassifier(random_state=seed), SDGSClassifier(6, readout="norm", random_state=seed)
    progress("Compiling the solver (only the first time)")
    sdgs.fit(train.X[:50], train.Y[:50]).predict(test.X[:1])
    linear = make_pipeline(Normalizer(), OneVsRestClassifier(LinearSVC(dual=False, random_state=seed)))
    candidates: tuple[tuple[str, Any, str, list[float]], ...] = (
        ("SDGS", sdgs, "", []),
        ("SDGS as published", published, "alpha", [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4]),
        ("binary relevance", linear, "onevsrestclassifier__estimator__C", [10.0**e for e in range(-3, 4)]),
    )
    results = []
    for name, model, parameter, values in candidates:
        progress(f"Tuning {name}" if values else f"Training {name}")
        results.append(_evaluate_method(name, model, parameter, values, train, test))
    return DemoResult(train, test, tuple(results))


def _evaluate_method(
    name: str, model: Any, parameter: str, values: list[float], train: CompositeDigits, test: CompositeDigits
) -> MethodResult:
    """Choose the parameter and one threshold by the F1 of cross-validated scores; then fit to all samples and test.

    Without values to choose from, the model is used with its own decision on labels.
    """
    start = perf_counter()
    best = (-1.0, 0.0, 0.0)
    for value in values:
        candidate = clone(model).set_params(**{parameter: value})
        scores = cross_val_predict(candidate, train.X, train.Y, cv=3, method="decision_function")
        for threshold in np.quantile(scores, np.linspace(0.5, 0.95, 46)):
            best = max(best, (metrics.f1(train.Y, scores >= threshold), value, float(threshold)))
    _, value, threshold = best
    tuned = perf_counter()
    chosen = f"{parameter.split('__')[-1]} = {value:g}, threshold = {threshold:.2f}" if values else "defaults"
    model = clone(model).set_params(**({parameter: value} if values else {})).fit(train.X, train.Y)
    fitted = perf_counter()
    predicted = (model.decision_function(test.X) >= threshold if values else model.predict(test.X)).astype(np.int64)
    done = perf_counter()
    seconds = (tuned - start, fitted - tuned, done - fitted)
    return MethodResult(name, chosen, metrics.evaluate(test.Y, predicted), *seconds, model, predicted)


def draw_demo(result: DemoResult, path: Path, *, n_samples: int = 6) -> None:
    """Write a figure of some decomposed test samples. The file is written atomically."""
    sdgs, test = result.methods[0], result.test
    rows = _choose_samples(test.Y, sdgs.predicted, n_samples)
    figure = plot_image_decompositions(
        test.X[rows],
        sdgs.model.contributions(test.X[rows], sdgs.predicted[rows]),
        sdgs.predicted[rows],
        test.Y[rows],
        test.parts[rows],
        image_shape=test.image_shape,
        label_names=[str(digit) for digit in range(10)],
        title="Every prediction can be decomposed",
        subtitle="Sums of handwritten digits, decomposed into a contribution per predicted label and a residual.\n"
        "Dark is positive, orange negative; ✓ marks right labels, ✗ wrong ones.",
    )
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower())
    write_atomically(path, buffer.getvalue())


def _choose_samples(true: NDArray[Any], predicted: NDArray[Any], n: int) -> NDArray[np.intp]:
    """``n`` samples: sums of two digits with right labels, one single digit, and one mistake."""
    right = (true == predicted).all(axis=1)
    two_digits = true.sum(axis=1) == 2
    drawable = predicted.sum(axis=1) <= 3
    sums, singles = np.flatnonzero(right & two_digits), np.flatnonzero(right & ~two_digits)
    mistakes = np.flatnonzero(~right & drawable)
    return np.asarray([*sums[: max(n - 2, 1)], *singles[:1], *mistakes[:1]][:n], dtype=np.intp)
