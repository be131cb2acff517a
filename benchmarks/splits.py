"""Stratified splits compared with iterative-stratification and scikit-multilearn-ng: speed, and equality of folds."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import issparse

from benchmarks._data import Options, make_text_samples, missing_data_message
from benchmarks._measure import measure_times_alternately
from benchmarks._report import Report, format_ratio
from sdgs.datasets import load
from sdgs.model_selection import FoldQuality, MultilabelStratifiedKFold, fold_quality

Splitter = Callable[[Any, int, int, int], Iterator[tuple[Any, Any]]]
DATA_SETS = (
    "corel5k",
    "emotions",
    "enron",
    "genbase",
    "medical",
    "slashdot",
    "yahoo-arts",
    "yahoo-education",
    "yahoo-recreation",
    "yahoo-science",
)
N_SEEDS = 10
MIN_SPEED_UP = 10  # over the faster other library
MAX_SECONDS = 1.0


def split_sdgs(Y: Any, n_splits: int, seed: int, order: int = 1) -> Iterator[tuple[Any, Any]]:
    """Split with this project."""
    return MultilabelStratifiedKFold(n_splits, random_state=seed, order=order).split(Y, Y)


def split_trent_b(Y: Any, n_splits: int, seed: int, order: int = 1) -> Iterator[tuple[Any, Any]]:  # noqa: ARG001
    """Split with iterative-stratification."""
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold as OtherKFold

    return OtherKFold(n_splits, shuffle=True, random_state=seed).split(Y, Y)


def split_skmultilearn(Y: Any, n_splits: int, seed: int, order: int = 1) -> Iterator[tuple[Any, Any]]:
    """Split with scikit-multilearn-ng, with the samples in random order, which it does not shuffle itself."""
    from skmultilearn.model_selection import IterativeStratification

    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(Y))
    np.random.seed(seed)  # noqa: NPY002 (it draws from the global generator)
    for train, test in IterativeStratification(n_splits=n_splits, order=order).split(Y[rows], Y[rows]):
        yield rows[train], rows[test]


OTHERS: dict[str, tuple[str, Splitter]] = {
    "iterative-stratification": ("iterstrat", split_trent_b),
    "scikit-multilearn-ng": ("skmultilearn", split_skmultilearn),
}


def run(report: Report, options: Options) -> None:
    """Speed on synthetic labels, and the equality of the folds of real labels."""
    others = {}
    for name, (module, splitter) in OTHERS.items():
        if find_spec(module):
            others[name] = splitter
        else:
            report.skip(name, f"not installed: pip install {name}")
    _measure_speed(report, options, others)
    reason = "--quick" if options.quick else missing_data_message(DATA_SETS, options.data_home)
    if reason:
        report.skip("splits of real labels", reason)
        return
    _measure_quality(report, options, others)


def _measure_speed(report: Report, options: Options, others: dict[str, Splitter]) -> None:
    """Ten folds, from labels in the form that each library takes to the rows of all folds."""
    n, k = (10_000 if options.quick else 100_000), 100
    _, Y = make_text_samples(n, 1000, k, 2, 3, options.seed)
    dense, case = Y.toarray(), f"{n:,} samples, {k} labels, 10 folds"
    list(split_sdgs(dense[:100], 10, 0))  # compile
    runs: dict[str, Callable[[], Any]] = {
        "sdgs": lambda: list(split_sdgs(dense, 10, 0)),
        **{name: lambda split=split: list(split(dense, 10, 0, 1)) for name, split in others.items()},
    }
    times = measure_times_alternately(runs, 1 if options.quick else 5)
    second_order = measure_times_alternately({"sdgs": lambda: list(split_sdgs(dense, 10, 0, 2))})["sdgs"]
    rows = [{"library": name, "seconds": time, "ratio": time / times["sdgs"]} for name, time in times.items()]
    rows.append({"library": "sdgs, order=2", "seconds": second_order, "ratio": second_order / times["sdgs"]})
    report.add_table(f"Splits: {case}", rows, {"library": "", "seconds": ".3f", "ratio": format_ratio})
    report.claim_at_most(MAX_SECONDS, "time", times["sdgs"], case, "s")
    report.claim_at_most(2 * MAX_SECONDS, "time, second order", second_order, case, "s")
    if others:
        fastest = min(times[name] for name in others)
        report.claim_at_least(MIN_SPEED_UP, "speed-up over the faster other library", fastest / times["sdgs"], case)


def _measure_quality(report: Report, options: Options, others: dict[str, Splitter]) -> None:
    """Means over seeds of the measures of fold quality; the claims compare with the better other library."""
    for n_splits in (5, 10):
        rows = []
        for name in DATA_SETS:
            Y = load(name, "train", data_home=options.data_home).Y
            Y = np.asarray(Y.toarray() if issparse(Y) else Y).astype(np.int8)
            quality = {
                library: _mean_quality(Y, n_splits, split) for library, split in {"sdgs": split_sdgs, **others}.items()
            }
            rows += [{"data set": name, "library": library} | values for library, values in quality.items()]
            case, own = f"{name}, {n_splits} folds", quality.pop("sdgs")
            report.claim_at_most(0.5, "fold size (ED)", own["fold_size"], case, "samples")
            for measure, title in (
                ("label_distribution", "label distribution (LD) over that of the better other library"),
                ("labels_lacking_in_folds", "labels lacking in folds (FLZ) over those of the better other library"),
                ("folds_lacking_labels", "folds lacking labels (FZ) over those of the better other library"),
            ):
                best = min((values[measure] for values in quality.values()), default=np.nan)
                ratio = 1.0 if own[measure] == best else own[measure] / best
                report.claim_at_most(1.0, title, ratio, case)
        formats = {"data set": "", "library": "", "label_distribution": ".5f", "fold_size": ".2f"}
        title = f"Splits: {n_splits} folds, means over {N_SEEDS} seeds"
        report.add_table(
            title, rows, formats | dict.fromkeys(("folds_lacking_labels", "labels_lacking_in_folds"), ".2f")
        )


def _mean_quality(Y: np.ndarray, n_splits: int, split: Splitter) -> dict[str, float]:
    """The mean over seeds of each measure."""
    qualities = [fold_quality(Y, split(Y, n_splits, seed, 1)) for seed in range(N_SEEDS)]
    return {name: float(np.mean([getattr(q, name) for q in qualities])) for name in FoldQuality.__dataclass_fields__}
