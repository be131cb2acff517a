"""Import the claims of a run of `make bench`, or of another benchmark, into docs/results/speed.csv.

``python docs/import_benchmarks.py BENCHMARKS.JSON SOURCE`` replaces all rows of the subjects that the run has measured.
``SOURCE`` is a row of docs/results/sources.csv. Then run `make results`.
"""

import csv
import json
import sys
from pathlib import Path

from render_results import read_records

COLUMNS = ("subject", "quantity", "case", "value", "value_max", "unit", "goal", "source")
RULES = {"at most": "<=", "at least": ">="}


def rows_from_run(run, source):
    """One row per claim; a figure without a rule has no goal."""
    for claim in run["claims"]:
        value = claim["value"]
        goal = f"{RULES[claim['rule']]} {claim['bound']:g}" if "rule" in claim else ""
        rounded = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
        yield claim["subject"], claim["quantity"], claim["case"], rounded, "", claim["unit"], goal, source


def main(path, source):
    """Replace the rows of the subjects of the run, and keep the others."""
    assert source in {row["source"] for row in read_records("sources")}, f"describe {source} in sources.csv first"
    new = list(rows_from_run(json.loads(path.read_text()), source))
    measured = {row[0] for row in new}
    kept = [tuple(row[name] for name in COLUMNS) for row in read_records("speed") if row["subject"] not in measured]
    with (Path(__file__).parent / "results" / "speed.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *new, *kept])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
