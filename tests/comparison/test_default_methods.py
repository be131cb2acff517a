"""The default methods: preprocessing, which are chosen, and that all of them work and are stored."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import sdgs
from sdgs.comparison import default_methods
from sdgs.comparison._default_methods import DEFAULT_METHODS, Settings, choose_default_methods, data_size, preprocessing
from sdgs.comparison._fit_times import FIT_SECONDS, DataSize
from sdgs.selection._defaults import MAX_COMPARED_SECONDS

SMALL = DataSize(300, 20, 6, 6000, 30, False, False)


def test_every_method_has_a_time_that_grows_with_the_data():
    assert list(FIT_SECONDS) == list(DEFAULT_METHODS)
    large = DataSize(3000, 200, 60, 600_000, 300, False, False)
    for seconds in FIT_SECONDS.values():
        assert 0 < seconds(SMALL) < seconds(large)


def test_what_takes_too_long_is_left_out_with_a_reason():
    names, left_out = choose_default_methods(SMALL)
    assert names == [name for name in DEFAULT_METHODS if name != "sdgs-cv"]
    assert left_out == {}
    wide = DataSize(20_000, 30_000, 100, 2_000_000, 3000, True, False)
    names, left_out = choose_default_methods(wide)
    assert {"sdgs", "logistic", "mlknn"} <= set(names)
    assert not {"trees", "average", "label-powerset", "sparse-low-rank"} & set(names)
    assert left_out["LabelPowerset"] == (
        "one fit would take about 30 minutes. To compare it all the same, name it: label-powerset"
    )
    assert left_out["ExtraTrees"].startswith("one fit would take about 6 hours.")
    for name, method in DEFAULT_METHODS.items():
        if name != "sdgs-cv":
            assert (method.title in left_out) == (FIT_SECONDS[name](wide) > MAX_COMPARED_SECONDS)


def test_data_size():
    X = np.array([[1.0, 0.0], [0.0, np.nan], [2.0, 3.0]])
    Y = csr_array(np.array([[1, 0, 1], [1, 0, 1], [0, 0, 0]]))
    assert data_size(X, Y) == DataSize(3, 2, 3, 4, 2, False, True)
    assert data_size(csr_array(np.nan_to_num(X)), Y) == DataSize(3, 2, 3, 3, 2, True, False)


def steps(estimator):
    return [type(step).__name__ for _, step in estimator.estimator.steps]


def test_preprocessing_is_the_same_for_all():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 5)), (rng.random((40, 3)) < 0.5).astype(int)
    dense, counts = default_methods(X, Y), default_methods((X > 1.2).astype(float), Y)
    sparse = default_methods(csr_array(X), Y)
    gaps = X.copy()
    gaps[0, 0] = np.nan
    missing = default_methods(gaps, Y)
    for name in ("binary-relevance", "logistic", "mlknn", "sparse-low-rank", "label-powerset", "rakel", "chains"):
        assert steps(dense[name])[:-1] == ["StandardScaler"]
        assert steps(counts[name])[:-1] == steps(sparse[name])[:-1] == ["MaxAbsScaler"]
        assert steps(missing[name])[:-1] == ["SimpleImputer", "StandardScaler"]
    assert steps(missing["trees"])[:-1] == ["SimpleImputer"]
    assert type(dense["trees"].estimator).__name__ == "ExtraTreesClassifier"
    texts = preprocessing(data_size(gaps, csr_array(Y)))
    assert "Values are standardised." in texts[0]
    assert "Missing values are replaced by the mean" in texts[-1]


def test_decisions_are_for_the_metric():
    X, Y = np.eye(6), np.eye(6, dtype=int)[:, :2]
    for metric, decided_for in (("macro_f1", "macro_f1"), ("weighted_f1", "f1")):
        methods = default_methods(X, Y, metric=metric, random_state=3)
        assert {(method.metric, method.random_state) for method in methods.values()} == {(decided_for, 3)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse", "missing"])
def test_all_methods_are_stored(small, tmp_path, kind):
    X, Y = small
    if kind == "missing":
        X = X.copy()
        X[0, 0] = np.nan
    X = csr_array(X) if kind == "sparse" else X
    Y = csr_array(Y)
    settings = Settings(data_size(X, Y), "f1", 0)
    for name, method in DEFAULT_METHODS.items():
        model = method.build(settings)
        model.set_params(**{key: 10 for key in model.get_params() if key.endswith("n_estimators")})
        model.fit(X, Y)
        sdgs.save(model, tmp_path / "model.sdgs")
        loaded = sdgs.load(tmp_path / "model.sdgs")
        assert (loaded.predict(X) != model.predict(X)).nnz == 0, name


@pytest.mark.slow
def test_the_default_comparison(small):
    X, Y = small
    result = sdgs.compare(X, Y, cv=2, random_state=0)
    assert result.failures() == {}
    assert {method.name for method in result.methods} == set(DEFAULT_METHODS) - {"sdgs-cv"}
    assert result.summary()[0].mean > result.summary()[-1].mean


def test_constant_labels_and_rare_labels(small):
    X, Y = small
    Y = np.column_stack([Y[:, :2], np.zeros(60, int), np.ones(60, int), np.arange(60) == 7])
    result = sdgs.compare(X, Y, methods=["mlknn", "logistic", "sdgs"], cv=3, random_state=0)
    assert result.failures() == {}
    assert np.isfinite([method.measures["f1"] for method in result.methods]).all()
