"""The other methods: growth of fits in n, p and k, cost above their base fits, other libraries, memory of sparse fits.

Times are CPU times of one thread, the medians of fits in turns, so that other work on the machine matters little.
"""

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import NearestNeighbors

from benchmarks._data import (
    Options,
    load_split,
    make_dense_samples,
    make_text_samples,
    missing_data_message,
    normalize_rows,
)
from benchmarks._measure import (
    WHY_NO_MEMORY,
    growth_exponent,
    measure_in_subprocess,
    measure_time,
    measure_times_alternately,
)
from benchmarks._report import Report, format_ratio
from sdgs.datasets import make_composite_digits
from sdgs.methods import (
    HOMER,
    MDDM,
    PLST,
    BinaryRelevance,
    ClassifierChains,
    CompressedLabels,
    CurdsAndWhey,
    HierarchicalRelevance,
    LabelPowerset,
    MLkNN,
    RAkEL,
    ReducedRankRidge,
    SharedSubspace,
    SparseLowRank,
    StackedRelevance,
)

Runs = dict[str, Callable[[], Any]]

METHODS: Runs = {
    "BinaryRelevance": lambda: BinaryRelevance(random_state=0),
    "LabelPowerset": lambda: LabelPowerset(base()),
    "RAkEL": lambda: RAkEL(base(), random_state=0),
    "ClassifierChains": lambda: ClassifierChains(base()),
    "HOMER": lambda: HOMER(base(), random_state=0),
    "HierarchicalRelevance": lambda: HierarchicalRelevance(base()),
    "StackedRelevance": lambda: StackedRelevance(base(), cv=3, random_state=0),
    "SparseLowRank": SparseLowRank,
    "SharedSubspace": SharedSubspace,
    "ReducedRankRidge": ReducedRankRidge,
    "CurdsAndWhey": lambda: CurdsAndWhey(alpha=1.0),
    "PLST": PLST,
    "CompressedLabels": lambda: CompressedLabels(random_state=0),
    "MLkNN": MLkNN,
    "MDDM": MDDM,
}
# The growing size: kind of data, its values, and the other sizes
CURVES: dict[str, tuple[str, tuple[int, ...], dict[str, int]]] = {
    "n": ("dense", (2000, 4000, 8000), {"p": 50, "k": 10}),
    "p": ("dense", (100, 200, 400), {"n": 2000, "k": 10}),
    "k": ("dense", (10, 20, 40), {"n": 1000, "p": 50}),
    "n < p, sparse": ("sparse", (500, 1000, 2000), {"p": 5000, "k": 10}),
}
MAX_LINEAR_EXPONENT = 1.3  # the solvers' iterations vary with the size
DECOMPOSING = ("SharedSubspace", "ReducedRankRidge", "CurdsAndWhey", "PLST", "CompressedLabels", "MDDM")
# Where time grows faster than the size, with a margin of 0.2
MAX_EXPONENTS = {
    ("MLkNN", "n"): 2.2,  # distances between all samples
    ("MLkNN", "n < p, sparse"): 2.2,
    ("LabelPowerset", "n"): 2.2,  # more samples have more label sets, that is more classes
    ("LabelPowerset", "n < p, sparse"): 2.2,
    ("LabelPowerset", "k"): 2.2,
    ("ClassifierChains", "k"): 2.2,  # link t has t - 1 more features
    ("StackedRelevance", "k"): 2.2,  # the second stage has k features
    ("SparseLowRank", "p"): 2.2,  # the (p, p) matrix X^T X
    **{(method, "p"): 2.2 for method in DECOMPOSING},  # the decomposition of an (n, p) matrix, p < n
    **{(method, "n < p, sparse"): 3.2 for method in DECOMPOSING},  # eigenvectors of an (n, n) matrix
}
SPARSE_SHAPE = {
    "n": 2000,
    "p": 100_000,
    "k": 5,
}  # a label powerset of many labels has many classes times p coefficients
WORDS_PER_SAMPLE = 30
MAX_OVER_BASE_FITS = 2.0
LEVEL = 1.1  # times up to this ratio count as level
SHAPES = ("emotions", "medical", "slashdot")
_SLOW = 5.0  # seconds; longer fits are repeated once only


def base() -> LogisticRegression:
    """The base learner of all methods that have one."""
    return LogisticRegression(max_iter=1000)


def run(report: Report, options: Options) -> None:
    """All tables; the paper's data if they are available, else synthetic samples."""
    warnings.simplefilter("ignore")
    _add_growth(report, options)
    data = _problems(report, options)
    _compare_with_base_fits(report, data)
    _compare_with_others(report, data)
    _measure_memory(report, options)


def _problems(report: Report, options: Options) -> dict[str, tuple[Any, Any]]:
    """Samples of unit norm and their labels; sparse samples are scipy.sparse matrices, which all libraries take."""
    reason = "--quick" if options.quick else missing_data_message(SHAPES, options.data_home)
    if reason:
        report.skip(f"the shapes of {', '.join(SHAPES)}", reason)
        return {f"synthetic, {kind}": _make(kind, 600, 60, 6, options.seed) for kind in ("dense", "sparse")}
    splits = {name: load_split(name, options.data_home) for name in SHAPES}
    data = {name: (csr_matrix(split.X) if issparse(split.X) else split.X, split.Y) for name, split in splits.items()}
    digits = make_composite_digits(1500, max_labels=2, random_state=options.seed)
    return {"sums of digits": (normalize_rows(digits.X), digits.Y)} | data


def _make(kind: str, n: int, p: int, k: int, seed: int) -> tuple[Any, Any]:
    if kind == "dense":
        return make_dense_samples(n, p, k, 3, 2, seed)[:2]
    X, Y = make_text_samples(n, p, k, WORDS_PER_SAMPLE, 2, seed)
    return csr_matrix(X), Y.toarray()


def _measure(runs: Runs, repeat: int = 3) -> dict[str, float]:
    """Median CPU time of each in turns, after one run of each; of slow ones only one further run."""
    first = sum(measure_time(run, 1, process_time)[0] for run in runs.values())
    return measure_times_alternately(runs, 1 if first > _SLOW * len(runs) else repeat, process_time)


def _add_growth(report: Report, options: Options) -> None:
    rows = []
    for method, build in METHODS.items():
        row: dict[str, Any] = {"method": method}
        for size, (kind, values, sizes) in CURVES.items():
            problems = {value: _make(kind, **(sizes | {size[0]: value}), seed=options.seed) for value in values}
            if options.quick:
                problems.pop(values[-1])
            runs = {str(value): lambda build=build, XY=XY: build().fit(*XY) for value, XY in problems.items()}
            times = list(_measure(runs).values())
            row |= {f"{size}: seconds": times, size: growth_exponent(list(problems), times)}
            bound = MAX_EXPONENTS.get((method, size), MAX_LINEAR_EXPONENT)
            report.claim_at_most(bound, f"exponent of the fit time in {size}", row[size], method, "")
        rows.append(row)
    title = "Growth of fits: exponents of the CPU time (1 doubles when the size doubles)"
    report.add_table(title, rows, {"method": ""} | dict.fromkeys(CURVES, ".2f"))


def base_fits(X: Any, Y: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Fits of methods, and what they do with other classes: base fits to data that are prepared before."""
    k = Y.shape[1]
    codes = np.unique(Y, axis=0, return_inverse=True)[1].ravel()
    varying = [t for t in range(k) if 0 < Y[:, t].sum() < len(Y)]
    inputs = {t: hstack([X, csr_matrix(Y[:, :t])], "csr") if issparse(X) else np.hstack([X, Y[:, :t]]) for t in varying}
    return {
        "LabelPowerset": (lambda: LabelPowerset(base()).fit(X, Y), lambda: base().fit(X, codes)),
        "ClassifierChains": (
            lambda: ClassifierChains(base()).fit(X, Y),
            lambda: [base().fit(inputs[t], Y[:, t]) for t in varying],
        ),
        "MLkNN": (lambda: MLkNN(10).fit(X, Y), lambda: NearestNeighbors(n_neighbors=10).fit(X).kneighbors_graph()),
    }


def _compare_with_base_fits(report: Report, data: dict[str, tuple[Any, Any]]) -> None:
    rows = []
    for name, (X, Y) in data.items():
        row: dict[str, Any] = {"data": name}
        for method, (fit, alone) in base_fits(X, Y).items():
            times = _measure({"method": fit, "base": alone}, repeat=5)
            row |= {f"{method}: seconds": times, method: times["method"] / times["base"]}
            report.claim_at_most(MAX_OVER_BASE_FITS, f"{method}: time over that of its base fits", row[method], name)
        rows.append(row)
    title = "Fits: time over the sum of their base fits; ML-kNN: over scikit-learn's NearestNeighbors"
    report.add_table(title, rows, {"data": ""} | dict.fromkeys(base_fits(X, Y), format_ratio))


def rivals(k: int) -> dict[str, tuple[Any, Any]]:
    """Classifiers of this package and of others with the same base learner, order and number of sets."""
    chain = ClassifierChains(base())
    pairs: dict[str, tuple[Any, Any]] = {"ClassifierChain, scikit-learn": (chain, ClassifierChain(base()))}
    if not find_spec("skmultilearn"):
        return pairs
    from skmultilearn.ensemble import RakelD, RakelO
    from skmultilearn.problem_transform import ClassifierChain as MultilearnChain
    from skmultilearn.problem_transform import LabelPowerset as MultilearnPowerset

    # By default it makes samples dense for classifiers of scikit-learn; here they may stay sparse.
    sparse, partial = [False, True], {"base_classifier": base(), "base_classifier_require_dense": [False, True]}
    return pairs | {
        "ClassifierChain, scikit-multilearn": (chain, MultilearnChain(base(), require_dense=sparse)),
        "LabelPowerset, scikit-multilearn": (LabelPowerset(base()), MultilearnPowerset(base(), require_dense=sparse)),
        "RakelD, scikit-multilearn": (RAkEL(base(), disjoint=True, random_state=0), RakelD(labelset_size=3, **partial)),
        "RakelO, scikit-multilearn": (
            RAkEL(base(), n_labelsets=2 * k, random_state=0),
            RakelO(labelset_size=3, model_count=2 * k, **partial),
        ),
    }


def _compare_with_others(report: Report, data: dict[str, tuple[Any, Any]]) -> None:
    if not find_spec("skmultilearn"):
        report.skip("scikit-multilearn", "not installed: pip install scikit-multilearn-ng")
    rows = []
    for name, (X, Y) in data.items():
        row: dict[str, Any] = {"data": name}
        Y = Y[:, [0 < column.sum() < len(Y) for column in Y.T]]  # constant labels are errors for some
        for method, pair in rivals(Y.shape[1]).items():
            ours, theirs = (lambda model=model, X=X, Y=Y: model.fit(X, Y).predict(X) for model in pair)
            times = _measure({"ours": ours, "theirs": theirs})
            row |= {f"{method}: seconds": times, method: times["ours"] / times["theirs"]}
            report.claim_at_most(LEVEL, f"fit and predict: time over that of {method}", row[method], name)
        rows.append(row)
    title = "Fit and predict: time over that of the same method in other libraries"
    report.add_table(title, rows, {"data": ""} | dict.fromkeys(list(rows[0])[2::2], format_ratio))


def sparse_fit_job(method: str, n: int, p: int, k: int, seed: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The job of a new process: one fit to sparse samples."""
    X, Y = _make("sparse", n, p, k, seed)
    yield "fit", lambda: METHODS[method]().fit(X, Y)


def _measure_memory(report: Report, options: Options) -> None:
    if WHY_NO_MEMORY or options.quick:
        report.skip("memory of sparse fits", WHY_NO_MEMORY or "--quick")
        return
    dense_mib = 8 * SPARSE_SHAPE["n"] * SPARSE_SHAPE["p"] / (1 << 20)
    rows = []
    for method in METHODS:
        if method == "MDDM":
            continue  # makes samples dense if there are more features than samples
        measured = measure_in_subprocess(sparse_fit_job, method=method, seed=options.seed, **SPARSE_SHAPE)["fit"]
        share = measured["peak_mib"] / dense_mib
        rows.append({"method": method, "share": share} | measured)
        report.claim_at_most(0.5, "peak memory of a sparse fit over the size of X made dense", share, method)
    n, p, k = SPARSE_SHAPE.values()
    title = f"Sparse fits, {n:,} x {p:,} with {k} labels: peak memory including X; share of X made dense"
    report.add_table(title, rows, {"method": "", "peak_mib": ".0f", "share": ".3f", "seconds": ".1f"})
