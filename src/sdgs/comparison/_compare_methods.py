"""Compare methods on one data set: ``sdgs.compare``."""

import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import indexable

from sdgs._utils._validation import (
    check_choice,
    check_features,
    check_int,
    check_labels,
    check_n_jobs,
    check_names,
    check_seed,
    is_data_frame,
)
from sdgs.comparison._compared_data import ComparedData, as_rows, encoder_for, n_columns, n_rows
from sdgs.comparison._comparison_result import Comparison, MethodResult, sort_methods
from sdgs.comparison._default_methods import (
    DEFAULT_METHODS,
    Settings,
    choose_default_methods,
    data_size,
    preprocessing,
    table_note,
)
from sdgs.comparison._evaluation import Record
from sdgs.comparison._execution import Progress, Task, run_tasks
from sdgs.comparison._fit_times import FIT_SECONDS, DataSize
from sdgs.comparison._records import VERSIONS, RecordFolder, describe_parameters, hash_data
from sdgs.comparison._splits import Split, make_splits
from sdgs.metrics import ALL_METRICS
from sdgs.readout._decision import TARGET_METRICS


def compare(
    X: Any,
    Y: Any,
    *,
    methods: Any = "default",
    encode: Any = "auto",
    metric: str = "f1",
    cv: int = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    label_names: Any = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare methods on the samples of one data set by repeated stratified cross-validation.

    All methods get the same splits, in which the share of each label is about the same. The default methods also share
    scaling, imputation, and the decision layer of :class:`sdgs.DecisionClassifier`, tuned for ``metric``; their other
    parameters have default values. A method that raises an error is reported and does not stop the others.

    Parameters
    ----------
    X : array-like, sparse, DataFrame or dict of columns, of n samples
        Samples; NaN where a value is missing. Columns of a table may be text, categories and dates. With ``methods`` as
        a dict whatever these classifiers take.
    Y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1
        Their labels.
    methods : "default", list of str, or dict of str to classifier, default="default"
        ``"default"``: see :func:`sdgs.comparison.default_methods`; methods for which a fit is estimated to take longer
        than ten minutes are left out, and named in the result. A list of their names: these, however long they take;
        it may contain ``"default"``, as in ``["default", "sdgs-cv"]``. A dict: the given classifiers, which are cloned
        and used as they are. To give one of them the same decision layer, pass ``DecisionClassifier(classifier)``.
    encode : "auto", TableEncoder or None, default="auto"
        ``"auto"``: if ``X`` is a table with columns that are not numbers, each of the default methods is the last step
        of a pipeline that begins with a :class:`sdgs.preprocessing.TableEncoder`, which is fitted to the training
        samples of each split. With an encoder: a copy of it, for any table. None: such columns are an error. Without
        effect on a dict of classifiers.
    metric : str, default="f1"
        The measure of ``sdgs.metrics.ALL_METRICS`` that methods are ranked by. The result has all of them.
        Decisions are tuned for it if it is ``"f1"``, ``"accuracy"``, ``"hamming_loss"``, ``"micro_f1"``,
        ``"macro_f1"`` or ``"subset_accuracy"``, else for F1.
    cv : int, default=5
        Number of folds.
    n_repeats : int, default=1
        How often the samples are divided into folds.
    random_state : int, RandomState instance or None, default=None
        For the folds and the default methods.
    n_jobs : int or None, default=None
        Number of processes; each evaluates one method on one split, with one thread. None means 1, and -1 one per core.
    folder : str, Path or None, default=None
        Where to store the record of each method and split. A comparison that was interrupted continues with those that
        are there, and has the same result. Needs an integer ``random_state``.
    label_names : array-like of shape (k,), optional
        Default: the columns of ``Y`` if it is a DataFrame, else 0, 1 and so on.
    progress : callable, optional
        Called with the finished work, all work, and what was finished last.

    Returns
    -------
    Comparison

    See Also
    --------
    sdgs.comparison.rank_methods : Methods over several data sets.
    sdgs.comparison.write_comparison_page : A page about the result.

    Examples
    --------
    >>> import sdgs
    >>> from sdgs.datasets import make_composite_digits
    >>> digits = make_composite_digits(200, max_labels=2, random_state=0)
    >>> methods = ["mlknn", "logistic"]
    >>> result = sdgs.compare(digits.X, digits.Y, methods=methods, cv=3, random_state=0)
    >>> result.best_method
    'logistic'
    >>> model = result.best_estimator().fit(digits.X, digits.Y)
    """
    check_choice(metric, "metric", tuple(ALL_METRICS))
    cv, n_repeats = check_int(cv, "cv", minimum=2), check_int(n_repeats, "n_repeats", minimum=1)
    check_n_jobs(n_jobs)
    if folder is not None and not isinstance(random_state, numbers.Integral):
        raise ValueError("folder needs a random_state, because without one every call is different. Pass an integer.")
    seed = int(random_state) if isinstance(random_state, numbers.Integral) else check_seed(random_state)
    check_seed(seed)
    data = _check_data(X, Y, encode, are_given=isinstance(methods, Mapping))
    names = tuple(map(str, check_names(_label_names(Y, label_names), "label_names", data.labels.shape[1], None)))
    estimators, titles, costs, left_out, notes, p = _estimators(methods, data, metric, seed)
    splits = make_splits(data.labels, n_splits=cv, n_repeats=n_repeats, random_state=seed)
    records = None if folder is None else RecordFolder(Path(folder), hash_data(data))
    tasks = []
    for name, estimator in estimators.items():
        parameters = describe_parameters(estimator)
        for i, split in enumerate(splits):
            path = None if records is None else records.path(parameters, split)
            tasks.append(Task(name, titles[name], i, estimator, parameters, costs[name], path))
    found = run_tasks(tasks, data, splits, records, n_jobs, progress)
    results = [_method_result(name, titles[name], estimators[name], found, splits) for name in estimators]
    return Comparison(
        methods=tuple(sort_methods(results, metric)),
        metric=metric,
        left_out=left_out,
        notes=notes,
        n_samples=n_rows(data.X),
        n_features=p,
        n_labels=len(names),
        label_names=names,
        label_counts=np.asarray(data.labels.sum(axis=0), dtype=np.int64).ravel(),
        n_splits=cv,
        n_repeats=n_repeats,
        random_state=seed,
        test_share=float(np.mean([test.size / train.size for train, test in splits])),
        versions=dict(VERSIONS),
    )


def default_methods(
    X: Any, Y: Any, *, encode: Any = "auto", metric: str = "f1", random_state: Any = None
) -> dict[str, Any]:
    """The methods that :func:`sdgs.compare` compares by default, for such data.

    Scaling and imputation depend on the data: features are standardised, or divided by their largest absolute value if
    at least three quarters of the entries are zero or ``X`` is sparse. Missing values are replaced by the mean for
    methods that take none.

    Parameters
    ----------
    X : array-like, sparse, DataFrame or dict of columns, of n samples
    Y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1
    encode : "auto", TableEncoder or None, default="auto"
        As of :func:`sdgs.compare`.
    metric : str, default="f1"
    random_state : int, RandomState instance or None, default=None
        As of :func:`sdgs.compare`.

    Returns
    -------
    dict of str to classifier
        Not fitted, the fastest first. Add to it, and pass it as ``methods``.
    """
    check_choice(metric, "metric", tuple(ALL_METRICS))
    data = _check_data(X, Y, encode, are_given=False)
    seed = int(random_state) if isinstance(random_state, numbers.Integral) else check_seed(random_state)
    return _estimators("default", data, metric, seed)[0]


def _check_data(X: Any, Y: Any, encode: Any, *, are_given: bool) -> ComparedData:
    """Validated data. Samples for given classifiers are passed on as they are."""
    encoder = None if are_given else encoder_for(X, encode)
    X = as_rows(X) if are_given or encoder is not None else check_features(*indexable(X), missing=True)
    labels = check_labels(Y, n_samples=n_rows(X))
    return ComparedData(X, csr_array(labels), issparse(Y), encoder)


def _label_names(Y: Any, label_names: Any) -> Any:
    if label_names is not None:
        return label_names
    return list(Y.columns) if is_data_frame(Y) else range(Y.shape[1] if hasattr(Y, "shape") else len(Y[0]))


def _estimators(
    methods: Any, data: ComparedData, metric: str, seed: int
) -> tuple[dict[str, Any], dict[str, str], dict[str, float], dict[str, str], tuple[str, ...], int]:
    """Classifiers, titles and costs by name, in the order in which they are evaluated; and about all of them.

    That is what is left out, notes, and the number of features, of a table those of the whole one.
    """
    if isinstance(methods, Mapping):
        for name, estimator in methods.items():
            if not isinstance(name, str) or not _is_classifier(estimator):
                raise ValueError(f"methods[{name!r}] must be a classifier with scikit-learn's interface.")
        if not methods:
            raise ValueError("methods must not be empty.")
        costs = dict.fromkeys(methods, 1.0)
        return dict(methods), {name: name for name in methods}, costs, {}, (), n_columns(data.X)
    encoder, X = data.encoder, data.X
    if encoder is not None:
        X = encoder.fit_transform(X)
        encoder = clone(encoder).set_params(sparse_output=encoder.sparse_output_)
    size = data_size(X, data.labels)
    seconds = {name: FIT_SECONDS[name](size) for name in DEFAULT_METHODS}
    names, left_out = _choose_methods(methods, size)
    names = sorted(names, key=lambda name: seconds[name])
    settings = Settings(size, metric if metric in TARGET_METRICS else "f1", seed)
    estimators = {name: DEFAULT_METHODS[name].build(settings) for name in names}
    notes = preprocessing(size)
    if encoder is not None:
        estimators = {name: make_pipeline(clone(encoder), estimator) for name, estimator in estimators.items()}
        notes = (table_note(size), *notes)
    titles = {name: DEFAULT_METHODS[name].title for name in names}
    return estimators, titles, {name: seconds[name] for name in names}, left_out, notes, size.n_features


def _is_classifier(estimator: Any) -> bool:
    return hasattr(estimator, "fit") and not isinstance(estimator, type) and bool(is_classifier(estimator))


def _choose_methods(methods: Any, size: DataSize) -> tuple[list[str], dict[str, str]]:
    """The names of the methods, and by title why others of the default are left out."""
    listed = [methods] if isinstance(methods, str) else methods
    if not isinstance(listed, Sequence) or not listed:
        raise ValueError(f'methods must be "default", a list of names or a dict of classifiers, got {methods!r}.')
    names: list[str] = []
    left_out: dict[str, str] = {}
    for name in listed:
        if name == "default":
            chosen, left_out = choose_default_methods(size)
            names += chosen
        elif name in DEFAULT_METHODS:
            names.append(name)
        else:
            raise ValueError(f"methods names {name!r}, which is not one of default, {', '.join(DEFAULT_METHODS)}.")
    return list(dict.fromkeys(names)), {
        title: reason
        for title, reason in left_out.items()
        if title not in {DEFAULT_METHODS[name].title for name in names}
    }


def _method_result(
    name: str, title: str, estimator: Any, records: Mapping[tuple[str, int], Record], splits: Sequence[Split]
) -> MethodResult:
    """The records of one method as arrays over the splits."""
    of_splits = [records[name, i] for i in range(len(splits))]
    succeeded = [record for record in of_splits if "error" not in record]
    seconds = {
        key: np.asarray([record.get(key, np.nan) for record in of_splits], dtype=np.float64)
        for key in ("fit_seconds", "predict_seconds")
    }
    texts = [text for record in of_splits for text in record["warnings"]]
    return MethodResult(
        name=name,
        title=title,
        estimator=estimator,
        parameters=describe_parameters(estimator),
        measures={
            key: np.asarray([record.get("measures", {}).get(key, np.nan) for record in of_splits])
            for key in ALL_METRICS
        },
        fit_seconds=seconds["fit_seconds"],
        predict_seconds=seconds["predict_seconds"],
        label_f1=_label_f1(succeeded),
        warnings={text: texts.count(text) for text in dict.fromkeys(texts)},
        failures={i: record["error"] for i, record in enumerate(of_splits) if "error" in record},
    )


def _label_f1(records: Sequence[Record]) -> Any:
    """The F1 of each label from the counts of all splits together."""
    if not records:
        return np.empty(0)
    both, samples, predicted = (
        np.sum([record["labels"][key] for record in records], axis=0) for key in ("both", "samples", "predicted")
    )
    with np.errstate(invalid="ignore"):
        return 2 * both / (samples + predicted)
