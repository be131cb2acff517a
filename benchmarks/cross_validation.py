"""F1 and CPU time of both classifiers in cross-validation, beside those of another version of the library.

``OPENBLAS_NUM_THREADS=1 python -m benchmarks.cross_validation --data-home FOLDER --other OTHER/.venv/bin/python``

Only training samples are used: those of the paper's data sets, and sums of digits. Fits of both versions alternate,
each version in one process. CPU times are compared, so that other work on the machine matters little.
"""

import argparse
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks._cross_validation_worker import DIGITS, N_FOLDS
from benchmarks._report import Report

WORKER = Path(__file__).with_name("_cross_validation_worker.py")
TEXT = ("corel5k", "enron", "genbase", "medical", "slashdot")
YAHOO = ("yahoo-arts", "yahoo-education", "yahoo-recreation", "yahoo-science")
PAPER = ("emotions", "mediamill", *TEXT, *YAHOO)
DENSE = ("emotions", "mediamill", DIGITS)
FIT_SHAPES = ("emotions", "yahoo-arts", "medical", "mediamill")
CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "gamma=None": ("SDGSClassifier", {"gamma": None}),
    "default": ("SDGSClassifier", {}),
    "search": ("SDGSClassifierCV", {}),
}


class Version:
    """A process that measures with the version of the library that its Python has."""

    def __init__(self, python: str, data_home: str | None) -> None:
        # -P: modules of this folder do not hide others.
        command = [python, "-P", str(WORKER), *([data_home] if data_home else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, *task: Any) -> dict[str, float]:
        """F1 and CPU seconds of a task, which are those of `measure` in the worker."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        measured: dict[str, float] = json.loads(self._process.stdout.readline())
        return measured


def compare(versions: dict[str, Version], names: list[str]) -> list[dict[str, Any]]:
    """Records of all data sets, folds, classifiers and versions."""
    records = []
    for name, fold in product(names, range(N_FOLDS)):
        for what, version in product(CLASSIFIERS, versions):
            if what == "default" and (name not in DENSE or version != "this"):
                continue  # the same as gamma=None
            measured = versions[version].measure(name, fold, *CLASSIFIERS[what])
            records.append({"data": name, "fold": fold, "what": what, "version": version} | measured)
            print(
                f"{name:<18}{fold} {what:<12}{version:<6}{measured['f1']:6.2f}{measured['seconds']:8.2f} s", flush=True
            )
    return records


class Means:
    """Means over the folds."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self._records = records

    def __call__(self, key: str, name: str, what: str, version: str = "this") -> float:
        """Of F1 or of the seconds."""
        asked = (name, what, version)
        return float(np.mean([r[key] for r in self._records if (r["data"], r["what"], r["version"]) == asked]))

    def lead(self, names: list[str], of: tuple[str, str], over: tuple[str, str]) -> float:
        """How much larger the mean F1 of one classifier and version is than that of another."""
        return float(np.mean([self("f1", name, *of) - self("f1", name, *over) for name in names]))

    def ratio(self, names: list[str], of: tuple[str, str], over: tuple[str, str]) -> float:
        """CPU time for all data sets over that of another classifier and version."""
        return sum(self("seconds", name, *of) for name in names) / sum(self("seconds", name, *over) for name in names)


def claim(records: list[dict[str, Any]], names: list[str], report: Report) -> None:
    """Claims about the data sets that were measured."""
    means, dense, paper = Means(records), [n for n in DENSE if n in names], [n for n in PAPER if n in names]
    plain, default, search = ((what, "this") for what in CLASSIFIERS)
    if dense:
        f1 = "SDGSClassifierCV: F1 minus that of SDGSClassifier"
        report.claim_at_most(0.7, f1, means.lead(dense, search, default), f"mean of {', '.join(dense)}", "points")
    for n in dense:
        time = "SDGSClassifier: CPU time over that with gamma=None"
        report.claim_at_most(3, time, means.ratio([n], default, plain), n)
    if all(record["version"] == "this" for record in records):
        return
    earlier_plain, earlier_search = ("gamma=None", "other"), ("search", "other")
    for n in FIT_SHAPES:
        if n in names:
            time = "SDGSClassifier(gamma=None): CPU time of the other version over this"
            report.claim_at_least(1.8, time, means.ratio([n], earlier_plain, plain), n)
    case = f"{len(paper)} data sets"
    report.claim_at_most(
        0.1,
        "SDGSClassifierCV: mean F1 of the other version minus this",
        means.lead(paper, earlier_search, search),
        case,
        "points",
    )
    report.claim_at_most(
        0.5,
        "SDGSClassifierCV: CPU time over that of the other version",
        means.ratio(paper, search, earlier_search),
        case,
    )


def figures(records: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """F1 on dense data, without a goal, in the layout of the claims."""
    means, titles = Means(records), ("SDGSClassifier(gamma=None)", "SDGSClassifier()", "SDGSClassifierCV()")
    return [
        {
            "subject": "cross_validation",
            "quantity": f"F1 of {title}",
            "case": n,
            "value": means("f1", n, what),
            "unit": "%",
        }
        for title, what in zip(titles, CLASSIFIERS, strict=True)
        for n in DENSE
        if n in names
    ]


def main() -> int:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="folder of the paper's data; default: SDGS_DATA")
    parser.add_argument("--other", help="Python of an environment with another version of the library")
    parser.add_argument("--data", nargs="+", choices=(*PAPER, DIGITS), default=[*PAPER, DIGITS])
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/cross_validation.json"), help="the record")
    options = parser.parse_args()
    pythons = {"other": options.other, "this": sys.executable}
    versions = {name: Version(python, options.data_home) for name, python in pythons.items() if python}
    records = compare(versions, options.data)
    report = Report(Console(width=160), "cross_validation")
    claim(records, options.data, report)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    record = report.record()
    record["claims"] = figures(records, options.data) + record["claims"]
    options.out.write_text(json.dumps({"records": records} | record, indent=1) + "\n")
    return int(not report.show_claims())


if __name__ == "__main__":
    sys.exit(main())
