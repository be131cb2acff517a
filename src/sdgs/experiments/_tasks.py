"""Execute one task and return its record."""

import hashlib
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from sdgs import metrics
from sdgs._utils._row_norms import unit_rows
from sdgs._utils._version import __version__
from sdgs.coding import group_lasso
from sdgs.datasets import REGISTRY, Dataset, find, load, load_mulan, make_label_subspaces, read_label_hierarchy
from sdgs.decomposition import decompose
from sdgs.experiments._explanation_studies import EXPLANATION_STUDIES
from sdgs.experiments._extended_comparison import DIGITS, compare, damage_data, load_digits, with_positive_samples
from sdgs.experiments._introduction_methods import measure_introduction_method
from sdgs.experiments._protocol import FREQUENCY_PARAMETERS, PLANTED, ExperimentTask, Protocol, build


def data_signature(dataset: str, data_home: Path | None) -> str:
    """A checksum of the files of a data set; raises an error that says what to do if they are not found."""
    if dataset in (PLANTED, DIGITS):
        return dataset
    digest = hashlib.sha256()
    if dataset in REGISTRY:  # reading the files verifies these checksums
        find(dataset, data_home=data_home)
        digest.update("".join(REGISTRY[dataset].files.values()).encode())
        return digest.hexdigest()[:16]
    files = [] if data_home is None else [data_home / dataset / f"{dataset}.xml"]
    files += [_arff(data_home / dataset, split) for split in ("train", "test")] if data_home else []
    if not files or not all(file.is_file() for file in files):
        folder = data_home / dataset if data_home else "the folder given by --data-home"
        raise FileNotFoundError(
            f"{dataset} is none of the paper's data sets ({', '.join(REGISTRY)}), and {folder} does not contain "
            f"{dataset}.xml, {dataset}-train.arff and {dataset}-test.arff."
        )
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def run_task(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:
    """Execute a task and return its record."""
    functions = {
        "trial": _trial,
        "statistics": _statistics,
        "frequency": _frequency,
        "convergence": _convergence,
        "introduction": _introduction,
        "beyond": _beyond,
        "explanations": _explanations,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = functions[task.kind](task, protocol, data_home)
    return {
        "kind": task.kind,
        "dataset": task.dataset,
        "method": task.method,
        "seed": task.seed,
        "damage": asdict(task.damage),
        "parameters": protocol.parameters(task),
        "fingerprint": protocol.fingerprint(task),
        "data": data_signature(task.dataset, data_home),
        **result,
        "warnings": sorted({f"{warning.category.__name__}: {warning.message}" for warning in caught}),
        "peak_memory_mib": _peak_memory_mib(),
        "environment": environment(),
    }


@lru_cache(maxsize=1)
def _load_splits(dataset: str, data_home: Path | None) -> tuple[Dataset, Dataset]:
    if dataset in REGISTRY:
        return load(dataset, "train", data_home=data_home), load(dataset, "test", data_home=data_home)
    folder = Path(data_home or ".") / dataset
    return tuple(load_mulan(_arff(folder, split), folder / f"{dataset}.xml") for split in ("train", "test"))  # type: ignore[return-value]


def _arff(folder: Path, split: str) -> Path:
    path = folder / f"{folder.name}-{split}.arff"
    return path if path.is_file() else path.with_name(f"{path.name}.gz")


@lru_cache(maxsize=1)
def _load_scaled(dataset: str, data_home: Path | None) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Features and labels of the training and the test samples, scaled in the same way for every method.

    Every sample is scaled to unit norm. Before that, dense features are standardised unless they all lie in [0, 1],
    because norms and distances of features in different units are meaningless.
    """
    train, test = _load_splits(dataset, data_home)
    if train.Y is None or test.Y is None:
        raise ValueError(
            f"{dataset} has samples without labels. They can be used neither for training nor for testing."
        )
    X, X_test = train.X, test.X
    if not issparse(X) and (X.min() < 0 or X.max() > 1):
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return unit_rows(X)[0], train.Y, unit_rows(X_test)[0], test.Y


def _trial(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:
    """Train on all training samples and test; and compute, from training samples only, the scores of the rules."""
    X, Y, X_test, Y_test = _load_scaled(task.dataset, data_home)
    parameters, seed = protocol.parameters(task), task.seed
    model = build(task.method, parameters, seed)
    # Compile and load outside the measured time, because both happen only once per process.
    with warnings.catch_warnings(action="ignore"):
        build(task.method, parameters, seed).fit(X[:40], with_positive_samples(Y[:40])).predict(X[:2])
    with measured_seconds() as fit:
        model.fit(X, Y)
    with measured_seconds() as predict:
        predicted = model.predict(X_test)
    frequency = Y.mean(axis=0)
    scores: dict[str, float | None] = {"f1_on_training_samples": None, "f1_in_cross_validation": None}
    with measured_seconds() as choosing:
        if len(protocol.groups[task.method]) > 1:
            scores["f1_on_training_samples"] = metrics.f1(Y, model.predict(X))
            scores["f1_in_cross_validation"] = _cross_validated_f1(task, protocol, X, Y)
    return {
        "selection": scores,
        "test": metrics.evaluate(Y_test, predicted),
        "frequency_of_predicted_labels": float((predicted @ frequency).sum() / max(predicted.sum(), 1)),
        "frequency_of_true_labels": float((Y_test @ frequency).sum() / max(Y_test.sum(), 1)),
        "seconds": {"fit": fit, "predict": predict, "choosing": choosing},
        "labels": [int(label) for label in model.labels_] if task.method == "floor" else None,
    }


def _cross_validated_f1(task: ExperimentTask, protocol: Protocol, X: Any, Y: NDArray[Any]) -> float:
    """Mean F1 over the folds."""
    rows = np.arange(len(Y))
    subsample = len(Y) > protocol.max_rows
    if subsample:
        rows = np.sort(np.random.default_rng(task.seed).choice(len(Y), protocol.max_rows, replace=False))
    scores = []
    for train, test in KFold(protocol.folds, shuffle=True, random_state=task.seed).split(rows):
        model = build(task.method, protocol.parameters(task), task.seed).fit(X[rows[train]], Y[rows[train]])
        scores.append(metrics.f1(Y[rows[test]], model.predict(X[rows[test]])))
        if subsample:
            break
    return float(np.mean(scores))


def _statistics(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:  # noqa: ARG001
    """The statistics of the paper's table of data sets, and some more, over training and test samples together."""
    train, test = _load_splits(task.dataset, data_home)
    X = vstack([train.X, test.X]) if issparse(train.X) else np.vstack([train.X, test.X])
    Y = None if train.Y is None or test.Y is None else np.vstack([train.Y, test.Y])
    whole = Dataset(X, Y, train.feature_names, train.label_names, task.dataset, train.dropped)
    imbalance = [value for value in whole.statistics().imbalance.values() if np.isfinite(value)]
    return {
        "n_train": train.X.shape[0],
        "n_test": test.X.shape[0],
        **asdict(whole.statistics()),
        "median_imbalance": float(np.median(imbalance)),
        "dropped": [list(pair) for pair in whole.dropped],
    }


def _frequency(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:  # noqa: ARG001
    """F1 of SDGS if only the m most frequent labels have a subspace at prediction."""
    X, Y, X_test, Y_test = _load_scaled(task.dataset, data_home)
    model = build("sdgs", FREQUENCY_PARAMETERS, 0).fit(X, Y)
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    k = Y.shape[1]
    sizes = sorted({min(m, k) for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, k)})
    scores = []
    for m in sizes:
        frequent = set(order[:m].tolist())
        components = [C if i in frequent else C[:0] for i, C in enumerate(model.components_)]
        norms = group_lasso(X_test, components, model.alpha).l1_norms()
        scores.append(metrics.f1(Y_test, (norms >= model.threshold).astype(np.int8)))
    return {
        "most_frequent": sizes,
        "f1": scores,
        "directions": sum(len(C) for C in model.components_),
        "n_features": X.shape[1],
        "median_label_samples": int(np.median(Y.sum(axis=0))),
        "n_train": len(Y),
        "largest_frequencies": [float(value) for value in Y.mean(axis=0)[order[:4]]],
    }


def _convergence(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:  # noqa: ARG001
    """Relative error after each sweep, per solver, with the same data and seed."""
    if task.dataset == PLANTED:
        data = make_label_subspaces(1500, 200, 20, n_components=3, spikes=0.002, random_state=0)
        X, Y, rank, share = unit_rows(data.X)[0], data.Y, 3, 0.002
    else:
        X, Y, _, _ = _load_scaled(task.dataset, data_home)
        rank, share = 4, 1e-4
    total = float((X.multiply(X) if issparse(X) else X**2).sum())
    curves: dict[str, Any] = {}
    stopping: dict[str, Any] = {"max_iter": 15, "tol": 1e-14}
    for solver in ("svd", "brp", "brp-fresh"):
        with measured_seconds() as seconds:
            result = decompose(X, Y, n_components=rank, residual_size=share, solver=solver, **stopping, random_state=0)
        curves[solver] = {"error": (result.objective / total).tolist(), "seconds": seconds}
    return {"rank": rank, "curves": curves}


def _introduction(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:  # noqa: ARG001
    """A method that the paper's introduction names."""
    folder = (
        find(task.dataset, data_home=data_home) if task.dataset in REGISTRY else (data_home or Path()) / task.dataset
    )
    parents = read_label_hierarchy(folder / f"{task.dataset}.xml")
    data = _load_scaled(task.dataset, data_home)
    return measure_introduction_method(task.method, data, parents, task.seed, measured_seconds)


def _beyond(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:  # noqa: ARG001
    """A tuned method on clean or damaged data."""
    damage, seed = task.damage, task.seed
    if task.dataset == DIGITS:
        data = load_digits(seed, damage)
        if damage.kind == "missing":
            data = damage_data(data, damage, seed)
    else:
        train, test = _load_splits(task.dataset, data_home)
        if train.Y is None or test.Y is None:
            raise ValueError(
                f"{task.dataset} has samples without labels. They can be used neither for training nor for testing."
            )
        data = (train.X, train.Y, test.X, test.Y)
        if damage.kind != "clean":
            data = damage_data(data, damage, seed)
    return compare(data, task.method, seed, measured_seconds)


def _explanations(task: ExperimentTask, protocol: Protocol, data_home: Path | None) -> dict[str, Any]:  # noqa: ARG001
    """A measurement of explanations, on training samples."""
    return EXPLANATION_STUDIES[task.method].measure(_load_splits(task.dataset, data_home)[0], task.seed)


@contextmanager
def measured_seconds() -> Iterator[dict[str, float]]:
    """CPU and wall seconds of the block, which are known at its end."""
    seconds: dict[str, float] = {}
    wall, cpu = perf_counter(), process_time()
    yield seconds
    seconds["cpu"], seconds["wall"] = process_time() - cpu, perf_counter() - wall


def _peak_memory_mib() -> float | None:
    """The peak memory of this process, which executes the tasks of one method on one data set; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """Versions and hardware, which the times and the last digits depend on."""
    libraries = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "sdgs": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in libraries},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
