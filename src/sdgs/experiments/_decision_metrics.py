"""What decisions for each metric and weights of labels change: a record behind the page about decisions.

``python -m sdgs.experiments._decision_metrics docs/results/decision_metrics.csv --data-home FOLDER`` measures it again,
and continues where it was interrupted. Folds of the training samples of the paper's data sets are held out; no test
samples are used.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sdgs import metrics
from sdgs.datasets import REGISTRY
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.experiments._case_records import Row, complete_record
from sdgs.experiments._decided_methods import LARGE_SETS, N_FOLDS, split_fold
from sdgs.experiments._result_tables import title_of

SOURCE = "decision-metrics"
MEASURES = ("f1", "accuracy", "micro_f1", "macro_f1", "subset_accuracy", "hamming_loss")
COLUMNS = ("dataset", "decision", "split", *MEASURES, "source")
BALANCED = "balanced labels"
TUNED_MACRO = "macro_f1, tuned thresholds"
DECISIONS: Mapping[str, dict[str, Any]] = {
    **{metric: {"metric": metric} for metric in MEASURES},
    BALANCED: {"label_weight": "balanced"},
    TUNED_MACRO: {"metric": "macro_f1", "decision": "thresholds"},
    "p >= 0.5": {"decision": 0.5},
}
Case = tuple[str, int]  # data set and fold


def cases(datasets: Sequence[str] = ()) -> list[Case]:
    """All that is measured."""
    names = [name for name in REGISTRY if not datasets or name in datasets]
    return [(name, fold) for name in names for fold in range(1 if name in LARGE_SETS else N_FOLDS)]


def case_of(row: Row) -> Case:
    """The case that a row of the record belongs to."""
    return {title_of(name): name for name in REGISTRY}[row["dataset"]], int(row["split"])


def rows_of(case: Case, data_home: Path) -> list[Row]:
    """Rows of the record for one case: all measures, in percent, of each decision."""
    name, number = case
    X, Y, X_test, Y_test = split_fold(name, number, data_home)
    rows = []
    for title, parameters in DECISIONS.items():
        predicted = SDGSClassifier(random_state=0, n_jobs=1, **parameters).fit(X, Y).predict(X_test)
        values = [f"{100 * metrics.ALL_METRICS[measure].function(Y_test, predicted):.2f}" for measure in MEASURES]
        rows.append(dict(zip(COLUMNS, (title_of(name), title, str(number), *values, SOURCE), strict=True)))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record, or complete one."""
    parser = argparse.ArgumentParser(prog="python -m sdgs.experiments._decision_metrics", description=__doc__)
    parser.add_argument("output", type=Path, help="CSV file to write, or to complete")
    parser.add_argument("--data-home", type=Path, required=True, help="folder with NAME/NAME-train.arff and so on")
    parser.add_argument("--datasets", nargs="+", default=())
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args(arguments)
    measure = partial(rows_of, data_home=options.data_home)
    selected = cases(options.datasets)
    complete_record(options.output, COLUMNS, cases(), case_of, measure, selected=selected, n_jobs=options.jobs)


if __name__ == "__main__":
    main()
