"""Serving: the library, exported Python files and ONNX graphs, by batch size, and their start, memory and file size.

Times are processor times on one thread, because a server has many processes.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import sdgs
from benchmarks._data import Options, make_text_samples
from benchmarks._measure import measure_times_alternately
from benchmarks._report import Report
from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits

BATCHES = (1, 10, 100, 1000)
MAX_DIFFERENCE = 1e-6  # of probabilities
LIBRARY, NUMPY, ONNX = "library", "Python file", "ONNX"
MAX_MS_OF_ONE = {LIBRARY: 2.0, NUMPY: 20.0, ONNX: 2.0}
MAX_START = {LIBRARY: 5.0, NUMPY: 1.0, ONNX: 1.0}
# What a new process does, from its start on.
START = {
    LIBRARY: "import sdgs, numpy as np; model = sdgs.load(path); predict = model.predict_proba",
    NUMPY: "import runpy, numpy as np; predict = runpy.run_path(path)['predict_proba']",
    ONNX: "import onnxruntime, numpy as np; options = onnxruntime.SessionOptions(); "
    "options.intra_op_num_threads = options.inter_op_num_threads = 1; "
    "session = onnxruntime.InferenceSession(path, options); "
    "predict = lambda X: session.run(None, {'X': X})",
}
PROGRAM = """
import json, sys, time
path, n_features = sys.argv[1], int(sys.argv[2])
{start}
predict(np.ones((1, n_features)))
seconds = time.process_time()
try:
    status = open("/proc/self/status").read()
    peak = float(status.partition("VmHWM:")[2].split()[0]) * 1024
except OSError:
    peak = None
print(json.dumps([seconds, peak]))
"""


def run(report: Report, options: Options) -> None:
    """Measure a model that reads codes, one that has a closed form, and one of sparse samples."""
    n = 500 if options.quick else 2000
    train = make_composite_digits(n, max_labels=2, subset="train", random_state=options.seed)
    test = make_composite_digits(max(BATCHES), max_labels=2, subset="test", random_state=options.seed + 1)
    words, tags = make_text_samples(n + max(BATCHES), 2000, 50, 60, 3, options.seed)
    cases = {
        "digits": (SDGSClassifier(random_state=0, n_jobs=1), train.X, train.Y, test.X),
        "digits, alpha=0": (SDGSClassifier(alpha=0, random_state=0, n_jobs=1), train.X, train.Y, test.X),
        "sparse text": (SDGSClassifier(random_state=0, n_jobs=1), words[:n], tags[:n], words[n:]),
    }
    with tempfile.TemporaryDirectory() as name:
        for case, (model, X, Y, X_test) in cases.items():
            model.fit(X, Y)
            title = f"{case} ({', '.join(model.read_from_)})"
            measure_model(report, title, model, X_test, Path(name))


def measure_model(report: Report, title: str, model: Any, X: Any, folder: Path) -> None:
    """Measure one model in all forms that it has."""
    predictors, paths = export_all(report, title, model, folder)
    dense = X.toarray() if hasattr(X, "toarray") else X
    samples = {form: dense if form == ONNX else X for form in predictors}
    expected = model.predict_proba(X)
    for form, predict in predictors.items():
        difference = float(np.abs(predict(samples[form]) - expected).max())
        if form != LIBRARY:
            report.claim_at_most(
                MAX_DIFFERENCE, "largest difference of probabilities", difference, f"{title}; {form}", ""
            )
    rows: dict[str, dict[str, Any]] = {form: {"form": form} for form in predictors}
    for size in BATCHES:
        calls = {form: bind(predict, samples[form][:size]) for form, predict in predictors.items()}
        for form, seconds in measure_times_alternately(calls, clock=process_time).items():
            rows[form][f"{size}"] = 1e3 * seconds
            bound = MAX_MS_OF_ONE[form] * size
            report.claim_at_most(bound, f"ms per call of {size}", 1e3 * seconds, f"{title}; {form}", "ms")
    for form, path in paths.items():
        rows[form] |= measure_start(form, path, model.n_features_in_, folder)
        for quantity, unit, bound in (("start", "s", MAX_START[form]), ("memory", "MB", 1000), ("file", "MB", 10)):
            if rows[form][quantity] is not None:
                report.claim_at_most(bound, quantity, rows[form][quantity], f"{title}; {form}", unit)
        if form == LIBRARY:
            quantity = "start, compiled"
            report.claim_at_most(60, quantity, rows[form][quantity], f"{title}; {form}", "s")
    formats = {"form": "", **{f"{size}": ".2f" for size in BATCHES}}
    formats |= {"start": ".2f", "start, compiled": ".2f", "memory": ".0f", "file": ".2f"}
    report.add_table(f"{title}: ms per call, seconds to the first prediction, MB", list(rows.values()), formats)


def export_all(
    report: Report, title: str, model: Any, folder: Path
) -> tuple[dict[str, Callable[[Any], Any]], dict[str, Path]]:
    """What predicts in each form, and the files."""
    paths = {LIBRARY: folder / "model.sdgs", NUMPY: folder / "model.py"}
    model.save(paths[LIBRARY])
    sdgs.export(model, paths[NUMPY])
    spec = importlib.util.spec_from_file_location("model", paths[NUMPY])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    predictors = {LIBRARY: model.predict_proba, NUMPY: module.predict_proba}
    if find_spec("onnx") is None or find_spec("onnxruntime") is None:
        report.skip(f"{title}; {ONNX}", "onnx and onnxruntime are not installed")
        return predictors, paths
    try:
        paths[ONNX] = sdgs.export(model, folder / "model.onnx", format="onnx")
    except ValueError as error:
        report.skip(f"{title}; {ONNX}", str(error))
        return predictors, paths
    import onnxruntime

    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = session_options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(paths[ONNX]), session_options, providers=["CPUExecutionProvider"])
    predictors[ONNX] = lambda X: session.run(["probabilities"], {"X": X})[0]
    return predictors, paths


def bind(predict: Callable[[Any], Any], X: Any) -> Callable[[], Any]:
    """A call without arguments."""
    return lambda: predict(X)


def measure_start(form: str, path: Path, n_features: int, folder: Path) -> dict[str, float | None]:
    """Processor time of a new process until its first prediction, its peak memory, and the size of the file.

    For the library also with an empty compilation cache, which is full the next time.
    """
    command = [sys.executable, "-c", PROGRAM.format(start=START[form]), str(path), str(n_features)]
    runs = []
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        for _ in range(4):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            runs.append(json.loads(done.stdout))
    compiled, *others = (seconds for seconds, _ in runs)
    peak = runs[-1][1]
    return {
        "start": float(np.median(others)),
        "start, compiled": compiled if form == LIBRARY else None,
        "memory": None if peak is None else peak / 1e6,
        "file": path.stat().st_size / 1e6,
    }
