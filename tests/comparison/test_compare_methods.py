"""`sdgs.compare` from data to results."""

import json
import os
import shutil
import signal

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import sdgs
from comparison_results import Constant
from sdgs import metrics
from sdgs.comparison import ComparisonError, default_methods
from sdgs.comparison._records import describe_parameters
from sdgs.comparison._splits import make_splits
from sdgs.datasets import read_table, tickets_path
from sdgs.preprocessing import TableEncoder

GIVEN = {"often": Constant(0.5), "always": Constant(0.0)}


def values(result):
    """All that does not depend on time, as text, in which NaN are equal."""
    return {
        method.name: repr(
            (
                {name: array.tolist() for name, array in method.measures.items()},
                method.label_f1.tolist(),
                method.warnings,
                method.failures,
            )
        )
        for method in result.methods
    }


def test_measures_are_those_of_each_split(small):
    X, Y = small
    result = sdgs.compare(X, Y, methods=GIVEN, cv=3, n_repeats=2, random_state=5)
    splits = make_splits(csr_array(Y), n_splits=3, n_repeats=2, random_state=5)
    assert len(splits) == 6
    for method in result.methods:
        assert not method.failures
        expected = [
            metrics.evaluate(Y[test], Constant(GIVEN[method.name].share).fit(X[train], Y[train]).predict(X[test]))
            for train, test in splits
        ]
        for name in metrics.METRICS:  # the others need the training labels, or scores
            assert method.measures[name].tolist() == [of_split[name] for of_split in expected]
    always = next(method for method in result.methods if method.name == "always")
    tests = np.concatenate([test for _, test in splits])
    assert always.label_f1 == pytest.approx(metrics.evaluate_labels(Y[tests], np.ones_like(Y[tests]))["f1"])
    assert (result.n_samples, result.n_features, result.n_labels, result.test_share) == (60, 8, 4, 0.5)


def test_a_default_method_is_fitted_to_the_training_samples(small):
    X, Y = small
    (result,) = sdgs.compare(X, Y, methods=["mlknn"], cv=2, random_state=0).methods
    for i, (train, test) in enumerate(make_splits(csr_array(Y), n_splits=2, n_repeats=1, random_state=0)):
        model = default_methods(X, Y, random_state=0)["mlknn"].fit(X[train], Y[train])
        assert result.measures["f1"][i] == metrics.f1(Y[test], model.predict(X[test]))


def test_every_sample_is_tested_once_per_repetition(small):
    _, Y = small
    splits = make_splits(csr_array(Y), n_splits=4, n_repeats=3, random_state=0)
    for i in range(3):
        tests = [test for _, test in splits[4 * i : 4 * i + 4]]
        assert sorted(np.concatenate(tests)) == list(range(60))
    for train, test in splits:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 60


def test_the_best_is_first_and_not_fitted(small):
    X, Y = small
    result = sdgs.compare(X, Y, methods=GIVEN, cv=3, random_state=0)
    means = [method.measures["f1"].mean() for method in result.methods]
    assert means == sorted(means, reverse=True)
    assert result.best_method == result.methods[0].name
    best = result.best_estimator()
    assert best.get_params() == GIVEN[result.best_method].get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(best)
    losses = sdgs.compare(X, Y, methods=GIVEN, metric="hamming_loss", cv=3, random_state=0)
    means = [method.measures["hamming_loss"].mean() for method in losses.methods]
    assert means == sorted(means)


def test_a_method_that_fails_is_reported_and_the_others_go_on(small):
    X, Y = small
    splits = make_splits(csr_array(Y), n_splits=3, n_repeats=1, random_state=0)
    first = X[splits[1][0][0], 0]  # of the training samples of the second split
    failing = Constant(fails_with=first)
    n_failures = sum(X[train[0], 0] == first for train, _ in splits)
    assert n_failures > 0
    result = sdgs.compare(X, Y, methods={"bad": failing, **GIVEN}, cv=3, random_state=0)
    assert [method.name for method in result.methods][-1] == "bad"
    assert result.best_method in GIVEN
    bad = result.methods[-1]
    assert len(bad.failures) == n_failures
    assert bad.failures[1] == "ValueError: the first sample is not <i>liked</i>"
    assert np.isnan(bad.measures["f1"]).sum() == n_failures
    assert f"failed on {n_failures} of 3 splits: ValueError" in result.failures()["bad"]
    assert "failed" in result.table()
    row = result.summary()[-1]
    assert np.isnan(row.mean)
    assert row.distinguishable


def test_if_all_fail_there_is_no_best(small):
    X, Y = small
    result = sdgs.compare(X, Y, methods={"bad": DoesNotPredict()}, cv=2, random_state=0)
    assert result.methods[0].failures[0].startswith("ValueError: the prediction must")
    assert result.conclusion() == "No method succeeded on all splits."
    assert "failed on 2 of 2 splits" in result.table()
    with pytest.raises(ValueError, match="No method has a value of f1"):
        _ = result.best_method


class DoesNotPredict(Constant):
    def predict(self, X):
        return np.full((len(X), 4), 0.5)


def test_warnings_are_counted(small):
    X, Y = small
    result = sdgs.compare(X, Y, methods={"one": Constant(warns=True)}, cv=3, random_state=0)
    assert result.methods[0].warnings == {"these data are <b>odd</b>": 3}


@pytest.mark.parametrize("form", ["sparse", "frames", "one label"])
def test_forms_of_data(small, form):
    X, Y = small
    methods = ["mlknn"]
    expected = sdgs.compare(X, Y, methods=methods, cv=2, random_state=0)
    if form == "one label":
        result = sdgs.compare(X, Y[:, :1], methods=methods, cv=2, random_state=0)
        assert result.n_labels == 1
        assert not result.failures()
        return
    if form == "sparse":
        given = X, csr_array(Y)
    else:
        given = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]), pd.DataFrame(Y, columns=list("abcd"))
    result = sdgs.compare(*given, methods=methods, cv=2, random_state=0)
    assert values(result) == values(expected)
    assert result.label_names == (("a", "b", "c", "d") if form == "frames" else ("0", "1", "2", "3"))


@pytest.mark.parametrize("form", ["probabilities", "scores", "list", "unusable", "none"])
def test_measures_of_scores(small, form):
    X, Y = small
    (of_scores,) = sdgs.compare(X, Y, methods={"one": Scoring(form)}, cv=2, random_state=0).methods
    train, test = make_splits(csr_array(Y), n_splits=2, n_repeats=1, random_state=0)[0]
    P = np.tile(Y[train].mean(axis=0), (len(test), 1))
    expected = metrics.evaluate(Y[test], P > 0.5, P, measures="all", propensities=metrics.propensities(Y[train]))
    known = {name for name, array in of_scores.measures.items() if not np.isnan(array).any()}
    if form in ("probabilities", "list"):
        assert known == set(expected)
    kinds = {metrics.ALL_METRICS[name].uses for name in known}
    assert kinds == {
        "probabilities": {"labels", "scores", "probabilities"},
        "list": {"labels", "scores", "probabilities"},
        "scores": {"labels", "scores"},
        "unusable": {"labels"},
        "none": {"labels"},
    }[form]  # fmt: skip
    for name in known:
        assert of_scores.measures[name][0] == pytest.approx(expected[name], rel=1e-12), name
    assert [text[:29] for text in of_scores.warnings] == (
        ["measures of scores are missing"[:29]] if form == "unusable" else []
    )


def test_a_measure_that_a_method_does_not_have(small):
    X, Y = small
    methods = {"without": Constant(), "with": Scoring("scores")}
    result = sdgs.compare(X, Y, methods=methods, metric="ranking_loss", cv=2, random_state=0)
    assert [method.name for method in result.methods] == ["with", "without"]
    assert result.best_method == "with"
    assert "no scores" in result.table()
    assert result.conclusion() == "with is the only method that succeeded on all splits."


class Scoring(Constant):
    """The share of each label in several forms."""

    def __init__(self, form="probabilities"):
        super().__init__()
        self.form = form

    def fit(self, X, y):
        super().fit(X, y)
        self.shares_ = np.asarray(y).mean(axis=0)
        self.labels_ = self.shares_ > 0.5
        return self

    def _columns(self, X):
        return np.tile(self.shares_, (len(X), 1))

    def __getattr__(self, name):
        form = self.__dict__.get("form")
        if name == "predict_proba" and form in ("probabilities", "list", "unusable"):
            return {
                "probabilities": self._columns,
                "list": lambda X: [np.column_stack([1 - p, p]) for p in self._columns(X).T],
                "unusable": lambda X: self._columns(X)[:, :2],
            }[form]
        if name == "decision_function" and form == "scores":
            return lambda X: 10 * self._columns(X) - 7
        raise AttributeError(name)


def test_data_frames_with_text_for_given_classifiers(small):
    X, Y = small
    frame = pd.DataFrame({"x": X[:, 0], "text": ["word"] * 60})
    result = sdgs.compare(frame, Y, methods={"one": Constant()}, cv=2, random_state=0)
    assert (result.n_features, result.failures()) == (2, {})


# --- Records ----------------------------------------------------------------------------------------------------------


def test_a_comparison_continues_to_the_same_result(small, tmp_path):
    X, Y = small
    options = {"methods": ["mlknn", "logistic"], "cv": 3, "random_state": 0}
    undisturbed = sdgs.compare(X, Y, folder=tmp_path / "whole", **options)
    calls = []

    def stop(done, total, message):
        calls.append((done, total, message))
        if len(calls) == 4:  # the start, and three records
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sdgs.compare(X, Y, folder=tmp_path / "part", progress=stop, **options)
    stored = {path.name: path.read_bytes() for path in (tmp_path / "part").iterdir()}
    assert len(stored) == 3
    (tmp_path / "part" / f".{next(iter(stored))}-0123abcd").write_text("half of a rec")  # of a write that was killed
    continued = sdgs.compare(X, Y, folder=tmp_path / "part", **options)
    files = {path.name for path in (tmp_path / "part").iterdir()}
    assert files == {path.name for path in (tmp_path / "whole").iterdir()}
    assert all((tmp_path / "part" / name).read_bytes() == content for name, content in stored.items())
    assert values(continued) == values(undisturbed) == values(sdgs.compare(X, Y, **options))
    seen = []
    again = sdgs.compare(X, Y, folder=tmp_path / "part", progress=lambda *call: seen.append(call), **options)
    assert len(seen) == 1  # nothing was evaluated
    assert seen[0][0] == seen[0][1]
    assert [m.fit_seconds.tolist() for m in again.methods] == [m.fit_seconds.tolist() for m in continued.methods]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda _: "[" * 100_000,
        lambda text: text.replace('"fit_seconds"', '"seconds"'),
        lambda text: json.dumps({**json.loads(text), "fit_seconds": "1"}),
        lambda text: json.dumps({**json.loads(text), "fit_seconds": -1}),
        lambda text: json.dumps({**json.loads(text), "fit_seconds": 10**400}),
        lambda text: json.dumps({**json.loads(text), "labels": {"both": [1], "samples": [1], "predicted": [1]}}),
        lambda text: json.dumps({**json.loads(text), "measures": {"f1": 0.5}}),
        lambda text: json.dumps({**json.loads(text), "warnings": [1]}),
        lambda text: json.dumps({**json.loads(text), "method": ["x"] * 3, "more": 1}),
    ],
)
def test_damaged_records_are_evaluated_again(small, tmp_path, damage):
    X, Y = small
    options = {"methods": GIVEN, "cv": 2, "random_state": 0, "folder": tmp_path}
    expected = sdgs.compare(X, Y, **options)
    path = sorted(tmp_path.iterdir())[0]
    path.write_text(damage(path.read_text()))
    assert values(sdgs.compare(X, Y, **options)) == values(expected)
    assert json.loads(path.read_text())["fit_seconds"] >= 0


def test_records_depend_on_data_parameters_and_splits(small, tmp_path):
    X, Y = small
    variants = [
        ({}, X, Y),
        ({"random_state": 1}, X, Y),
        ({"cv": 3}, X, Y),
        ({"methods": {"often": Constant(0.4)}}, X, Y),
        ({}, X + 1, Y),
        ({}, X, 1 - Y),
        ({}, X, csr_array(Y)),
    ]
    n_files = 0
    for options, samples, labels in variants:
        given = {"methods": {"often": Constant()}, "cv": 2, "random_state": 0, "folder": tmp_path, **options}
        if not isinstance(labels, np.ndarray):
            given["methods"] = ["mlknn"]
        sdgs.compare(samples, labels, **given)
        n_new = len(os.listdir(tmp_path)) - n_files
        assert n_new == given["cv"]
        n_files += n_new
    renamed = {"other name": Constant()}  # the same method, with the same records
    sdgs.compare(X, Y, methods=renamed, cv=2, random_state=0, folder=tmp_path)
    assert len(os.listdir(tmp_path)) == n_files


def test_a_method_of_an_object_is_described_with_its_content():
    described = [describe_parameters(Constant(warns=np.arange(n).searchsorted)) for n in (3, 4)]
    methods = [describe_parameters(Constant(warns=Constant(share).get_params)) for share in (0.4, 0.5)]
    assert described[0] != described[1]
    assert methods[0] != methods[1]
    assert methods[0] == describe_parameters(Constant(warns=Constant(0.4).get_params))


def test_parameters_without_a_hash(small, tmp_path):
    X, Y = small
    local = {"local": Constant(warns=lambda: None)}
    assert sdgs.compare(X, Y, methods=local, cv=2, random_state=0).best_method == "local"
    with pytest.raises(ValueError, match=r"folder cannot be used.*the parameter warns of .*Constant is .*<lambda>"):
        sdgs.compare(X, Y, methods=local, cv=2, random_state=0, folder=tmp_path)
    described = describe_parameters(Constant(warns=np.mean, fails_with=[np.arange(3), {"a": Constant()}]))
    assert described["warns"] == "numpy.mean"
    assert described == describe_parameters(Constant(warns=np.mean, fails_with=[np.arange(3), {"a": Constant()}]))
    for other in ([np.arange(4), {"a": Constant()}], [np.arange(3), {"a": Constant(0.4)}]):
        assert described != describe_parameters(Constant(warns=np.mean, fails_with=other))


class Killed(Constant):
    def fit(self, X, y):  # noqa: ARG002
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # joblib's, about the process
def test_a_process_that_is_killed(small, tmp_path):
    X, Y = small
    methods = {"fine": Constant(), "killed": Killed()}
    with pytest.raises(ComparisonError, match="ended by the system, probably because memory ran out"):
        sdgs.compare(X, Y, methods=methods, cv=2, random_state=0, folder=tmp_path, n_jobs=2)
    methods.pop("killed")
    assert sdgs.compare(X, Y, methods=methods, cv=2, random_state=0, folder=tmp_path, n_jobs=2).best_method == "fine"


def test_failures_are_not_stored(small, tmp_path):
    X, Y = small
    sdgs.compare(X, Y, methods={"bad": DoesNotPredict()}, cv=2, random_state=0, folder=tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_processes_give_the_same(small, tmp_path):
    X, Y = small
    options = {"methods": ["mlknn", "binary-relevance"], "cv": 2, "random_state": 0}
    calls = []
    progress = lambda *call: calls.append(call)  # noqa: E731
    parallel = sdgs.compare(X, Y, n_jobs=2, folder=tmp_path, progress=progress, **options)
    assert values(parallel) == values(sdgs.compare(X, Y, n_jobs=1, **options))
    assert len(list(tmp_path.iterdir())) == 4
    assert [done for done, _, _ in calls] == sorted(done for done, _, _ in calls)
    assert calls[-1][0] == pytest.approx(calls[-1][1])
    shutil.rmtree(tmp_path)


# --- Invalid arguments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": "best"}, "methods names 'best', which is not one of default, sdgs, "),
        ({"methods": []}, 'methods must be "default", a list'),
        ({"methods": {}}, "methods must not be empty"),
        ({"methods": {"one": Constant}}, "must be a classifier"),
        ({"methods": {"one": 3}}, "must be a classifier"),
        ({"metric": "speed"}, "metric must be one of"),
        ({"cv": 1}, "cv must be an integer >= 2"),
        ({"cv": 61}, "cv=61 folds need at least as many samples; there are 60"),
        ({"n_repeats": 0}, "n_repeats must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"folder": "here", "random_state": None}, "folder needs a random_state"),
        ({"label_names": ["a"]}, "label_names must have 4 names"),
    ],
)
def test_invalid_arguments(small, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, Y = small
    with pytest.raises(ValueError, match=message):
        sdgs.compare(X, Y, **{"methods": ["mlknn"], "random_state": 0, **options})
    assert not list(tmp_path.iterdir())


def test_invalid_data(small):
    X, Y = small
    with pytest.raises(ValueError, match="Y must be a 2-D matrix"):
        sdgs.compare(X, Y[:, 0], methods=["mlknn"])
    with pytest.raises(ValueError, match="same number of rows"):
        sdgs.compare(X, Y[:5], methods=["mlknn"])


@pytest.fixture(scope="module")
def tickets():
    table = read_table(tickets_path(), label_column="tags", drop=["ticket", "opened"])
    return table.to_pandas().iloc[:120], table.Y[:120].astype(int)


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        lambda frame: {name: column.tolist() for name, column in frame.items()},
        pytest.param(lambda frame: pytest.importorskip("polars").from_pandas(frame), id="polars"),
        pytest.param(lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame), id="arrow"),
    ],
)
def test_a_table_is_encoded_in_each_training_fold(convert, tickets):
    frame, Y = tickets
    result = sdgs.compare(convert(frame), Y, methods=["logistic"], cv=2, random_state=0)
    whole = TableEncoder().fit(frame)
    assert result.n_features == len(whole.get_feature_names_out())
    assert f"all samples it makes {result.n_features:,} features" in result.notes[0]
    method = result.best_estimator()
    assert method[0].sparse_output is whole.sparse_output_
    splits = make_splits(csr_array(Y), n_splits=2, n_repeats=1, random_state=0)
    for i, (train, test) in enumerate(splits):
        fitted = clone(method).fit(frame.iloc[train], Y[train])
        assert len(fitted[0].get_feature_names_out()) < result.n_features  # the words of the training samples alone
        predicted = fitted.predict(frame.iloc[test])
        assert result.methods[0].measures["f1"][i] == metrics.f1(Y[test], predicted)


@pytest.mark.slow
@pytest.mark.parametrize("is_sparse", [True, False])
def test_all_default_methods_take_tables(is_sparse, tickets):
    frame, Y = tickets
    encoder = TableEncoder({"plan": "drop"}, sparse_output=is_sparse)
    methods = default_methods(frame, Y, encode=encoder, random_state=0)
    assert all(repr(method[0]) == repr(encoder) for method in methods.values())
    result = sdgs.compare(frame, Y, methods=["default", "sdgs-cv"], encode=encoder, cv=2, random_state=0)
    assert not any(method.failures for method in result.methods)
    assert {*methods, "sdgs-cv"} == {method.name for method in result.methods}


def test_records_of_a_table_are_found_again(tickets, tmp_path):
    frame, Y = tickets
    arguments = {"methods": ["mlknn"], "cv": 2, "random_state": 0, "folder": tmp_path}
    first = sdgs.compare(dict(frame.items()), Y, **arguments)
    paths = set(tmp_path.iterdir())
    again = sdgs.compare(
        {name: np.array(column.tolist(), dtype=object) for name, column in frame.items()}, Y, **arguments
    )
    assert set(tmp_path.iterdir()) == paths
    assert first.methods[0].fit_seconds.tolist() == again.methods[0].fit_seconds.tolist()
    sdgs.compare(frame.assign(plan="pro"), Y, **arguments)
    assert len(list(tmp_path.iterdir())) == 2 * len(paths)


def test_columns_that_are_not_numbers_without_an_encoder(tickets):
    with pytest.raises(ValueError, match=r"not numbers: 'message', 'plan'.*encode=\"auto\""):
        sdgs.compare(*tickets, methods=["mlknn"], encode=None)
    with pytest.raises(ValueError, match="encode"):
        sdgs.compare(*tickets, methods=["mlknn"], encode="always")
