"""``make soak``: long runs of every part, with status 1 if something grows or an answer changes."""

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from soak.in_threads import soak_fits, soak_predictions

# Scripts that kill processes, and therefore run in processes of their own.
SCRIPTS = {"kill-and-resume": "kill_and_resume.py", "kill-dask-workers": "kill_dask_workers.py"}


def report(text):
    sys.stdout.write(f"  {text}\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--predictions", type=int, default=10_000, help="number of single-row predictions")
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--part", action="append", choices=("predictions", "fits", *SCRIPTS), help="only this part")
    options = parser.parse_args()
    parts = {
        "predictions": lambda: soak_predictions(options.predictions, options.threads, report),
        "fits": lambda: soak_fits(options.fits, options.threads, report),
    }
    for name, script in SCRIPTS.items():
        path = Path(__file__).parent / script
        if path.exists():
            parts[name] = lambda path=path: subprocess.run([sys.executable, path], check=True)
    failed = []
    for name in options.part or parts:
        sys.stdout.write(f"{name}\n")
        start = perf_counter()
        try:
            parts[name]()
        except (AssertionError, subprocess.CalledProcessError) as error:
            failed.append(name)
            report(f"FAILED: {error}")
        report(f"{perf_counter() - start:.0f} s")
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "nothing grew, and all answers stayed the same\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
