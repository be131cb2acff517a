"""CSV records of measurements that take long: measured case by case, in processes, and continued if interrupted."""

import csv
import io
import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from sdgs.persistence._atomic_write import write_atomically

Row = dict[str, str]
Case = tuple[Any, ...]


def complete_record(
    path: Path,
    columns: Sequence[str],
    cases: Sequence[Case],
    case_of: Callable[[Row], Case],
    measure: Callable[[Case], list[Row]],
    *,
    selected: Sequence[Case],
    n_jobs: int = 1,
) -> None:
    """Measure the ``selected`` cases of which the file has no rows, and write the file again after each of them.

    Parameters
    ----------
    path : Path
        A CSV file, created if there is none.
    columns : sequence of str
    cases : sequence
        All cases, in the order of the file. Rows of other cases stay, behind them.
    case_of : callable
        The case that a row belongs to.
    measure : callable
        The rows of a case. With several processes it must be picklable.
    selected : sequence
        The cases to measure, in the order in which they start.
    n_jobs : int, default=1
        Number of processes, each with one BLAS thread.

    Raises
    ------
    RuntimeError
        If some cases failed, after all others were measured: with one line per failure.
    """
    rows: dict[Case, list[Row]] = {}
    for row in read_rows(path):
        rows.setdefault(case_of(row), []).append(row)
    failures = []
    for case, result in _measured([case for case in selected if case not in rows], measure, n_jobs):
        if isinstance(result, BaseException):
            failures.append(f"{case}: {type(result).__name__}: {result}")
            continue
        rows[case] = result
        known = [case for case in cases if case in rows]
        ordered = known + [case for case in rows if case not in set(known)]
        _write_rows(path, columns, [row for case in ordered for row in rows[case]])
    if failures:
        raise RuntimeError("\n".join(failures))


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV file, none if there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def _measured(
    cases: Sequence[Case], measure: Callable[[Case], list[Row]], n_jobs: int
) -> Iterator[tuple[Case, list[Row] | BaseException]]:
    """Cases with their rows, or with the error that they raised, as they finish."""
    if n_jobs == 1:
        for case in cases:
            yield case, _measure_one(measure, case)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=context) as pool:
        futures = {pool.submit(_measure_one, measure, case): case for case in cases}
        for future in as_completed(futures):
            yield futures[future], future.exception() or future.result()


def _measure_one(measure: Callable[[Case], list[Row]], case: Case) -> list[Row] | BaseException:
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):  # of labels with few samples
        try:
            return measure(case)
        except Exception as error:
            return error
