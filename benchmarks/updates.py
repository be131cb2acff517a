"""Updates: ten batches of training samples learnt one after another, compared with one fit to all of them.

``OPENBLAS_NUM_THREADS=1 python -m benchmarks.updates docs/results/updates.csv --data-home FOLDER``

Only training samples are used: four fifths are learnt, and the others are predicted. ``sample`` is the alternative to
updates: a fit to a random sample of ``keep_samples`` of all samples. In the order ``new label`` a label with about a
tenth of the samples occurs only from the fifth batch on, where its column is new; ``label F1`` is that of this label.
"""

import argparse
import csv
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks._measure import measure_in_subprocess
from sdgs import SDGSClassifier
from sdgs.datasets import load, load_mulan
from sdgs.metrics import evaluate

Rows = NDArray[np.intp]

N_BATCHES, NEW_LABEL_BATCH = 10, 4
ORDERS = ("random", "file", "new label")
DATA = {"scene": 3, "enron": 3, "yahoo-arts": 3, "mediamill": 1}  # and the number of seeds
KEPT: dict[str, tuple[int, ...]] = {"mediamill": (10_000, 5000)}  # of the others all, and half
OPTIONS = {"random_state": 0, "n_jobs": 1}


def read(name: str, data_home: Path) -> tuple[Any, pd.DataFrame]:
    """Training samples and their labels."""
    if name == "scene":
        data = load_mulan(next((data_home / name).glob(f"{name}-train.arff*")), data_home / name / f"{name}.xml")
    else:
        data = load(name, "train", data_home=data_home)
    return data.X, pd.DataFrame(data.Y, columns=list(map(str, data.label_names)))


def split(Y: pd.DataFrame, order: str, seed: int) -> tuple[list[Rows], Rows, str]:
    """The batches, the rows that are predicted, and the new label or an empty string."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(Y))
    test, train = rows[: len(Y) // 5], rows[len(Y) // 5 :]
    if order == "file":
        train = np.sort(train)
    if order != "new label":
        return np.array_split(train, N_BATCHES), test, ""
    label = (Y.mean() - 0.1).abs().idxmin()
    has_label = Y[label].to_numpy()[train] == 1
    n_first = NEW_LABEL_BATCH * len(train) // N_BATCHES
    first = train[~has_label][:n_first]
    rest = rng.permutation(np.setdiff1d(train, first))
    batches = [*np.array_split(first, NEW_LABEL_BATCH), *np.array_split(rest, N_BATCHES - NEW_LABEL_BATCH)]
    return batches, test, str(label)


def learn(X: Any, Y: pd.DataFrame, batches: list[Rows], new_label: str, keep_samples: int) -> tuple[Any, list[float]]:
    """A model that has learnt all batches, and the processor time of each."""
    model, seconds = SDGSClassifier(**OPTIONS, keep_samples=keep_samples), []
    for i, rows in enumerate(batches):
        y = Y.iloc[rows]
        if new_label and i < NEW_LABEL_BATCH:
            y = y.drop(columns=new_label)
        start = process_time()
        (model.update if i else model.fit)(X[rows], y)
        seconds.append(process_time() - start)
    return model, seconds


def measure(name: str, order: str, seed: int, data_home: Path) -> Iterator[dict[str, Any]]:
    """Records of one fit and of updates."""
    X, Y = read(name, data_home)
    batches, test, label = split(Y, order, seed)
    train = np.concatenate(batches)
    labels = Y.columns if not label else [*Y.columns.drop(label), label]
    true, expected = Y.iloc[test][labels].reset_index(drop=True), None

    def record(design: str, keep: int | str, model: Any, seconds: list[float]) -> dict[str, Any]:
        P, predicted = model.predict_proba(X[test])[list(labels)], model.predict(X[test])[list(labels)]
        change = "" if expected is None else round(float((P - expected).abs().to_numpy().mean()), 6)
        label_f1: float | str = ""
        if label:
            both = 2 * (true[label] * predicted[label]).sum() / max(true[label].sum() + predicted[label].sum(), 1)
            label_f1 = round(100 * float(both), 3)
        f1 = evaluate(true.to_numpy(), predicted.to_numpy())["f1"]
        return {
            "dataset": name,
            "order": order,
            "seed": seed,
            "samples": train.size,
            "design": design,
            "keep_samples": keep,
            "f1": round(100 * f1, 3),
            "label_f1": label_f1,
            "probability_change": change,
            "seconds": round(sum(seconds), 2),
            "last_seconds": round(seconds[-1], 3),
        }

    start = process_time()
    model = SDGSClassifier(**OPTIONS).fit(X[train], Y.iloc[train][labels])
    yield record("fit", "", model, [process_time() - start])
    expected = model.predict_proba(X[test])[list(labels)]
    sizes = KEPT.get(name, (10_000, train.size // 2))
    sizes = sizes[-1:] if label else sizes  # while samples are kept a new label is learnt as in one fit
    for keep in sizes:
        yield record("update", keep, *learn(X, Y, batches, label, keep))
    if order == "random":
        yield record("update", 0, *learn(X, Y, batches, label, 0))
        rows = np.random.default_rng(seed).choice(train, sizes[-1], replace=False)
        start = process_time()
        model = SDGSClassifier(**OPTIONS).fit(X[rows], Y.iloc[rows])
        yield record("sample", sizes[-1], model, [process_time() - start])


def growth_job(keep_samples: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Updates with 2,000 samples each of the shape of Mediamill: time and peak memory of each."""
    from sdgs.datasets import make_label_subspaces

    data = make_label_subspaces(20_000, 120, 40, n_components=2, noise=0.3, random_state=0)
    model = SDGSClassifier(**OPTIONS, keep_samples=keep_samples)
    for i, start in enumerate(range(0, 20_000, 2000)):
        rows = slice(start, start + 2000)
        learn = model.update if i else model.fit
        yield str(i), lambda rows=rows, learn=learn: learn(data.X[rows], data.Y[rows])  # type: ignore[misc]


def growth(keep_samples: int) -> Iterator[dict[str, Any]]:
    """Records of the time and the peak memory of each update."""
    job = import_module("benchmarks.updates").growth_job  # the new process cannot import __main__
    for step, measured in measure_in_subprocess(job, keep_samples=keep_samples).items():
        yield {
            "dataset": "synthetic",
            "samples": 2000 * (int(step) + 1),
            "design": "memory",
            "keep_samples": keep_samples,
            "last_seconds": round(measured["seconds"], 3),
            "mib": round(measured["peak_mib"], 1),
        }


COLUMNS = (
    "dataset",
    "order",
    "seed",
    "samples",
    "design",
    "keep_samples",
    "f1",
    "label_f1",
    "probability_change",
    "seconds",
    "last_seconds",
    "mib",
    "source",
)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the record: a CSV file")
    parser.add_argument("--data-home", type=Path, required=True, help="folder of the paper's data")
    parser.add_argument("--data", nargs="+", choices=(*DATA, "synthetic"), default=[*DATA, "synthetic"])
    options = parser.parse_args()
    with options.output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for name in options.data:
            if name == "synthetic":
                records = growth(3000)
            else:
                tasks = [(order, seed) for order in ORDERS for seed in range(DATA[name])]
                records = (r for order, seed in tasks for r in measure(name, order, seed, options.data_home))
            for record in records:
                writer.writerow(record | {"source": "updates"})
                file.flush()
                print(*record.values(), flush=True)


if __name__ == "__main__":
    main()
