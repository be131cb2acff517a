"""A process that runs cases one after the other, and reports each in one line of JSON.

``python -m fuzz.worker FOLDER DESCRIPTOR`` reads ``{"seed": ..., "cases": [[target, case], ...]}`` from standard input
and writes to the file descriptor: first ``{"ready": true}``, then one record per case.
"""

import faulthandler
import gc
import json
import os
import shutil
import sys
import traceback
import warnings
from pathlib import Path
from time import process_time

from fuzz import checks
from fuzz.draw import generator
from fuzz.targets import load_target


class Worker:
    """Runs cases in ``folder / "case"``, which is the working directory."""

    def __init__(self, folder, seed, names):
        self.seed, self.case_folder, self.findings = seed, folder / "case", folder / "findings"
        self._empty_case_folder()
        self.targets = {name: load_target(name) for name in names}
        for target in self.targets.values():
            if hasattr(target, "prepare"):
                target.prepare()
        self._unraisable = []
        sys.unraisablehook = lambda event: self._unraisable.append(f"{event.exc_value!r} in {event.object!r}")
        self.watch = checks.Watch(folder)
        gc.collect()

    def _empty_case_folder(self):
        shutil.rmtree(self.case_folder, ignore_errors=True)
        self.case_folder.mkdir(parents=True)
        os.chdir(self.case_folder)

    def run(self, name, case):
        """The record of a case."""
        self._empty_case_folder()
        record = {"target": name, "case": case}
        checks.limit_memory()
        memory, n_files, start = checks.resident_memory(), checks.open_files(), process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                record["outcome"] = self.targets[name].run_case(generator(self.seed, name, case), self.case_folder)
            self._check_after(n_files)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            record |= {"outcome": "finding", **describe(error), "files": self._keep_files(f"{name}-{case}")}
        finally:
            self._unraisable.clear()
        return record | {"seconds": process_time() - start, "memory": max(checks.peak_memory() - memory, 0)}

    def _keep_files(self, name):
        """Put the files of a finding aside, because the next case empties the folder."""
        copy = self.findings / name
        shutil.copytree(self.case_folder, copy, symlinks=True, dirs_exist_ok=True)
        return str(copy)

    def _check_after(self, n_files):
        self.watch.check()
        assert not self._unraisable, f"an error in a destructor: {self._unraisable[0]}"
        if checks.open_files() > n_files:
            gc.collect()
            assert checks.open_files() <= n_files, "left a file open"


def describe(error):
    """The message, the traceback and the place of a finding; equal places are one finding."""
    frames = traceback.extract_tb(error.__traceback__)
    in_package = [frame for frame in frames if f"{os.sep}sdgs{os.sep}" in frame.filename]
    frame = (in_package or frames)[-1]
    place = f"{type(error).__name__} in {Path(frame.filename).name}:{frame.name}"
    if isinstance(error, AssertionError):
        place = "".join("#" if character.isdigit() else character for character in str(error).split(":")[0][:80])
    text = "".join(traceback.format_exception(error))
    return {"place": place, "message": f"{type(error).__name__}: {error}"[:2000], "traceback": text[-20_000:]}


def main():
    faulthandler.enable()
    folder, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    task = json.load(sys.stdin)
    with open(descriptor, "w", buffering=1) as report:
        worker = Worker(folder, task["seed"], dict.fromkeys(name for name, _ in task["cases"]))
        report.write('{"ready": true}\n')
        for name, case in task["cases"]:
            report.write(json.dumps(worker.run(name, case)) + "\n")


if __name__ == "__main__":
    main()
