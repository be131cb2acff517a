"""Fit and predict on samples larger than the memory of the workers: ``python -m benchmarks.larger_than_memory --gb 3``.

Dense float32 samples in Zarr, two workers with one process each. The result is compared with a fit in memory, in a
process of its own. Needs three times the size of the samples on disk and more than twice their size in memory.
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

N_FEATURES, N_LABELS, RANK = 1000, 20, 4
ROWS_PER_CHUNK = 8000  # 32 MB
ROWS_PER_COMPARISON = 1 << 18
GIB = 1 << 30
PARAMETERS: dict[str, Any] = {"n_components": RANK, "gamma": None, "random_state": 0}  # Dask has no kernel


def make_samples(start: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples that are sums of points of the subspaces of their labels and noise; ``start`` seeds the chunk."""
    rng = np.random.default_rng(0)
    bases = rng.standard_normal((N_LABELS, RANK, N_FEATURES), dtype=np.float32) / N_FEATURES**0.5
    rng = np.random.default_rng((1, start))
    Y = rng.random((n_rows, N_LABELS)) < 0.12
    Y[np.arange(n_rows), rng.integers(N_LABELS, size=n_rows)] = True
    X = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32) * np.float32(0.02)
    for i, basis in enumerate(bases):
        rows = np.flatnonzero(Y[:, i])
        X[rows] += (rng.standard_normal((rows.size, RANK), dtype=np.float32) + 1) @ basis
    return X, Y


def write_samples(folder: Path, n: int) -> csr_array:
    """Write the samples to a Zarr array, chunk by chunk; returns their labels."""
    shape, chunks = (n, N_FEATURES), (ROWS_PER_CHUNK, N_FEATURES)
    array = zarr.create_array(folder / "X.zarr", shape=shape, chunks=chunks, dtype="f4", compressors=None)
    labels = []
    for start in range(0, n, ROWS_PER_CHUNK):
        X, Y = make_samples(start, min(ROWS_PER_CHUNK, n - start))
        array[start : start + len(X)] = X
        labels.append(csr_array(Y))
    return csr_array(vstack(labels, format="csr"))


def fit_with_dask(
    folder: Path, Y: csr_array, memory_limit: int, n_workers: int
) -> tuple[SDGSClassifier, dict[str, Any]]:
    """Fit and stream probabilities to Zarr; returns the model, its times, and the peak memory of each worker."""
    measured: dict[str, Any] = {"limit_mib": memory_limit >> 20}
    options = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": memory_limit, "dashboard_address": ":0"}
    with LocalCluster(local_directory=str(folder), **options) as cluster, Client(cluster) as client:
        X = da.from_zarr(folder / "X.zarr")
        initial_workers = set(client.run(_peak_kib))
        start = perf_counter()
        model = SDGSClassifier(**PARAMETERS).fit(X, Y)
        measured["fit_s"] = perf_counter() - start
        start = perf_counter()
        model.predict_proba(X).to_zarr(folder / "P.zarr")
        measured["predict_s"] = perf_counter() - start
        peaks = client.run(_peak_kib)
        measured["peak_mib"] = [round(peak / 1024) for peak in peaks.values()]
        measured["all_workers_survived"] = set(peaks) == initial_workers
    return model, measured


def _peak_kib() -> int:
    """Peak memory of this process in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def fit_in_memory(folder: Path) -> None:
    """The process that `compare_with_fit_in_memory` starts: the same fit without Dask."""
    Path("/proc/self/oom_score_adj").write_text("1000")  # if memory runs out, the kernel ends this process first
    warnings.simplefilter("ignore")
    array = zarr.open_array(folder / "X.zarr")
    # In a memory-mapped file, so that only the working memory of training has to fit into memory.
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=array.shape)
    for start in range(0, len(X), ROWS_PER_CHUNK):
        X[start : start + ROWS_PER_CHUNK] = array[start : start + ROWS_PER_CHUNK]
    Y = pickle.loads((folder / "Y.pickle").read_bytes())
    start = perf_counter()
    model = SDGSClassifier(**PARAMETERS).fit(X, Y)
    fit_s = perf_counter() - start
    start = perf_counter()
    np.save(folder / "P.npy", model.predict_proba(X))
    (folder / "model.pickle").write_bytes(pickle.dumps((model, fit_s, perf_counter() - start)))


def compare_with_fit_in_memory(folder: Path, model: SDGSClassifier) -> dict[str, Any]:
    """Differences between the model and one that is fitted in memory."""
    subprocess.run([sys.executable, "-m", "benchmarks.larger_than_memory", "--in-memory", str(folder)], check=True)
    reference, fit_s, predict_s = pickle.loads((folder / "model.pickle").read_bytes())
    a, b = model.decomposition_, reference.decomposition_
    P, Q = zarr.open_array(folder / "P.zarr"), np.load(folder / "P.npy", mmap_mode="r")
    largest, total, n_crossed = 0.0, 0.0, 0
    for start in range(0, len(Q), ROWS_PER_COMPARISON):
        p, q = P[start : start + ROWS_PER_COMPARISON], Q[start : start + ROWS_PER_COMPARISON]
        difference = np.abs(p - q)
        largest, total = max(largest, float(difference.max())), total + float(difference.sum(dtype=np.float64))
        n_crossed += int(np.count_nonzero((p >= 0.5) != (q >= 0.5)))
    return {
        "in_memory_fit_s": fit_s,
        "in_memory_predict_s": predict_s,
        "same_choices": (model.penalty_, model.read_from_, model.scaling_)
        == (reference.penalty_, reference.read_from_, reference.scaling_),
        "sweeps": [a.n_iter, b.n_iter],
        "angle": max(_largest_angle(C, D) for C, D in zip(a.components, b.components, strict=True)),
        "objective": float(np.abs(a.objective / b.objective - 1).max()),
        "low_rank": _low_rank_difference(a, b),
        "residual": float(abs(a.residual - b.residual).max() / abs(b.residual).max()),
        "probabilities_largest": largest,
        "probabilities_mean": total / Q.size,
        "crossed_one_half": n_crossed,
    }


def _largest_angle(C: np.ndarray, D: np.ndarray) -> float:
    """Largest angle between two subspaces, in float64 because float32 cannot resolve angles below 1e-7."""
    return float(subspace_angles(C.T.astype(np.float64), D.T.astype(np.float64)).max())


def _low_rank_difference(a: Decomposition, b: Decomposition) -> float:
    """Largest relative difference of a label's low-rank part, on every hundredth of its rows."""
    largest = 0.0
    for U, C, V, D in zip(a.coefficients, a.components, b.coefficients, b.components, strict=True):
        reference = V[::100] @ D
        largest = max(largest, float(np.linalg.norm(U[::100] @ C - reference) / np.linalg.norm(reference)))
    return largest


def claims(gb: float, measured: dict[str, Any], compared: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures as rows of docs/results/speed.csv."""
    workers, memory = f"{len(measured['peak_mib'])} workers of {measured['limit_mib']} MiB", "in memory"
    differences = {
        "low-rank components, relative": "low_rank",
        "sparse residual, relative": "residual",
        "objective, relative": "objective",
        "probabilities, mean": "probabilities_mean",
        "probabilities, largest": "probabilities_largest",
        "probabilities that cross 0.5": "crossed_one_half",
    }
    rows: list[tuple[str, str, float, str]] = [
        (f"fit, {gb:g} GB", workers, measured["fit_s"], "s"),
        (f"fit, {gb:g} GB", memory, compared["in_memory_fit_s"], "s"),
        ("predict (streamed to Zarr)", workers, measured["predict_s"], "s"),
        ("predict (streamed to Zarr)", memory, compared["in_memory_predict_s"], "s"),
        ("peak memory of one worker", workers, max(measured["peak_mib"]), "MiB"),
        *((f"difference: {what}", "", compared[key], "") for what, key in differences.items()),
    ]
    names = ("quantity", "case", "value", "unit")
    return [{"subject": "larger_than_memory"} | dict(zip(names, row, strict=True)) for row in rows]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=3, help="size of the samples")
    parser.add_argument("--workers", type=int, default=2, help="number of workers")
    parser.add_argument("--limit-gib", type=float, default=1, help="memory limit per worker")
    parser.add_argument("--no-comparison", action="store_true", help="skip the fit in memory")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/larger_than_memory.json"), help="the record")
    parser.add_argument("--in-memory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_memory:
        fit_in_memory(options.in_memory)
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        n = int(options.gb * 1e9 / (4 * N_FEATURES))
        Y = write_samples(folder, n)
        (folder / "Y.pickle").write_bytes(pickle.dumps(Y))
        print(f"{n:,} x {N_FEATURES} float32, {N_LABELS} labels, {Y.nnz / n:.1f} per sample", flush=True)
        model, measured = fit_with_dask(folder, Y, int(options.limit_gib * GIB), options.workers)
        print(json.dumps(measured, indent=2), flush=True)
        if not options.no_comparison:
            compared = compare_with_fit_in_memory(folder, model)
            print(json.dumps(compared, indent=2), flush=True)
            record = {"claims": claims(options.gb, measured, compared), "workers": measured, "comparison": compared}
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
