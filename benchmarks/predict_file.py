"""Predict a file larger than memory should hold: ``python -m benchmarks.predict_file --gb 2``.

Sparse samples that resemble text, in svmlight, are predicted by `sdgs predict` in a process of its own. Needs the size
of the file on disk.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sklearn.datasets import dump_svmlight_file

from benchmarks._data import make_text_samples

SHAPE = {"n": 20_000, "p": 5000, "k": 50, "words_per_sample": 77, "labels_per_sample": 3}
N_TRAIN = 3000
N_THREADS = 2


def write_files(folder: Path, n_bytes: float) -> int:
    """Write samples to train, one sample, and samples that are repeated up to this size; returns their number."""
    X, Y = make_text_samples(seed=0, **SHAPE)
    for name, n in (("one", 1), ("train", N_TRAIN), ("many", SHAPE["n"])):
        dump_svmlight_file(X[:n], Y[:n], str(folder / f"{name}.svm"), multilabel=True, zero_based=False)
    content = (folder / "many.svm").read_bytes()
    repetitions = max(round(n_bytes / len(content)), 1)
    with (folder / "many.svm").open("ab") as file:
        for _ in range(repetitions - 1):
            file.write(content)
    return SHAPE["n"] * repetitions


# In a process of its own, because a new process begins with the memory of the one that starts it.
MEASURE = """
import json, resource, subprocess, sys
subprocess.run([sys.executable, "-m", "sdgs", *sys.argv[1:]], check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"seconds": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss * 1024 / 1e6}))
"""


def measure(folder: Path, *arguments: str) -> dict[str, float]:
    """Processor time and peak memory of a command of sdgs."""
    command = [sys.executable, "-c", MEASURE, *arguments, "--jobs", str(N_THREADS)]
    process = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=2, help="size of the file")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/predict_file.json"), help="the record")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        n = write_files(folder, options.gb * 1e9)
        measure(folder, "fit", "train.svm", "--output", "model.sdgs")
        prediction = ("predict", "model.sdgs", "--output", "predicted.csv")
        measure(folder, *prediction, "one.svm")  # compiles
        start, whole = measure(folder, *prediction, "one.svm"), measure(folder, *prediction, "many.svm")
        size = (folder / "many.svm").stat().st_size / 1e9
    quantity = f"`sdgs predict`: {size:.1f} GB of svmlight, {n:,} x {SHAPE['p']}, {SHAPE['k']} labels, two threads"
    values: list[dict[str, Any]] = [
        {"case": "processor time", "value": whole["seconds"], "unit": "s"},
        {"case": "peak memory", "value": whole["mb"], "unit": "MB"},
        {"case": "memory with a file of one sample", "value": start["mb"], "unit": "MB"},
    ]
    record = {"claims": [{"subject": "predict_file", "quantity": quantity} | value for value in values]}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
