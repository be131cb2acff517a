"""How well mistakes that were planted in training labels are found: the record behind a table of the documentation.

``python -m sdgs.experiments._planted_mistakes docs/results/label_errors.csv --data-home FOLDER`` measures it again. It
uses training samples alone, and needs cleanlab, to which it gives the same out-of-fold probabilities.
"""

import argparse
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score

from sdgs.datasets import load
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.experiments._result_tables import title_of
from sdgs.persistence._atomic_write import write_atomically

DATASETS = ("yahoo-arts", "emotions")
SHARES = (0.0, 0.05)
SEEDS = (0, 1, 2, 3, 4)
SOURCE = "label-errors"
COLUMNS = ("dataset", "percent", "method", "quantity", "mean", "sd", "seeds", "source")
Measures = dict[tuple[str, str], float]


def plant_mistakes(Y: Any, share: float, seed: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Labels of which a share was flipped at random, and which: given ones removed, and others added."""
    given = np.asarray(Y, dtype=bool)
    flipped = np.random.default_rng(seed).random(given.shape) < share
    return given ^ flipped, flipped


def measure(X: Any, Y: Any, share: float, seed: int) -> Measures:
    """What is found of planted mistakes, by method and quantity."""
    given, flipped = plant_mistakes(Y, share, seed)
    model = SDGSClassifier(random_state=seed).fit(X, csr_array(given.astype(np.int8)))
    rows, P = model.out_of_fold_rows_, model.out_of_fold_probabilities_
    given, flipped = given[rows], flipped[rows]
    ranked, listed = model.suspicious_labels(n_pairs=None), model.suspicious_labels()
    scores, chosen = np.zeros(P.shape), np.zeros(P.shape, dtype=bool)
    position = np.searchsorted(rows, ranked.rows), ranked.labels
    scores[position] = ranked.score
    chosen[np.searchsorted(rows, listed.rows), listed.labels] = True
    their_scores, their_choice = _cleanlab(given, P)
    measures: Measures = {("", "planted"): float(flipped.sum()), ("", "planted, wrong"): float((flipped & given).sum())}
    measures["sdgs", "estimate of wrong labels"] = float(listed.n_wrong)
    for method, score, choice in (("sdgs", scores, chosen), ("cleanlab", their_scores, their_choice)):
        measures[method, "listed"] = float(choice.sum())
        if flipped.any():
            measures[method, "average precision"] = 100 * float(average_precision_score(flipped.ravel(), score.ravel()))
            measures[method, "precision"] = 100 * float(flipped[choice].mean()) if choice.any() else 0.0
            measures[method, "recall"] = 100 * float(choice[flipped].mean())
    return measures


def _cleanlab(given: NDArray[np.bool_], P: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The scores of cleanlab, and the pairs that it lists, by the same probabilities."""
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    labels = [np.flatnonzero(row).tolist() for row in given]
    probabilities = P.astype(np.float64)
    quality = np.asarray(get_label_quality_scores_per_class(labels, probabilities)).reshape(P.shape)
    issues = find_multilabel_issues_per_class(labels, probabilities, n_jobs=1)
    return 1 - quality, np.asarray(issues).reshape(P.shape)


def records(data_home: Path | None, datasets: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The rows of the record."""
    for name in datasets:
        data = load(name, data_home=data_home)
        for share in SHARES:
            runs = [measure(data.X, data.Y, share, seed) for seed in seeds]
            for method, quantity in runs[0]:
                values = [run[method, quantity] for run in runs]
                digits = 1 if quantity in ("average precision", "precision", "recall") else 0
                spread = f"{stdev(values):.{digits}f}" if len(values) > 1 else ""
                title, percent = title_of(name), f"{100 * share:g}"
                yield title, percent, method, quantity, f"{mean(values):.{digits}f}", spread, len(values), SOURCE


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(prog="python -m sdgs.experiments._planted_mistakes", description=__doc__)
    parser.add_argument("output", type=Path, help="CSV file to write")
    parser.add_argument("--data-home", type=Path, help="folder with NAME/NAME-train.arff and so on")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    options = parser.parse_args(arguments)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(records(options.data_home, options.datasets, options.seeds))
    write_atomically(options.output, text.getvalue().encode())


if __name__ == "__main__":
    main()
