"""Kill a fit, a search and comparisons of methods many times, and continue each time from what was stored.

``python tests/soak/kill_and_resume.py 20`` kills each of them 20 times with SIGKILL, at random times, and exits with 1
if a result differs in a single bit from that of an undisturbed run, or if a temporary file is left. Times, which are
part of the records of a search and of a comparison, are not compared.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces
from sdgs.persistence._checkpoint import Checkpoint

TIMES = ("seconds", "seconds_of_all_candidates", "peak_memory_mib", "environment")  # of a record of a comparison
DATASETS = ("one",)


class Work:
    """Something to kill: it starts in a process of its own, and has a result when it has ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, name: str) -> int:
        """The id of a process that works in the folder of this name, where it continues what it finds."""
        raise NotImplementedError

    def result(self, name: str) -> object:
        """What is compared."""
        raise NotImplementedError


class Fit(Work):
    """A fit with checkpoints after every sweep. Its result is the model file."""

    def estimator(self) -> SDGSClassifier | SDGSClassifierCV:
        """The estimator that is fitted."""
        return SDGSClassifier(3, gamma=1.0, n_landmarks=60, tol=1e-5, random_state=0)

    def start(self, name: str) -> int:
        """A fork, because sdgs is imported already."""
        if child := os.fork():
            return child
        Checkpoint.due = lambda _: True  # type: ignore[method-assign]
        data = make_label_subspaces(400, 30, 6, n_components=3, noise=0.3, random_state=0)
        model = self.estimator().set_params(checkpoint=self.folder / name / "states").fit(data.X, data.Y)
        if isinstance(model, SDGSClassifierCV):
            model.cv_results_["seconds"] = []
        model.save(self.folder / name / "model.sdgs")
        os._exit(0)

    def result(self, name: str) -> bytes:
        """The content of the model file."""
        return (self.folder / name / "model.sdgs").read_bytes()


class Search(Fit):
    """A search with checkpoints of candidates and of sweeps."""

    def estimator(self) -> SDGSClassifierCV:
        """The estimator that is fitted."""
        return SDGSClassifierCV(budget=4, n_landmarks=60, tol=1e-3, random_state=0)


class Comparison(Work):
    """Methods on a small data set, by ``sdgs reproduce``. Its result are the records without times."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for seed, dataset in enumerate(DATASETS):
            _write_mulan(folder / "data" / dataset, seed)

    def start(self, name: str) -> int:
        """The command."""
        options = ["--data-home", self.folder / "data", "--datasets", ",".join(DATASETS), "--methods", "br,mlknn,sdgs"]
        command = [sys.executable, "-m", "sdgs", "reproduce", *map(str, [*options, "-o", self.folder / name])]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid

    def result(self, name: str) -> dict[str, object]:
        """The records by file name."""
        records = {}
        for path in sorted((self.folder / name).glob("*/*.json")):
            record = json.loads(path.read_text())
            for curve in record.get("curves", {}).values():
                del curve["seconds"]
            records[f"{path.parent.name}/{path.name}"] = {key: record[key] for key in record if key not in TIMES}
        return records


def _write_mulan(folder: Path, seed: int) -> None:
    """A small data set as Mulan's files, of which the training and the test file are the same."""
    folder.mkdir(parents=True)
    data = make_label_subspaces(60, 8, 3, n_components=2, noise=0.2, random_state=seed)
    labels = [f"label{i}" for i in range(3)]
    head = [f"@relation {folder.name}", *(f"@attribute f{j} numeric" for j in range(8))]
    head += [*(f"@attribute {label} {{0,1}}" for label in labels), "@data"]
    rows = [",".join(map(repr, [*x.tolist(), *y.tolist()])) for x, y in zip(data.X, data.Y, strict=True)]
    for part in ("train", "test"):
        (folder / f"{folder.name}-{part}.arff").write_text("\n".join([*head, *rows, ""]))
    (folder / f"{folder.name}.xml").write_text(f"<labels>{''.join(f'<label name={x!r}/>' for x in labels)}</labels>")


class MethodsOfFile(Work):
    """Methods on the splits of a file, by ``sdgs compare``. Its result are the records without times."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        _write_mulan(folder / "data" / "one", 0)

    def start(self, name: str) -> int:
        """The command."""
        file = self.folder / "data" / "one" / "one-train.arff"
        options = ["--methods", "mlknn,label-powerset,sdgs", "--folds", "4", "--jobs", "1", "-o", self.folder / name]
        command = [sys.executable, "-m", "sdgs", "compare", str(file), *map(str, options)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid

    def result(self, name: str) -> dict[str, object]:
        """The records by file name."""
        times = ("fit_seconds", "predict_seconds")
        records = {path.name: json.loads(path.read_text()) for path in sorted((self.folder / name).glob("records/*"))}
        return {file: {key: record[key] for key in record if key not in times} for file, record in records.items()}


WORK: dict[str, Callable[[Path], Work]] = {
    "fit": Fit,
    "search": Search,
    "comparison": Comparison,
    "methods": MethodsOfFile,
}


def kill_and_resume(work: Work, n_kills: int, rng: random.Random) -> tuple[int, list[str]]:
    """How often the work ended, and what was wrong with its results; it starts anew when it has ended."""
    start = perf_counter()
    _wait(work.start("undisturbed"))
    duration, expected = perf_counter() - start, work.result("undisturbed")
    killed, ended, problems = 0, 0, []
    while killed < n_kills or ended == 0:
        process = work.start("disturbed")
        if killed < n_kills:
            sleep(rng.uniform(0, duration / 4))
            os.kill(process, signal.SIGKILL)
        if _wait(process):
            killed += 1
            continue
        ended += 1
        if work.result("disturbed") != expected:
            problems.append(f"result {ended} is different")
        if left := [path.name for path in (work.folder / "disturbed").rglob(".*-*")]:
            problems.append(f"left behind: {', '.join(left)}")
        shutil.rmtree(work.folder / "disturbed")
    return ended, problems


def _wait(process: int) -> bool:
    """Whether the process was killed; an error if it failed."""
    status = os.waitpid(process, 0)[1]
    if os.WIFSIGNALED(status):
        return True
    if status:
        raise RuntimeError(f"the work failed with status {status}.")
    return False


def main(n_kills: int, names: list[str], seed: int) -> int:
    """Kill each kind of work so many times, and return the number of problems."""
    n_problems = 0
    for name in names:
        with TemporaryDirectory() as folder:
            ended, problems = kill_and_resume(WORK[name](Path(folder)), n_kills, random.Random(seed))
        summary = "; ".join(problems) or f"{ended} results, the same to the last bit"
        print(f"{name}: {n_kills} kills, {summary}", flush=True)
        n_problems += len(problems)
    return n_problems


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n_kills", type=int, nargs="?", default=20)
    parser.add_argument("--part", action="append", choices=WORK, help="only this; can be repeated")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.exit(main(arguments.n_kills, arguments.part or list(WORK), arguments.seed) > 0)
