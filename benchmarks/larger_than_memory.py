"""Fit and predict on samples larger than the memory of the workers: ``python -m benchmarks.larger_than_memory --gb 6``.

Dense float32 samples in Zarr, two workers of one process each. The same is fitted in memory afterwards, in a process of
its own, and compared. Takes room on disk for three times the samples, and memory for more than twice the samples.
"""

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import dask.array as da
import numpy as np
import zarr
from dask.distributed import Client, LocalCluster
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array, vstack

from sdgs import Decomposition, SDGSClassifier

FEATURES, LABELS, RANK = 1000, 20, 4
ROWS = 8000  # of a chunk: 32 MB
GIB = 1 << 30
PARAMETERS: dict[str, Any] = {"n_components": RANK, "random_state": 0}


def made(start: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples that are sums over subspaces of their labels, and noise."""
    bases = np.random.default_rng(0).standard_normal((LABELS, RANK, FEATURES), dtype=np.float32) / FEATURES**0.5
    rng = np.random.default_rng((1, start))
    Y = rng.random((rows, LABELS)) < 0.12
    Y[np.arange(rows), rng.integers(LABELS, size=rows)] = True
    X = rng.standard_normal((rows, FEATURES), dtype=np.float32) * np.float32(0.02)
    for i, basis in enumerate(bases):
        mine = np.flatnonzero(Y[:, i])
        X[mine] += (rng.standard_normal((mine.size, RANK), dtype=np.float32) + 1) @ basis
    return X, Y


def write_samples(folder: Path, n: int) -> csr_array:
    """The samples, into a Zarr array a chunk at a time; their labels."""
    shape, chunks = (n, FEATURES), (ROWS, FEATURES)
    store = zarr.create_array(folder / "X.zarr", shape=shape, chunks=chunks, dtype="f4", compressors=None)
    labels = []
    for start in range(0, n, ROWS):
        X, Y = made(start, min(ROWS, n - start))
        store[start : start + len(X)] = X
        labels.append(csr_array(Y))
    return csr_array(vstack(labels, format="csr"))


def on_workers(folder: Path, Y: csr_array, limit: int, workers: int) -> tuple[SDGSClassifier, dict[str, Any]]:
    """Fit, and stream probabilities to Zarr. The peak memory of each worker."""
    found: dict[str, Any] = {"limit_mib": limit >> 20}
    options = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": limit, "dashboard_address": ":0"}
    with LocalCluster(local_directory=str(folder), **options) as cluster, Client(cluster) as client:
        X = da.from_zarr(folder / "X.zarr")
        began = set(client.run(_peak))
        start = perf_counter()
        model = SDGSClassifier(**PARAMETERS).fit(X, Y)
        found["fit_s"] = perf_counter() - start
        start = perf_counter()
        model.predict_proba(X).to_zarr(folder / "P.zarr")
        found["predict_s"] = perf_counter() - start
        peaks = client.run(_peak)
        found["peak_mib"] = [round(peak / 1024) for peak in peaks.values()]
        found["all_workers_lived"] = set(peaks) == began
    return model, found


def _peak() -> int:
    """KiB that this process has had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def in_memory(folder: str) -> None:
    """The same without Dask, for `compared`."""
    Path("/proc/self/oom_score_adj").write_text("1000")  # should memory run out, this is what has to go
    warnings.simplefilter("ignore")
    home = Path(folder)
    stored = zarr.open_array(home / "X.zarr")
    # In a file, so that memory is needed for what training makes of the samples alone.
    X = np.lib.format.open_memmap(home / "X.npy", mode="w+", dtype=np.float32, shape=stored.shape)
    for start in range(0, len(X), ROWS):
        X[start : start + ROWS] = stored[start : start + ROWS]
    Y = pickle.loads((home / "Y.pickle").read_bytes())
    start = perf_counter()
    model = SDGSClassifier(**PARAMETERS).fit(X, Y)
    fit_s = perf_counter() - start
    start = perf_counter()
    np.save(home / "P.npy", model.predict_proba(X))
    (home / "model.pickle").write_bytes(pickle.dumps((model, fit_s, perf_counter() - start)))


def compared(folder: Path, model: SDGSClassifier) -> dict[str, Any]:
    """How far the model is from one that is fitted in memory."""
    subprocess.run([sys.executable, "-m", "benchmarks.larger_than_memory", "--in-memory", str(folder)], check=True)
    other, fit_s, predict_s = pickle.loads((folder / "model.pickle").read_bytes())
    a, b = model.decomposition_, other.decomposition_
    P, Q = zarr.open_array(folder / "P.zarr"), np.load(folder / "P.npy", mmap_mode="r")
    largest, total, crossed = 0.0, 0.0, 0
    for start in range(0, len(Q), 1 << 18):
        p, q = P[start : start + (1 << 18)], Q[start : start + (1 << 18)]
        away = np.abs(p - q)
        largest, total = max(largest, float(away.max())), total + float(away.sum(dtype=np.float64))
        crossed += int(np.count_nonzero((p >= 0.5) != (q >= 0.5)))
    return {
        "in_memory_fit_s": fit_s,
        "in_memory_predict_s": predict_s,
        "same_choices": (model.penalty_, model.uses_norms_, model.scaling_)
        == (other.penalty_, other.uses_norms_, other.scaling_),
        "sweeps": [a.n_iter, b.n_iter],
        "angle": max(_angle(C, D) for C, D in zip(a.components, b.components, strict=True)),
        "objective": float(np.abs(a.objective / b.objective - 1).max()),
        "low_rank": _low_rank_difference(a, b),
        "residual": float(abs(a.residual - b.residual).max() / abs(b.residual).max()),
        "probabilities_largest": largest,
        "probabilities_mean": total / Q.size,
        "crossed_one_half": crossed,
    }


def _angle(C: np.ndarray, D: np.ndarray) -> float:
    """The largest between two subspaces. In float64: float32 knows no angle below 1e-7."""
    return float(subspace_angles(C.T.astype(np.float64), D.T.astype(np.float64)).max())


def _low_rank_difference(a: Decomposition, b: Decomposition) -> float:
    """Of the labels' parts of some rows, the largest, relative to them."""
    worst = 0.0
    for U, C, V, D in zip(a.coefficients, a.components, b.coefficients, b.components, strict=True):
        other = V[::100] @ D
        worst = max(worst, float(np.linalg.norm(U[::100] @ C - other) / np.linalg.norm(other)))
    return worst


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=6, help="size of the samples")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit-gib", type=float, default=1, help="memory of a worker")
    parser.add_argument("--no-comparison", action="store_true")
    parser.add_argument("--in-memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_memory:
        in_memory(options.in_memory)
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        n = int(options.gb * 1e9 / (4 * FEATURES))
        Y = write_samples(folder, n)
        (folder / "Y.pickle").write_bytes(pickle.dumps(Y))
        print(f"{n:,} x {FEATURES} float32, {LABELS} labels, {Y.nnz / n:.1f} a sample", flush=True)
        model, found = on_workers(folder, Y, int(options.limit_gib * GIB), options.workers)
        print(json.dumps(found, indent=2), flush=True)
        if not options.no_comparison:
            print(json.dumps(compared(folder, model), indent=2), flush=True)


if __name__ == "__main__":
    main()
