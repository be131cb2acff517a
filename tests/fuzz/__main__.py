"""``make fuzz``: run cases of all targets, print a table, and end with status 1 if there are findings.

A case is made from its number, so that ``--target csv --case 17`` repeats it.
"""

import argparse
import os
import sys
from pathlib import Path

from fuzz.findings import Summary
from fuzz.runner import run
from fuzz.targets import SHARES, cases_per_target


def main():
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=5000, help="number of cases of all targets together")
    parser.add_argument("--target", action="append", choices=SHARES, help="only this target; can be repeated")
    parser.add_argument("--case", type=int, help="only this case, of one target")
    parser.add_argument("--seed", type=int, default=0, help="other seeds make other cases")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4), help="number of processes")
    parser.add_argument("--output", type=Path, default=Path("build/fuzz"), help="folder for findings")
    parser.add_argument("--engine", choices=("random", "atheris"), default="random")
    options, rest = parser.parse_known_args()
    if options.engine == "atheris":
        from fuzz.atheris_engine import run_atheris

        return run_atheris(options.target or ["csv"], rest)
    if rest:
        parser.error(f"unknown arguments: {' '.join(rest)}")
    if options.case is not None:
        if len(options.target or ()) != 1:
            parser.error("--case needs one --target")
        cases = [(options.target[0], options.case)]
    else:
        numbers = cases_per_target(options.cases, options.target)
        cases = [(name, case) for name, n in numbers.items() for case in range(n)]
    summary = Summary(options.output, options.seed)
    run(cases, seed=options.seed, n_workers=min(options.jobs, len(cases)), on_record=summary.add)
    sys.stdout.write(summary.text())
    if options.case is not None and summary.n_findings:
        sys.stdout.write((options.output / f"{options.target[0]}-{options.case}" / "finding.txt").read_text())
    return int(summary.n_findings > 0)


if __name__ == "__main__":
    sys.exit(main())
