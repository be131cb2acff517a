"""A GPU compared with two cores of its host, in one run: ``SCIPY_ARRAY_API=1 python -m benchmarks.device``.

Prints the times on host and device and their ratio: of a training sweep, of coding all samples and, for growing numbers
of samples, of decompositions, fits and predictions, which shows from which number on the device is faster. Also prints
the share of the device's measured bandwidth that a sweep reaches.
Needs torch, and a CUDA device unless ``--device cpu`` is given, which only checks that the benchmark runs.
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
from scipy.sparse import csc_array
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks._measure import describe_environment
from sdgs import SDGSClassifier, decompose, group_lasso
from sdgs.decomposition._problem import Problem
from sdgs.decomposition.backends._array_api_alternation import ArrayApiAlternation
from sdgs.decomposition.backends._dense_alternation import DenseAlternation

LABELS_PER_SAMPLE = 3
ALPHA = 0.2
N_CORES = 2
# Labels, features and numbers of samples of the fits: a wide problem and a small one
FIT_SHAPES = (
    (500, 1000, (300, 1000, 3000, 10_000, 30_000)),
    (20, 100, (300, 1000, 3000, 10_000, 30_000, 100_000)),
)
N_WARM_UP_SAMPLES = 500  # of a fit before the measured one, which imports and compiles


def make_samples(n: int, p: int, k: int, r: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of points of the subspaces of a few labels and noise, of unit norm, float32; and the labels."""
    rng = np.random.default_rng(seed)
    C = np.linalg.qr(rng.standard_normal((k, p, r)))[0].transpose(0, 2, 1).astype(np.float32)
    sample_labels = rng.integers(k, size=(n, LABELS_PER_SAMPLE))
    X = np.float32(0.3 / np.sqrt(p)) * rng.standard_normal((n, p), dtype=np.float32)
    for label in range(k):
        rows = np.flatnonzero((sample_labels == label).any(axis=1))
        X[rows] += rng.standard_normal((rows.size, r), dtype=np.float32) @ C[label] / np.float32(np.sqrt(r))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.zeros((n, k), dtype=bool)
    Y[np.arange(n)[:, None], sample_labels] = True
    return X, Y


def measure_time(run: Callable[[], Any], repeat: int = 3, warm_up: bool = True) -> float:
    """Median seconds until the device has finished; ``warm_up`` adds a first run that does not count."""
    times = []
    for _ in range(repeat + warm_up):
        _synchronize()
        start = perf_counter()
        run()
        _synchronize()
        times.append(perf_counter() - start)
    return float(np.median(times[warm_up:]))


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def time_sweep(X: Any, Y: np.ndarray, r: int, seed: int) -> float:
    """Seconds of a sweep after the first three."""
    problem = Problem(
        shape=X.shape,
        labels=csc_array(Y),
        ranks=np.full(Y.shape[1], r),
        K=round(1e-4 * X.shape[0] * X.shape[1]),
        solver="brp",
        seed=seed,
        max_iter=100,
        tol=1e-4,
        n_jobs=N_CORES,
        checkpoint_folder=None,
    )
    state: Any = DenseAlternation(X, problem) if isinstance(X, np.ndarray) else ArrayApiAlternation(X, problem)
    with threadpool_limits(1, user_api="blas"):  # as in `decompose`, whose threads work on separate rows
        for _ in range(3):  # the third sweep records the CUDA graph
            state.sweep()
        return measure_time(state.sweep)


def measure_bandwidth(device: str) -> float:
    """Bytes per second that the device reads and writes in a large copy."""
    source = torch.zeros(1 << 28 if device == "cuda" else 1 << 24, device=device)
    target = torch.empty_like(source)
    return 2 * source.numel() * 4 / measure_time(lambda: target.copy_(source))


def main(
    n: Annotated[int, typer.Option(help="Samples.")] = 200_000,
    p: Annotated[int, typer.Option(help="Features.")] = 1000,
    k: Annotated[int, typer.Option(help="Labels.")] = 500,
    r: Annotated[int, typer.Option(help="Components per label.")] = 4,
    device: Annotated[str, typer.Option(help="cuda, or cpu to check that the benchmark runs.")] = "cuda",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the record.")] = Path("build/benchmarks"),
) -> None:
    """Compare a device with two cores of its host."""
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        raise typer.BadParameter("set SCIPY_ARRAY_API=1 in the environment before Python starts.")
    if device == "cuda" and not torch.cuda.is_available():
        raise typer.BadParameter("torch finds no CUDA device; --device cpu checks that the benchmark runs.")
    # The affinity applies to threads that start from here on; BLAS has started its threads, so their number is limited.
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:N_CORES]))
    threadpool_limits(N_CORES)
    torch.set_num_threads(N_CORES)
    warnings.simplefilter("ignore", ConvergenceWarning)
    name = torch.cuda.get_device_name() if device == "cuda" else "torch on the CPU"
    versions = {"environment": describe_environment(), "torch": torch.__version__}
    record: dict[str, Any] = versions | {"device": name, "seed": seed}
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    console.print(f"{name} compared with {N_CORES} cores; n={n}, p={p}, k={k}, r={r}, float32")

    def report(quantity: str, host_time: float, device_time: float) -> None:
        ratio = host_time / device_time
        record[quantity] = {"host": host_time, "device": device_time, "ratio": ratio}
        (out / "device.json").write_text(json.dumps(record, indent=1) + "\n")  # an interrupted run keeps its results
        line = f"{quantity:<35} host {host_time:9.4f} s   device {device_time:9.4f} s   ratio {ratio:5.1f}"
        console.print(line, soft_wrap=True)

    with config_context(array_api_dispatch=True):
        X, Y = make_samples(n, p, k, r, seed)
        X_device = torch.asarray(X, device=device)
        report("sweep", time_sweep(X, Y, r, seed), time_sweep(X_device, Y, r, seed))
        components = decompose(X_device, Y, n_components=r, max_iter=5, random_state=seed).components
        host_components = [C.cpu().numpy() for C in components]
        report(
            "coding",
            measure_time(lambda: group_lasso(X, host_components, ALPHA, tol=1e-5, n_jobs=N_CORES), 1),
            measure_time(lambda: group_lasso(X_device, components, ALPHA, tol=1e-5), 1),
        )
        bandwidth = measure_bandwidth(device)
        # The least that a sweep must move: for each label, its rows of R are read twice and written once.
        share = 3 * int(Y.sum()) * p * 4 / record["sweep"]["device"] / bandwidth
        record["bandwidth"] = {"bytes per second": bandwidth, "share of a sweep": share}
        for n_labels, n_features, sizes in FIT_SHAPES:
            X, Y = make_samples(max(sizes), n_features, n_labels, r, seed)
            X_device = torch.asarray(X, device=device)
            for size in sizes:
                _compare_fits(report, X[:size], X_device[:size], Y[:size], r, seed)
    console.print(f"A copy reaches {bandwidth / 1e12:.2f} TB/s; a sweep moves its data at {share:.1%} of that.")
    (out / "device.json").write_text(json.dumps(record, indent=1) + "\n")


def _compare_fits(
    report: Callable[[str, float, float], None], X: np.ndarray, X_device: Any, Y: np.ndarray, r: int, seed: int
) -> None:
    shape = f"k={Y.shape[1]}, p={X.shape[1]}, n={X.shape[0]}"
    report(f"decompose, {shape}", *(_time_decompose(Z, Y, r, seed) for Z in (X, X_device)))
    times = [_time_fit_and_predict(Z, Y, r, seed) for Z in (X, X_device)]
    report(f"fit, {shape}", *(fit_time for fit_time, _ in times))
    report(f"predict, {shape}", *(predict_time for _, predict_time in times))


def _time_decompose(X: Any, Y: np.ndarray, r: int, seed: int) -> float:
    return measure_time(lambda: decompose(X, Y, n_components=r, random_state=seed, n_jobs=N_CORES), 1)


def _time_fit_and_predict(X: Any, Y: np.ndarray, r: int, seed: int) -> tuple[float, float]:
    """Seconds of a fit, and of a prediction for the same samples."""
    model = SDGSClassifier(r, alpha=ALPHA, random_state=seed, n_jobs=N_CORES)
    model.fit(X[:N_WARM_UP_SAMPLES], Y[:N_WARM_UP_SAMPLES])
    fit_time = measure_time(lambda: model.fit(X, Y), 1, warm_up=False)
    return fit_time, measure_time(lambda: model.predict(X), 1)


if __name__ == "__main__":
    typer.run(main)
