"""What `sdgs demo` does: composite digits, SDGS beside tuned binary relevance, and samples taken apart."""

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
class Trial:
    """One method on the demo's data."""

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
    """All that the demo found."""

    train: CompositeDigits
    test: CompositeDigits
    trials: tuple[Trial, ...]


def run_demo(
    *, n_train: int = 3000, n_test: int = 1000, seed: int = 0, progress: Callable[[str], None] = lambda _: None
) -> DemoResult:
    """Train both methods on sums of one or two digits, and test them on sums of other images.

    SDGS has its defaults. As published it has one parameter and one threshold for all labels, chosen on the training
    data, and binary relevance has the same.
    """
    progress("Adding up handwritten digits")
    train = make_composite_digits(n_train, max_labels=2, subset="train", random_state=seed)
    test = make_composite_digits(n_test, max_labels=2, subset="test", random_state=seed + 1)
    sdgs, paper = SDGSClassifier(random_state=seed), SDGSClassifier(6, readout="norm", random_state=seed)
    progress("Compiling the solver, the first time only")
    sdgs.fit(train.X[:50], train.Y[:50]).predict(test.X[:1])
    linear = make_pipeline(Normalizer(), OneVsRestClassifier(LinearSVC(dual=False, random_state=seed)))
    candidates: tuple[tuple[str, Any, str, list[float]], ...] = (
        ("SDGS", sdgs, "", []),
        ("SDGS as published", paper, "alpha", [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4]),
        ("binary relevance", linear, "onevsrestclassifier__estimator__C", [10.0**e for e in range(-3, 4)]),
    )
    trials = []
    for name, model, parameter, values in candidates:
        progress(f"Tuning {name}" if values else f"Training {name}")
        trials.append(_trial(name, model, parameter, values, train, test))
    return DemoResult(train, test, tuple(trials))


def _trial(
    name: str, model: Any, parameter: str, values: list[float], train: CompositeDigits, test: CompositeDigits
) -> Trial:
    """Choose the parameter, and one threshold for all labels, by out-of-fold F1; then fit on all and test.

    With no values to choose from the model is taken as it is, and decides for itself.
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
    return Trial(
        name=name,
        parameters=chosen,
        scores=metrics.evaluate(test.Y, predicted),
        tuning_seconds=tuned - start,
        fit_seconds=fitted - tuned,
        predict_seconds=done - fitted,
        model=model,
        predicted=predicted,
    )


def draw_demo(result: DemoResult, path: Path, *, n_samples: int = 6) -> None:
    """Write a picture of some test samples taken apart. The file appears whole or not at all."""
    trial = result.trials[0]
    chosen = _some_of_each(result.test.Y, trial.predicted, n_samples)
    figure = plot_image_decompositions(
        result.test.X[chosen],
        trial.model.contributions(result.test.X[chosen], trial.predicted[chosen]),
        trial.predicted[chosen],
        result.test.Y[chosen],
        result.test.parts[chosen],
        image_shape=result.test.image_shape,
        label_names=[str(digit) for digit in range(10)],
        title="Every prediction comes apart",
        subtitle="Sums of handwritten digits, taken apart into what each predicted label contributed, and a residual.\n"
        "Dark is positive, orange negative; ✓ marks a label that is right, ✗ one that is not.",
    )
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower())
    write_atomically(path, picture.getvalue())


def _some_of_each(true: NDArray[Any], predicted: NDArray[Any], n: int) -> NDArray[np.intp]:
    """``n`` samples in their order: mostly sums that came out right, one single digit, and the last one a mistake."""
    right = (true == predicted).all(axis=1)
    double = true.sum(axis=1) == 2
    crowded = predicted.sum(axis=1) > 3
    pools = [np.flatnonzero(right & double), np.flatnonzero(right & ~double), np.flatnonzero(~right & ~crowded)]
    chosen = [*pools[0][: max(n - 2, 1)], *pools[1][:1], *pools[2][:1]]
    return np.asarray(chosen[:n], dtype=np.intp)
