"""A GPU against two cores of the same machine, in one run: ``SCIPY_ARRAY_API=1 python -m benchmarks.device``.

Prints a training sweep, the coding of all samples and, for growing numbers of samples, whole decompositions, fits and
predictions, on the device and on the host, each with its ratio: so from which number on the device wins. And the share
of the device's measured bandwidth that a sweep reaches.
Needs torch, and a CUDA device unless ``--device cpu`` is given, which only shows that it runs.
"""

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks._measure import environment
from sdgs import SDGSClassifier, decompose, group_lasso
from sdgs.decomposition.backends._array_api_alternation import ArrayApiAlternation
from sdgs.decomposition.backends._dense_alternation import DenseAlternation

CARDINALITY = 3  # labels of a sample
ALPHA = 0.2
CORES = 2
# Labels, features and sizes of the fits: one as people begin with, and a wide one.
FITS = (
    (20, 100, (300, 1000, 3000, 10_000, 30_000, 100_000)),
    (500, 1000, (300, 1000, 3000, 10_000, 30_000)),
)
WARM = 500  # samples of a fit before, for what is loaded and compiled


def samples(n: int, p: int, k: int, r: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of parts in the subspaces of a few labels, with noise, of unit norm, float32; and the labels."""
    rng = np.random.default_rng(seed)
    C = np.linalg.qr(rng.standard_normal((k, p, r)))[0].transpose(0, 2, 1).astype(np.float32)
    chosen = rng.integers(k, size=(n, CARDINALITY))
    X = np.float32(0.3 / np.sqrt(p)) * rng.standard_normal((n, p), dtype=np.float32)
    for label in range(k):
        rows = np.flatnonzero((chosen == label).any(axis=1))
        X[rows] += rng.standard_normal((rows.size, r), dtype=np.float32) @ C[label] / np.float32(np.sqrt(r))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.zeros((n, k), dtype=bool)
    Y[np.arange(n)[:, None], chosen] = True
    return X, Y


def timed(run: Callable[[], Any], repeat: int = 3, warm: bool = True) -> float:
    """Median seconds, all work of the device done; once before if ``warm``, for what is loaded and compiled."""
    times = []
    for _ in range(repeat + warm):
        _wait()
        start = perf_counter()
        run()
        _wait()
        times.append(perf_counter() - start)
    return float(np.median(times[warm:]))


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def sweeps(X: Any, Y: np.ndarray, r: int, seed: int) -> float:
    """Seconds of a sweep after the first."""
    rows = tuple(np.flatnonzero(column) for column in Y.T)
    ranks, K = np.full(len(rows), r), round(1e-4 * X.shape[0] * X.shape[1])
    if isinstance(X, np.ndarray):
        state: Any = DenseAlternation(X, rows, ranks, K, "brp", seed, CORES)
    else:
        state = ArrayApiAlternation(X, rows, ranks, K, "brp", seed)
    with threadpool_limits(1, user_api="blas"):  # as `decompose` has it: the threads are over rows
        for _ in range(3):  # the third is recorded, on a device that can
            state.sweep()
        return timed(state.sweep)


def bandwidth(device: str) -> float:
    """Bytes a second that the device reads and writes, by a large copy."""
    source = torch.zeros(1 << 28 if device == "cuda" else 1 << 24, device=device)
    target = torch.empty_like(source)
    return 2 * source.numel() * 4 / timed(lambda: target.copy_(source))


def main(
    n: Annotated[int, typer.Option(help="Samples.")] = 200_000,
    p: Annotated[int, typer.Option(help="Features.")] = 1000,
    k: Annotated[int, typer.Option(help="Labels.")] = 500,
    r: Annotated[int, typer.Option(help="Components of a label.")] = 4,
    device: Annotated[str, typer.Option(help="cuda, or cpu to see that it runs.")] = "cuda",
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the record.")] = Path("build/benchmarks"),
) -> None:
    """Measure a device against two cores."""
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        raise typer.BadParameter("set SCIPY_ARRAY_API=1 in the environment before Python starts.")
    if device == "cuda" and not torch.cuda.is_available():
        raise typer.BadParameter("torch finds no CUDA device; --device cpu shows that it runs.")
    # Threads that are started from here on share these cores; those of BLAS, which are there already, are no more.
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:CORES]))
    threadpool_limits(CORES)
    torch.set_num_threads(CORES)
    warnings.simplefilter("ignore", ConvergenceWarning)
    name = torch.cuda.get_device_name() if device == "cuda" else "torch on the CPU"
    record: dict[str, Any] = {"environment": environment(), "torch": torch.__version__, "device": name, "seed": seed}
    console = Console()
    console.print(f"{name} against {CORES} cores; n={n}, p={p}, k={k}, r={r}, float32")

    def compared(what: str, on_host: float, on_device: float) -> None:
        ratio = on_host / on_device
        record[what] = {"host": on_host, "device": on_device, "ratio": ratio}
        console.print(
            f"{what:<35} host {on_host:9.4f} s   device {on_device:9.4f} s   ratio {ratio:5.1f}", soft_wrap=True
        )

    with config_context(array_api_dispatch=True):
        X, Y = samples(n, p, k, r, seed)
        there = torch.asarray(X, device=device)
        compared("a sweep", sweeps(X, Y, r, seed), sweeps(there, Y, r, seed))
        components = decompose(there, Y, n_components=r, max_iter=5, random_state=seed).components
        on_host = [C.cpu().numpy() for C in components]
        compared(
            "coding",
            timed(lambda: group_lasso(X, on_host, ALPHA, tol=1e-5, n_jobs=CORES), 1),
            timed(lambda: group_lasso(there, components, ALPHA, tol=1e-5), 1),
        )
        rate = bandwidth(device)
        # What it takes at least: a label's rows of R are read twice and written once.
        moved = 3 * int(Y.sum()) * p * 4
        record["bandwidth"] = {"bytes a second": rate, "of a sweep": moved / record["a sweep"]["device"] / rate}
        for labels, features, sizes in FITS:
            X, Y = samples(max(sizes), features, labels, r, seed)
            there = torch.asarray(X, device=device)
            for size in sizes:
                some, targets, on_device = X[:size], Y[:size], there[:size]
                where = f"k={labels}, p={features}, n={size}"
                compared(f"decompose, {where}", *(_decomposed(Z, targets, r, seed) for Z in (some, on_device)))
                fits = [_fitted(Z, targets, r, seed) for Z in (some, on_device)]
                compared(f"fit, {where}", *(fit for fit, _ in fits))
                compared(f"predict, {where}", *(predict for _, predict in fits))
    share = record["bandwidth"]["of a sweep"]
    console.print(f"{rate / 1e12:.2f} TB/s measured by a copy; a sweep moves what it must at {share:.1%} of that.")
    out.mkdir(parents=True, exist_ok=True)
    (out / "device.json").write_text(json.dumps(record, indent=1) + "\n")


def _decomposed(X: Any, Y: np.ndarray, r: int, seed: int) -> float:
    return timed(lambda: decompose(X, Y, n_components=r, random_state=seed, n_jobs=CORES), 1)


def _fitted(X: Any, Y: np.ndarray, r: int, seed: int) -> tuple[float, float]:
    """Seconds of a fit, and of a prediction for the same samples."""
    model = SDGSClassifier(r, alpha=ALPHA, random_state=seed, n_jobs=CORES)
    model.fit(X[:WARM], Y[:WARM])
    fit = timed(lambda: model.fit(X, Y), 1, warm=False)
    return fit, timed(lambda: model.predict(X), 1)


if __name__ == "__main__":
    typer.run(main)
