"""What `sdgs demo` does: composite digits, SDGS beside tuned binary relevance, and samples taken apart."""

import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from sdgs import metrics
from sdgs._classifier import SDGSClassifier
from sdgs.datasets import CompositeDigits, make_composite_digits
from sdgs.plotting import plot_parts


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
    """Train and test both methods on sums of one or two digits; the test digits are in handwriting not trained on.

    Each method's parameters are chosen by three-fold cross-validation for F1 on the training data.
    """
    progress("Adding up handwritten digits")
    train = make_composite_digits(n_train, max_labels=2, subset="train", random_state=seed)
    test = make_composite_digits(n_test, max_labels=2, subset="test", random_state=seed + 1)
    sdgs = SDGSClassifier(random_state=seed)
    progress("Compiling the solver, the first time only")
    sdgs.fit(train.X[:50], train.Y[:50]).predict(test.X[:1])
    linear = make_pipeline(Normalizer(), OneVsRestClassifier(LinearSVC(dual=False, random_state=seed)))
    candidates = (
        ("SDGS", sdgs, {"alpha": [0.15, 0.25, 0.35], "threshold": [0.01, 0.1, 0.2]}),
        (
            "binary relevance",
            linear,
            {"onevsrestclassifier__estimator__C": [10.0**e for e in range(-3, 4)]},
        ),
    )
    trials = []
    for name, model, grid in candidates:
        progress(f"Tuning {name}")
        trials.append(_trial(name, model, grid, train, test))
    return DemoResult(train, test, tuple(trials))


def _trial(name: str, model: Any, grid: dict[str, list[float]], train: CompositeDigits, test: CompositeDigits) -> Trial:
    search = GridSearchCV(model, grid, scoring=make_scorer(metrics.f1), cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of an SVM with a poor C
        search.fit(train.X, train.Y)
        start = perf_counter()
        predicted = search.predict(test.X)
    return Trial(
        name=name,
        parameters=", ".join(f"{key.split('__')[-1]} = {value:g}" for key, value in search.best_params_.items()),
        scores=metrics.evaluate(test.Y, predicted),
        tuning_seconds=float(np.sum(search.cv_results_["mean_fit_time"] + search.cv_results_["mean_score_time"]) * 3),
        fit_seconds=search.refit_time_,
        predict_seconds=perf_counter() - start,
        model=search.best_estimator_,
        predicted=predicted,
    )


def draw_demo(result: DemoResult, path: Path, *, n_samples: int = 6) -> None:
    """Write a picture of some test samples taken apart. The file appears whole or not at all."""
    trial = result.trials[0]
    chosen = _some_of_each(result.test.Y, trial.predicted, n_samples)
    figure = plot_parts(
        result.test.X[chosen],
        trial.model.contributions(result.test.X[chosen]),
        trial.predicted[chosen],
        result.test.Y[chosen],
        result.test.parts[chosen],
        image_shape=result.test.image_shape,
        label_names=[str(digit) for digit in range(10)],
        title="Every prediction comes apart",
        subtitle="Sums of handwritten digits, taken apart into what each predicted label contributed, and a residual.\n"
        "Dark is positive, orange negative; ✓ marks a label that is right, ✗ one that is not.",
    )
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix or ".png")
    try:
        with os.fdopen(handle, "wb") as file:
            figure.savefig(file, format=(path.suffix or ".png")[1:])
        Path(scratch).chmod(0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def _some_of_each(true: NDArray[Any], predicted: NDArray[Any], n: int) -> NDArray[np.intp]:
    """``n`` samples in their order: mostly sums that came out right, one single digit, and the last one a mistake."""
    right = (true == predicted).all(axis=1)
    double = true.sum(axis=1) == 2
    crowded = predicted.sum(axis=1) > 3
    pools = [np.flatnonzero(right & double), np.flatnonzero(right & ~double), np.flatnonzero(~right & ~crowded)]
    chosen = [*pools[0][: max(n - 2, 1)], *pools[1][:1], *pools[2][:1]]
    return np.asarray(chosen[:n], dtype=np.intp)
