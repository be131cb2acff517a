"""The process that `benchmarks.cross_validation` starts: it measures fits with the version of sdgs that its Python has.

Imports nothing of this package, because another environment may not have what it needs.
"""

import json
import sys
import warnings
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import sdgs
from sdgs.datasets import load, make_composite_digits
from sdgs.metrics import f1

DIGITS = "sums of digits"
MAX_ROWS = 6000  # a random subset of larger sets, which is Mediamill
N_FOLDS = 3
SEED = 0


def load_samples(name: str, data_home: str | None) -> tuple[Any, Any]:
    """Training samples and labels."""
    digits = name == DIGITS
    data: Any = (
        make_composite_digits(1500, subset="train", random_state=SEED)
        if digits
        else load(name, "train", data_home=data_home)
    )
    rows = np.random.default_rng(SEED).permutation(data.X.shape[0])[:MAX_ROWS]
    return data.X[rows], data.Y[rows]


def build(classifier: str, options: dict[str, Any]) -> Any:
    """An estimator by its name."""
    return getattr(sdgs, classifier)(**options, random_state=SEED, n_jobs=1)


def measure(name: str, fold: int, classifier: str, options: dict[str, Any], data_home: str | None) -> dict[str, float]:
    """F1 in percent of one fold, and CPU seconds of the fit."""
    X, Y = load_samples(name, data_home)
    is_test = np.arange(X.shape[0]) % N_FOLDS == fold
    model = build(classifier, options)
    start = process_time()
    model.fit(X[~is_test], Y[~is_test])
    seconds = process_time() - start
    return {"f1": 100 * f1(Y[is_test], model.predict(X[is_test])), "seconds": seconds}


def main(data_home: str | None) -> None:
    """Answer each line of standard input; fits to few samples compile before."""
    warnings.simplefilter("ignore")
    data = make_composite_digits(150, random_state=SEED)
    for classifier in ("SDGSClassifier", "SDGSClassifierCV"):
        for X in (data.X, csr_array(data.X)):
            build(classifier, {}).fit(X, data.Y).predict(X)
    for line in sys.stdin:
        print(json.dumps(measure(*json.loads(line), data_home)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:] or [None])
